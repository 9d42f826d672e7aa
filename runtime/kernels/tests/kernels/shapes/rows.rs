//! Operators that take rows, frames or repeated parts from several tensors.

use tenon_kernels::attributes::{FillDiagonalTensorAttributes, TemporalShiftAttributes};
use tenon_kernels::{DType, Error, Number, ViewMut, shape as s};

use crate::tensor::Tensor;

fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().map(|&value| Number::Real(value)).collect()
}

fn matrix(dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(DType::F32, dims, numbers(values))
}

fn ids(values: &[i64]) -> Tensor {
    Tensor::new(DType::I32, &[values.len(), 1], values.iter().map(|&value| Number::Integer(value)))
}

#[test]
fn multiplex_takes_rows_and_gives_them_back() {
    let (first, second) = (matrix(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), matrix(&[2, 2], &[5.0, 6.0, 7.0, 8.0]));
    let xs = [first.view(), second.view()];
    let out = matrix(&[2, 2], &[]);
    s::multiplex(&mut out.view_mut(), &xs, &ids(&[1, 0]).view()).unwrap();
    assert_eq!(out.values(), numbers(&[5.0, 6.0, 3.0, 4.0]));
    let refused = s::multiplex(&mut out.view_mut(), &xs, &ids(&[1, 2]).view());
    assert_eq!(refused, Err(Error::Index { index: 2, len: 2 }));
    let refused = s::multiplex(&mut out.view_mut(), &xs, &ids(&[1]).view());
    assert!(matches!(refused, Err(Error::Length { .. })));

    let own = matrix(&[2, 2], &[9.0; 4]);
    let mut dxs: [Option<ViewMut<'_>>; 2] = [None, Some(own.view_mut())];
    s::multiplex_grad(&mut dxs, &ids(&[1, 0]).view(), &first.view()).unwrap();
    assert_eq!(own.values(), numbers(&[1.0, 2.0, 0.0, 0.0]));
}

#[test]
fn channels_move_between_the_frames_of_a_video() {
    // Two videos of two frames with four channels of one pixel: a quarter comes from before, another from behind.
    let x: Vec<f64> = (1..=16).map(f64::from).collect();
    let moved = [0.0, 6.0, 3.0, 4.0, 1.0, 0.0, 7.0, 8.0, 0.0, 14.0, 11.0, 12.0, 9.0, 0.0, 15.0, 16.0];
    let back = [5.0, 0.0, 3.0, 4.0, 0.0, 2.0, 7.0, 8.0, 13.0, 0.0, 11.0, 12.0, 0.0, 10.0, 15.0, 16.0];
    for (dims, format) in [([4, 4, 1, 1], "NCHW"), ([4, 1, 1, 4], "NHWC")] {
        let (x, out) = (matrix(&dims, &x), matrix(&dims, &[]));
        s::temporal_shift(
            &mut out.view_mut(),
            &x.view(),
            &TemporalShiftAttributes { seg_num: 2, shift_ratio: 0.25, data_format: format },
        )
        .unwrap();
        assert_eq!(out.values(), numbers(&moved));
        s::temporal_shift_grad(
            &mut out.view_mut(),
            &x.view(),
            &TemporalShiftAttributes { seg_num: 2, shift_ratio: 0.25, data_format: format },
        )
        .unwrap();
        assert_eq!(out.values(), numbers(&back));
        let refused = s::temporal_shift(
            &mut out.view_mut(),
            &x.view(),
            &TemporalShiftAttributes { seg_num: 3, shift_ratio: 0.25, data_format: format },
        );
        assert!(matches!(refused, Err(Error::Attribute { name: "seg_num", .. })));
        let refused = s::temporal_shift(
            &mut out.view_mut(),
            &x.view(),
            &TemporalShiftAttributes { seg_num: 2, shift_ratio: 0.75, data_format: format },
        );
        assert!(matches!(refused, Err(Error::Attribute { name: "shift_ratio", .. })));
    }
}

#[test]
fn tensors_are_repeated_for_a_common_shape() {
    let (column, row) = (matrix(&[2, 1], &[1.0, 2.0]), matrix(&[3], &[3.0, 4.0, 5.0]));
    let outs = [matrix(&[2, 3], &[]), matrix(&[2, 3], &[])];
    let mut views = outs.each_ref().map(|out| Some(out.view_mut()));
    s::broadcast_tensors(&mut views, &[column.view(), row.view()]).unwrap();
    assert_eq!(outs[0].values(), numbers(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]));
    assert_eq!(outs[1].values(), numbers(&[3.0, 4.0, 5.0, 3.0, 4.0, 5.0]));
    let mut gradients = [None, Some(row.view_mut())];
    s::broadcast_tensors_grad(&mut gradients, &[outs[0].view(), outs[1].view()]).unwrap();
    assert_eq!(row.values(), numbers(&[6.0, 8.0, 10.0]));
}

#[test]
fn shapes_follow_from_numbers() {
    let x = matrix(&[2, 3], &[0.0; 6]);
    let times =
        |values: &[i64]| Tensor::new(DType::I64, &[values.len()], values.iter().map(|&n| Number::Integer(n)));
    assert_eq!(s::repeat_interleave_shape(x.view().meta(), &times(&[2]).view(), -1), Ok(vec![2, 6]));
    assert_eq!(s::repeat_interleave_shape(x.view().meta(), &times(&[2, 0, 1]).view(), 1), Ok(vec![2, 3]));
    assert!(s::repeat_interleave_shape(x.view().meta(), &times(&[-2]).view(), 1).is_err());
    assert_eq!(s::crop_shape(x.view().meta(), &[1, -1], &[0, 2]), Ok(vec![1, 1]));
    assert_eq!(s::crop_shape(x.view().meta(), &[1, -1], &[0, 4]), Err(Error::Index { index: 4, len: 3 }));
}

#[test]
fn a_diagonal_has_no_gradient_where_it_was_replaced() {
    let dout = matrix(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let dx = matrix(&[2, 2], &[]);
    s::fill_diagonal_tensor_grad(
        &mut dx.view_mut(),
        &dout.view(),
        &FillDiagonalTensorAttributes { offset: 0, dim1: 0, dim2: 1 },
    )
    .unwrap();
    assert_eq!(dx.values(), numbers(&[0.0, 2.0, 3.0, 0.0]));
    s::fill_diagonal_grad(&mut dx.view_mut(), &dout.view(), 1, false).unwrap();
    assert_eq!(dx.values(), numbers(&[1.0, 0.0, 3.0, 4.0]));
    s::roll_grad(&mut dx.view_mut(), &dout.view(), &[1], &[1]).unwrap();
    assert_eq!(dx.values(), numbers(&[2.0, 1.0, 4.0, 3.0]));
}

fn number(dtype: DType, value: f64) -> Tensor {
    Tensor::new(dtype, &[1], [Number::Real(value)])
}

#[test]
fn sequences_come_from_tensors_of_one_number() {
    let numbers_of = |dtype, values: [f64; 3]| values.map(|value| number(dtype, value));
    let shape =
        |[start, end, step]: &[Tensor; 3]| s::arange_tensor_shape(&start.view(), &end.view(), &step.view());
    // In float32, 0.9 is three times 0.3; in float64 it is more.
    assert_eq!(shape(&numbers_of(DType::F32, [0.0, 0.9, 0.3])), Ok(vec![3]));
    assert_eq!(shape(&numbers_of(DType::F64, [0.0, 0.9, 0.3])), Ok(vec![(0.9_f64 / 0.3).ceil() as usize]));
    assert_eq!(shape(&numbers_of(DType::I32, [5.0, 0.0, -2.0])), Ok(vec![3]));
    assert_eq!(shape(&numbers_of(DType::I64, [5.0, 9.0, -2.0])), Ok(vec![0]));
    assert!(shape(&numbers_of(DType::I64, [5.0, 9.0, 0.0])).is_err());
    let (start, end, step) = (number(DType::I32, 5.0), number(DType::I32, 0.0), number(DType::I32, -2.0));
    let out = Tensor::new(DType::I32, &[3], []);
    s::arange_tensor(&mut out.view_mut(), &start.view(), &end.view(), &step.view()).unwrap();
    assert_eq!(out.values(), [5, 3, 1].map(Number::Integer));

    let (stop, base, count) = (number(DType::F32, 2.0), number(DType::F32, 10.0), number(DType::I32, 3.0));
    let out = matrix(&[3], &[]);
    let start = number(DType::F32, 0.0);
    s::linspace_tensor(&mut out.view_mut(), &start.view(), &stop.view(), &count.view()).unwrap();
    assert_eq!(out.values(), numbers(&[0.0, 1.0, 2.0]));
    s::logspace_tensor(&mut out.view_mut(), &start.view(), &stop.view(), &count.view(), &base.view())
        .unwrap();
    assert_eq!(out.values(), numbers(&[1.0, 10.0, 100.0]));
    let refused = number(DType::F32, -1.0);
    assert!(s::linspace_tensor_shape(start.view().meta(), stop.view().meta(), &refused.view()).is_err());
}

#[test]
fn a_number_of_a_tensor_fills_another() {
    let out = Tensor::new(DType::I64, &[2], []);
    let large = Tensor::new(DType::I64, &[1, 1], [Number::Integer((1 << 53) + 1)]);
    s::full_with_tensor(&mut out.view_mut(), &large.view()).unwrap();
    assert_eq!(out.values(), [Number::Integer((1 << 53) + 1); 2]);
    assert!(s::full_with_tensor(&mut out.view_mut(), &matrix(&[2], &[1.0, 2.0]).view()).is_err());
    s::zero_grad(&mut out.view_mut(), &Tensor::new(DType::I64, &[2], []).view()).unwrap();
    assert_eq!(out.values(), [Number::Integer(0); 2]);
}

//! Diagonals, blocks, sequences and products, held against loops over indices.

use crate::gradient::{assert_close, empty, numbers, spaced};
use crate::tensor::{Random, Tensor};
use tenon_kernels::attributes::{
    DiagEmbedAttributes, DiagonalAttributes, FillDiagonalAttributes, FillDiagonalTensorAttributes,
    TrilIndicesAttributes, UnfoldAttributes,
};
use tenon_kernels::{DType, Error, Number, shape as s};

#[test]
fn diagonals_are_taken_and_put_back() {
    let mut random = Random(1);
    for offset in -4..5 {
        let x = spaced(&mut random, &[2, 3, 4]);
        let len = (0..3_i64).filter(|row| (0..4).contains(&(row + offset))).count();
        let out = empty(&mut random, DType::F64, &[2, len]);
        s::diagonal(&mut out.view_mut(), &x.view(), &DiagonalAttributes { offset, axis1: 1, axis2: -1 })
            .unwrap();
        let (down, right) = if offset < 0 { (-offset as usize, 0) } else { (0, offset as usize) };
        for index in out.indices() {
            assert_eq!(out.get(&index), x.get(&[index[0], index[1] + down, index[1] + right]));
        }
        let sums = empty(&mut random, DType::F64, &[2]);
        s::trace(&mut sums.view_mut(), &x.view(), &DiagonalAttributes { offset, axis1: 1, axis2: 2 })
            .unwrap();
        let wanted = [0, 1].map(|n| (0..len).map(|at| out.get(&[n, at]).to_f64()).sum::<f64>());
        assert_close(&numbers(&sums), &wanted, 1e-12, offset);
        let dx = spaced(&mut random, &[2, 3, 4]);
        s::diagonal_grad(&mut dx.view_mut(), &out.view(), &DiagonalAttributes { offset, axis1: 1, axis2: 2 })
            .unwrap();
        let on = |index: &[usize]| index[2] as i64 - index[1] as i64 == offset;
        for index in dx.indices() {
            let wanted = if on(&index) { x.get(&index) } else { Number::Real(0.0) };
            assert_eq!(dx.get(&index), wanted);
        }
        s::trace_grad(&mut dx.view_mut(), &sums.view(), &DiagonalAttributes { offset, axis1: 1, axis2: 2 })
            .unwrap();
        for index in dx.indices() {
            let wanted = if on(&index) { sums.get(&index[..1]) } else { Number::Real(0.0) };
            assert_eq!(dx.get(&index), wanted);
        }
        for lower in [true, false] {
            let out = empty(&mut random, DType::F64, &[2, 3, 4]);
            s::tril_triu(&mut out.view_mut(), &x.view(), offset, lower).unwrap();
            let same = empty(&mut random, DType::F64, &[2, 3, 4]);
            let half = if lower { s::tril } else { s::triu };
            half(&mut same.view_mut(), &x.view(), offset).unwrap();
            assert_eq!(same.values(), out.values());
            for index in out.indices() {
                let above = index[2] as i64 - index[1] as i64 - offset;
                let kept = if lower { above <= 0 } else { above >= 0 };
                assert_eq!(out.get(&index), if kept { x.get(&index) } else { Number::Real(0.0) });
            }
        }
    }
}

#[test]
fn matrices_are_made_of_diagonals() {
    let mut random = Random(2);
    for offset in [-2_i64, 0, 1] {
        let side = 3 + offset.unsigned_abs() as usize;
        let x = spaced(&mut random, &[3]);
        let out = empty(&mut random, DType::F64, &[side, side]);
        s::diag(&mut out.view_mut(), &x.view(), offset, 7.0).unwrap();
        let first = [(-offset).max(0) as usize, offset.max(0) as usize];
        for index in out.indices() {
            let on = index[1] as i64 - index[0] as i64 == offset;
            let wanted = if on { x.get(&[index[0] - first[0]]) } else { Number::Real(7.0) };
            assert_eq!(out.get(&index), wanted);
        }
        let back = empty(&mut random, DType::F64, &[3]);
        s::diag_grad(&mut back.view_mut(), &out.view(), offset).unwrap();
        assert_eq!(back.values(), x.values());
        s::diag(&mut back.view_mut(), &out.view(), offset, 0.0).unwrap();
        assert_eq!(back.values(), x.values());
        let embedded = empty(&mut random, DType::F64, &[side, 2, side]);
        let rows = spaced(&mut random, &[2, 3]);
        s::diag_embed(
            &mut embedded.view_mut(),
            &rows.view(),
            &DiagEmbedAttributes { offset, dim1: 0, dim2: 2 },
        )
        .unwrap();
        for index in embedded.indices() {
            let on = index[2] as i64 - index[0] as i64 == offset;
            let wanted = if on { rows.get(&[index[1], index[0] - first[0]]) } else { Number::Real(0.0) };
            assert_eq!(embedded.get(&index), wanted);
        }
        let filled = empty(&mut random, DType::F64, &[side, 2, side]);
        s::fill_diagonal_tensor(
            &mut filled.view_mut(),
            &embedded.view(),
            &rows.view(),
            &FillDiagonalTensorAttributes { offset, dim1: 0, dim2: 2 },
        )
        .unwrap();
        assert_eq!(filled.values(), embedded.values());
    }
    let x = Tensor::new(DType::I32, &[5, 2], []);
    for (wrap, wanted) in [(false, [1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), (true, [1, 0, 0, 1, 0, 0, 1, 0, 0, 1])] {
        let out = Tensor::new(DType::I32, &[5, 2], []);
        s::fill_diagonal(
            &mut out.view_mut(),
            &x.view(),
            &FillDiagonalAttributes { value: 1.0, offset: 0, wrap },
        )
        .unwrap();
        assert_eq!(out.values(), wanted.map(Number::Integer));
    }
    let cube = Tensor::new(DType::F32, &[2, 2, 2], []);
    s::fill_diagonal(
        &mut cube.view_mut(),
        &cube.view(),
        &FillDiagonalAttributes { value: 4.0, offset: 0, wrap: false },
    )
    .unwrap();
    assert_eq!(numbers(&cube), [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    let eye = Tensor::new(DType::Bool, &[2, 3], [Number::Integer(1); 6]);
    s::eye(&mut eye.view_mut()).unwrap();
    assert_eq!(numbers(&eye), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn windows_become_columns_and_are_added_up() {
    let mut random = Random(3);
    for (kernel, stride, padding, dilation) in [
        ([2, 3], [1, 2], vec![1, 0], [1, 1]),
        ([3, 2], [2, 1], vec![0, 1, 2, 3], [1, 2]),
        ([9, 1], [1, 1], vec![0, 0], [1, 1]),
    ] {
        let x = spaced(&mut random, &[2, 2, 4, 5]);
        let sides =
            if padding.len() == 2 { [padding.clone(), padding.clone()].concat() } else { padding.clone() };
        let count = |n: usize, dim: i64| {
            let room = dim + sides[n] + sides[n + 2] - dilation[n] * (kernel[n] - 1) - 1;
            if room < 0 { 0 } else { (room / stride[n] + 1) as usize }
        };
        let [down, across] = [count(0, 4), count(1, 5)];
        let dims = [2, 2 * (kernel[0] * kernel[1]) as usize, down * across];
        let forward = || {
            let out = Tensor::new(DType::F64, &dims, []);
            s::unfold(
                &mut out.view_mut(),
                &x.view(),
                &UnfoldAttributes {
                    kernel_sizes: &kernel,
                    strides: &stride,
                    paddings: &padding,
                    dilations: &dilation,
                },
            )
            .unwrap();
            out
        };
        let out = forward();
        for index in out.indices() {
            let (kernel_x, at) = (kernel[1] as usize, [index[2] / across, index[2] % across]);
            let tap = index[1] % (kernel[0] * kernel[1]) as usize;
            let place = [0, 1].map(|n| {
                at[n] as i64 * stride[n] + [tap / kernel_x, tap % kernel_x][n] as i64 * dilation[n] - sides[n]
            });
            let inside = (0..4).contains(&place[0]) && (0..5).contains(&place[1]);
            let channel = index[1] / (kernel[0] * kernel[1]) as usize;
            let wanted = if inside {
                x.get(&[index[0], channel, place[0] as usize, place[1] as usize])
            } else {
                Number::Real(0.0)
            };
            assert_eq!(out.get(&index), wanted, "{index:?}");
        }
        crate::gradient::check(
            &mut random,
            &x,
            forward,
            |dx, _, dout| {
                s::unfold_grad(
                    &mut dx.view_mut(),
                    &dout.view(),
                    &UnfoldAttributes {
                        kernel_sizes: &kernel,
                        strides: &stride,
                        paddings: &padding,
                        dilations: &dilation,
                    },
                )
                .unwrap();
            },
            (kernel, stride),
        );
        let columns = spaced(&mut random, &dims);
        crate::gradient::check(
            &mut random,
            &columns,
            || {
                let out = Tensor::new(DType::F64, &[2, 2, 4, 5], []);
                s::fold(
                    &mut out.view_mut(),
                    &columns.view(),
                    &UnfoldAttributes {
                        kernel_sizes: &kernel,
                        strides: &stride,
                        paddings: &padding,
                        dilations: &dilation,
                    },
                )
                .unwrap();
                out
            },
            |dx, _, dout| {
                s::fold_grad(
                    &mut dx.view_mut(),
                    &dout.view(),
                    &UnfoldAttributes {
                        kernel_sizes: &kernel,
                        strides: &stride,
                        paddings: &padding,
                        dilations: &dilation,
                    },
                )
                .unwrap();
            },
            (kernel, stride),
        );
    }
    let (x, out) = (Tensor::new(DType::F32, &[1, 1, 2, 2], []), Tensor::new(DType::F32, &[1, 1, 4], []));
    let refused = s::unfold(
        &mut out.view_mut(),
        &x.view(),
        &UnfoldAttributes { kernel_sizes: &[1, 1], strides: &[0, 1], paddings: &[0, 0], dilations: &[1, 1] },
    );
    assert!(matches!(refused, Err(Error::Attribute { name: "strides", .. })));
}

#[test]
fn pixels_and_channels_are_shuffled() {
    let mut random = Random(4);
    for format in ["NCHW", "NHWC"] {
        let order = |index: [usize; 4]| {
            if format == "NCHW" { index.to_vec() } else { vec![index[0], index[2], index[3], index[1]] }
        };
        let x = spaced(&mut random, &order([2, 8, 2, 3]));
        let out = empty(&mut random, DType::F64, &order([2, 2, 4, 6]));
        s::pixel_shuffle(&mut out.view_mut(), &x.view(), 2, format).unwrap();
        for (n, c, y, z) in (0..2 * 2 * 4 * 6).map(|at| (at / 48, at / 24 % 2, at / 6 % 4, at % 6)) {
            let from = order([n, c * 4 + y % 2 * 2 + z % 2, y / 2, z / 2]);
            assert_eq!(out.get(&order([n, c, y, z])), x.get(&from));
        }
        let back = empty(&mut random, DType::F64, &x.dims);
        s::pixel_shuffle_grad(&mut back.view_mut(), &out.view(), 2, format).unwrap();
        assert_eq!(back.values(), x.values());
        s::pixel_unshuffle_grad(&mut out.view_mut(), &x.view(), 2, format).unwrap();
        let shuffled = empty(&mut random, DType::F64, &x.dims);
        s::channel_shuffle(&mut shuffled.view_mut(), &x.view(), 2, format).unwrap();
        for (n, c, y, z) in (0..2 * 8 * 2 * 3).map(|at| (at / 48, at / 6 % 8, at / 3 % 2, at % 3)) {
            let from = order([n, c % 2 * 4 + c / 2, y, z]);
            assert_eq!(shuffled.get(&order([n, c, y, z])), x.get(&from));
        }
        s::channel_shuffle_grad(&mut back.view_mut(), &shuffled.view(), 2, format).unwrap();
        assert_eq!(back.values(), x.values());
    }
}

#[test]
fn sequences_are_those_of_numpy() {
    let make = |dtype, len: usize| Tensor::new(dtype, &[len], []);
    let cases = [(DType::I32, [0.0, 2.0, 5.0, 7.0, 10.0]), (DType::F32, [0.0, 2.5, 5.0, 7.5, 10.0])];
    for (dtype, wanted) in cases {
        let out = make(dtype, 5);
        s::linspace(&mut out.view_mut(), 0.0, 10.0).unwrap();
        assert_eq!(numbers(&out), wanted);
    }
    let out = make(DType::F64, 4);
    s::arange(&mut out.view_mut(), 5.0, -1.5).unwrap();
    assert_eq!(numbers(&out), [5.0, 3.5, 2.0, 0.5]);
    s::logspace(&mut out.view_mut(), 0.0, 3.0, 10.0).unwrap();
    assert_close(&numbers(&out), &[1.0, 10.0, 100.0, 1000.0], 1e-12, "");
    s::linspace(&mut make(DType::F32, 1).view_mut(), 3.0, 9.0).unwrap();
    s::full(&mut out.view_mut(), 2.5).unwrap();
    assert_eq!(numbers(&out), [2.5; 4]);
    let out = make(DType::I64, 3);
    s::arange(&mut out.view_mut(), 9_007_199_254_740_992.0, 1.0).unwrap();
    assert_eq!(out.get(&[1]), Number::Integer(9_007_199_254_740_993));
    let out = Tensor::new(DType::I64, &[2, 5], []);
    s::tril_indices(&mut out.view_mut(), &TrilIndicesAttributes { rows: 2, columns: 3, offset: 1 }).unwrap();
    assert_eq!(numbers(&out), [0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 2.0]);
    s::triu_indices(&mut out.view_mut(), &TrilIndicesAttributes { rows: 2, columns: 3, offset: 0 }).unwrap();
    assert_eq!(numbers(&out), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 2.0]);
}

#[test]
fn products_equal_their_formulas_and_gradients_differences() {
    let mut random = Random(5);
    let [x, y] = [0, 1].map(|_| spaced(&mut random, &[2, 3]));
    let run = |dims: &[usize], f: &dyn Fn(&Tensor)| {
        let out = Tensor::new(DType::F64, dims, []);
        f(&out);
        out
    };
    let dot = || run(&[2], &|out| s::dot(&mut out.view_mut(), &x.view(), &y.view()).unwrap());
    let at = |tensor: &Tensor, index: [usize; 2]| tensor.get(&index).to_f64();
    let wanted = [0, 1].map(|n| (0..3).map(|k| at(&x, [n, k]) * at(&y, [n, k])).sum::<f64>());
    assert_close(&numbers(&dot()), &wanted, 1e-12, "dot");
    let inputs = || (x.view(), y.view());
    crate::gradient::check(
        &mut random,
        &x,
        dot,
        |dx, _, d| s::dot_grad(Some(&mut dx.view_mut()), None, &inputs().0, &inputs().1, &d.view()).unwrap(),
        "dot by x",
    );
    crate::gradient::check(
        &mut random,
        &y,
        dot,
        |dy, _, d| s::dot_grad(None, Some(&mut dy.view_mut()), &inputs().0, &inputs().1, &d.view()).unwrap(),
        "dot by y",
    );
    let cross = || run(&[2, 3], &|out| s::cross(&mut out.view_mut(), &x.view(), &y.view(), 9).unwrap());
    for index in x.indices() {
        let (n, k) = (index[0], index[1]);
        let (a, b) = ((k + 1) % 3, (k + 2) % 3);
        let wanted = at(&x, [n, a]) * at(&y, [n, b]) - at(&x, [n, b]) * at(&y, [n, a]);
        assert_close(&[cross().get(&index).to_f64()], &[wanted], 1e-12, "cross");
    }
    let inputs = || (x.view(), y.view());
    crate::gradient::check(
        &mut random,
        &x,
        cross,
        |dx, _, d| {
            s::cross_grad(Some(&mut dx.view_mut()), None, &inputs().0, &inputs().1, &d.view(), 1).unwrap()
        },
        "",
    );
    crate::gradient::check(
        &mut random,
        &y,
        cross,
        |dy, _, d| {
            s::cross_grad(None, Some(&mut dy.view_mut()), &inputs().0, &inputs().1, &d.view(), 1).unwrap()
        },
        "",
    );
    let z = spaced(&mut random, &[2]);
    let kron = || run(&[2, 6], &|out| s::kron(&mut out.view_mut(), &x.view(), &z.view()).unwrap());
    for index in kron().indices() {
        let wanted = at(&x, [index[0], index[1] / 2]) * z.get(&[index[1] % 2]).to_f64();
        assert_close(&[kron().get(&index).to_f64()], &[wanted], 1e-12, "kron");
    }
    let inputs = || (x.view(), z.view());
    crate::gradient::check(
        &mut random,
        &x,
        kron,
        |dx, _, d| s::kron_grad(Some(&mut dx.view_mut()), None, &inputs().0, &inputs().1, &d.view()).unwrap(),
        "",
    );
    crate::gradient::check(
        &mut random,
        &z,
        kron,
        |dz, _, d| s::kron_grad(None, Some(&mut dz.view_mut()), &inputs().0, &inputs().1, &d.view()).unwrap(),
        "",
    );
}

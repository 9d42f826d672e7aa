//! Values that are reduced into elements, and elements that masks choose.

use crate::gradient::{empty, numbers, spaced};
use crate::tensor::{Random, Tensor};
use tenon_kernels::attributes::PutAlongAxisAttributes;
use tenon_kernels::{DType, Error, Number, indexing as ix};

type Four = [f64; 4];

const TYPES: [DType; 6] = [DType::Bool, DType::I16, DType::I64, DType::Bf16, DType::F32, DType::F64];

fn filled(random: &mut Random, dtype: DType, dims: &[usize]) -> Tensor {
    let tensor = empty(random, dtype, dims);
    tensor.indices().iter().for_each(|index| tensor.set(index, Number::Integer(random.below(9) as i64)));
    tensor
}

#[test]
fn values_along_a_dimension_are_reduced() {
    // The results of Paddle 3.3.1 for these, and the gradients of the sum.
    let cases: [(&str, bool, Four, Four, Four); 12] = [
        ("assign", true, [1.0, 20.0, 2.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]),
        ("assign", false, [1.0, 20.0, 2.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]),
        ("add", true, [1.0, 32.0, 5.5, 4.0], [1.0; 4], [1.0; 4]),
        ("add", false, [1.0, 30.0, 2.5, 4.0], [1.0, 0.0, 0.0, 1.0], [1.0; 4]),
        ("mul", true, [1.0, 400.0, 3.0, 4.0], [1.0, 200.0, 1.0, 1.0], [40.0, 20.0, 6.0, 1.5]),
        ("mul", false, [1.0, 200.0, 1.0, 4.0], [1.0, 0.0, 0.0, 1.0], [20.0, 10.0, 2.0, 0.5]),
        ("amin", true, [1.0, 2.0, 0.5, 4.0], [1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]),
        ("amin", false, [1.0, 10.0, 0.5, 4.0], [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]),
        ("amax", true, [1.0, 20.0, 3.0, 4.0], [1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]),
        ("amax", false, [1.0, 20.0, 2.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]),
        ("mean", true, [1.0, 32.0 / 3.0, 5.5 / 3.0, 4.0], [1.0, 1.0 / 3.0, 1.0 / 3.0, 1.0], [1.0 / 3.0; 4]),
        ("mean", false, [1.0, 15.0, 1.25, 4.0], [1.0, 0.0, 0.0, 1.0], [0.5; 4]),
    ];
    let x = Tensor::new(DType::F64, &[4], [1.0, 2.0, 3.0, 4.0].map(Number::Real));
    let value = Tensor::new(DType::F64, &[4], [10.0, 20.0, 0.5, 2.0].map(Number::Real));
    let index = Tensor::new(DType::I64, &[4], [1, 1, 2, -2].map(Number::Integer));
    let ones = Tensor::new(DType::F64, &[4], [Number::Real(1.0); 4]);
    let [out, dx, dv] = [0, 1, 2].map(|_| Tensor::new(DType::F64, &[4], []));
    for (name, own, wanted, wanted_dx, wanted_dv) in cases {
        ix::put_along_axis(
            &mut out.view_mut(),
            &x.view(),
            &index.view(),
            &value.view(),
            &PutAlongAxisAttributes { axis: 0, reduce: name, include_self: own },
        )
        .unwrap();
        crate::gradient::assert_close(&numbers(&out), &wanted, 1e-12, name);
        ix::put_along_axis_grad(
            Some(&mut dx.view_mut()),
            Some(&mut dv.view_mut()),
            &x.view(),
            &index.view(),
            &value.view(),
            &out.view(),
            &ones.view(),
            &PutAlongAxisAttributes { axis: 0, reduce: name, include_self: own },
        )
        .unwrap();
        crate::gradient::assert_close(&numbers(&dx), &wanted_dx, 1e-12, name);
        crate::gradient::assert_close(&numbers(&dv), &wanted_dv, 1e-12, name);
    }
    let refused = ix::put_along_axis(
        &mut out.view_mut(),
        &x.view(),
        &index.view(),
        &value.view(),
        &PutAlongAxisAttributes { axis: 0, reduce: "max", include_self: true },
    );
    assert_eq!(refused, Err(Error::Attribute { name: "reduce", value: "max".into() }));
    let integers = Tensor::new(DType::I32, &[2], [7, 0].map(Number::Integer));
    let (places, values) =
        (Tensor::new(DType::I32, &[1], []), Tensor::new(DType::I32, &[1], [Number::Integer(-2)]));
    ix::put_along_axis(
        &mut integers.view_mut(),
        &integers.view(),
        &places.view(),
        &values.view(),
        &PutAlongAxisAttributes { axis: 0, reduce: "mean", include_self: true },
    )
    .unwrap();
    assert_eq!(numbers(&integers), [2.0, 0.0]);
}

#[test]
fn products_with_zeros_have_gradients() {
    for (own, values, wanted_dx, wanted_dv) in [
        (0.0, [2.0, 3.0], 6.0, [0.0, 0.0]),
        (5.0, [0.0, 3.0], 0.0, [15.0, 0.0]),
        (5.0, [0.0, 0.0], 0.0, [0.0, 0.0]),
    ] {
        let single = |value| Tensor::new(DType::F64, &[1, 1], [Number::Real(value)]);
        let (x, dx, zero, one) = (single(own), single(9.0), single(0.0), single(1.0));
        let (value, dv) = (
            Tensor::new(DType::F64, &[2, 1], values.map(Number::Real)),
            Tensor::new(DType::F64, &[2, 1], []),
        );
        let index = Tensor::new(DType::I64, &[2, 1], []);
        ix::put_along_axis_grad(
            Some(&mut dx.view_mut()),
            Some(&mut dv.view_mut()),
            &x.view(),
            &index.view(),
            &value.view(),
            &zero.view(),
            &one.view(),
            &PutAlongAxisAttributes { axis: 0, reduce: "mul", include_self: true },
        )
        .unwrap();
        assert_eq!((numbers(&dx), numbers(&dv)), (vec![wanted_dx], wanted_dv.to_vec()));
    }
}

#[test]
fn masks_choose_elements() {
    let mut random = Random(5);
    for dtype in TYPES {
        let x = filled(&mut random, dtype, &[3, 4]);
        let mask = empty(&mut random, DType::Bool, &[4]);
        [0, 2].iter().for_each(|&n| mask.set(&[n], Number::Integer(1)));
        assert_eq!(ix::masked_select_count(&x.view(), &mask.view()), Ok(6));
        let out = empty(&mut random, dtype, &[6]);
        ix::masked_select(&mut out.view_mut(), &x.view(), &mask.view()).unwrap();
        (0..6).for_each(|n| assert_eq!(out.get(&[n]), x.get(&[n / 2, n % 2 * 2])));
        let count = ix::nonzero_count(&x.view()).unwrap();
        let places = empty(&mut random, DType::I64, &[count, 2]);
        ix::nonzero(&mut places.view_mut(), &x.view()).unwrap();
        let wanted: Vec<Vec<usize>> =
            x.indices().into_iter().filter(|index| x.get(index).to_bool()).collect();
        assert_eq!(count, wanted.len());
        for (row, index) in wanted.iter().enumerate() {
            (0..2).for_each(|n| assert_eq!(places.get(&[row, n]), Number::Integer(index[n] as i64)));
        }
    }
    let mask = Tensor::new(DType::Bool, &[4], [1, 0, 1, 0].map(Number::Integer));
    let x = spaced(&mut random, &[3, 4]);
    let forward = || {
        let out = Tensor::new(DType::F64, &[6], []);
        ix::masked_select(&mut out.view_mut(), &x.view(), &mask.view()).unwrap();
        out
    };
    let back = |dx: &Tensor, _: &Tensor, dout: &Tensor| {
        ix::masked_select_grad(&mut dx.view_mut(), &mask.view(), &dout.view()).unwrap();
    };
    crate::gradient::check(&mut random, &x, forward, back, "masked_select");
    let scalar = Tensor::new(DType::F32, &[], [Number::Real(f64::NAN)]);
    assert_eq!(ix::nonzero_count(&scalar.view()), Ok(1));
}

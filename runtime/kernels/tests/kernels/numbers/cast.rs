//! Casts between all types of elements, against conversions of single numbers.

use crate::tensor::{REAL, Tensor};
use tenon_kernels::{Complex, DType, Number, cast};

const VALUES: [f64; 6] = [0.0, 1.0, -2.5, 100.75, f64::INFINITY, f64::NAN];

/// Converts a number as an element of the type would hold it.
fn number(dtype: DType, value: f64) -> Number {
    match dtype {
        _ if dtype.is_complex() => Number::Complex(Complex::new(value, 2.0)),
        _ if dtype.is_float() => Number::Real(value),
        _ => Number::Integer(value as i64 % 100),
    }
}

/// Compares numbers; NaN is the same as NaN.
fn same(left: Number, right: Number) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

#[test]
fn each_type_becomes_each_other() {
    for &from in DType::ALL {
        for &to in DType::ALL {
            let x = Tensor::new(from, &[2, 3], VALUES.map(|value| number(from, value)));
            let out = Tensor::new(to, &[2, 3], []);
            cast::cast(&mut out.view_mut(), &x.view()).unwrap();
            for index in x.indices() {
                // One element that is set from the number is the reference.
                let wanted = Tensor::new(to, &[], [x.get(&index)]).get(&[]);
                let found = out.get(&index);
                assert!(same(found, wanted), "{from} {:?} to {to}: {found:?}, not {wanted:?}", x.get(&index));
            }
        }
    }
}

#[test]
fn long_tensors_of_any_layout_become_each_other_type() {
    for &from in &REAL {
        for &to in &REAL {
            for strides in [[30, 1], [1, 18], [-60, -2]] {
                let first = if strides[0] < 0 { 1078 } else { 0 };
                let x = Tensor {
                    strides: strides.to_vec(),
                    dims: vec![18, 30],
                    first,
                    ..Tensor::new(from, &[36, 30], [])
                };
                for (n, index) in x.indices().iter().enumerate() {
                    x.set(index, number(from, n as f64 / 4.0 - 80.0));
                }
                let out = Tensor::new(to, &[18, 30], []);
                let turned = Tensor { strides: vec![1, 18], ..out.detached() };
                for out in [out, turned] {
                    cast::cast(&mut out.view_mut(), &x.view()).unwrap();
                    for index in x.indices() {
                        let wanted = Tensor::new(to, &[], [x.get(&index)]).get(&[]);
                        assert!(same(out.get(&index), wanted), "{from} to {to}, {strides:?}, {index:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_cast_in_place_reads_before_it_writes() {
    let x = Tensor::new(DType::F64, &[4], [1.5, -2.0, 3.0, 4.0].map(Number::Real));
    let out = Tensor { dtype: DType::Complex64, ..x.clone() };
    cast::cast(&mut out.view_mut(), &x.view()).unwrap();
    let found: Vec<Number> = out.indices().iter().map(|index| out.get(index)).collect();
    assert_eq!(found, [1.5, -2.0, 3.0, 4.0].map(|re| Number::Complex(Complex::new(re, 0.0))));
}

#[test]
fn another_shape_is_refused() {
    let x = Tensor::new(DType::F32, &[2], []);
    let out = Tensor::new(DType::Complex64, &[1, 2], []);
    let refused = cast::cast(&mut out.view_mut(), &x.view()).unwrap_err();
    assert_eq!(refused.to_string(), "the output has the shape [1, 2] where [2] is needed");
}

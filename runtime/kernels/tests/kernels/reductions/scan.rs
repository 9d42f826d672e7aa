//! Running sums, products and extrema, held against loops over indices.

use crate::gradient::{assert_close, empty, numbers, spaced};
use crate::tensor::{REAL, Random, Tensor, is_float};
use tenon_kernels::attributes::{CumprodAttributes, CumsumAttributes};
use tenon_kernels::{DType, Error, Number, scan};

/// Returns the expected row: each element is computed from those before it.
fn expected(
    x: &Tensor,
    axis: Option<usize>,
    [exclusive, reverse]: [bool; 2],
    fold: fn(&[f64]) -> f64,
) -> Vec<f64> {
    let indices = x.indices();
    let place = |index: &Vec<usize>| match axis {
        None => indices.iter().position(|other| other == index).unwrap(),
        Some(axis) => index[axis],
    };
    let same_row = |a: &Vec<usize>, b: &Vec<usize>| {
        axis.is_none() || (0..a.len()).all(|n| Some(n) == axis || a[n] == b[n])
    };
    let of = |index: &Vec<usize>| {
        let list = indices.iter().filter(|other| {
            let (own, other_place) = (place(index), place(other));
            let before = if reverse { other_place > own } else { other_place < own };
            same_row(index, other) && (before || (other_place == own && !exclusive))
        });
        fold(&list.map(|index| x.get(index).to_f64()).collect::<Vec<_>>())
    };
    indices.iter().map(of).collect()
}

fn dims(random: &mut Random) -> Vec<usize> {
    (0..random.below(4)).map(|_| 1 + random.below(4)).collect()
}

#[test]
fn scans_equal_loops() {
    let mut random = Random(3);
    for case in 0..300 {
        let dims = dims(&mut random);
        let dtype = REAL[random.below(REAL.len())];
        let x = empty(&mut random, dtype, &dims);
        x.indices().iter().for_each(|index| x.set(index, Number::Integer(random.below(4) as i64 - 1)));
        let name = ["cumsum", "cumprod", "logcumsumexp"][case % 3];
        let axis = random.below(dims.len().max(1));
        let flatten = name != "cumprod" && random.one_in(3);
        let flags = [random.one_in(2), random.one_in(2)];
        let number = axis as i64 - if random.one_in(2) { dims.len().max(1) as i64 } else { 0 };
        let flat = [x.indices().len()];
        let to = if is_float(dtype) { dtype } else { DType::I64 };
        let y = empty(&mut random, to, if flatten { &flat } else { &dims });
        let (mut out, view) = (y.view_mut(), x.view());
        let (result, fold): (_, fn(&[f64]) -> f64) = match name {
            "cumsum" => (
                scan::cumsum(
                    &mut out,
                    &view,
                    &CumsumAttributes { axis: number, flatten, exclusive: flags[0], reverse: flags[1] },
                ),
                |list| list.iter().sum(),
            ),
            "cumprod" => (
                scan::cumprod(
                    &mut out,
                    &view,
                    &CumprodAttributes { axis: number, exclusive: flags[0], reverse: flags[1] },
                ),
                |list| list.iter().product(),
            ),
            _ => (
                scan::logcumsumexp(
                    &mut out,
                    &view,
                    &CumsumAttributes { axis: number, flatten, exclusive: flags[0], reverse: flags[1] },
                ),
                |list| list.iter().map(|x| x.exp()).sum::<f64>().ln(),
            ),
        };
        if name == "logcumsumexp" && !is_float(dtype) {
            assert_eq!(result, Err(Error::Type { dtype }));
            continue;
        }
        result.unwrap();
        let axis = if flatten || dims.is_empty() { None } else { Some(axis) };
        let wanted = expected(&x, axis, flags, fold);
        assert_close(&numbers(&y), &wanted, 2e-2, (name, &dims, axis, flags, dtype));
    }
}

#[test]
fn gradients_equal_differences() {
    let mut random = Random(4);
    for case in 0..48 {
        let dims = dims(&mut random);
        let axis = random.below(dims.len().max(1)) as i64;
        let [exclusive, reverse] = [random.one_in(2), random.one_in(2)];
        let x = spaced(&mut random, &dims);
        if case % 3 == 1 && random.one_in(2) {
            let zero = x.indices()[random.below(x.indices().len())].clone();
            x.set(&zero, Number::Real(0.0));
        }
        let flatten = case % 3 != 1 && random.one_in(3);
        let out_dims = if flatten { vec![x.indices().len()] } else { dims.clone() };
        let forward = || {
            let y = Tensor::new(DType::F64, &out_dims, []);
            let (mut out, x) = (y.view_mut(), x.view());
            match case % 3 {
                0 => scan::cumsum(&mut out, &x, &CumsumAttributes { axis, flatten, exclusive, reverse }),
                1 => scan::cumprod(&mut out, &x, &CumprodAttributes { axis, exclusive, reverse }),
                _ => {
                    scan::logcumsumexp(&mut out, &x, &CumsumAttributes { axis, flatten, exclusive, reverse })
                }
            }
            .unwrap();
            // Where nothing is added yet there is no difference.
            y.indices().iter().filter(|index| y.get(index).to_f64().is_infinite()).for_each(|index| {
                y.set(index, Number::Real(0.0));
            });
            y
        };
        let backward = |dx: &Tensor, y: &Tensor, dout: &Tensor| {
            let (mut dx, x, y, dout) = (dx.view_mut(), x.view(), y.view(), dout.view());
            match case % 3 {
                0 => {
                    scan::cumsum_grad(&mut dx, &dout, &CumsumAttributes { axis, flatten, exclusive, reverse })
                }
                1 => scan::cumprod_grad(&mut dx, &x, &dout, &CumprodAttributes { axis, exclusive, reverse }),
                _ => scan::logcumsumexp_grad(
                    &mut dx,
                    &x,
                    &y,
                    &dout,
                    &CumsumAttributes { axis, flatten, exclusive, reverse },
                ),
            }
            .unwrap();
        };
        crate::gradient::check(
            &mut random,
            &x,
            forward,
            backward,
            (case % 3, &dims, axis, flatten, exclusive, reverse),
        );
    }
}

#[test]
fn extrema_so_far_equal_loops() {
    let mut random = Random(5);
    for case in 0..100 {
        let dims = dims(&mut random);
        let axis = random.below(dims.len().max(1));
        let dtype = REAL[random.below(REAL.len())];
        let x = empty(&mut random, dtype, &dims);
        x.indices().iter().for_each(|index| x.set(index, Number::Integer(random.below(3) as i64)));
        let (y, places) = (empty(&mut random, dtype, &dims), empty(&mut random, DType::I64, &dims));
        let function = [scan::cummax, scan::cummin][case % 2];
        function(&mut y.view_mut(), &mut places.view_mut(), &x.view(), axis as i64).unwrap();
        let fold: fn(&[f64]) -> f64 = if case % 2 == 0 {
            |list| list.iter().copied().fold(f64::MIN, f64::max)
        } else {
            |list| list.iter().copied().fold(f64::MAX, f64::min)
        };
        let wanted = expected(&x, (!dims.is_empty()).then_some(axis), [false; 2], fold);
        assert_close(&numbers(&y), &wanted, 0.0, (&dims, axis, dtype));
        for index in x.indices().iter().filter(|index| !index.is_empty()) {
            let place = places.get(index).to_i64() as usize;
            let at = |n: usize| [&index[..axis], &[n], &index[axis + 1..]].concat();
            assert!(place <= index[axis] && x.get(&at(place)) == y.get(index));
            assert!((place + 1..=index[axis]).all(|later| x.get(&at(later)) != y.get(index)), "the last one");
        }
        let dout = spaced(&mut random, &dims);
        let dx = empty(&mut random, DType::F64, &dims);
        scan::cumextremum_grad(&mut dx.view_mut(), &places.view(), &dout.view(), axis as i64).unwrap();
        let sum = |tensor: &Tensor| numbers(tensor).iter().sum::<f64>();
        assert_close(&[sum(&dx)], &[sum(&dout)], 1e-9, "all of the gradient goes somewhere");
    }
    let nan = f64::NAN;
    let x = Tensor::new(DType::F32, &[6], [1.0, 3.0, 3.0, nan, 2.0, nan].map(Number::Real));
    let (y, places) = (Tensor::new(DType::F32, &[6], []), Tensor::new(DType::I32, &[6], []));
    scan::cummax(&mut y.view_mut(), &mut places.view_mut(), &x.view(), 0).unwrap();
    assert_close(&numbers(&y), &[1.0, 3.0, 3.0, nan, nan, nan], 0.0, "");
    assert_eq!(numbers(&places), [0.0, 1.0, 2.0, 3.0, 3.0, 5.0]);
    let (dx, dout) =
        (Tensor::new(DType::F32, &[6], []), Tensor::new(DType::F32, &[6], [Number::Real(1.0); 6]));
    scan::cumextremum_grad(&mut dx.view_mut(), &places.view(), &dout.view(), 0).unwrap();
    assert_eq!(numbers(&dx), [1.0, 1.0, 1.0, 2.0, 0.0, 1.0]);
    places.set(&[0], Number::Integer(6));
    let refused = scan::cumextremum_grad(&mut dx.view_mut(), &places.view(), &dout.view(), 0);
    assert_eq!(refused, Err(Error::Index { index: 6, len: 6 }));
}

#[test]
fn logarithms_of_sums_do_not_overflow() {
    let inf = f64::INFINITY;
    let x = Tensor::new(DType::F64, &[4], [-inf, 1e4, 1e4, inf].map(Number::Real));
    let y = Tensor::new(DType::F64, &[4], []);
    scan::logcumsumexp(
        &mut y.view_mut(),
        &x.view(),
        &CumsumAttributes { axis: 0, flatten: false, exclusive: false, reverse: false },
    )
    .unwrap();
    assert_close(&numbers(&y), &[-inf, 1e4, 1e4 + 2f64.ln(), inf], 1e-12, "");
    let y = Tensor::new(DType::F32, &[4], []);
    scan::cumsum(
        &mut y.view_mut(),
        &x.view(),
        &CumsumAttributes { axis: 0, flatten: false, exclusive: true, reverse: true },
    )
    .unwrap();
    assert_eq!(numbers(&y), [inf, inf, inf, 0.0]);
}

//! Sorting, held against lists that are sorted one element at a time.

use crate::gradient::{assert_close, empty, numbers, spaced};
use crate::tensor::{REAL, Random, Tensor};
use tenon_kernels::attributes::{
    KthvalueAttributes, MedianAttributes, MedianGradAttributes, MedianGradOfEqualAttributes, TopkAttributes,
};
use tenon_kernels::{DType, Error, Number, ViewMut, sorting as so};

/// A mode, whether NaN is ignored, a list, its median, and where that is.
type Middle = (&'static str, bool, &'static [f64], f64, &'static [i64]);

fn dims(random: &mut Random) -> Vec<usize> {
    (0..random.below(4)).map(|_| 1 + random.below(5)).collect()
}

fn filled(random: &mut Random, dtype: DType, dims: &[usize]) -> Tensor {
    let tensor = empty(random, dtype, dims);
    tensor.indices().iter().for_each(|index| tensor.set(index, Number::Integer(random.below(4) as i64)));
    tensor
}

/// Ranks the elements and indices of a row, chosen one after the other: the best of those that are left, the first of
/// equal ones.
fn ranked(x: &Tensor, axis: usize, descending: bool, place: &[usize]) -> Vec<(f64, usize)> {
    let len = x.dims.get(axis).copied().unwrap_or(1);
    let mut left: Vec<(f64, usize)> = (0..len)
        .map(|n| {
            let mut at = place.to_vec();
            at.get_mut(axis).into_iter().for_each(|own| *own = n);
            (x.get(&at).to_f64(), n)
        })
        .collect();
    let mut list = vec![];
    while !left.is_empty() {
        let mut best = 0;
        for n in 1..left.len() {
            let (new, old) = (left[n].0, left[best].0);
            let larger = new > old || (new.is_nan() && !old.is_nan());
            let smaller = new < old || (old.is_nan() && !new.is_nan());
            best = if if descending { larger } else { smaller } { n } else { best };
        }
        list.push(left.remove(best));
    }
    list
}

#[test]
fn rows_are_sorted_and_chosen_from() {
    let mut random = Random(1);
    for case in 0..300 {
        let dims = dims(&mut random);
        let axis = random.below(dims.len().max(1));
        let dtype = REAL[random.below(REAL.len())];
        let x = filled(&mut random, dtype, &dims);
        if matches!(dtype, DType::F16 | DType::F64) {
            x.indices().iter().step_by(3).for_each(|index| x.set(index, Number::Real(f64::NAN)));
        }
        let number = axis as i64 - if random.one_in(2) { dims.len().max(1) as i64 } else { 0 };
        let descending = random.one_in(2);
        let len = dims.get(axis).copied().unwrap_or(1);
        let k = if case % 2 == 0 { len } else { random.below(len + 1) };
        let mut out_dims = dims.clone();
        out_dims.get_mut(axis).into_iter().for_each(|own| *own = k);
        if dims.is_empty() && k == 0 {
            continue;
        }
        let (out, places) = (empty(&mut random, dtype, &out_dims), empty(&mut random, DType::I64, &out_dims));
        let (mut out_view, mut place_view): (ViewMut<'_>, ViewMut<'_>) = (out.view_mut(), places.view_mut());
        match case % 2 {
            0 => so::argsort(&mut out_view, &mut place_view, &x.view(), number, descending),
            _ => so::topk(
                &mut out_view,
                &mut place_view,
                &x.view(),
                &TopkAttributes { k: k as i64, axis: number, largest: descending },
            ),
        }
        .unwrap();
        for place in out.indices() {
            let rank = place.get(axis).copied().unwrap_or(0);
            let (value, index) = ranked(&x, axis, descending, &place)[rank];
            assert_eq!(places.get(&place), Number::Integer(index as i64), "{dims:?} {axis} {dtype:?}");
            assert_close(&[out.get(&place).to_f64()], &[value], 0.0, "");
        }
    }
    let (x, out) = (Tensor::new(DType::F32, &[3], []), Tensor::new(DType::F32, &[4], []));
    let places = Tensor::new(DType::I64, &[4], []);
    let refused = so::topk(
        &mut out.view_mut(),
        &mut places.view_mut(),
        &x.view(),
        &TopkAttributes { k: 4, axis: 0, largest: true },
    );
    assert_eq!(refused, Err(Error::Index { index: 4, len: 3 }));
}

#[test]
fn one_element_of_each_row_is_found() {
    let mut random = Random(2);
    for case in 0..200 {
        let dims = dims(&mut random);
        let axis = random.below(dims.len().max(1));
        let dtype = REAL[random.below(REAL.len())];
        let x = filled(&mut random, dtype, &dims);
        let keep = random.one_in(2) || dims.is_empty();
        let len = dims.get(axis).copied().unwrap_or(1);
        let mut out_dims = dims.clone();
        if keep {
            out_dims.get_mut(axis).into_iter().for_each(|own| *own = 1);
        } else {
            out_dims.remove(axis);
        }
        let k = 1 + random.below(len);
        let (out, places) = (empty(&mut random, dtype, &out_dims), empty(&mut random, DType::I32, &out_dims));
        let (mut out_view, mut place_view) = (out.view_mut(), places.view_mut());
        match case % 2 {
            0 => so::kthvalue(
                &mut out_view,
                &mut place_view,
                &x.view(),
                &KthvalueAttributes { k: k as i64, axis: axis as i64, keep_dim: keep },
            ),
            _ => so::mode(&mut out_view, &mut place_view, &x.view(), axis as i64, keep),
        }
        .unwrap();
        for place in out.indices() {
            let mut full = place.clone();
            if !keep {
                full.insert(axis, 0);
            }
            let list = ranked(&x, axis, false, &full);
            let wanted = match case % 2 {
                0 => list[k - 1],
                _ => {
                    let count = |value: f64| list.iter().filter(|other| other.0 == value).count();
                    let most = list.iter().map(|other| count(other.0)).max().unwrap();
                    let value = list.iter().find(|other| count(other.0) == most).unwrap().0;
                    *list.iter().rfind(|other| other.0 == value).unwrap()
                }
            };
            let found = (out.get(&place).to_f64(), places.get(&place).to_i64() as usize);
            assert_eq!(found, wanted, "{case} {dims:?} {axis}");
        }
    }
}

#[test]
fn medians_are_in_the_middle() {
    const NAN: f64 = f64::NAN;
    let cases: [Middle; 9] = [
        ("avg", false, &[], NAN, &[-1, -1]),
        ("avg", false, &[4.0, 1.0, 3.0, 2.0], 2.5, &[3, 2]),
        ("avg", false, &[4.0, 1.0, 3.0], 3.0, &[2, 2]),
        ("avg", false, &[1.0, NAN, 0.0, NAN], NAN, &[1, 1]),
        ("avg", true, &[1.0, NAN, 4.0], 2.5, &[0, 2]),
        ("avg", true, &[NAN], NAN, &[-1, -1]),
        ("min", false, &[1.0, 5.0, 2.0, 2.0], 2.0, &[2]),
        ("min", false, &[4.0, 1.0, 3.0, 2.0], 2.0, &[3]),
        ("min", true, &[NAN, 7.0], 7.0, &[1]),
    ];
    for (mode, ignore, list, wanted, wanted_places) in cases {
        let x = Tensor::new(DType::F64, &[1, list.len()], list.iter().copied().map(Number::Real));
        let out = Tensor::new(DType::F64, &[1], []);
        let index_dims: &[usize] = if mode == "avg" { &[1, 2] } else { &[1] };
        let places = Tensor::new(DType::I64, index_dims, []);
        so::median(
            &mut out.view_mut(),
            &mut places.view_mut(),
            &x.view(),
            &MedianAttributes { axis: &[1], keep_dim: false, mode, ignore_nan: ignore },
        )
        .unwrap();
        assert_close(&numbers(&out), &[wanted], 0.0, list);
        assert_eq!(places.values(), wanted_places.iter().copied().map(Number::Integer).collect::<Vec<_>>());
    }
}

#[test]
fn gradients_equal_differences() {
    let mut random = Random(3);
    for case in 0..30 {
        let dims = [3, 4, 2];
        let axis = random.below(3);
        let keep = random.one_in(2);
        let x = spaced(&mut random, &dims);
        let mut out_dims = dims.to_vec();
        match case % 5 {
            0 => {}
            1 => out_dims[axis] = 2,
            _ if keep => out_dims[axis] = 1,
            _ => drop(out_dims.remove(axis)),
        }
        let modes = if case < 15 { "avg" } else { "min" };
        let index_dims = [&out_dims[..], &[2][usize::from(case % 5 != 4 || modes == "min")..]].concat();
        let places = Tensor::new(DType::I64, &index_dims, []);
        let forward = || {
            let out = Tensor::new(DType::F64, &out_dims, []);
            let (mut y, mut p, x, axis) = (out.view_mut(), places.view_mut(), x.view(), axis as i64);
            match case % 5 {
                0 => so::argsort(&mut y, &mut p, &x, axis, keep),
                1 => so::topk(&mut y, &mut p, &x, &TopkAttributes { k: 2, axis, largest: keep }),
                2 => so::kthvalue(&mut y, &mut p, &x, &KthvalueAttributes { k: 2, axis, keep_dim: keep }),
                3 => so::mode(&mut y, &mut p, &x, axis, keep),
                _ => so::median(
                    &mut y,
                    &mut p,
                    &x,
                    &MedianAttributes { axis: &[axis], keep_dim: keep, mode: modes, ignore_nan: false },
                ),
            }
            .unwrap();
            out
        };
        let backward = |dx: &Tensor, _: &Tensor, dout: &Tensor| {
            forward();
            let (mut dx, p, d, axis) = (dx.view_mut(), places.view(), dout.view(), axis as i64);
            match case % 5 {
                0 => so::argsort_grad(&mut dx, &p, &d, axis),
                1 => so::topk_grad(&mut dx, &p, &d, axis),
                2 => so::kthvalue_grad(&mut dx, &p, &d, axis, keep),
                3 => so::mode_grad(&mut dx, &p, &d, axis, keep),
                _ => so::median_grad(
                    &mut dx,
                    &p,
                    &d,
                    &MedianGradAttributes { axis: &[axis], keep_dim: keep, mode: modes },
                ),
            }
            .unwrap();
        };
        crate::gradient::check(&mut random, &x, forward, backward, (case, axis, keep));
    }
}

#[test]
fn places_in_sorted_rows_are_found() {
    let mut random = Random(4);
    for case in 0..60 {
        let (outer, len, count) = (random.below(3), random.below(5), random.below(6));
        let dtype = REAL[random.below(REAL.len())];
        let own_rows = random.one_in(2);
        let row_dims = if own_rows { vec![outer, len] } else { vec![len] };
        let rows = filled(&mut random, dtype, &row_dims);
        let values = filled(&mut random, dtype, &[outer, count]);
        // Rows in order.
        let sorted = Tensor::new(dtype, &rows.dims, []);
        let places = Tensor::new(DType::I64, &rows.dims, []);
        so::argsort(&mut sorted.view_mut(), &mut places.view_mut(), &rows.view(), -1, false).unwrap();
        let out = empty(&mut random, DType::I32, &[outer, count]);
        let right = case % 2 == 0;
        so::searchsorted(&mut out.view_mut(), &sorted.view(), &values.view(), right).unwrap();
        for place in out.indices() {
            let value = values.get(&place).to_f64();
            let smaller = (0..len).filter(|&n| {
                let index = if own_rows { vec![place[0], n] } else { vec![n] };
                let element = sorted.get(&index).to_f64();
                element < value || (right && element == value)
            });
            assert_eq!(out.get(&place), Number::Integer(smaller.count() as i64));
        }
    }
    let x = Tensor::new(DType::F32, &[4], [1.0, 2.0, 2.0, 3.0].map(Number::Real));
    let values = Tensor::new(DType::F32, &[4], [2.0, f64::NAN, 0.0, 4.0].map(Number::Real));
    for (right, wanted) in [(false, [1.0, 4.0, 0.0, 4.0]), (true, [3.0, 4.0, 0.0, 4.0])] {
        let out = Tensor::new(DType::I64, &[4], []);
        so::searchsorted(&mut out.view_mut(), &x.view(), &values.view(), right).unwrap();
        assert_eq!(numbers(&out), wanted);
    }
}

#[test]
fn elements_and_rows_are_there_once() {
    let vector =
        |values: &[f64]| Tensor::new(DType::F32, &[values.len()], values.iter().copied().map(Number::Real));
    let nan = f64::NAN;
    let x = vector(&[3.0, 1.0, 3.0, nan, 2.0, nan]);
    assert_eq!(so::unique_shape(&x.view(), &[], true), Ok(vec![4]));
    let (out, firsts, counts) = (vector(&[0.0; 4]), vector(&[0.0; 4]), vector(&[0.0; 4]));
    let inverse = Tensor::new(DType::I64, &[6], []);
    so::unique(
        &mut out.view_mut(),
        Some(&mut firsts.view_mut()),
        Some(&mut inverse.view_mut()),
        Some(&mut counts.view_mut()),
        &x.view(),
        &[],
        true,
    )
    .unwrap();
    assert_close(&numbers(&out), &[1.0, 2.0, 3.0, nan], 0.0, "");
    assert_eq!(numbers(&firsts), [1.0, 4.0, 0.0, 3.0]);
    assert_eq!(numbers(&inverse), [2.0, 0.0, 2.0, 3.0, 1.0, 3.0]);
    assert_eq!(numbers(&counts), [1.0, 1.0, 2.0, 2.0]);
    // Columns 0 and 2 are equal, and 1 is before them.
    let x = Tensor::new(DType::I32, &[2, 3], [5, 5, 5, 7, 6, 7].map(Number::Integer));
    assert_eq!(so::unique_shape(&x.view(), &[-1], true), Ok(vec![2, 2]));
    assert_eq!(so::unique_shape(&x.view(), &[], true), Ok(vec![3]));
    let out = Tensor::new(DType::I32, &[2, 2], []);
    let inverse = Tensor::new(DType::I64, &[3], []);
    so::unique(&mut out.view_mut(), None, Some(&mut inverse.view_mut()), None, &x.view(), &[1], true)
        .unwrap();
    assert_eq!((numbers(&out), numbers(&inverse)), (vec![5.0, 5.0, 6.0, 7.0], vec![1.0, 0.0, 1.0]));
    assert_eq!(so::unique_consecutive_count(&x.view(), &[1]), Ok(3));
    let x = vector(&[2.0, 2.0, 1.0, 2.0]);
    let (out, counts, inverse) = (vector(&[0.0; 3]), vector(&[0.0; 3]), vector(&[0.0; 4]));
    so::unique_consecutive(
        &mut out.view_mut(),
        Some(&mut inverse.view_mut()),
        Some(&mut counts.view_mut()),
        &x.view(),
        &[],
    )
    .unwrap();
    assert_eq!(numbers(&out), [2.0, 1.0, 2.0]);
    assert_eq!((numbers(&counts), numbers(&inverse)), (vec![2.0, 1.0, 1.0], vec![0.0, 0.0, 1.0, 2.0]));
    let none = Tensor::new(DType::F32, &[0], []);
    assert_eq!(so::unique_shape(&none.view(), &[], true), Ok(vec![0]));
}

#[test]
fn each_nan_is_an_element_of_its_own_on_request() {
    let nan = f64::NAN;
    let x = Tensor::new(DType::F64, &[5], [nan, 1.0, nan, 1.0, 0.0].map(Number::Real));
    assert_eq!(so::unique_shape(&x.view(), &[], false), Ok(vec![4]));
    let [out, inverse, counts] = [4, 5, 4].map(|len| Tensor::new(DType::F64, &[len], []));
    let (inverse_view, counts_view) = (&mut inverse.view_mut(), &mut counts.view_mut());
    so::unique(&mut out.view_mut(), None, Some(inverse_view), Some(counts_view), &x.view(), &[], false)
        .unwrap();
    assert_close(&numbers(&out), &[0.0, 1.0, nan, nan], 0.0, "");
    assert_eq!(numbers(&inverse), [2.0, 1.0, 3.0, 1.0, 0.0]);
    assert_eq!(numbers(&counts), [1.0, 2.0, 1.0, 1.0]);
    let rows = Tensor::new(DType::F64, &[2, 2], [nan, 1.0, nan, 1.0].map(Number::Real));
    assert_eq!(so::unique_shape(&rows.view(), &[0], false), Ok(vec![2, 2]));
    assert_eq!(so::unique_shape(&rows.view(), &[0], true), Ok(vec![1, 2]));
}

#[test]
fn gradient_of_a_median_is_shared_by_equal_elements() {
    let cases: [(&str, &[f64], &[f64]); 4] = [
        ("avg", &[1.0, 2.0, 2.0, 2.0, 3.0], &[0.0, 2.0, 2.0, 2.0, 0.0]),
        ("avg", &[4.0, 1.0, 2.0, 9.0], &[3.0, 0.0, 3.0, 0.0]),
        ("min", &[4.0, 1.0, 2.0, 9.0], &[0.0, 0.0, 6.0, 0.0]),
        ("avg", &[f64::NAN, 1.0, 2.0], &[6.0, 0.0, 0.0]),
    ];
    for (mode, list, wanted) in cases {
        let x = Tensor::new(DType::F64, &[list.len(), 1], list.iter().copied().map(Number::Real));
        let (out, dx) = (Tensor::new(DType::F64, &[1], []), Tensor::new(DType::F64, &x.dims, []));
        let places = Tensor::new(DType::I64, if mode == "avg" { &[1, 2] } else { &[1] }, []);
        so::median(
            &mut out.view_mut(),
            &mut places.view_mut(),
            &x.view(),
            &MedianAttributes { axis: &[0], keep_dim: false, mode, ignore_nan: false },
        )
        .unwrap();
        let dout = Tensor::new(DType::F64, &[1], [Number::Real(6.0)]);
        let (x, median, places, dout) = (x.view(), out.view(), places.view(), dout.view());
        so::median_grad_of_equal(
            &mut dx.view_mut(),
            &x,
            &median,
            &places,
            &dout,
            &MedianGradOfEqualAttributes { axis: &[0], keep_dim: false, mode },
        )
        .unwrap();
        assert_eq!(numbers(&dx), wanted);
    }
}

//! Reductions as frameworks call them, held against loops over indices.

use crate::gradient::{assert_close, empty, numbers, spaced};
use crate::tensor::{REAL, Random, Tensor, is_float};
use tenon_kernels::attributes::{ArgmaxAttributes, ExtremumGradAttributes, PNormAttributes, SumAttributes};
use tenon_kernels::{DType, Error, Number, View, ViewMut, formulas::reduction as f, reduction as r};

/// The value of a list.
type Reference = fn(&[f64]) -> f64;
type Position = fn(&mut ViewMut<'_>, &View<'_>, &ArgmaxAttributes) -> Result<(), Error>;
type WithIndices =
    fn(Option<&mut ViewMut<'_>>, &mut ViewMut<'_>, &View<'_>, &ArgmaxAttributes) -> Result<(), Error>;
type Reduction = fn(&mut ViewMut<'_>, &View<'_>, &SumAttributes<'_>) -> Result<(), Error>;

/// Returns the shape of the output, and for each of its elements those of the input.
fn groups(x: &Tensor, axes: &[usize], keep: bool) -> (Vec<usize>, Vec<Vec<f64>>) {
    let rest: Vec<usize> = (0..x.dims.len()).filter(|axis| !axes.contains(axis)).collect();
    let short: Vec<usize> = rest.iter().map(|&axis| x.dims[axis]).collect();
    let long = (0..x.dims.len()).map(|axis| if axes.contains(&axis) { 1 } else { x.dims[axis] }).collect();
    let mut lists = vec![vec![]; short.iter().product()];
    for index in x.indices() {
        let place = rest.iter().fold(0, |place, &axis| place * x.dims[axis] + index[axis]);
        lists[place].push(x.get(&index).to_f64());
    }
    (if keep { long } else { short }, lists)
}

/// Chooses axes at random: as they are, as numbers from the start or the end, and the flags to keep dimensions and to
/// reduce all.
fn choice(random: &mut Random, rank: usize) -> (Vec<usize>, Vec<i64>, bool, bool) {
    let mut axes: Vec<usize> = (0..rank).filter(|_| random.one_in(2)).collect();
    let all = random.one_in(4);
    let numbers =
        axes.iter().map(|&axis| if random.one_in(2) { axis as i64 - rank as i64 } else { axis as i64 });
    let numbers: Vec<i64> = numbers.collect();
    if all || axes.is_empty() {
        axes = (0..rank).collect();
    }
    (axes, numbers, random.one_in(2), all)
}

fn small_dims(random: &mut Random) -> Vec<usize> {
    (0..random.below(4)).map(|_| 1 + random.below(3)).collect()
}

fn sum_of(list: &[f64], power: i32) -> f64 {
    list.iter().map(|x| x.abs().powi(power)).sum()
}

#[test]
fn reductions_equal_loops() {
    let cases: [(&str, Reduction, Reference); 10] = [
        ("sum", f::sum, |list| list.iter().sum()),
        ("mean", f::mean, |list| list.iter().sum::<f64>() / list.len() as f64),
        ("prod", f::prod, |list| list.iter().product()),
        ("max", f::max, |list| list.iter().fold(f64::MIN, |a, x| a.max(*x))),
        ("min", f::min, |list| list.iter().fold(f64::MAX, |a, x| a.min(*x))),
        ("any", f::any, |list| list.iter().any(|x| *x != 0.0).into()),
        ("all", f::all, |list| list.iter().all(|x| *x != 0.0).into()),
        ("logsumexp", r::logsumexp, |list| list.iter().map(|x| x.exp()).sum::<f64>().ln()),
        ("frobenius_norm", f::frobenius_norm, |list| sum_of(list, 2).sqrt()),
        ("nansum", f::nansum, |list| list.iter().sum()),
    ];
    let mut random = Random(5);
    for case in 0..600 {
        let (name, reduction, reference) = cases[case % cases.len()];
        let dims = small_dims(&mut random);
        let (axes, axis, keep, all) = choice(&mut random, dims.len());
        let dtype = REAL[random.below(REAL.len())];
        let x = empty(&mut random, dtype, &dims);
        x.indices().iter().for_each(|index| x.set(index, Number::Integer(random.below(4) as i64 - 1)));
        let (out_dims, lists) = groups(&x, &axes, keep);
        let to = if is_float(dtype) { dtype } else { DType::I64 };
        let out = empty(&mut random, to, &out_dims);
        let with = SumAttributes { axis: &axis, keep_dim: keep, reduce_all: all };
        let result = reduction(&mut out.view_mut(), &x.view(), &with);
        if !is_float(dtype) && ["mean", "logsumexp", "frobenius_norm"].contains(&name) {
            assert!(matches!(result, Err(Error::Type { .. })), "{name} {result:?}");
            continue;
        }
        result.unwrap();
        let wanted: Vec<f64> = lists.iter().map(|list| reference(list)).collect();
        assert_close(&numbers(&out), &wanted, 1e-2, (name, &dims, &axis, keep, all, dtype));
    }
}

#[test]
fn wrong_shapes_are_errors() {
    let (x, out) = (Tensor::new(DType::F32, &[2, 3], []), Tensor::new(DType::F32, &[2], []));
    let sum = |axis: &[i64], keep, all| {
        f::sum(&mut out.view_mut(), &x.view(), &SumAttributes { axis, keep_dim: keep, reduce_all: all })
    };
    assert_eq!(sum(&[-1], false, false), Ok(()));
    assert_eq!(sum(&[1], true, false), Err(Error::Shape { expected: vec![2, 1], actual: vec![2] }));
    assert_eq!(sum(&[1], false, true), Err(Error::Shape { expected: vec![], actual: vec![2] }));
    assert_eq!(sum(&[2], false, false), Err(Error::Axis { axis: 2, rank: 2 }));
    assert_eq!(sum(&[1, -1], false, false), Err(Error::Axis { axis: 1, rank: 2 }));
}

#[test]
fn gradients_equal_differences() {
    type Gradient = fn([&Tensor; 4], &[i64], bool, bool) -> Result<(), Error>;
    let cases: [(&str, Reduction, Gradient); 8] = [
        ("sum", f::sum, |[dx, _, _, d], a, k, all| {
            r::sum_grad(
                &mut dx.view_mut(),
                &d.view(),
                &SumAttributes { axis: a, keep_dim: k, reduce_all: all },
            )
        }),
        ("mean", f::mean, |[dx, _, _, d], a, k, all| {
            f::mean_grad(
                &mut dx.view_mut(),
                &d.view(),
                &SumAttributes { axis: a, keep_dim: k, reduce_all: all },
            )
        }),
        ("prod", f::prod, |[dx, x, _, d], a, k, all| {
            r::prod_grad(
                &mut dx.view_mut(),
                &x.view(),
                &d.view(),
                &SumAttributes { axis: a, keep_dim: k, reduce_all: all },
            )
        }),
        ("nansum", f::nansum, |[dx, x, _, d], a, k, all| {
            f::nansum_grad(
                &mut dx.view_mut(),
                &x.view(),
                &d.view(),
                &SumAttributes { axis: a, keep_dim: k, reduce_all: all },
            )
        }),
        ("logsumexp", r::logsumexp, |[dx, x, y, d], a, k, all| {
            f::logsumexp_grad(
                &mut dx.view_mut(),
                &x.view(),
                &y.view(),
                &d.view(),
                &SumAttributes { axis: a, keep_dim: k, reduce_all: all },
            )
        }),
        ("frobenius_norm", f::frobenius_norm, |[dx, x, y, d], a, k, all| {
            f::frobenius_norm_grad(
                &mut dx.view_mut(),
                &x.view(),
                &y.view(),
                &d.view(),
                &SumAttributes { axis: a, keep_dim: k, reduce_all: all },
            )
        }),
        ("max", f::max, |[dx, x, y, d], a, k, all| {
            r::extremum_grad(
                &mut dx.view_mut(),
                &x.view(),
                &y.view(),
                &d.view(),
                &ExtremumGradAttributes { axis: a, keep_dim: k, reduce_all: all, evenly: false },
            )
        }),
        ("min", f::min, |[dx, x, y, d], a, k, all| {
            r::extremum_grad(
                &mut dx.view_mut(),
                &x.view(),
                &y.view(),
                &d.view(),
                &ExtremumGradAttributes { axis: a, keep_dim: k, reduce_all: all, evenly: true },
            )
        }),
    ];
    let mut random = Random(6);
    for case in 0..90 {
        let (name, reduction, gradient) = &cases[case % cases.len()];
        let dims = small_dims(&mut random);
        let (axes, axis, keep, all) = choice(&mut random, dims.len());
        let x = spaced(&mut random, &dims);
        let out_dims = groups(&x, &axes, keep).0;
        let forward = || {
            let out = Tensor::new(DType::F64, &out_dims, []);
            let with = SumAttributes { axis: &axis, keep_dim: keep, reduce_all: all };
            reduction(&mut out.view_mut(), &x.view(), &with).unwrap();
            out
        };
        crate::gradient::check(
            &mut random,
            &x,
            forward,
            |dx, out, dout| gradient([dx, &x, out, dout], &axis, keep, all).unwrap(),
            (name, &dims, &axis, keep, all),
        );
    }
}

#[test]
fn equal_extrema_share_the_gradient_or_have_it_each() {
    let x = Tensor::new(DType::F32, &[4], [1.0, 3.0, 3.0, 2.0].map(Number::Real));
    let (out, dout) = (
        Tensor::new(DType::F32, &[], [Number::Real(3.0)]),
        Tensor::new(DType::F32, &[], [Number::Real(5.0)]),
    );
    for (evenly, share) in [(true, 2.5), (false, 5.0)] {
        let dx = Tensor::new(DType::F32, &[4], []);
        r::extremum_grad(
            &mut dx.view_mut(),
            &x.view(),
            &out.view(),
            &dout.view(),
            &ExtremumGradAttributes { axis: &[0], keep_dim: false, reduce_all: false, evenly },
        )
        .unwrap();
        assert_eq!(numbers(&dx), [0.0, share, share, 0.0]);
    }
}

#[test]
fn products_with_zeros_have_gradients() {
    for (values, wanted) in [([0.0, 3.0, 2.0], [6.0, 0.0, 0.0]), ([0.0, 0.0, 2.0], [0.0; 3])] {
        let (x, dx) =
            (Tensor::new(DType::F32, &[3], values.map(Number::Real)), Tensor::new(DType::F32, &[3], []));
        let dout = Tensor::new(DType::F32, &[], [Number::Real(1.0)]);
        r::prod_grad(
            &mut dx.view_mut(),
            &x.view(),
            &dout.view(),
            &SumAttributes { axis: &[], keep_dim: false, reduce_all: false },
        )
        .unwrap();
        assert_eq!(numbers(&dx), wanted);
    }
}

#[test]
fn norms_of_any_order_equal_their_formula() {
    let mut random = Random(8);
    for order in [0.0, 1.0, 2.0, 3.0, 0.5, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
        for (axis, all, keep) in [(0, false, false), (-1, false, true), (0, true, false)] {
            let x = spaced(&mut random, &[3, 4]);
            let axes: Vec<usize> = if all { vec![0, 1] } else { vec![if axis == 0 { 0 } else { 1 }] };
            let (dims, lists) = groups(&x, &axes, keep);
            let forward = || {
                let out = Tensor::new(DType::F64, &dims, []);
                r::p_norm(
                    &mut out.view_mut(),
                    &x.view(),
                    &PNormAttributes { porder: order, axis, keep_dim: keep, asvector: all },
                )
                .unwrap();
                out
            };
            let reference = |list: &Vec<f64>| -> f64 {
                let sizes = list.iter().map(|x| x.abs());
                match order {
                    0.0 => list.len() as f64,
                    f64::INFINITY => sizes.fold(0.0, f64::max),
                    f64::NEG_INFINITY => sizes.fold(f64::MAX, f64::min),
                    _ => sizes.map(|x| x.powf(order)).sum::<f64>().powf(order.recip()),
                }
            };
            assert_close(
                &numbers(&forward()),
                &lists.iter().map(reference).collect::<Vec<_>>(),
                1e-12,
                order,
            );
            crate::gradient::check(
                &mut random,
                &x,
                forward,
                |dx, out, dout| {
                    let inputs = [&x.view(), &out.view(), &dout.view()];
                    r::p_norm_grad(
                        &mut dx.view_mut(),
                        inputs[0],
                        inputs[1],
                        inputs[2],
                        &PNormAttributes { porder: order, axis, keep_dim: keep, asvector: all },
                    )
                    .unwrap();
                },
                (order, axis),
            );
        }
    }
}

#[test]
fn sums_over_everything_equal_loops() {
    type One = fn(&mut ViewMut<'_>, &View<'_>) -> Result<(), Error>;
    type Gradient = fn(&Tensor, &Tensor, &Tensor) -> Result<(), Error>;
    let cases: [(One, Reference, Gradient); 3] = [
        (
            f::mean_all,
            |x| x.iter().sum::<f64>() / x.len() as f64,
            |dx, _, d| f::mean_all_grad(&mut dx.view_mut(), &d.view()),
        ),
        (
            f::squared_l2_norm,
            |x| sum_of(x, 2),
            |dx, x, d| f::squared_l2_norm_grad(&mut dx.view_mut(), &x.view(), &d.view()),
        ),
        (f::l1_norm, |x| sum_of(x, 1), |dx, x, d| f::l1_norm_grad(&mut dx.view_mut(), &x.view(), &d.view())),
    ];
    let mut random = Random(9);
    for (function, reference, grad) in cases {
        for out_dims in [&[][..], &[1]] {
            let x = spaced(&mut random, &[2, 5]);
            let forward = || {
                let out = Tensor::new(DType::F64, out_dims, []);
                function(&mut out.view_mut(), &x.view()).unwrap();
                out
            };
            assert_close(&numbers(&forward()), &[reference(&numbers(&x))], 1e-12, "");
            crate::gradient::check(&mut random, &x, forward, |dx, _, dout| grad(dx, &x, dout).unwrap(), "");
        }
    }
}

#[test]
fn positions_are_those_of_the_first_extremum() {
    let mut random = Random(10);
    for case in 0..200 {
        let dims: Vec<usize> = small_dims(&mut random).into_iter().chain([3]).collect();
        let dtype = REAL[random.below(REAL.len())];
        let x = empty(&mut random, dtype, &dims);
        x.indices().iter().for_each(|index| x.set(index, Number::Integer(random.below(3) as i64)));
        let (flatten, keep, axis) = (random.one_in(3), random.one_in(2), random.below(dims.len()));
        let axes = if flatten { (0..dims.len()).collect() } else { vec![axis] };
        let (out_dims, lists) = groups(&x, &axes, keep);
        let out = empty(&mut random, [DType::I64, DType::I32][case % 2], &out_dims);
        let (function, best): (Position, fn(f64, f64) -> bool) =
            if case % 4 < 2 { (r::argmax, |a, b| a > b) } else { (r::argmin, |a, b| a < b) };
        let axis = axis as i64 - dims.len() as i64;
        let with = ArgmaxAttributes { axis, keep_dim: keep, flatten };
        function(&mut out.view_mut(), &x.view(), &with).unwrap();
        let first = |list: &Vec<f64>| {
            (0..list.len()).find(|&n| !list.iter().any(|&other| best(other, list[n]))).unwrap() as f64
        };
        assert_close(&numbers(&out), &lists.iter().map(first).collect::<Vec<_>>(), 0.0, (&dims, dtype));
    }
    let x = Tensor::new(DType::F32, &[4], [f64::NAN, 1.0, 3.0, f64::NAN].map(Number::Real));
    let out = Tensor::new(DType::I64, &[], []);
    r::argmax(&mut out.view_mut(), &x.view(), &ArgmaxAttributes { axis: 0, keep_dim: false, flatten: false })
        .unwrap();
    assert_eq!(numbers(&out), [2.0]);
    r::argmin(&mut out.view_mut(), &x.view(), &ArgmaxAttributes { axis: 0, keep_dim: false, flatten: false })
        .unwrap();
    assert_eq!(numbers(&out), [1.0]);
    let none = Tensor::new(DType::F32, &[0], []);
    assert_eq!(
        r::argmax(
            &mut out.view_mut(),
            &none.view(),
            &ArgmaxAttributes { axis: 0, keep_dim: false, flatten: false }
        ),
        Err(Error::Empty)
    );
}

#[test]
fn extrema_of_long_rows_are_found() {
    type Choice = fn(f64, f64) -> bool;
    let mut random = Random(11);
    let finders: [(WithIndices, Choice); 4] = [
        (
            |_, places, x, with| r::argmax(places, x, with),
            |new, best| new > best || (best.is_nan() && !new.is_nan()),
        ),
        (
            |_, places, x, with| r::argmin(places, x, with),
            |new, best| new < best || (best.is_nan() && !new.is_nan()),
        ),
        (r::max_with_indices, |new, best| new > best || (new.is_nan() && !best.is_nan())),
        (r::min_with_indices, |new, best| new < best || (new.is_nan() && !best.is_nan())),
    ];
    for len in [1, 63, 64, 65, 200, 257] {
        for dtype in [DType::F32, DType::F64, DType::I64, DType::Bf16] {
            // One in so many elements is NaN, or all are.
            for gaps in [1, 50, usize::MAX] {
                let x = empty(&mut random, dtype, &[3, len]);
                for index in x.indices() {
                    let is_nan = is_float(dtype) && random.one_in(gaps);
                    let number = random.below(len) as f64 / 2.0 - 20.0;
                    x.set(&index, Number::Real(if is_nan { f64::NAN } else { number }));
                }
                for (find, is_better) in finders {
                    let places = Tensor::new(DType::I64, &[3], []);
                    find(
                        None,
                        &mut places.view_mut(),
                        &x.view(),
                        &ArgmaxAttributes { axis: 1, ..Default::default() },
                    )
                    .unwrap();
                    for row in 0..3 {
                        let value = |n: usize| x.get(&[row, n]).to_f64();
                        let best = (1..len)
                            .fold(0, |best, n| if is_better(value(n), value(best)) { n } else { best });
                        assert_eq!(
                            places.get(&[row]),
                            Number::Integer(best as i64),
                            "{dtype:?} {len} {gaps}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn extrema_with_indices_prefer_nan_and_the_first_of_equal_elements() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let last = ArgmaxAttributes::default();
    let rows = [1.0, 3.0, 3.0, inf, nan, nan, -2.0, 5.0, -2.0];
    let x = Tensor::new(DType::F32, &[3, 3], rows.map(Number::Real));
    for (find, values, places) in [
        (r::max_with_indices as WithIndices, [3.0, nan, 5.0], [1.0, 1.0, 1.0]),
        (r::min_with_indices, [1.0, nan, -2.0], [0.0, 1.0, 0.0]),
    ] {
        let (out, indices) = (Tensor::new(DType::F32, &[3, 1], []), Tensor::new(DType::I32, &[3, 1], []));
        let kept = ArgmaxAttributes { keep_dim: true, ..last };
        find(Some(&mut out.view_mut()), &mut indices.view_mut(), &x.view(), &kept).unwrap();
        assert_close(&numbers(&out), &values, 0.0, "elements");
        assert_eq!(numbers(&indices), places);
        let place = Tensor::new(DType::I64, &[], []);
        find(None, &mut place.view_mut(), &x.view(), &ArgmaxAttributes { flatten: true, ..last }).unwrap();
        assert_eq!(numbers(&place), [4.0]);
        let none = Tensor::new(DType::F32, &[0], []);
        assert_eq!(find(None, &mut place.view_mut(), &none.view(), &last), Err(Error::Empty));
    }
}

#[test]
fn special_values_are_those_of_scipy() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (list, wanted) in
        [([-inf, -inf], -inf), ([inf, 1.0], inf), ([nan, 1.0], nan), ([1e4, 1e4], 1e4 + 2f64.ln())]
    {
        let (x, out) =
            (Tensor::new(DType::F64, &[2], list.map(Number::Real)), Tensor::new(DType::F64, &[], []));
        r::logsumexp(
            &mut out.view_mut(),
            &x.view(),
            &SumAttributes { axis: &[], keep_dim: false, reduce_all: false },
        )
        .unwrap();
        assert_close(&numbers(&out), &[wanted], 1e-12, list);
    }
    let (x, out) =
        (Tensor::new(DType::F64, &[2], [nan, 2.0].map(Number::Real)), Tensor::new(DType::F64, &[], []));
    f::nansum(
        &mut out.view_mut(),
        &x.view(),
        &SumAttributes { axis: &[], keep_dim: false, reduce_all: false },
    )
    .unwrap();
    assert_eq!(numbers(&out), [2.0]);
}

#[test]
fn clipped_and_reduced_tensors_are_written() {
    let x = Tensor::new(DType::F32, &[2, 1], [3.0, 4.0].map(Number::Real));
    for (limit, wanted) in [(2.5, [1.5, 2.0]), (6.0, [3.0, 4.0])] {
        let out = Tensor::new(DType::F32, &[2, 1], []);
        r::clip_by_norm(&mut out.view_mut(), &x.view(), limit).unwrap();
        assert_close(&numbers(&out), &wanted, 1e-6, limit);
    }
    let (narrow, wide) = (Tensor::new(DType::F32, &[1], []), Tensor::new(DType::F32, &[2, 1], []));
    r::sum_to(&mut narrow.view_mut(), &x.view()).unwrap();
    r::reduce_as_grad(&mut wide.view_mut(), &narrow.view()).unwrap();
    assert_eq!(numbers(&wide), [7.0, 7.0]);
}

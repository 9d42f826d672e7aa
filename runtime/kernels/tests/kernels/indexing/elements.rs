//! Elements by their indices, held against loops.

use crate::gradient::{empty, numbers};
use crate::tensor::{Random, Tensor};
use tenon_kernels::{DType, Error, Number, View, ViewMut, indexing as ix};

const TYPES: [DType; 6] = [DType::Bool, DType::I16, DType::I64, DType::Bf16, DType::F32, DType::F64];

/// Indices in any layout, some of them negative.
fn indices(random: &mut Random, dims: &[usize], len: usize) -> Tensor {
    let dtype = [DType::I32, DType::I64][random.below(2)];
    let tensor = empty(random, dtype, dims);
    for index in tensor.indices() {
        let value = random.below(len) as i64 - if random.one_in(3) { len as i64 } else { 0 };
        tensor.set(&index, Number::Integer(value));
    }
    tensor
}

fn at(index: &Tensor, place: &[usize], len: usize) -> usize {
    index.get(place).to_i64().rem_euclid(len as i64) as usize
}

fn filled(random: &mut Random, dtype: DType, dims: &[usize]) -> Tensor {
    let tensor = empty(random, dtype, dims);
    tensor.indices().iter().for_each(|index| tensor.set(index, Number::Integer(random.below(9) as i64)));
    tensor
}

/// Checks a choice of elements for some types, and that the gradient adds up where they come from.
fn check_take(
    random: &mut Random,
    x_dims: &[usize],
    out_dims: &[usize],
    from: &dyn Fn(&[usize]) -> Vec<usize>,
    take: &dyn Fn(&mut ViewMut<'_>, &View<'_>) -> Result<(), Error>,
    back: &dyn Fn(&mut ViewMut<'_>, &View<'_>) -> Result<(), Error>,
) {
    for dtype in TYPES {
        let (x, out) = (filled(random, dtype, x_dims), empty(random, dtype, out_dims));
        take(&mut out.view_mut(), &x.view()).unwrap();
        out.indices().iter().for_each(|index| assert_eq!(out.get(index), x.get(&from(index)), "{index:?}"));
    }
    let (dx, dout) = (empty(random, DType::F32, x_dims), filled(random, DType::F32, out_dims));
    back(&mut dx.view_mut(), &dout.view()).unwrap();
    let wanted = Tensor::new(DType::F32, x_dims, []);
    for index in dout.indices() {
        let place = from(&index);
        wanted.set(&place, Number::Real(wanted.get(&place).to_f64() + dout.get(&index).to_f64()));
    }
    assert_eq!(dx.values(), wanted.values());
}

#[test]
fn parts_along_a_dimension_are_gathered() {
    let mut random = Random(1);
    for (axis, index_dims) in [(0, &[5][..]), (1, &[2, 2]), (2, &[]), (-2, &[4]), (0, &[0])] {
        let dims = [3, 4, 2];
        let place = (axis + 3) as usize % 3;
        let index = indices(&mut random, index_dims, dims[place]);
        let out_dims = [&dims[..place], index_dims, &dims[place + 1..]].concat();
        let from = |out: &[usize]| {
            let behind = place + index_dims.len();
            let own = at(&index, &out[place..behind], dims[place]);
            [&out[..place], &[own], &out[behind..]].concat()
        };
        check_take(
            &mut random,
            &dims,
            &out_dims,
            &from,
            &|out, x| ix::gather(out, x, &index.view(), axis),
            &|dx, dout| ix::gather_grad(dx, &index.view(), dout, axis),
        );
    }
    let (x, out) = (Tensor::new(DType::F32, &[3], []), Tensor::new(DType::F32, &[1], []));
    for index in [3, -4] {
        let view = Tensor::new(DType::I64, &[1], [Number::Integer(index)]);
        let refused = ix::index_select(&mut out.view_mut(), &x.view(), &view.view(), 0);
        assert_eq!(refused, Err(Error::Index { index, len: 3 }));
        assert_eq!(ix::index_select_grad(&mut x.view_mut(), &view.view(), &out.view(), 0), refused);
    }
    let refused = ix::gather(&mut out.view_mut(), &x.view(), &x.view(), 0);
    assert_eq!(refused, Err(Error::Type { dtype: DType::F32 }));
}

#[test]
fn parts_at_points_are_gathered() {
    let mut random = Random(2);
    for count in 0..4 {
        let dims = [3, 4, 2];
        let index = empty(&mut random, DType::I64, &[2, 3, count]);
        for place in index.indices() {
            index.set(&place, Number::Integer(random.below(dims[place[2]]) as i64));
        }
        let from = |out: &[usize]| {
            let own = (0..count).map(|n| at(&index, &[out[0], out[1], n], dims[n]));
            own.chain(out[2..].iter().copied()).collect()
        };
        check_take(
            &mut random,
            &dims,
            &[&[2, 3], &dims[count..]].concat(),
            &from,
            &|out, x| ix::gather_nd(out, x, &index.view()),
            &|dx, dout| ix::gather_nd_grad(dx, &index.view(), dout),
        );
    }
    let index = indices(&mut random, &[3, 5], 4);
    let from = |out: &[usize]| vec![out[0], at(&index, out, 4)];
    check_take(
        &mut random,
        &[3, 4],
        &[3, 5],
        &from,
        &|out, x| ix::index_sample(out, x, &index.view()),
        &|dx, dout| ix::index_sample_grad(dx, &index.view(), dout),
    );
    let index = indices(&mut random, &[2, 5, 2], 4);
    let from = |out: &[usize]| vec![out[0], at(&index, out, 4), out[2]];
    check_take(
        &mut random,
        &[3, 4, 2],
        &[2, 5, 2],
        &from,
        &|out, x| ix::take_along_axis(out, x, &index.view(), -2),
        &|dx, dout| ix::take_along_axis_grad(dx, &index.view(), dout, 1),
    );
}

#[test]
fn elements_are_taken_along_each_dimension() {
    let mut random = Random(6);
    for (axis, index_dims) in [(0, &[5, 70, 2][..]), (1, &[3, 90, 1]), (2, &[3, 33, 70]), (2, &[1, 1, 0])] {
        let dims = [3, 70, 2];
        let index = indices(&mut random, index_dims, dims[axis]);
        let from = |out: &[usize]| {
            let mut place = out.to_vec();
            place[axis] = at(&index, out, dims[axis]);
            place
        };
        check_take(
            &mut random,
            &dims,
            index_dims,
            &from,
            &|out, x| ix::take_along_axis(out, x, &index.view(), axis as i64),
            &|dx, dout| ix::take_along_axis_grad(dx, &index.view(), dout, axis as i64),
        );
    }
}

#[test]
fn elements_may_replace_their_indices() {
    let order = Tensor::new(DType::I64, &[2, 3], [2, 0, -2, 1, 1, 0].map(Number::Integer));
    let x = Tensor::new(DType::I64, &[2, 3], [10, 11, 12, 20, 21, 22].map(Number::Integer));
    ix::take_along_axis(&mut order.view_mut(), &x.view(), &order.view(), 1).unwrap();
    assert_eq!(numbers(&order), [12.0, 10.0, 11.0, 21.0, 21.0, 20.0]);
}

#[test]
fn indices_out_of_range_take_nothing() {
    let x = Tensor::new(DType::F32, &[2, 100], []);
    for (wrong, axis) in [(100, 1), (-101, 1), (2, 0), (-3, 0), (i64::MAX, 1), (i64::MIN, 1)] {
        let index = Tensor::new(DType::I64, &[2, 100], []);
        index.set(&[1, 77], Number::Integer(wrong));
        let out = Tensor::new(DType::F32, &[2, 100], [Number::Real(7.0)]);
        let len = [2, 100][axis as usize];
        let refused = ix::take_along_axis(&mut out.view_mut(), &x.view(), &index.view(), axis);
        assert_eq!(refused, Err(Error::Index { index: wrong, len }));
        assert_eq!(out.get(&[0, 0]), Number::Real(7.0));
    }
    let out = Tensor::new(DType::F32, &[2, 100], []);
    let refused = ix::take_along_axis(&mut out.view_mut(), &x.view(), &x.view(), 1);
    assert_eq!(refused, Err(Error::Type { dtype: DType::F32 }));
}

#[test]
fn updates_replace_or_are_added() {
    let mut random = Random(3);
    for dtype in [DType::I32, DType::F32, DType::F16] {
        let (x, updates) = (filled(&mut random, dtype, &[4, 2]), filled(&mut random, dtype, &[5, 2]));
        let index = indices(&mut random, &[5], 4);
        let out = empty(&mut random, dtype, &[4, 2]);
        for overwrite in [true, false] {
            ix::scatter(&mut out.view_mut(), &x.view(), &index.view(), &updates.view(), overwrite).unwrap();
            for place in out.indices() {
                let own: Vec<f64> = (0..5)
                    .filter(|&n| at(&index, &[n], 4) == place[0])
                    .map(|n| updates.get(&[n, place[1]]).to_f64())
                    .collect();
                let wanted = match own.last() {
                    None => x.get(&place).to_f64(),
                    Some(last) => {
                        if overwrite {
                            *last
                        } else {
                            own.iter().sum()
                        }
                    }
                };
                assert_eq!(out.get(&place).to_f64(), wanted, "{place:?} {overwrite}");
            }
        }
        let sum = |axis: usize, list: &Tensor, place: &[usize]| -> f64 {
            let mut from = place.to_vec();
            let own = (0..list.dims[axis]).filter(|&n| at(&index, &[n], x.dims[axis]) == place[axis]);
            let own: Vec<usize> = own.collect();
            own.into_iter()
                .map(|n| {
                    from[axis] = n;
                    list.get(&from).to_f64()
                })
                .sum()
        };
        ix::index_add(&mut out.view_mut(), &x.view(), &index.view(), &updates.view(), 0).unwrap();
        for place in out.indices() {
            assert_eq!(out.get(&place).to_f64(), x.get(&place).to_f64() + sum(0, &updates, &place));
        }
        let points = Tensor::new(index.dtype, &[5, 1], index.values());
        let added = empty(&mut random, dtype, &[4, 2]);
        ix::scatter_nd_add(&mut added.view_mut(), &x.view(), &points.view(), &updates.view()).unwrap();
        assert_eq!(added.values(), out.values());
    }
    // In place.
    let x = filled(&mut random, DType::F32, &[4]);
    let (before, index) = (x.detached(), Tensor::new(DType::I64, &[2], [3, -3].map(Number::Integer)));
    let updates = Tensor::new(DType::F32, &[2], [50.0, 60.0].map(Number::Real));
    ix::scatter(&mut x.view_mut(), &x.view(), &index.view(), &updates.view(), true).unwrap();
    assert_eq!(numbers(&x), [before.get(&[0]).to_f64(), 60.0, before.get(&[2]).to_f64(), 50.0]);
}

#[test]
fn gradients_of_updates_are_those_of_paddle() {
    let dout = Tensor::new(DType::F32, &[3], [1.0, 2.0, 3.0].map(Number::Real));
    let index = Tensor::new(DType::I64, &[2], [1, 1].map(Number::Integer));
    let points = Tensor::new(DType::I64, &[2, 1], [1, 1].map(Number::Integer));
    let (dx, du) = (Tensor::new(DType::F32, &[3], []), Tensor::new(DType::F32, &[2], []));
    ix::scatter_grad(Some(&mut dx.view_mut()), Some(&mut du.view_mut()), &index.view(), &dout.view())
        .unwrap();
    assert_eq!((numbers(&dx), numbers(&du)), (vec![1.0, 0.0, 3.0], vec![2.0, 2.0]));
    for added in [true, false] {
        let (dx, du) = (Tensor::new(DType::F32, &[3], []), Tensor::new(DType::F32, &[2], []));
        let (mut dx_view, mut du_view) = (dx.view_mut(), du.view_mut());
        if added {
            ix::index_add_grad(Some(&mut dx_view), Some(&mut du_view), &index.view(), &dout.view(), 0)
        } else {
            ix::scatter_nd_add_grad(Some(&mut dx_view), Some(&mut du_view), &points.view(), &dout.view())
        }
        .unwrap();
        assert_eq!((numbers(&dx), numbers(&du)), (vec![1.0, 2.0, 3.0], vec![2.0, 2.0]));
    }
    // On top of the gradient.
    let copy = dout.detached();
    ix::scatter_grad(Some(&mut copy.view_mut()), Some(&mut du.view_mut()), &index.view(), &copy.view())
        .unwrap();
    assert_eq!((numbers(&copy), numbers(&du)), (vec![1.0, 0.0, 3.0], vec![2.0, 2.0]));
}

#[test]
fn lists_of_indices_put_values() {
    let mut random = Random(4);
    let x = filled(&mut random, DType::F32, &[3, 4, 2]);
    let (rows, columns) = (indices(&mut random, &[2, 1], 3), indices(&mut random, &[3], 4));
    let value = filled(&mut random, DType::F32, &[3, 1]);
    for accumulate in [false, true] {
        let out = empty(&mut random, DType::F32, &[3, 4, 2]);
        ix::index_put(
            &mut out.view_mut(),
            &x.view(),
            &[rows.view(), columns.view()],
            &value.view(),
            accumulate,
        )
        .unwrap();
        let wanted = x.detached();
        let dout = filled(&mut random, DType::F32, &[3, 4, 2]);
        let (wanted_dx, wanted_dv) = (dout.detached(), Tensor::new(DType::F32, &[3, 1], []));
        for (a, b, c) in (0..12).map(|n| (n / 6, n / 2 % 3, n % 2)) {
            let place = [at(&rows, &[a, 0], 3), at(&columns, &[b], 4), c];
            let new =
                value.get(&[b, 0]).to_f64() + if accumulate { wanted.get(&place).to_f64() } else { 0.0 };
            wanted.set(&place, Number::Real(new));
            let sum = wanted_dv.get(&[b, 0]).to_f64() + dout.get(&place).to_f64();
            wanted_dv.set(&[b, 0], Number::Real(sum));
            if !accumulate {
                wanted_dx.set(&place, Number::Real(0.0));
            }
        }
        assert_eq!(out.values(), wanted.values());
        let (dx, dv) = (empty(&mut random, DType::F32, &[3, 4, 2]), empty(&mut random, DType::F32, &[3, 1]));
        ix::index_put_grad(
            Some(&mut dx.view_mut()),
            Some(&mut dv.view_mut()),
            &[rows.view(), columns.view()],
            &dout.view(),
            accumulate,
        )
        .unwrap();
        assert_eq!((dx.values(), dv.values()), (wanted_dx.values(), wanted_dv.values()));
    }
    // A mask stands for the indices of its true elements.
    let mask = Tensor::new(DType::Bool, &[3, 4], [0, 1, 0, 0, 1, 1].map(Number::Integer));
    let (out, nine) =
        (empty(&mut random, DType::F32, &[3, 4, 2]), Tensor::new(DType::F32, &[], [Number::Real(9.0)]));
    ix::index_put(&mut out.view_mut(), &x.view(), &[mask.view()], &nine.view(), false).unwrap();
    for place in out.indices() {
        let wanted = if mask.get(&place[..2]).to_bool() { Number::Real(9.0) } else { x.get(&place) };
        assert_eq!(out.get(&place), wanted);
    }
    let wrong = Tensor::new(DType::Bool, &[4], []);
    let refused = ix::index_put(&mut out.view_mut(), &x.view(), &[wrong.view()], &nine.view(), false);
    assert!(matches!(refused, Err(Error::Shape { .. })));
}

#[test]
fn one_hot_vectors_have_a_one() {
    let x = Tensor::new(DType::I64, &[2], [2, 0].map(Number::Integer));
    let out = Tensor::new(DType::F32, &[2, 3], []);
    ix::one_hot(&mut out.view_mut(), &x.view()).unwrap();
    assert_eq!(numbers(&out), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    x.set(&[0], Number::Integer(-1));
    assert_eq!(ix::one_hot(&mut out.view_mut(), &x.view()), Err(Error::Index { index: -1, len: 3 }));
}

//! Operators that move elements, held against the index that each element comes from.

use tenon_kernels::attributes::{
    Pad3dAttributes, Pad3dGradAttributes, SetValueGradAttributes, SliceAttributes, StridedSliceAttributes,
};
use tenon_kernels::{DType, Error, Number, View, ViewMut, shape as s};

use crate::tensor::{REAL, Random, Tensor, memory};

/// The index inside of a dimension that an index around it means.
type Inner = fn(i64, i64) -> Option<i64>;
type Forward<'a> = &'a dyn Fn(&mut ViewMut<'_>, &View<'_>) -> Result<(), Error>;

fn filled(
    random: &mut Random,
    shared: Option<&crate::tensor::Memory>,
    dtype: DType,
    dims: &[usize],
) -> Tensor {
    let strides = random.strides(dims);
    let tensor = random.tensor(shared, dtype, dims, strides);
    tensor.indices().iter().for_each(|index| tensor.set(index, Number::Integer(random.below(50) as i64)));
    tensor
}

/// Checks where elements come from, of any type and layout, also when the output lies upon the input; and that the gradient
/// goes back there.
fn check(
    x_dims: &[usize],
    out_dims: &[usize],
    from: &dyn Fn(&[usize]) -> Option<Vec<usize>>,
    missing: f64,
    forward: Forward<'_>,
    backward: Option<Forward<'_>>,
) {
    let mut random = Random(x_dims.iter().sum::<usize>() as u64);
    for _ in 0..6 {
        let dtype = REAL[random.below(REAL.len())];
        let shared = random.one_in(2).then(|| memory(1 << 14));
        let x = filled(&mut random, shared.as_ref(), dtype, x_dims);
        let strides = random.strides(out_dims);
        let out = random.tensor(shared.as_ref(), dtype, out_dims, strides);
        let before = x.detached();
        forward(&mut out.view_mut(), &x.view()).unwrap();
        for index in out.indices() {
            let wanted = from(&index).map_or(Number::Real(missing), |place| before.get(&place));
            let wanted = Tensor::new(dtype, &[], [wanted]).get(&[]);
            assert_eq!(out.get(&index), wanted, "{dtype:?} {x_dims:?} {index:?}");
        }
        let Some(backward) = backward else { continue };
        let dout = filled(&mut random, shared.as_ref(), DType::F32, out_dims);
        let before = dout.detached();
        let strides = random.strides(x_dims);
        let dx = random.tensor(shared.as_ref(), DType::F32, x_dims, strides);
        backward(&mut dx.view_mut(), &dout.view()).unwrap();
        let wanted = Tensor::new(DType::F32, x_dims, []);
        for index in before.indices() {
            if let Some(place) = from(&index) {
                let sum = wanted.get(&place).to_f64() + before.get(&index).to_f64();
                wanted.set(&place, Number::Real(sum));
            }
        }
        assert_eq!(dx.values(), wanted.values(), "gradient of {x_dims:?} to {out_dims:?}");
    }
}

#[test]
fn joined_tensors_are_cut_again() {
    let mut random = Random(1);
    for (axis, dims) in [(0, [[2, 3], [0, 3], [4, 3]]), (1, [[3, 1], [3, 2], [3, 3]])] {
        for dtype in [DType::Bool, DType::I16, DType::F32, DType::I64] {
            let shared = memory(1 << 14);
            let xs = dims.map(|dims| filled(&mut random, Some(&shared), dtype, &dims));
            let mut whole = dims[0];
            whole[axis] = dims.iter().map(|dims| dims[axis]).sum();
            let strides = random.strides(&whole);
            let out = random.tensor(Some(&shared), dtype, &whole, strides);
            let before = xs.each_ref().map(Tensor::detached);
            let views: Vec<View<'_>> = xs.iter().map(Tensor::view).collect();
            s::concat(&mut out.view_mut(), &views, axis as i64 - 2).unwrap();
            let mut start = 0;
            for x in &before {
                for mut index in x.indices() {
                    let own = x.get(&index);
                    index[axis] += start;
                    assert_eq!(out.get(&index), own);
                }
                start += x.dims[axis];
            }
            let parts: Vec<Tensor> = dims.iter().map(|dims| Tensor::new(dtype, dims, [])).collect();
            let mut outs: Vec<Option<ViewMut<'_>>> = parts.iter().map(|part| Some(part.view_mut())).collect();
            s::split(&mut outs, &out.view(), axis as i64).unwrap();
            parts.iter().zip(&before).for_each(|(part, x)| assert_eq!(part.values(), x.values()));
            let short = &mut outs[..2];
            assert!(matches!(s::concat_grad(short, &out.view(), axis as i64), Err(Error::Shape { .. })));
        }
    }
    for axis in [0, 1, 2, -1] {
        let xs = [0, 1].map(|_| filled(&mut random, None, DType::F64, &[2, 3]));
        let place = if axis < 0 { 2 } else { axis as usize };
        let mut dims = vec![2, 3];
        dims.insert(place, 2);
        let out = Tensor::new(DType::F64, &dims, []);
        s::stack(&mut out.view_mut(), &xs.each_ref().map(Tensor::view), axis).unwrap();
        let parts = [0, 1].map(|_| Tensor::new(DType::F64, &[2, 3], []));
        s::unstack(&mut parts.each_ref().map(|part| Some(part.view_mut())), &out.view(), axis).unwrap();
        for (n, x) in xs.iter().enumerate() {
            for index in x.indices() {
                let mut longer = index.clone();
                longer.insert(place, n);
                assert_eq!((out.get(&longer), parts[n].get(&index)), (x.get(&index), x.get(&index)));
            }
        }
        s::stack_grad(&mut parts.each_ref().map(|part| Some(part.view_mut())), &out.view(), axis).unwrap();
        assert_eq!(parts[1].values(), xs[1].values());
    }
}

#[test]
fn grids_repeat_vectors() {
    let mut random = Random(2);
    let lens = [2, 3, 4];
    let xs = lens.map(|len| filled(&mut random, None, DType::F32, &[len]));
    let outs = lens.map(|_| filled(&mut random, None, DType::F32, &lens));
    s::meshgrid(&mut outs.each_ref().map(|out| Some(out.view_mut())), &xs.each_ref().map(Tensor::view))
        .unwrap();
    let sums = lens.map(|len| Tensor::new(DType::F32, &[len], []));
    s::meshgrid_grad(
        &mut sums.each_ref().map(|sum| Some(sum.view_mut())),
        &outs.each_ref().map(Tensor::view),
    )
    .unwrap();
    for n in 0..3 {
        for index in outs[n].indices() {
            assert_eq!(outs[n].get(&index), xs[n].get(&index[n..=n]));
        }
        let times = 24.0 / lens[n] as f64;
        for at in 0..lens[n] {
            assert_eq!(sums[n].get(&[at]).to_f64(), xs[n].get(&[at]).to_f64() * times);
        }
    }
}

#[test]
fn repeated_tensors_come_from_fewer_elements() {
    let last = |index: &[usize]| Some(vec![0, index[2]]);
    check(&[1, 4], &[2, 3, 4], &last, 0.0, &|out, x| s::expand(out, x), Some(&|dx, d| s::expand_grad(dx, d)));
    for repeats in [&[2, 1, 3][..], &[3], &[0, 2], &[]] {
        let rank = repeats.len().max(2);
        let x_dims: Vec<usize> = [vec![1; rank - 2], vec![2, 3]].concat();
        let padded = [vec![1; rank - repeats.len()], repeats.to_vec()].concat();
        let dims: Vec<usize> = x_dims.iter().zip(&padded).map(|(dim, times)| dim * *times as usize).collect();
        let from = |index: &[usize]| {
            Some(index[rank - 2..].iter().zip([2, 3]).map(|(index, dim)| index % dim).collect())
        };
        let (run, back): (Forward<'_>, Forward<'_>) =
            (&|out, x| s::tile(out, x, repeats), &|dx, dout| s::tile_grad(dx, dout, repeats));
        check(&[2, 3], &dims, &from, 0.0, run, Some(back));
    }
    for (counts, map) in [(vec![2, 0, 3], vec![0, 0, 2, 2, 2]), (vec![2], vec![0, 0, 1, 1, 2, 2])] {
        let repeats = Tensor::new(DType::I32, &[counts.len()], counts.into_iter().map(Number::Integer));
        let from = |index: &[usize]| Some(vec![index[0], map[index[1]], index[2]]);
        let (run, back): (Forward<'_>, Forward<'_>) =
            (&|out, x| s::repeat_interleave(out, x, &repeats.view(), 1), &|dx, dout| {
                s::repeat_interleave_grad(dx, dout, &repeats.view(), -2)
            });
        check(&[2, 3, 2], &[2, map.len(), 2], &from, 0.0, run, Some(back));
        if repeats.dims == [1] {
            let (run, back): (Forward<'_>, Forward<'_>) =
                (&|out, x| s::repeat_interleave_evenly(out, x, 2, 1), &|dx, dout| {
                    s::repeat_interleave_evenly_grad(dx, dout, 2, 1)
                });
            check(&[2, 3, 2], &[2, map.len(), 2], &from, 0.0, run, Some(back));
        }
    }
}

#[test]
fn borders_come_from_the_inside() {
    let inside = |index: i64, len: usize| usize::try_from(index).ok().filter(|&index| index < len);
    let from = |index: &[usize]| Some(vec![inside(index[0] as i64 - 1, 2)?, inside(index[1] as i64 + 1, 4)?]);
    let (run, back): (Forward<'_>, Forward<'_>) =
        (&|out, x| s::pad(out, x, &[1, 2, -1, 1], 7.0), &|dx, dout| s::pad_grad(dx, dout, &[1, 2, -1, 1]));
    check(&[2, 4], &[5, 4], &from, 7.0, run, Some(back));
    let modes: [(&str, Inner); 4] = [
        ("constant", |index, len| (0..len).contains(&index).then_some(index)),
        ("replicate", |index, len| Some(index.clamp(0, len - 1))),
        ("circular", |index, len| Some((index + len) % len)),
        ("reflect", |index, len| Some((len - 1) - ((len - 1) - index.abs()).abs())),
    ];
    for (mode, inner) in modes {
        for (format, first) in [("NCDHW", 2), ("NDHWC", 1)] {
            let mut x_dims = vec![2, 3, 4, 3];
            x_dims.insert(if first == 2 { 1 } else { 4 }, 2);
            let mut dims = x_dims.clone();
            let before = [2, 0, 1];
            [4, 1, 3].iter().enumerate().for_each(|(n, more)| dims[first + n] += more);
            let paddings = [1, 2, 0, 1, 2, 2];
            let from = |index: &[usize]| {
                let mut place = index.to_vec();
                for (n, before) in before.iter().enumerate() {
                    let len = x_dims[first + n] as i64;
                    place[first + n] = inner(index[first + n] as i64 - before, len)? as usize;
                }
                Some(place)
            };
            let (run, back): (Forward<'_>, Forward<'_>) = (
                &|out, x| {
                    s::pad3d(
                        out,
                        x,
                        &Pad3dAttributes { paddings: &paddings, mode, pad_value: 3.0, data_format: format },
                    )
                },
                &|dx, dout| {
                    s::pad3d_grad(
                        dx,
                        dout,
                        &Pad3dGradAttributes { paddings: &paddings, mode, data_format: format },
                    )
                },
            );
            check(&x_dims, &dims, &from, 3.0, run, Some(back));
        }
    }
    let (x, out) = (Tensor::new(DType::F32, &[1, 1, 2], []), Tensor::new(DType::F32, &[1, 1, 6], []));
    let pad = |mode| {
        s::pad3d(
            &mut out.view_mut(),
            &x.view(),
            &Pad3dAttributes { paddings: &[2, 2], mode, pad_value: 0.0, data_format: "NCL" },
        )
    };
    assert!(matches!(pad("reflect"), Err(Error::Attribute { name: "paddings", .. })));
    assert!(matches!(pad("mirror"), Err(Error::Attribute { name: "mode", .. })));
    assert!(pad("replicate").is_ok());
}

#[test]
fn slices_are_those_of_python() {
    // Start, end, step and the indices that Python has for a dimension of five.
    let cases: [(i64, i64, i64, &[usize]); 10] = [
        (1, 4, 1, &[1, 2, 3]),
        (-3, 99, 2, &[2, 4]),
        (4, -99, -1, &[4, 3, 2, 1, 0]),
        (99, 1, -2, &[4, 2]),
        (3, 1, 1, &[]),
        (-1, -4, -1, &[4, 3, 2]),
        (0, 5, 7, &[0]),
        (-99, 2, 1, &[0, 1]),
        (5, 9, 1, &[]),
        (0, i64::MAX, i64::MAX, &[0]),
    ];
    for (start, end, step, indices) in cases {
        let from = |index: &[usize]| Some(vec![index[0], indices[index[1]], index[2]]);
        let (run, back): (Forward<'_>, Forward<'_>) = (
            &|out, x| {
                s::strided_slice(
                    out,
                    x,
                    &StridedSliceAttributes { axes: &[1], starts: &[start], ends: &[end], strides: &[step] },
                )
            },
            &|dx, dout| {
                s::strided_slice_grad(
                    dx,
                    dout,
                    &StridedSliceAttributes { axes: &[-2], starts: &[start], ends: &[end], strides: &[step] },
                )
            },
        );
        check(&[2, 5, 3], &[2, indices.len(), 3], &from, 0.0, run, Some(back));
    }
    let (run, back): (Forward<'_>, Forward<'_>) = (
        &|out, x| {
            s::slice(
                out,
                x,
                &SliceAttributes { axes: &[0, 1], starts: &[-1, 1], ends: &[9, 3], decrease_axis: &[0] },
            )
        },
        &|dx, dout| {
            s::slice_grad(
                dx,
                dout,
                &SliceAttributes { axes: &[0, 1], starts: &[-1, 1], ends: &[9, 3], decrease_axis: &[0] },
            )
        },
    );
    check(&[4, 3], &[2], &|index| Some(vec![3, index[0] + 1]), 0.0, run, Some(back));
    let whole = Tensor::new(DType::F32, &[4, 3], []);
    let (run, back): (Forward<'_>, Forward<'_>) =
        (&|out, x| s::crop(out, x, &[2, 2], &[1, 0]), &|dx, dout| {
            s::crop_grad(dx, &whole.view(), dout, &[1, 0])
        });
    check(&[4, 3], &[2, 2], &|index| Some(vec![index[0] + 1, index[1]]), 0.0, run, Some(back));
    let (x, out) = (Tensor::new(DType::F32, &[3], []), Tensor::new(DType::F32, &[2], []));
    let refused = s::crop(&mut out.view_mut(), &x.view(), &[2], &[2]);
    assert_eq!(refused, Err(Error::Index { index: 3, len: 3 }));
    let refused = s::strided_slice(
        &mut out.view_mut(),
        &x.view(),
        &StridedSliceAttributes { axes: &[0], starts: &[0], ends: &[2], strides: &[0] },
    );
    assert!(matches!(refused, Err(Error::Attribute { name: "strides", .. })));
}

#[test]
fn values_replace_parts() {
    let mut random = Random(3);
    let (x, values) =
        (filled(&mut random, None, DType::F32, &[4, 5]), filled(&mut random, None, DType::F32, &[1, 3]));
    let out = Tensor::new(DType::F32, &[4, 5], []);
    // x[1, 4:0:-2] has two elements, and x[1, None, ...] one dimension more.
    let run = |values: &Tensor, none: &[i64]| {
        s::set_value_with_tensor(
            &mut out.view_mut(),
            &x.view(),
            &values.view(),
            &[0, 1],
            &[1, 4],
            &[2, 1],
            &[1, -1],
            &[0],
            none,
        )
    };
    run(&values, &[]).unwrap();
    for index in x.indices() {
        let place = (index[0] == 1).then(|| [4, 3, 2].iter().position(|&at| at == index[1])).flatten();
        assert_eq!(
            out.get(&index),
            place.map_or(x.get(&index), |place| values.get(&[0, place])),
            "{index:?}"
        );
    }
    run(&values, &[0]).unwrap();
    let wrong = Tensor::new(DType::F32, &[2], []);
    assert!(matches!(run(&wrong, &[]), Err(Error::Broadcast { .. })));
    s::set_value(&mut out.view_mut(), &x.view(), &[0], &[1], &[3], &[1], &[], &[], &[], &[9.0]).unwrap();
    for index in x.indices() {
        let wanted = if (1..3).contains(&index[0]) { Number::Real(9.0) } else { x.get(&index) };
        assert_eq!(out.get(&index), wanted);
    }
    let (dx, dvalues) = (Tensor::new(DType::F32, &[4, 5], []), Tensor::new(DType::F32, &[1, 5], []));
    s::set_value_grad(
        Some(&mut dx.view_mut()),
        Some(&mut dvalues.view_mut()),
        &x.view(),
        &SetValueGradAttributes {
            axes: &[0],
            starts: &[1],
            ends: &[3],
            steps: &[1],
            decrease_axes: &[],
            none_axes: &[],
        },
    )
    .unwrap();
    for index in x.indices() {
        let wanted = if (1..3).contains(&index[0]) { Number::Real(0.0) } else { x.get(&index) };
        assert_eq!(dx.get(&index), wanted);
        let sum = x.get(&[1, index[1]]).to_f64() + x.get(&[2, index[1]]).to_f64();
        assert_eq!(dvalues.get(&[0, index[1]]).to_f64(), sum);
    }
}

#[test]
fn dimensions_are_turned_and_reordered() {
    let flipped = |index: &[usize]| Some(vec![2 - index[0], index[1], 3 - index[2]]);
    let (run, back): (Forward<'_>, Forward<'_>) =
        (&|out, x| s::flip(out, x, &[0, -1]), &|dx, dout| s::flip(dx, dout, &[0, -1]));
    check(&[3, 2, 4], &[3, 2, 4], &flipped, 0.0, run, Some(back));
    let rolled = |index: &[usize]| Some(vec![(index[0] + 1) % 3, (index[1] + 10 - 7) % 5]);
    let (run, back): (Forward<'_>, Forward<'_>) =
        (&|out, x| s::roll(out, x, &[2, 7], &[0, 1]), &|dx, dout| s::roll(dx, dout, &[-2, -7], &[0, 1]));
    check(&[3, 5], &[3, 5], &rolled, 0.0, run, Some(back));
    let flat = |index: &[usize]| {
        let place = (index[0] * 5 + index[1] + 15 - 4) % 15;
        Some(vec![place / 5, place % 5])
    };
    let (run, back): (Forward<'_>, Forward<'_>) =
        (&|out, x| s::roll(out, x, &[19], &[]), &|dx, dout| s::roll(dx, dout, &[-19], &[]));
    check(&[3, 5], &[3, 5], &flat, 0.0, run, Some(back));
    let turned = |index: &[usize]| Some(vec![index[1], index[2], index[0]]);
    let (run, back): (Forward<'_>, Forward<'_>) =
        (&|out, x| s::transpose(out, x, &[2, 0, -2]), &|dx, dout| s::transpose_grad(dx, dout, &[2, 0, 1]));
    check(&[2, 3, 4], &[4, 2, 3], &turned, 0.0, run, Some(back));
    let (x, out) = (Tensor::new(DType::F32, &[0, 2], []), Tensor::new(DType::F32, &[0, 2], []));
    assert_eq!(s::roll(&mut out.view_mut(), &x.view(), &[1], &[0]), Ok(()));
    assert_eq!(s::flip(&mut out.view_mut(), &x.view(), &[0]), Ok(()));
}

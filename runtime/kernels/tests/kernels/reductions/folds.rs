//! Reductions, held against a loop over indices.

use tenon_kernels::formulas::reduction::{All, Any, Max, Mean, Min, Prod, Sum};
use tenon_kernels::reduction::{self, Along, float, numeric};
use tenon_kernels::{Complex, DType, Error, Number, View, ViewMut};

use crate::tensor::{Memory, REAL, Random, Tensor, is_float, memory};

type Reduction = fn(&mut ViewMut<'_>, &View<'_>, &[usize]) -> Result<(), Error>;
/// The value of a list, as floats and as integers.
type Reference = (fn(&[f64]) -> f64, fn(&[i64]) -> i64);

const REDUCTIONS: [(&str, Reduction, Reference); 7] = [
    (
        "sum",
        |out, x, axes| numeric(Sum, out, x, Along::Axes(axes)),
        (|list| list.iter().sum(), |list| list.iter().fold(0, |sum, x| sum.wrapping_add(*x))),
    ),
    (
        "mean",
        |out, x, axes| float(Mean, out, x, Along::Axes(axes)),
        (|list| list.iter().sum::<f64>() / list.len() as f64, |_| unreachable!()),
    ),
    (
        "prod",
        |out, x, axes| numeric(Prod, out, x, Along::Axes(axes)),
        (|list| list.iter().product(), |list| list.iter().fold(1, |product, x| product.wrapping_mul(*x))),
    ),
    (
        "max",
        |out, x, axes| numeric(Max, out, x, Along::Axes(axes)),
        (|list| list.iter().fold(f64::MIN, |a, x| a.max(*x)), |list| *list.iter().max().unwrap()),
    ),
    (
        "min",
        |out, x, axes| numeric(Min, out, x, Along::Axes(axes)),
        (|list| list.iter().fold(f64::MAX, |a, x| a.min(*x)), |list| *list.iter().min().unwrap()),
    ),
    (
        "any",
        |out, x, axes| numeric(Any, out, x, Along::Axes(axes)),
        (|list| list.iter().any(|x| *x != 0.0).into(), |list| list.iter().any(|x| *x != 0).into()),
    ),
    (
        "all",
        |out, x, axes| numeric(All, out, x, Along::Axes(axes)),
        (|list| list.iter().all(|x| *x != 0.0).into(), |list| list.iter().all(|x| *x != 0).into()),
    ),
];

/// Reduces an input along axes the slow and obvious way.
fn expected(reference: Reference, x: &Tensor, y: &Tensor, axes: &[usize]) -> Vec<Number> {
    let kept = |index: &[usize]| -> Vec<usize> {
        (0..index.len()).filter(|axis| !axes.contains(axis)).map(|axis| index[axis]).collect()
    };
    let parts: Vec<(Vec<usize>, Number)> =
        x.indices().iter().map(|index| (kept(index), x.get(index))).collect();
    let narrow = Tensor::new(DType::U8, &kept(&x.dims), []);
    let values = narrow.indices().into_iter().map(|place| {
        let list: Vec<Number> = parts.iter().filter(|(kept, _)| *kept == place).map(|(_, x)| *x).collect();
        if is_float(x.dtype) {
            Number::Real(reference.0(&list.iter().map(|x| x.to_f64()).collect::<Vec<_>>()))
        } else {
            Number::Integer(reference.1(&list.iter().map(|x| x.to_i64()).collect::<Vec<_>>()))
        }
    });
    Tensor::new(y.dtype, &y.dims, values.collect::<Vec<_>>()).values()
}

/// Powers of two of either sign, so that products are exact too.
fn fill(tensor: &Tensor, random: &mut Random) {
    for index in tensor.indices() {
        let values = [Number::Integer(1), Number::Integer(-1), Number::Integer(2), Number::Real(0.5)];
        tensor.set(&index, values[random.below(4)]);
    }
}

fn some_dims(random: &mut Random) -> Vec<usize> {
    let mut dims = random.dims();
    if dims.iter().product::<usize>() > 1000 {
        dims[0] = 1;
    }
    dims
}

/// Creates a tensor of a shape with values.
fn some_tensor(random: &mut Random, shared: Option<&Memory>, dtype: DType, dims: &[usize]) -> Tensor {
    let strides = random.strides(dims);
    let tensor = random.tensor(shared, dtype, dims, strides);
    fill(&tensor, random);
    tensor
}

#[track_caller]
fn assert_close(ours: &[Number], wanted: &[Number], what: impl std::fmt::Debug) {
    assert_eq!(ours.len(), wanted.len());
    for (ours, wanted) in ours.iter().zip(wanted) {
        let (a, b) = (ours.to_f64(), wanted.to_f64());
        // A mean is rounded once by us, and twice on the way of the reference to float16.
        let near = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= b.abs() * 0.002;
        assert!(near, "{ours:?} is not {wanted:?}: {what:?}");
    }
}

#[test]
fn any_axes_of_any_layout_equal_a_loop() {
    let mut random = Random(3);
    for case in 0..1050 {
        let (name, reduction, reference) = REDUCTIONS[case % REDUCTIONS.len()];
        let dims = some_dims(&mut random);
        let [from, to] = [0, 1].map(|_| REAL[random.below(REAL.len())]);
        let shared = random.one_in(4).then(|| memory(1 << 17));
        let x = some_tensor(&mut random, shared.as_ref(), from, &dims);
        let axes: Vec<usize> = (0..dims.len()).rev().filter(|_| random.one_in(2)).collect();
        let keep = random.one_in(2);
        let dims = (0..dims.len()).filter(|axis| keep || !axes.contains(axis));
        let dims: Vec<usize> = dims.map(|axis| if axes.contains(&axis) { 1 } else { x.dims[axis] }).collect();
        let y = match &shared {
            // In the place of the input.
            Some(_) => {
                Tensor { dtype: to, strides: crate::tensor::row_major(&dims), dims, first: 0, ..x.clone() }
            }
            None => some_tensor(&mut random, None, to, &dims),
        };
        let before = x.detached();
        let result = reduction(&mut y.view_mut(), &x.view(), &axes);
        if name == "mean" && !is_float(from) {
            assert_eq!(result, Err(Error::Type { dtype: from }));
        } else if (name == "max" || name == "min") && before.indices().is_empty() && !y.indices().is_empty() {
            assert_eq!(result, Err(Error::Empty));
        } else {
            result.unwrap();
            let wanted = expected(reference, &before, &y, &axes);
            assert_close(&y.values(), &wanted, (name, &x.dims, &x.strides, &axes, from, to));
        }
    }
}

#[test]
fn sum_to_is_the_gradient_of_broadcasting() {
    let mut random = Random(4);
    for _ in 0..300 {
        let dims = some_dims(&mut random);
        let x = some_tensor(&mut random, None, DType::F32, &dims);
        let narrow = random.narrower(&dims);
        let y = some_tensor(&mut random, None, DType::F32, &narrow);
        let wanted = Tensor::new(DType::F32, &narrow, vec![Number::Integer(0); 1000]);
        for index in x.indices() {
            let sum = wanted.get(&index).to_f64() + x.get(&index).to_f64();
            wanted.set(&index, Number::Real(sum));
        }
        reduction::sum_to(&mut y.view_mut(), &x.view()).unwrap();
        assert_eq!(y.values(), wanted.values(), "{dims:?} {narrow:?}");
    }
    let (x, mut y) = ([0.0_f32; 6], [0.0_f32; 2]);
    let x = View::of_slice(&x, &[2, 3]).unwrap();
    let refused = reduction::sum_to(&mut ViewMut::of_slice(&mut y, &[2]).unwrap(), &x);
    assert_eq!(refused, Err(Error::Broadcast { from: vec![2], to: vec![2, 3] }));
}

/// Returns the sum of all elements of a vector of `f32`.
fn sum_of(x: &[f32], to: DType) -> f64 {
    let y = Tensor::new(to, &[], []);
    let x = View::of_slice(x, &[x.len()]).unwrap();
    numeric(Sum, &mut y.view_mut(), &x, Along::Axes(&[0])).unwrap();
    y.values()[0].to_f64()
}

/// From this number on, an `f32` has no room for one more.
const LARGE: f32 = 16_777_216.0;

#[test]
fn sums_of_strided_floats_or_into_doubles_are_accumulated_in_doubles() {
    for (x_dims, y_dims, to) in
        [(&[1001][..], &[][..], DType::F64), (&[1001, 1], &[1], DType::F64), (&[1001, 2], &[2], DType::F32)]
    {
        let count = x_dims.iter().product::<usize>() as i64;
        let values = (0..count).map(|n| Number::Real(if n < count / 1001 { LARGE.into() } else { 1.0 }));
        let (x, y) = (Tensor::new(DType::F32, x_dims, values), Tensor::new(to, y_dims, []));
        numeric(Sum, &mut y.view_mut(), &x.view(), Along::Axes(&[0])).unwrap();
        assert!(y.values().into_iter().all(|sum| sum == Number::Real(16_778_216.0)), "{:?}", y.values());
    }
}

#[test]
fn sums_of_long_rows_add_blocks_in_doubles() {
    let mut x = vec![0.0_f32; 1 << 21];
    x.iter_mut().step_by(2048).for_each(|x| *x = 1.0);
    x[0] = LARGE;
    assert_eq!(sum_of(&x, DType::F32), f64::from(LARGE) + 1024.0);
}

#[test]
fn sums_of_ill_conditioned_floats_have_the_errors_of_short_sums() {
    let mut random = Random(7);
    for len in [1, 31, 129, 2047, 2048, 2049, 100_000] {
        let mut x: Vec<f32> = (0..len).map(|_| random.below(2_000_001) as f32 * 0.37 - 370_000.0).collect();
        // The sum is far smaller than its elements.
        let copies: Vec<f32> = x.iter().map(|x| -x).collect();
        x.extend(copies);
        x.push(1.0);
        let wanted: f64 = x.iter().map(|&x| f64::from(x)).sum();
        // As if each element were added to a sum of a few others, and the errors were independent.
        let bound = (x.len() as f64).sqrt() * 370_000.0 * 4.0 * f64::from(f32::EPSILON);
        let off = (sum_of(&x, DType::F32) - wanted).abs();
        assert!(off <= bound, "{len}: {off} is more than {bound}");
    }
}

#[test]
fn sum_is_finite_if_only_that_of_a_part_is_not() {
    let x: Vec<f32> = (0..8192).map(|n| if n < 4096 { f32::MAX } else { -f32::MAX }).collect();
    assert_eq!(sum_of(&x, DType::F32), 0.0);
    let mut x = vec![1.0; 8192];
    x[5000] = f32::INFINITY;
    assert_eq!(sum_of(&x, DType::F32), f64::INFINITY);
    x[1] = f32::NAN;
    assert!(sum_of(&x, DType::F32).is_nan());
}

#[test]
fn nothing_is_reduced_to_the_neutral_element() {
    let x = Tensor::new(DType::F32, &[2, 0], []);
    let wanted = [("sum", 0.0), ("mean", f64::NAN), ("prod", 1.0), ("any", 0.0), ("all", 1.0)];
    for (name, reduction, _) in REDUCTIONS {
        let y = Tensor::new(DType::F32, &[2], [Number::Integer(9); 2]);
        let result = reduction(&mut y.view_mut(), &x.view(), &[1]);
        match wanted.iter().find(|wanted| wanted.0 == name) {
            Some(&(_, value)) => assert_close(&y.values(), &[Number::Real(value); 2], name),
            None => assert_eq!(result, Err(Error::Empty)),
        }
        let y = Tensor::new(DType::F32, &[0], []);
        assert_eq!(reduction(&mut y.view_mut(), &x.view(), &[0]), Ok(()));
    }
}

#[test]
fn nan_and_infinity_are_kept() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (name, list, wanted) in [
        ("max", [1.0, nan, 2.0], nan),
        ("min", [nan, 1.0, 2.0], nan),
        ("max", [-inf; 3], -inf),
        ("min", [inf; 3], inf),
        ("max", [-3.0, -2.0, -7.0], -2.0),
        ("sum", [inf, 1.0, -inf], nan),
        ("prod", [0.0, 1.0, inf], nan),
        ("any", [0.0, -0.0, nan], 1.0),
        ("all", [1.0, nan, inf], 1.0),
        ("all", [1.0, -0.0, inf], 0.0),
    ] {
        let (_, reduction, _) = REDUCTIONS.into_iter().find(|reduction| reduction.0 == name).unwrap();
        for dims in [&[3][..], &[3, 1]] {
            let x = Tensor::new(DType::F32, dims, list.map(Number::Real));
            let y = Tensor::new(DType::F64, &dims[1..], []);
            reduction(&mut y.view_mut(), &x.view(), &[0]).unwrap();
            assert_close(&y.values(), &[Number::Real(wanted)], (name, list));
        }
    }
}

#[test]
fn wrong_axes_shapes_and_types_are_errors() {
    let x = Tensor::new(DType::I32, &[2, 3], []);
    let sum = |dims: &[usize], axes: &[usize]| {
        numeric(Sum, &mut Tensor::new(DType::I32, dims, []).view_mut(), &x.view(), Along::Axes(axes))
    };
    assert_eq!(sum(&[2], &[2]), Err(Error::Axis { axis: 2, rank: 2 }));
    assert_eq!(sum(&[2], &[1, 1]), Err(Error::Axis { axis: 1, rank: 2 }));
    assert_eq!(sum(&[3], &[1]), Err(Error::Shape { expected: vec![2], actual: vec![3] }));
    assert_eq!(sum(&[1, 2], &[1]), Err(Error::Shape { expected: vec![2], actual: vec![1, 2] }));
    assert_eq!((sum(&[2, 1], &[1]), sum(&[], &[1, 0]), sum(&[1, 1], &[0, 1])), (Ok(()), Ok(()), Ok(())));
    let complex = [Complex::new(0.0_f64, 1.0); 2];
    let complex = View::of_slice(&complex, &[2]).unwrap();
    let y = Tensor::new(DType::F64, &[], []);
    let refused = numeric(Sum, &mut y.view_mut(), &complex, Along::Axes(&[0]));
    assert_eq!(refused, Err(Error::Type { dtype: DType::Complex128 }));
}

#[test]
fn sum_of_adds_what_is_computed_for_a_larger_shape() {
    let mut out = [0.0_f32; 3];
    let mut view = ViewMut::of_slice(&mut out, &[3]).expect("three elements").append_dimensions(1);
    assert_eq!(view.dims(), [3, 1]);
    let ones = [1.0_f32; 8];
    let input = View::of_slice(&ones, &[2, 1, 4]).expect("eight elements");
    reduction::sum_of(&mut view, &[2, 3, 4], |large| {
        assert_eq!(large.dims(), [2, 3, 4]);
        tenon_kernels::formulas::elementary::copy(large, &input)
    })
    .expect("the shapes fit");
    assert_eq!(out, [8.0; 3]);
}

#[test]
fn buffers_are_tensors_of_zeros_in_their_own_memory() {
    let mut buffer = tenon_kernels::Buffer::new(tenon_kernels::DType::I16, &[2, 2]).expect("small");
    let values = [1_i16, 2, 3, 4];
    let input = View::of_slice(&values, &[2, 2]).expect("four elements");
    assert!(!buffer.view_mut().expect("valid").shares_memory(&input));
    tenon_kernels::formulas::elementary::copy(&mut buffer.view_mut().expect("valid"), &input)
        .expect("same shape");
    let mut sum = [0_i16];
    let mut total = ViewMut::of_slice(&mut sum, &[]).expect("one element");
    numeric(Sum, &mut total, &buffer.view().expect("valid"), Along::Axes(&[0, 1])).expect("two axes");
    assert_eq!(sum, [10]);
    let huge = tenon_kernels::Buffer::new(tenon_kernels::DType::F64, &[usize::MAX / 4]);
    assert_eq!(huge.map(|_| ()), Err(tenon_kernels::Error::Overflow));
}

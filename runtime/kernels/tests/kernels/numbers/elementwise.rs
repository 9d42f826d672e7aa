//! Elementwise operators, held against a loop over indices.

use std::num::Wrapping;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon_kernels::numeric::{Floating, Numeric, Whole};
use tenon_kernels::{Bool, Complex, DType, Error, Number, View, ViewMut, elementwise, f16};

use crate::tensor::{Memory, REAL, Random, Tensor, is_float, memory};

fn each<T: Numeric>(y: &mut [T], [a, b]: [&[T]; 2]) {
    assert!(y.len() == a.len() && y.len() == b.len());
    for (y, (&a, &b)) in y.iter_mut().zip(a.iter().zip(b)) {
        *y = a * T::of(2.0) + b;
    }
}

fn run(y: &Tensor, a: &Tensor, b: &Tensor) -> Result<(), Error> {
    let inputs = [&a.view(), &b.view()];
    elementwise::numeric(&mut y.view_mut(), inputs, each::<Wrapping<i64>>, each::<f32>, each::<f64>)
}

/// Returns the result that [`run`] must have.
fn expected(a: Number, b: Number, types: [DType; 2]) -> Number {
    if types.contains(&DType::F64) {
        Number::Real(a.to_f64() * 2.0 + b.to_f64())
    } else if types.into_iter().any(is_float) {
        Number::Real((a.to_f64() as f32 * 2.0 + b.to_f64() as f32).into())
    } else {
        Number::Integer(a.to_i64().wrapping_mul(2).wrapping_add(b.to_i64()))
    }
}

/// Runs the operator, and compares all memory of the output, gaps included.
#[track_caller]
fn check(y: &Tensor, a: &Tensor, b: &Tensor) {
    let wanted = y.detached();
    for index in y.indices() {
        wanted.set(&index, expected(a.get(&index), b.get(&index), [a.dtype, b.dtype]));
    }
    run(y, a, b).unwrap();
    assert_eq!(y.memory, wanted.memory, "{:?} {:?} {y:?} {a:?} {b:?}", y.values(), wanted.values());
}

/// Returns small numbers that every type can hold, some with a fraction.
fn some(count: usize, seed: usize) -> impl Iterator<Item = Number> {
    (0..count).map(move |n| match (n * 7 + seed * 5) % 23 {
        value if value % 3 == 0 => Number::Integer(value as i64),
        value => Number::Real(value as f64 / 4.0 - 2.0),
    })
}

#[test]
fn every_type_goes_with_every_other() {
    for (a, b) in REAL.into_iter().flat_map(|a| REAL.map(|b| (a, b))) {
        for y in REAL {
            let tensor = |dtype, seed| Tensor::new(dtype, &[3, 7], some(21, seed));
            check(&tensor(y, 0), &tensor(a, 1), &tensor(b, 2));
        }
    }
}

#[test]
fn any_layout_in_separate_memory_equals_a_loop() {
    let mut random = Random(1);
    for case in 0..1500 {
        let dims = random.dims();
        let [y, a, b] = [0, 1, 2].map(|operand| {
            let dims = if operand == 0 { dims.clone() } else { random.narrower(&dims) };
            let mut strides = random.strides(&dims);
            if operand > 0 && !dims.is_empty() && random.one_in(6) {
                strides[0] = 0;
            }
            let dtype = if case % 2 == 0 { DType::F32 } else { REAL[random.below(REAL.len())] };
            let tensor = random.tensor(None, dtype, &dims, strides);
            tensor
                .indices()
                .iter()
                .zip(some(1 << 20, case))
                .for_each(|(index, value)| tensor.set(index, value));
            tensor
        });
        check(&y, &a, &b);
    }
}

/// Fills the memory with copies of its first words.
fn repeat(memory: &Memory, words: usize) {
    let mut memory = memory.borrow_mut();
    (1..memory.len() / words).for_each(|part| memory.copy_within(..words, part * words));
}

#[test]
fn inputs_may_share_memory_with_the_output() {
    let mut random = Random(2);
    for case in 0..300 {
        let dims = random.dims();
        let shared = memory(1 << 19);
        let dtype = [DType::F32, DType::I16, DType::F16, DType::F64][random.below(4)];
        let strides = random.strides(&dims);
        let y = random.tensor(Some(&shared), dtype, &dims, strides);
        let mut input = || match random.below(3) {
            0 => y.clone(),
            1 => {
                let dims = random.narrower(&dims);
                let strides = random.strides(&dims);
                random.tensor(Some(&shared), dtype, &dims, strides)
            }
            _ => random.tensor(Some(&shared), dtype, &dims, y.strides.clone()),
        };
        let (a, b) = (input(), input());
        let start = Tensor { dims: vec![4096], strides: vec![1], first: 0, ..y.clone() };
        start.indices().iter().zip(some(4096, case)).for_each(|(index, value)| start.set(index, value));
        repeat(&shared, 4096 * dtype.size() / 8);
        // The reference needs the inputs as they were.
        let (before_a, before_b) = (a.detached(), b.detached());
        let wanted = y.detached();
        for index in y.indices() {
            let value = expected(before_a.get(&index), before_b.get(&index), [dtype; 2]);
            wanted.set(&index, value);
        }
        run(&y, &a, &b).unwrap();
        assert_eq!(y.memory, wanted.memory, "case {case}: {:?} {:?} {:?}", y.dims, a.dims, b.dims);
    }
}

#[test]
fn overlap_by_any_distance_reads_before_it_writes() {
    for distance in [-1500, -513, -512, -511, -1, 0, 1, 2, 511, 512, 513, 1500] {
        for (y_stride, x_stride) in [(1, 1), (-1, -1), (1, -1), (2, 1), (1, 2)] {
            let shared = memory(10_000 * 4);
            let tensor = |stride, first: isize| Tensor {
                memory: shared.clone(),
                dtype: DType::I32,
                dims: vec![1300],
                strides: vec![stride],
                first: first.try_into().unwrap(),
            };
            let (y, x) = (tensor(y_stride, 4096), tensor(x_stride, 4096 + distance));
            let all = Tensor { dims: vec![10_000], strides: vec![1], first: 0, ..y.clone() };
            (0..10_000).for_each(|n| all.set(&[n], Number::Integer(n as i64 * 31)));
            let wanted: Vec<_> = x.values().into_iter().map(|x| Number::Integer(x.to_i64() * 3)).collect();
            run(&y, &x, &x).unwrap();
            assert_eq!(y.values(), wanted, "{distance} {y_stride} {x_stride}");
        }
    }
}

#[test]
fn elements_in_place_may_change_their_type() {
    let x = Tensor::new(DType::I32, &[700], (0..700).map(Number::Integer));
    let y = Tensor { dtype: DType::F32, ..x.clone() };
    run(&y, &x, &x).unwrap();
    assert_eq!(y.values(), (0..700).map(|n| Number::Real(n as f64 * 3.0)).collect::<Vec<_>>());
    // Larger elements reach places that are still to be read.
    let y = Tensor::new(DType::F64, &[700], []);
    let x = Tensor { dtype: DType::U8, ..y.clone() };
    (0..700).for_each(|n| x.set(&[n], Number::Integer(n as i64 % 80)));
    run(&y, &x, &x).unwrap();
    assert_eq!(y.values(), (0..700).map(|n| Number::Real((n % 80 * 3).into())).collect::<Vec<_>>());
}

#[test]
fn output_that_overlaps_itself_is_refused() {
    let mut memory = vec![0_i64; 602];
    let refused = ViewMut::of_strided(&mut memory, &[600, 3], &[1, 1]).unwrap_err();
    assert_eq!(refused, Error::Repeated { dims: vec![600, 3], strides: vec![1, 1] });
}

#[test]
fn contiguous_tensors_are_passed_as_they_are() {
    let (a, b, mut y) = (vec![1.0_f32; 5000], vec![2.0_f32; 5000], vec![0.0_f32; 5000]);
    let (at, calls) = (y.as_ptr().addr(), AtomicUsize::new(0));
    let inputs = [&View::of_slice(&a, &[50, 100]).unwrap(), &View::of_slice(&b, &[50, 100]).unwrap()];
    let f = |out: &mut [f32], inputs: [&[f32]; 2]| {
        assert_eq!(inputs.map(|input| input.as_ptr()), [a.as_ptr(), b.as_ptr()]);
        assert_eq!(out.as_ptr().addr(), at);
        assert_eq!((out.len(), inputs.map(|input| input.len())), (5000, [5000; 2]));
        calls.fetch_add(1, Ordering::Relaxed);
        each(out, inputs);
    };
    elementwise::float(&mut ViewMut::of_slice(&mut y, &[50, 100]).unwrap(), inputs, f, each::<f64>).unwrap();
    assert_eq!((y, calls.into_inner()), (vec![4.0; 5000], 1));
}

#[test]
fn rows_are_passed_as_they_are() {
    let x: Vec<f32> = (0..120).map(|n| n as f32).collect();
    let (row, plane) = (&x[..10], &x[..40]);
    let (mut y, calls) = (vec![0.0_f32; 120], AtomicUsize::new(0));
    let f = |out: &mut [f32], [x, plane, row]: [&[f32]; 3]| {
        calls.fetch_add(1, Ordering::Relaxed);
        for (index, out) in out.iter_mut().enumerate() {
            *out = x[index] + 1000.0 * plane[index] + 1e6 * row[index];
        }
    };
    let inputs = [
        &View::of_slice(&x, &[3, 4, 10]).unwrap(),
        &View::of_slice(plane, &[1, 4, 10]).unwrap(),
        &View::of_slice(row, &[10]).unwrap(),
    ];
    let mut out = ViewMut::of_slice(&mut y, &[3, 4, 10]).unwrap();
    elementwise::float(&mut out, inputs, f, |_, _| panic!("float64")).unwrap();
    let wanted = |n: usize| n as f32 + 1000.0 * (n % 40) as f32 + 1e6 * (n % 10) as f32;
    assert_eq!((y, calls.into_inner()), ((0..120).map(wanted).collect(), 12));
}

#[test]
fn special_values_are_kept_and_converted() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let values = [nan, inf, -inf, -0.0, 1e30, -1e30, 1e-30].map(Number::Real);
    let zero = Tensor::new(DType::F32, &[], [Number::Integer(0)]);
    let x = Tensor::new(DType::F32, &[7], values);
    let results = |dtype| {
        let y = Tensor::new(dtype, &[7], []);
        run(&y, &x, &zero).unwrap();
        y.values()
    };
    let same = |dtype, wanted: [f64; 7]| {
        for (ours, wanted) in results(dtype).into_iter().zip(wanted) {
            let ours = ours.to_f64();
            assert!(ours == wanted || (ours.is_nan() && wanted.is_nan()), "{dtype}: {ours} is not {wanted}");
        }
    };
    let single = |value: f32| f64::from(value) * 2.0;
    same(DType::F64, [nan, inf, -inf, 0.0, single(1e30), single(-1e30), single(1e-30)]);
    same(DType::F16, [nan, inf, -inf, 0.0, inf, -inf, 0.0]);
    same(DType::Bool, [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    same(DType::I64, [0.0, i64::MAX as f64, i64::MIN as f64, 0.0, i64::MAX as f64, i64::MIN as f64, 0.0]);
}

#[test]
fn halves_are_rounded_to_even() {
    // Integers above 2048 have gaps of two in float16.
    let x = Tensor::new(DType::F32, &[4], [1024.5, 1025.5, 1024.625, -1024.5].map(Number::Real));
    let (y, zero) = (Tensor::new(DType::F16, &[4], []), Tensor::new(DType::F16, &[1], []));
    run(&y, &x, &zero).unwrap();
    assert_eq!(y.values(), [2048.0, 2052.0, 2050.0, -2048.0].map(Number::Real));
}

#[test]
fn integers_wrap_to_the_type_of_the_output() {
    for (dtype, x, wanted) in [
        (DType::U8, 100, 44),
        (DType::I8, 100, 44),
        (DType::I16, 0x7fff, 0x7ffd),
        (DType::I32, 0x7fff_ffff, 0x7fff_fffd),
        (DType::I64, i64::MAX, i64::MAX - 2),
        (DType::Bool, 1, 1),
    ] {
        let x = Tensor::new(dtype, &[3], [Number::Integer(x); 3]);
        let y = Tensor::new(dtype, &[3], []);
        run(&y, &x, &x).unwrap();
        assert_eq!(y.values(), [Number::Integer(wanted); 3], "{dtype}");
    }
}

#[test]
fn truth_values_are_any_byte() {
    let bytes = [0_u8, 1, 2, 255];
    let truths: &[Bool] = bytemuck::cast_slice(&bytes);
    let mut y = [9_i64; 4];
    let x = View::of_slice(truths, &[4]).unwrap();
    elementwise::whole(&mut ViewMut::of_slice(&mut y, &[4]).unwrap(), [&x], |y, [x]| y.copy_from_slice(x))
        .unwrap();
    assert_eq!(y, [0, 1, 1, 1]);
}

#[test]
fn inverted_bits_of_a_truth_are_its_contrary() {
    fn not<T: Whole>(y: &mut [T], [x]: [&[T]; 1]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x.bit_not());
    }
    for (x, y, wanted) in [
        (DType::Bool, DType::Bool, [1, 0]),
        (DType::U8, DType::U8, [255, 254]),
        (DType::I32, DType::I32, [-1, -2]),
        (DType::I32, DType::Bool, [1, 1]),
    ] {
        let (x, y) = (Tensor::new(x, &[2], [0, 1].map(Number::Integer)), Tensor::new(y, &[2], []));
        elementwise::whole(&mut y.view_mut(), [&x.view()], not).unwrap();
        assert_eq!(y.values(), wanted.map(Number::Integer));
    }
}

#[test]
fn without_inputs_the_output_decides() {
    fn half<T: Numeric>(y: &mut [T], []: [&[T]; 0]) {
        y.fill(T::of(0.5));
    }
    for (dtype, wanted) in [(DType::I32, 0.0), (DType::F16, 0.5), (DType::F64, 0.5)] {
        let y = Tensor::new(dtype, &[2, 3], [Number::Integer(7); 6]);
        elementwise::numeric(&mut y.view_mut(), [], half::<Wrapping<i64>>, half::<f32>, half::<f64>).unwrap();
        assert!(y.values().into_iter().all(|value| value.to_f64() == wanted));
    }
}

fn floats(y: &mut ViewMut<'_>, x: &View<'_>) -> Result<(), Error> {
    fn exp<T: Floating>(y: &mut [T], [x]: [&[T]; 1]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x.exp());
    }
    elementwise::float(y, [x], exp::<f32>, exp::<f64>)
}

#[test]
fn types_that_an_operator_lacks_are_errors() {
    let mut y = [1.5_f32; 2];
    let mut y = ViewMut::of_slice(&mut y, &[2]).unwrap();
    let integers = View::of_slice(&[1_i32; 2], &[2]).unwrap();
    assert_eq!(floats(&mut y, &integers), Err(Error::Type { dtype: DType::I32 }));
    let complex = [Complex::new(1.0_f32, 0.0); 2];
    let complex = View::of_slice(&complex, &[2]).unwrap();
    assert_eq!(floats(&mut y, &complex), Err(Error::Type { dtype: DType::Complex64 }));
    let halves = View::of_slice(&[f16::ONE; 2], &[2]).unwrap();
    let refused = elementwise::whole(&mut y, [&integers, &halves], |_, _| unreachable!());
    assert_eq!(refused, Err(Error::Type { dtype: DType::F16 }));
    let refused = elementwise::whole(&mut y, [], |_, _| unreachable!());
    assert_eq!(refused, Err(Error::Type { dtype: DType::F32 }));
    let mut complex = [Complex::new(1.0_f64, 0.0); 2];
    let refused = floats(&mut ViewMut::of_slice(&mut complex, &[2]).unwrap(), &halves);
    assert_eq!(refused, Err(Error::Type { dtype: DType::Complex128 }));
    assert_eq!(refused.unwrap_err().to_string(), "the operator does not take elements of type complex128");
}

#[test]
fn shapes_that_do_not_broadcast_are_errors() {
    for (input, output) in [
        (&[2][..], &[3][..]),
        (&[3, 2], &[2, 3]),
        (&[1, 3], &[3]),
        (&[2, 3], &[]),
        (&[2], &[0]),
        (&[0], &[1]),
    ] {
        let x = vec![0.0_f32; input.iter().product()];
        let mut y = vec![5.0_f32; output.iter().product()];
        let x = View::of_slice(&x, input).unwrap();
        let refused = floats(&mut ViewMut::of_slice(&mut y, output).unwrap(), &x);
        assert_eq!(refused, Err(Error::Broadcast { from: input.to_vec(), to: output.to_vec() }));
        assert!(y.into_iter().all(|y| y == 5.0));
    }
}

#[test]
fn views_that_cannot_be_are_errors() {
    let (numbers, mut out) = ([0_i32; 6], [0_i32; 6]);
    assert_eq!(
        View::of_slice(&numbers, &[2, 2]).unwrap_err(),
        Error::Length { what: "slice", expected: 4, actual: 6 }
    );
    let refused = View::of_strided(&numbers, &[3], &[3]).unwrap_err();
    assert_eq!(refused, Error::OutOfBounds { needed: 7, available: 6 });
    assert_eq!(View::of_strided(&numbers, &[3], &[]).unwrap_err(), Error::Rank { dims: 1, strides: 0 });
    assert!(View::of_strided(&numbers, &[9], &[0]).is_ok());
    let refused = ViewMut::of_strided(&mut out, &[1, 2], &[0, 0]).unwrap_err();
    assert_eq!(refused, Error::Repeated { dims: vec![1, 2], strides: vec![0, 0] });
    assert!(ViewMut::of_strided(&mut out, &[1, 2], &[0, 2]).is_ok());
    assert!(ViewMut::of_strided(&mut out, &[2, 0], &[0, 1]).is_ok());

    let raw = |address: usize, dims: &[usize], strides: &[isize]| {
        // SAFETY: the views are not read.
        unsafe { View::from_raw(std::ptr::without_provenance(address), DType::I32, dims, strides) }
            .map(|_| ())
    };
    let no_address = |address| Err(Error::Address { dtype: DType::I32, address });
    assert_eq!(raw(0, &[1], &[1]), no_address(0));
    assert_eq!(raw(0, &[0], &[1]), Ok(()));
    assert_eq!(raw(6, &[1], &[1]), no_address(6));
    assert_eq!(raw(8, &[4], &[-1]), no_address(8));
    assert_eq!(raw(usize::MAX - 3, &[4], &[1]), Err(Error::Overflow));
    assert_eq!(raw(8, &[1 << 61], &[1]), Err(Error::Overflow));
}

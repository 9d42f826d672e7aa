use tenon_kernels::softmax::{log_softmax, log_softmax_grad, softmax, softmax_grad};
use tenon_kernels::{DType, Error, Result, View, ViewMut};

use crate::support::{FLOATS, Random, gradient};

type Forward = fn(&mut ViewMut<'_>, &View<'_>, i64) -> Result<()>;
type Backward = fn(&mut ViewMut<'_>, &View<'_>, &View<'_>, i64) -> Result<()>;

const OPERATORS: [(Forward, Backward, bool); 2] =
    [(softmax, softmax_grad, false), (log_softmax, log_softmax_grad, true)];

/// Returns the positions of the elements of each line along a dimension.
pub fn lines(dims: &[usize], axis: usize) -> Vec<Vec<usize>> {
    let inner: usize = dims[axis + 1..].iter().product();
    let starts =
        (0..dims.iter().product::<usize>()).filter(|number| (number / inner).is_multiple_of(dims[axis]));
    starts.map(|start| (0..dims[axis]).map(|n| start + n * inner).collect()).collect()
}

fn reference(x: &[f64], dims: &[usize], axis: usize, log: bool) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    for line in lines(dims, axis) {
        let total: f64 = line.iter().map(|&n| x[n].exp()).sum();
        for n in line {
            out[n] = if log { x[n] - total.ln() } else { x[n].exp() / total };
        }
    }
    out
}

#[test]
fn values_and_gradients_along_any_axis_equal_a_loop() {
    let mut random = Random(1);
    for (forward, backward, log) in OPERATORS {
        for dims in
            [&[7][..], &[3, 40], &[2, 130], &[2, 3, 5], &[40, 3], &[18, 20], &[4, 1, 3], &[2, 0, 3], &[0, 4]]
        {
            for (axis, dtype) in (0..dims.len()).flat_map(|axis| FLOATS.map(|dtype| (axis, dtype))) {
                let number = axis as i64 - if random.one_in(2) { dims.len() as i64 } else { 0 };
                let (x, dout) = (random.tensor(dtype, dims), random.tensor(dtype, dims));
                let [mut out, mut dx] = [0; 2].map(|_| random.tensor(dtype, dims));
                forward(&mut out.view_mut(), &x.view(), number).unwrap();
                out.assert_close(&reference(&x.values(), dims, axis, log), (axis, log));
                backward(&mut dx.view_mut(), &out.view(), &dout.view(), number).unwrap();
                let wanted = gradient(&[x.values()], 0, &dout.values(), |inputs| {
                    reference(&inputs[0], dims, axis, log)
                });
                dx.assert_close(&wanted, (axis, log, "gradient"));
            }
        }
    }
}

#[test]
fn nan_makes_its_line_nan_and_no_other() {
    let mut random = Random(4);
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    let x = random.tensor_of(DType::F32, &[3, 2], &[0.5, 0.5, nan, -infinity, 0.5, 0.5]);
    let mut out = random.tensor(DType::F32, &[3, 2]);
    for (forward, _, log) in OPERATORS {
        forward(&mut out.view_mut(), &x.view(), 1).unwrap();
        let half = if log { 0.5_f64.ln() } else { 0.5 };
        out.assert_close(&[half, half, nan, nan, half, half], log);
    }
}

#[test]
fn nan_anywhere_in_a_long_line_makes_it_nan() {
    let mut random = Random(4);
    for place in [0, 63, 64, 100, 129] {
        let mut x = vec![0.5; 130];
        x[place] = f64::NAN;
        let x = random.tensor_of(DType::F32, &[130], &x);
        let mut out = random.tensor(DType::F32, &[130]);
        softmax(&mut out.view_mut(), &x.view(), 0).unwrap();
        out.assert_close(&[f64::NAN; 130], place);
    }
}

#[test]
fn large_small_and_infinite_elements_are_right() {
    let mut random = Random(2);
    let (big, infinity, nan) = (1e30, f64::INFINITY, f64::NAN);
    for (x, softmax_wanted, log_wanted) in [
        ([big, 0.0, -big], [1.0, 0.0, 0.0], [0.0, -big, -2.0 * big]),
        ([-infinity, 0.0, 0.0], [0.0, 0.5, 0.5], [-infinity, -(2.0_f64.ln()), -(2.0_f64.ln())]),
        ([nan, 0.0, 0.0], [nan; 3], [nan; 3]),
        ([infinity, 0.0, 0.0], [nan; 3], [nan; 3]),
        ([-infinity; 3], [nan; 3], [nan; 3]),
    ] {
        let x = random.tensor_of(DType::F64, &[3], &x);
        let mut out = random.tensor(DType::F64, &[3]);
        softmax(&mut out.view_mut(), &x.view(), -1).unwrap();
        // Where one element is infinite, the others are zero or NaN.
        if x.values()[0] != infinity {
            out.assert_close(&softmax_wanted, "softmax");
            log_softmax(&mut out.view_mut(), &x.view(), -1).unwrap();
            out.assert_close(&log_wanted, "log_softmax");
        } else {
            assert!(out.values()[0].is_nan());
        }
    }
}

#[test]
fn a_number_is_one_element() {
    let mut random = Random(3);
    let x = random.tensor(DType::F32, &[]);
    let mut out = random.tensor(DType::F32, &[]);
    softmax(&mut out.view_mut(), &x.view(), -1).unwrap();
    assert_eq!(out.values(), [1.0]);
    log_softmax(&mut out.view_mut(), &x.view(), 0).unwrap();
    assert_eq!(out.values(), [0.0]);
}

#[test]
fn the_result_may_replace_the_input() {
    let mut random = Random(4);
    let mut x = random.tensor(DType::F32, &[5, 6, 3]);
    let wanted = reference(&x.values(), &[5, 6, 3], 1, false);
    let (mut out, input) = x.both();
    softmax(&mut out, &input, 1).unwrap();
    x.assert_close(&wanted, "in place");
}

#[test]
fn arguments_are_checked() {
    let mut random = Random(5);
    let x = random.tensor(DType::F32, &[2, 3]);
    let mut out = random.tensor(DType::F32, &[2, 3]);
    for axis in [2, -3] {
        let result = softmax(&mut out.view_mut(), &x.view(), axis);
        assert!(matches!(result, Err(Error::Axis { .. })), "{result:?}");
    }
    let integers = random.tensor(DType::I32, &[2, 3]);
    assert_eq!(softmax(&mut out.view_mut(), &integers.view(), 1), Err(Error::Type { dtype: DType::I32 }));
    let mut short = random.tensor(DType::F32, &[2, 2]);
    assert!(matches!(softmax(&mut short.view_mut(), &x.view(), 1), Err(Error::Shape { .. })));
}

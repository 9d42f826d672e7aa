use tenon_kernels::matmul::{addmm, matmul, matmul_grad, matmul_with_flatten};
use tenon_kernels::{DType, Error};

use crate::support::{FLOATS, Random, gradient};

/// The operands' shapes, and whether they are transposed.
type Case = (Vec<usize>, Vec<usize>, bool, bool);

/// Computes the shape of the product, and the product, over indices.
fn reference((x, y, transpose_x, transpose_y): &Case, values: &[Vec<f64>]) -> (Vec<usize>, Vec<f64>) {
    let as_matrix = |dims: &[usize], row: bool| match dims {
        [len] if row => vec![1, *len],
        [len] => vec![*len, 1],
        _ => dims.to_vec(),
    };
    let (x_dims, y_dims) = (as_matrix(x, true), as_matrix(y, false));
    let (transpose_x, transpose_y) = (*transpose_x && x.len() > 1, *transpose_y && y.len() > 1);
    let rank = x_dims.len().max(y_dims.len());
    let padded = |dims: &[usize]| [vec![1; rank - dims.len()], dims.to_vec()].concat();
    let (x_dims, y_dims) = (padded(&x_dims), padded(&y_dims));
    let swap = |index: [usize; 2], swapped: bool| if swapped { [index[1], index[0]] } else { index };
    let [rows, inner] = swap([x_dims[rank - 2], x_dims[rank - 1]], transpose_x);
    let columns = y_dims[if transpose_y { rank - 2 } else { rank - 1 }];
    let batch: Vec<usize> =
        (0..rank - 2).map(|n| if x_dims[n] == 1 { y_dims[n] } else { x_dims[n] }).collect();
    let element = |dims: &[usize], values: &[f64], batch: &[usize], at: [usize; 2]| {
        let index = batch.iter().chain(&at).zip(dims);
        values[index.fold(0, |place, (&index, &dim)| place * dim + if dim == 1 { 0 } else { index })]
    };
    let mut out = Vec::new();
    for number in 0..batch.iter().product() {
        let mut index = vec![0; batch.len()];
        let mut rest = number;
        for n in (0..batch.len()).rev() {
            index[n] = rest % batch[n];
            rest /= batch[n];
        }
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let product = |k| {
                element(&x_dims, &values[0], &index, swap([row, k], transpose_x))
                    * element(&y_dims, &values[1], &index, swap([k, column], transpose_y))
            };
            out.push((0..inner).map(product).sum());
        }
    }
    let mut dims = batch;
    dims.extend([(rows, x.len() == 1), (columns, y.len() == 1)].iter().filter(|n| !n.1).map(|n| n.0));
    (dims, out)
}

fn cases(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for (x_batch, y_batch) in [
        (&[][..], &[][..]),
        (&[3], &[3]),
        (&[2, 3], &[]),
        (&[], &[2]),
        (&[2, 1], &[3]),
        (&[1, 3], &[2, 1]),
        (&[0], &[1]),
    ] {
        for (transpose_x, transpose_y) in [(false, false), (true, false), (false, true), (true, true)] {
            let [rows, inner, columns] = [0, 1, 2].map(|_| 1 + random.below(6));
            let matrix = |dims: [usize; 2], swap: bool| if swap { [dims[1], dims[0]] } else { dims };
            let x = [x_batch, &matrix([rows, inner], transpose_x)].concat();
            let y = [y_batch, &matrix([inner, columns], transpose_y)].concat();
            cases.push((x, y, transpose_x, transpose_y));
        }
    }
    for (x, y) in [
        (&[5][..], &[5][..]),
        (&[5], &[5, 3]),
        (&[2, 4, 5], &[5]),
        (&[5], &[2, 5, 3]),
        (&[2, 0], &[0, 3]),
        (&[0, 2], &[2, 3]),
    ] {
        cases.push((x.to_vec(), y.to_vec(), false, false));
    }
    cases.push((vec![4], vec![4, 2], true, false));
    cases.push((vec![3, 4], vec![4], false, true));
    cases
}

#[test]
fn products_of_any_shape_equal_a_loop() {
    let mut random = Random(1);
    for case in cases(&mut random) {
        for dtype in FLOATS.into_iter().chain([DType::I32, DType::I64]) {
            let (x, y) = (random.tensor(dtype, &case.0), random.tensor(dtype, &case.1));
            let (dims, wanted) = reference(&case, &[x.values(), y.values()]);
            let mut out = random.tensor(dtype, &dims);
            matmul(&mut out.view_mut(), &x.view(), &y.view(), case.2, case.3).unwrap();
            out.assert_close(&wanted, &case);
        }
    }
}

#[test]
fn gradients_equal_finite_differences() {
    let mut random = Random(2);
    for case in cases(&mut random) {
        for dtype in FLOATS {
            let (x, y) = (random.tensor(dtype, &case.0), random.tensor(dtype, &case.1));
            let inputs = [x.values(), y.values()];
            let dout = random.tensor(dtype, &reference(&case, &inputs).0);
            let (mut dx, mut dy) = (random.tensor(dtype, &case.0), random.tensor(dtype, &case.1));
            let views = (x.view(), y.view(), dout.view());
            let (both, one) = (random.one_in(3), random.one_in(2));
            let wanted =
                |which| gradient(&inputs, which, &dout.values(), |inputs| reference(&case, inputs).1);
            let (mut dx_view, mut dy_view) = (dx.view_mut(), dy.view_mut());
            let (dx_wanted, dy_wanted) = ((both || one), (both || !one));
            matmul_grad(
                dx_wanted.then_some(&mut dx_view),
                dy_wanted.then_some(&mut dy_view),
                &views.0,
                &views.1,
                &views.2,
                case.2,
                case.3,
            )
            .unwrap();
            if dx_wanted {
                dx.assert_close(&wanted(0), &case);
            }
            if dy_wanted {
                dy.assert_close(&wanted(1), &case);
            }
        }
    }
}

#[test]
fn large_matrices_equal_a_loop() {
    let mut random = Random(3);
    let case = (vec![70, 45], vec![45, 83], false, false);
    let (x, y) = (random.tensor(DType::F32, &case.0), random.tensor(DType::F32, &case.1));
    let (dims, wanted) = reference(&case, &[x.values(), y.values()]);
    let mut out = random.tensor(DType::F32, &dims);
    matmul(&mut out.view_mut(), &x.view(), &y.view(), false, false).unwrap();
    out.assert_close(&wanted, &case);
}

#[test]
fn a_product_may_replace_an_operand() {
    let mut random = Random(4);
    let mut x = random.tensor(DType::F32, &[6, 6]);
    let case = (vec![6, 6], vec![6, 6], false, false);
    let (_, wanted) = reference(&case, &[x.values(), x.values()]);
    let (mut out, input) = x.both();
    matmul(&mut out, &input, &input, false, false).unwrap();
    x.assert_close(&wanted, "in place");
}

#[test]
fn integers_wrap() {
    let mut random = Random(5);
    let [x, y] = [200.0, 3.0].map(|value| random.tensor_of(DType::U8, &[1, 1], &[value]));
    let mut out = random.tensor(DType::U8, &[1, 1]);
    matmul(&mut out.view_mut(), &x.view(), &y.view(), false, false).unwrap();
    assert_eq!(out.values(), [88.0]);
}

#[test]
fn shapes_are_checked() {
    let mut random = Random(6);
    for (x, y, out, fits) in [
        (&[2, 3][..], &[3, 4][..], &[2, 4][..], true),
        (&[2, 3], &[4, 3], &[2, 4], false),
        (&[2, 3], &[3, 4], &[4, 2], false),
        (&[2, 2, 3], &[3, 3, 4], &[2, 2, 4], false),
        (&[], &[3], &[], false),
        (&[3], &[3], &[1], true),
        (&[3], &[3], &[], true),
    ] {
        let (x, y) = (random.tensor(DType::F32, x), random.tensor(DType::F32, y));
        let mut out = random.tensor(DType::F32, out);
        let result = matmul(&mut out.view_mut(), &x.view(), &y.view(), false, false);
        assert_eq!(result.is_ok(), fits, "{result:?}");
        assert!(matches!(
            result,
            Ok(()) | Err(Error::Shape { .. } | Error::Inner { .. } | Error::Broadcast { .. })
        ));
    }
}

#[test]
fn products_are_added_to_broadcast_tensors() {
    let mut random = Random(5);
    for dtype in [DType::F32, DType::F64, DType::Bf16] {
        let [input, x, y] = [&[1, 2][..], &[3, 4], &[4, 2]].map(|dims| random.tensor(dtype, dims));
        let mut out = random.tensor(dtype, &[3, 2]);
        addmm(&mut out.view_mut(), &input.view(), &x.view(), &y.view(), 0.5, 2.0).unwrap();
        let (input, x, y) = (input.values(), x.values(), y.values());
        let element = |row: usize, column: usize| {
            let product: f64 = (0..4).map(|n| x[row * 4 + n] * y[n * 2 + column]).sum();
            0.5 * input[column] + 2.0 * product
        };
        let wanted: Vec<f64> = (0..6).map(|n| element(n / 2, n % 2)).collect();
        out.assert_close(&wanted, dtype);
    }
    let nan = random.tensor_of(DType::F64, &[1], &[f64::NAN]);
    let [x, y] = [&[1, 1][..], &[1, 1]].map(|dims| random.tensor_of(DType::F64, dims, &[3.0]));
    let mut out = random.tensor(DType::F64, &[1, 1]);
    addmm(&mut out.view_mut(), &nan.view(), &x.view(), &y.view(), 0.0, 1.0).unwrap();
    out.assert_close(&[9.0], "not read");
}

#[test]
fn dimensions_are_folded() {
    let mut random = Random(6);
    let [x, y] = [&[2, 3, 2, 2][..], &[4, 1, 5]].map(|dims| random.tensor(DType::F64, dims));
    let mut out = random.tensor(DType::F64, &[2, 3, 1, 5]);
    let mut run = |rows| matmul_with_flatten(&mut out.view_mut(), &x.view(), &y.view(), rows, 1);
    assert!(matches!(run(4), Err(Error::Attribute { name: "x_num_col_dims", .. })));
    assert!(matches!(run(3), Err(Error::Inner { .. })));
    run(2).unwrap();
    let (x, y) = (x.values(), y.values());
    let element = |n: usize| (0..4).map(|k| x[n / 5 * 4 + k] * y[k * 5 + n % 5]).sum();
    out.assert_close(&(0..30).map(element).collect::<Vec<f64>>(), "folded");
}

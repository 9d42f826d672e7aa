use tenon_kernels::embedding::{embedding, embedding_grad};
use tenon_kernels::{DType, Error};

use crate::support::{FLOATS, Random};

#[test]
fn rows_and_their_gradient_equal_a_loop() {
    let mut random = Random(1);
    for (case, dtype) in FLOATS.into_iter().cycle().take(24).enumerate() {
        let (padding, dims) = ([-1, 2][case % 2], [&[2, 3][..], &[7], &[]][case % 3]);
        let count: usize = dims.iter().product();
        let rows: Vec<f64> = (0..count).map(|_| random.below(4) as f64).collect();
        let x = random.tensor_of([DType::I64, DType::I32][case / 2 % 2], dims, &rows);
        let weight = random.tensor(dtype, &[4, 5]);
        let out_dims = [dims, &[5]].concat();
        let mut out = random.tensor(dtype, &out_dims);
        embedding(&mut out.view_mut(), &x.view(), &weight.view(), padding).unwrap();
        let table = weight.values();
        let row = |&row: &f64| (0..5).map(move |n| (row as usize, n));
        let wanted: Vec<f64> = rows
            .iter()
            .flat_map(row)
            .map(|(row, n)| if row as i64 == padding { 0.0 } else { table[row * 5 + n] })
            .collect();
        out.assert_close(&wanted, (case, dims));
        let (dout, mut dweight) = (random.tensor(dtype, &out_dims), random.tensor(dtype, &[4, 5]));
        embedding_grad(&mut dweight.view_mut(), &x.view(), &dout.view(), padding).unwrap();
        let mut wanted = vec![0.0; 20];
        for ((row, n), dout) in rows.iter().flat_map(row).zip(dout.values()) {
            wanted[row * 5 + n] += if row as i64 == padding { 0.0 } else { dout };
        }
        dweight.assert_close(&wanted, (case, dims, "gradient"));
    }
}

#[test]
fn a_number_that_is_no_row_is_an_error() {
    let mut random = Random(2);
    let weight = random.tensor(DType::F32, &[4, 5]);
    let mut out = random.tensor(DType::F32, &[1, 5]);
    for index in [4, -1] {
        let x = random.tensor_of(DType::I64, &[1], &[index as f64]);
        let refused = Err(Error::Index { index, len: 4 });
        assert_eq!(embedding(&mut out.view_mut(), &x.view(), &weight.view(), -1), refused);
        let (mut dweight, dout) = (random.tensor(DType::F32, &[4, 5]), random.tensor(DType::F32, &[1, 5]));
        assert_eq!(embedding_grad(&mut dweight.view_mut(), &x.view(), &dout.view(), -1), refused);
    }
}

#[test]
fn a_row_of_the_table_may_be_replaced() {
    let mut random = Random(3);
    let mut weight = random.tensor(DType::F32, &[3, 2]);
    let x = random.tensor_of(DType::I32, &[3], &[2.0, 0.0, 0.0]);
    let old = weight.values();
    let (mut out, input) = weight.both();
    embedding(&mut out, &x.view(), &input, -1).unwrap();
    assert_eq!(weight.values(), [old[4], old[5], old[0], old[1], old[0], old[1]]);
}

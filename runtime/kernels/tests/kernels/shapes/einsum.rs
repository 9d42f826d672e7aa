//! Sums of products in Einstein's notation, held against loops over all labels.

use std::collections::BTreeMap;

use tenon_kernels::matmul::{einsum, einsum_grad};
use tenon_kernels::{DType, Error, Number, View};

use crate::gradient::{assert_close, check, empty, numbers, spaced};
use crate::tensor::{Random, Tensor};

/// An equation, the same without `...` and with an output, and the shapes of the operands.
const CASES: [(&str, &str, &[&[usize]]); 17] = [
    ("ij->ji", "ij->ji", &[&[2, 3]]),
    ("ij->", "ij->", &[&[2, 3]]),
    ("ii->i", "ii->i", &[&[3, 3]]),
    ("iji->j", "iji->j", &[&[2, 3, 2]]),
    ("ij,jk->ik", "ij,jk->ik", &[&[2, 3], &[3, 4]]),
    ("ij,jk", "ij,jk->ik", &[&[2, 3], &[3, 4]]),
    ("ba", "ba->ab", &[&[2, 3]]),
    ("i, i ->", "i,i->", &[&[4], &[4]]),
    ("i,j->ji", "i,j->ji", &[&[2], &[3]]),
    ("bij,bjk->kbi", "bij,bjk->kbi", &[&[2, 3, 2], &[2, 2, 3]]),
    ("ijk,jl->i", "ijk,jl->i", &[&[2, 3, 2], &[3, 2]]),
    ("ii,ij->j", "ii,ij->j", &[&[3, 3], &[3, 2]]),
    ("...ij,...jk->...ik", "bij,jk->bik", &[&[2, 3, 2], &[2, 2]]),
    ("...i,i", "abi,i->ab", &[&[2, 3, 2], &[2]]),
    ("b...->...", "bcd->cd", &[&[2, 3, 2]]),
    ("ij,ij->ij", "ij,ij->ij", &[&[1, 3], &[2, 3]]),
    ("ij,jk,kl->il", "ij,jk,kl->il", &[&[2, 2], &[2, 3], &[3, 2]]),
];

/// Returns the shape and the elements of the sums.
fn expected(equation: &str, operands: &[Tensor]) -> (Vec<usize>, Vec<f64>) {
    let (left, out) = equation.split_once("->").unwrap();
    let terms: Vec<Vec<char>> = left.split(',').map(|term| term.chars().collect()).collect();
    let mut lengths = BTreeMap::new();
    for (term, operand) in terms.iter().zip(operands) {
        for (label, &dim) in term.iter().zip(&operand.dims) {
            let length = lengths.entry(*label).or_insert(dim);
            *length = dim.max(*length);
        }
    }
    let out: Vec<char> = out.chars().collect();
    let dims: Vec<usize> = out.iter().map(|label| lengths[label]).collect();
    let sums = Tensor::new(DType::F64, &dims, vec![Number::Real(0.0); 1000]);
    let whole: Vec<usize> = lengths.values().copied().collect();
    for values in Tensor::new(DType::U8, &whole, []).indices() {
        let value: BTreeMap<char, usize> = lengths.keys().copied().zip(values).collect();
        let product: f64 = terms
            .iter()
            .zip(operands)
            .map(|(term, operand)| {
                let index: Vec<usize> =
                    term.iter().zip(&operand.dims).map(|(label, dim)| value[label] % dim).collect();
                operand.get(&index).to_f64()
            })
            .product();
        let place: Vec<usize> = out.iter().map(|label| value[label]).collect();
        sums.set(&place, Number::Real(sums.get(&place).to_f64() + product));
    }
    (dims, numbers(&sums))
}

fn views(operands: &[Tensor]) -> Vec<View<'_>> {
    operands.iter().map(Tensor::view).collect()
}

#[test]
fn sums_of_products_equal_loops_and_have_gradients() {
    let mut random = Random(21);
    for (equation, explicit, shapes) in CASES {
        let operands: Vec<Tensor> = shapes.iter().map(|dims| spaced(&mut random, dims)).collect();
        let (dims, wanted) = expected(explicit, &operands);
        let forward = || {
            let out = empty(&mut Random(3), DType::F64, &dims);
            einsum(&mut out.view_mut(), &views(&operands), equation).unwrap();
            out
        };
        assert_close(&numbers(&forward()), &wanted, 1e-12, equation);
        for index in 0..operands.len() {
            let backward = |dx: &Tensor, _: &Tensor, dout: &Tensor| {
                dx.indices().iter().for_each(|index| dx.set(index, Number::Real(f64::NAN)));
                let mut gradients: Vec<_> =
                    (0..operands.len()).map(|n| (n == index).then(|| dx.view_mut())).collect();
                einsum_grad(&mut gradients, &views(&operands), &dout.view(), equation).unwrap();
            };
            check(&mut random, &operands[index], forward, backward, (equation, index));
        }
    }
}

#[test]
fn operands_of_the_gradient_may_be_repeated_and_summed() {
    let tensor = |dims: &[usize]| spaced(&mut Random(7), dims);
    let gradients = |operands: &[Tensor], shapes: [&[usize]; 2]| {
        let gradients = shapes.map(|dims| empty(&mut Random(3), DType::F64, dims));
        let dout = tensor(&[2, 2]);
        let mut outputs: Vec<_> = gradients.iter().map(|gradient| Some(gradient.view_mut())).collect();
        einsum_grad(&mut outputs, &views(operands), &dout.view(), "ijl,jk->ik").unwrap();
        drop(outputs);
        gradients.map(|gradient| numbers(&gradient))
    };
    let (a, b) = (tensor(&[2, 3, 4]), tensor(&[1, 2]));
    let shapes: [&[usize]; 2] = [&[2, 3, 4], &[1, 2]];
    let summed = Tensor::new(DType::F64, &[2, 3, 1], vec![Number::Real(0.0); 6]);
    for index in a.indices() {
        let place = [index[0], index[1], 0];
        summed.set(&place, Number::Real(summed.get(&place).to_f64() + a.get(&index).to_f64()));
    }
    let repeated = Tensor::new(DType::F64, &[3, 2], [b.get(&[0, 0]), b.get(&[0, 1])].repeat(3));
    let [plain, ready] = [[a, b], [summed, repeated]].map(|operands| gradients(&operands, shapes));
    for (plain, ready) in plain.iter().zip(&ready) {
        assert_close(ready, plain, 1e-12, "");
    }
}

#[test]
fn equations_that_do_not_fit_are_errors() {
    let x = Tensor::new(DType::F32, &[2, 3], []);
    let out = Tensor::new(DType::F32, &[2, 3], []);
    for equation in ["ij,jk->ik", "ijk->ij", "ij->ik", "ij->ii", "i1->i", "", "i...jk->i", "->", "ij->...ijk"]
    {
        let refused = einsum(&mut out.view_mut(), &[x.view()], equation);
        assert!(matches!(refused, Err(Error::Attribute { name: "equation", .. })), "{equation}: {refused:?}");
    }
    let refused = einsum(&mut out.view_mut(), &[x.view(), x.view()], "ij,jk->ik");
    assert_eq!(refused, Err(Error::Broadcast { from: vec![2], to: vec![3] }));
    let refused = einsum(&mut out.view_mut(), &[x.view()], "ij->j");
    assert_eq!(refused, Err(Error::Shape { expected: vec![3], actual: vec![2, 3] }));
}

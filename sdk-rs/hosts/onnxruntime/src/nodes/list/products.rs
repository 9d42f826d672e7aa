//! Products of matrices.

use super::Node;
use crate::nodes::types::{BYTES, FLOATS, INT32, INTEGERS, NUMBERS};
use crate::rules::{products as rules, rule};

pub(super) static NODES: &[Node] = &[
    Node::new("MatMul", 1, &[("T", FLOATS.and(INTEGERS))], rule!(rules::matmul: matmul copy)),
    Node::new("Gemm", 7, &[("T", FLOATS)], rule!(rules::gemm: matmul addmm scale copy)),
    Node::new("Einsum", 12, &[("T", NUMBERS)], rule!(rules::einsum: einsum)),
    Node::new("Det", 11, &[("T", FLOATS)], rule!(rules::determinant: determinant)),
    Node::new(
        "MatMulInteger",
        10,
        &[("T1", BYTES), ("T2", BYTES), ("T3", INT32)],
        rule!(rules::matmul_integer: matmul cast subtract copy),
    ),
];

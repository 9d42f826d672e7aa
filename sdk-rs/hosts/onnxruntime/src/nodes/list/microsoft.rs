//! Operators of ONNX Runtime itself, which its optimiser puts into models.

use super::Node;
use crate::nodes::types::{FLOAT, FLOATS};
use crate::rules::{convolution, elementwise, fused, products, rule};

pub(super) static NODES: &[Node] = &[
    Node::new(
        "FusedConv",
        1,
        &[("T", FLOATS)],
        rule!(convolution::fused_conv: conv add relu sigmoid tanh leaky_relu clip hard_sigmoid),
    )
    .microsoft(),
    Node::new("FusedMatMul", 1, &[("T", FLOATS)], rule!(products::fused_matmul: matmul scale copy))
        .microsoft(),
    Node::new("Gelu", 1, &[("T", FLOATS)], rule!(elementwise::gelu: gelu)).microsoft(),
    Node::new("BiasGelu", 1, &[("T", FLOATS)], rule!(elementwise::bias_gelu: gelu add)).microsoft(),
    Node::new("FastGelu", 1, &[("T", FLOATS)], rule!(elementwise::fast_gelu: gelu add)).microsoft(),
    Node::new("QuickGelu", 1, &[("T", FLOATS)], rule!(elementwise::quick_gelu: swish)).microsoft(),
    Node::new(
        "SkipLayerNormalization",
        1,
        &[("T", FLOATS), ("U", FLOAT)],
        rule!(fused::skip_layer_normalization: layer_norm add rsqrt),
    )
    .microsoft(),
    Node::new(
        "SimplifiedLayerNormalization",
        1,
        &[("T", FLOATS)],
        rule!(crate::rules::normalization::rms_normalization: rms_norm cast),
    )
    .until(1),
];

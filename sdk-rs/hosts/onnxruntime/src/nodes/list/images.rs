//! Images: convolution, pooling, resizing and sampling; and recurrent networks.

use super::Node;
use crate::nodes::types::{BYTES, FLOAT, FLOATS, INT32, INT64, NUMBERS};
use crate::rules::{convolution as rules, images, rule};

pub(super) static NODES: &[Node] = &[
    Node::new("Conv", 1, &[("T", FLOATS)], rule!(rules::conv: conv add)),
    Node::new("ConvTranspose", 1, &[("T", FLOATS)], rule!(rules::conv_transpose: conv_transpose add)),
    Node::new(
        "ConvInteger",
        10,
        &[("T1", BYTES), ("T2", BYTES), ("T3", INT32)],
        rule!(rules::conv_integer: conv cast subtract),
    ),
    Node::new("AveragePool", 7, &[("T", FLOATS)], rule!(rules::average_pool: pool)),
    Node::new(
        "MaxPool",
        8,
        &[("T", NUMBERS), ("I", INT64)],
        rule!(rules::max_pool: pool max_pool_with_index dilated_max_pool add),
    ),
    Node::new("GlobalAveragePool", 1, &[("T", FLOATS)], rule!(rules::global_average_pool: mean)),
    Node::new("GlobalMaxPool", 1, &[("T", FLOATS)], rule!(rules::global_max_pool: max)),
    Node::new("LpPool", 2, &[("T", FLOATS)], rule!(rules::lp_pool: pool abs pow scale)),
    Node::new("GridSample", 16, &[("T1", FLOATS), ("T2", FLOATS)], rule!(images::grid_sample: grid_sample)),
    Node::new(
        "RoiAlign",
        10,
        &[("T1", FLOATS), ("T2", INT64)],
        rule!(images::roi_align: roi_align cast copy),
    ),
    Node::new(
        "Resize",
        11,
        &[("T1", FLOATS), ("T2", FLOATS)],
        rule!(images::resize: interpolate gather copy),
    )
    .host(&[1, 2, 3]),
    Node::new("Upsample", 9, &[("T", FLOAT)], rule!(images::upsample: interpolate gather copy))
        .until(9)
        .host(&[1]),
];

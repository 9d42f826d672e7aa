//! Reductions, running sums, normalization and sorting.

use super::Node;
use crate::nodes::types::{BOOL, FLOAT, FLOATS, INDICES, NUMBERS};
use crate::rules::{normalization as norm, reduction as rules, rule};

/// A reduction whose dimensions are an attribute up to a version, and an input from then on.
macro_rules! reduce {
    ($name:literal, $input_since:literal, $types:expr, $computed:expr) => {
        [
            Node::new($name, 1, &[("T", $types)], $computed).until($input_since - 1),
            Node::new($name, $input_since, &[("T", $types)], $computed).host(&[1]),
        ]
    };
}

static REDUCTIONS: &[[Node; 2]] = &[
    reduce!("ReduceSum", 13, NUMBERS, rule!(rules::sum: sum copy)),
    reduce!("ReduceMean", 18, NUMBERS, rule!(rules::mean: mean copy)),
    reduce!("ReduceProd", 18, NUMBERS, rule!(rules::product: prod copy)),
    reduce!("ReduceMax", 18, NUMBERS.and(BOOL), rule!(rules::maximum: max copy)),
    reduce!("ReduceMin", 18, NUMBERS.and(BOOL), rule!(rules::minimum: min copy)),
    reduce!("ReduceL1", 18, NUMBERS, rule!(rules::l1: abs sum copy)),
    reduce!("ReduceL2", 18, FLOATS, rule!(rules::l2: square sum sqrt copy)),
    reduce!("ReduceSumSquare", 18, NUMBERS, rule!(rules::sum_of_squares: square sum copy)),
    reduce!("ReduceLogSum", 18, FLOATS, rule!(rules::log_of_sum: sum log copy)),
    reduce!("ReduceLogSumExp", 18, FLOATS, rule!(rules::log_of_sum_of_exponentials: logsumexp copy)),
];

pub(super) fn all() -> impl Iterator<Item = &'static Node> {
    REDUCTIONS.as_flattened().iter().chain(NODES)
}

static NODES: &[Node] = &[
    Node::new("ArgMax", 1, &[("T", NUMBERS)], rule!(rules::argmax: argmax flip subtract)),
    Node::new("ArgMin", 1, &[("T", NUMBERS)], rule!(rules::argmin: argmin flip subtract)),
    Node::new("CumSum", 11, &[("T", NUMBERS), ("T2", INDICES)], rule!(rules::cumsum: cumsum)).host(&[1]),
    Node::new("CumProd", 26, &[("T", NUMBERS), ("T2", INDICES)], rule!(rules::cumprod: cumprod)).host(&[1]),
    Node::new("TopK", 10, &[("T", NUMBERS)], rule!(rules::topk: topk)).host(&[1]),
    Node::new("Softmax", 1, &[("T", FLOATS)], rule!(norm::softmax: softmax)).in_place(),
    Node::new("LogSoftmax", 1, &[("T", FLOATS)], rule!(norm::log_softmax: log_softmax)).in_place(),
    Node::new("Hardmax", 1, &[("T", FLOATS)], rule!(norm::hardmax: argmax equal cast copy)),
    Node::new(
        "LayerNormalization",
        17,
        &[("T", FLOATS), ("U", FLOAT)],
        rule!(norm::layer_normalization: layer_norm add rsqrt copy),
    ),
    Node::new(
        "RMSNormalization",
        23,
        &[("T", FLOATS), ("V", FLOATS)],
        rule!(norm::rms_normalization: rms_norm cast),
    ),
    Node::new(
        "InstanceNormalization",
        6,
        &[("T", FLOATS)],
        rule!(norm::instance_normalization: instance_norm),
    ),
    Node::new("GroupNormalization", 21, &[("T", FLOATS)], rule!(norm::group_normalization: group_norm)),
    Node::new("BatchNormalization", 7, &[("T", FLOATS)], rule!(norm::batch_normalization: batch_norm))
        .until(13),
    Node::new(
        "BatchNormalization",
        14,
        &[("T", FLOATS), ("U", FLOATS)],
        rule!(norm::batch_normalization: batch_norm),
    )
    .until(14),
    Node::new(
        "BatchNormalization",
        15,
        &[("T", FLOATS), ("T1", FLOATS), ("T2", FLOATS)],
        rule!(norm::batch_normalization: batch_norm),
    ),
    Node::new(
        "LpNormalization",
        1,
        &[("T", FLOATS)],
        rule!(norm::lp_normalization: abs square sum sqrt divide equal select copy),
    ),
    Node::new(
        "MeanVarianceNormalization",
        9,
        &[("T", FLOATS)],
        rule!(norm::mean_variance_normalization: mean subtract square sqrt scale divide copy),
    ),
    Node::new("LRN", 1, &[("T", FLOATS)], rule!(norm::local_response: square add scale pow divide copy)),
];

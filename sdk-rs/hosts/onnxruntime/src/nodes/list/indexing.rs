//! Nodes that select elements by indices or conditions, or replace them.

use super::Node;
use crate::nodes::types::{ALL, BOOL, INDICES, NUMBERS, VALUES};
use crate::rules::{indexing as rules, rule};

pub(super) static NODES: &[Node] = &[
    Node::new(
        "Gather",
        1,
        &[("T", ALL), ("Tind", INDICES)],
        rule!(rules::gather: gather add select less_than),
    ),
    Node::new(
        "GatherElements",
        11,
        &[("T", ALL), ("Tind", INDICES)],
        rule!(rules::gather_elements: take_along_axis),
    ),
    Node::new("GatherND", 11, &[("T", ALL)], rule!(rules::gather_nd: gather_nd copy)),
    Node::new(
        "Scatter",
        9,
        &[("T", VALUES), ("Tind", INDICES)],
        rule!(rules::scatter_elements: put_along_axis copy),
    )
    .until(10),
    Node::new(
        "ScatterElements",
        11,
        &[("T", VALUES), ("Tind", INDICES)],
        rule!(rules::scatter_elements: put_along_axis copy),
    ),
    Node::new("ScatterND", 11, &[("T", VALUES)], rule!(rules::scatter_nd: put_along_axis copy)),
    Node::new("NonZero", 9, &[("T", VALUES)], rule!(rules::nonzero: nonzero copy)),
    Node::new("Compress", 9, &[("T", ALL), ("T1", BOOL)], rule!(rules::compress: gather)),
    Node::new("Unique", 11, &[("T", NUMBERS)], rule!(rules::unique: unique)),
    Node::new("ReverseSequence", 10, &[("T", ALL)], rule!(rules::reverse_sequence: take_along_axis))
        .host(&[1]),
];

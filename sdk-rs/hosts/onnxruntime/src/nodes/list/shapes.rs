//! Nodes that give elements another shape or another order.

use super::Node;
use crate::nodes::types::{ALL, INDICES, INT64, VALUES};
use crate::rules::{creation, rule, shapes as rules};

pub(super) static NODES: &[Node] = &[
    Node::new("Reshape", 5, &[("T", ALL)], rule!(rules::reshape: copy)).host(&[1]).in_place(),
    Node::new("Flatten", 1, &[("T", ALL)], rule!(rules::flatten: copy)).in_place(),
    Node::new("Squeeze", 1, &[("T", ALL)], rule!(rules::squeeze: copy)).until(12).in_place(),
    Node::new("Squeeze", 13, &[("T", ALL)], rule!(rules::squeeze: copy)).host(&[1]).in_place(),
    Node::new("Unsqueeze", 1, &[("T", ALL)], rule!(rules::unsqueeze: copy)).until(12).in_place(),
    Node::new("Unsqueeze", 13, &[("T", ALL)], rule!(rules::unsqueeze: copy)).host(&[1]).in_place(),
    Node::new("Transpose", 1, &[("T", ALL)], rule!(rules::transpose: transpose)),
    Node::new("Concat", 4, &[("T", ALL)], rule!(rules::concat: concat)),
    Node::new("Split", 2, &[("T", ALL)], rule!(rules::split: copy)).until(12),
    Node::new("Split", 13, &[("T", ALL)], rule!(rules::split: copy)).host(&[1]),
    Node::new("Slice", 1, &[("T", ALL)], rule!(rules::slice: copy strided_slice)).until(9),
    Node::new("Slice", 10, &[("T", ALL), ("Tind", INDICES)], rule!(rules::slice: copy strided_slice))
        .host(&[1, 2, 3, 4]),
    Node::new("Expand", 8, &[("T", ALL)], rule!(rules::expand: copy)).host(&[1]),
    Node::new("Tile", 6, &[("T", ALL)], rule!(rules::tile: tile)).host(&[1]),
    Node::new("Shape", 1, &[("T", ALL), ("T1", INT64)], rule!(rules::shape:)).host_output(),
    Node::new("Size", 1, &[("T", ALL), ("T1", INT64)], rule!(rules::size:)).host_output(),
    Node::new("DepthToSpace", 1, &[("T", ALL)], rule!(rules::depth_to_space: copy)),
    Node::new("SpaceToDepth", 1, &[("T", ALL)], rule!(rules::space_to_depth: copy)),
    Node::new("Pad", 11, &[("T", VALUES)], rule!(creation::pad: pad pad3d copy)).until(17).host(&[1, 2]),
    Node::new("Pad", 18, &[("T", VALUES), ("Tind", INDICES)], rule!(creation::pad: pad pad3d copy))
        .host(&[1, 2, 3]),
    Node::new(
        "ConstantOfShape",
        9,
        &[("T2", VALUES), ("T1", INT64)],
        rule!(creation::constant_of_shape: copy),
    )
    .host(&[0]),
    Node::new("Range", 11, &[("T", VALUES)], rule!(creation::range: arange_tensor)).host(&[0, 1, 2]),
    Node::new("EyeLike", 9, &[("T2", VALUES), ("T1", VALUES)], rule!(creation::eye_like: eye copy)),
    Node::new("OneHot", 9, &[("T3", VALUES), ("T1", INDICES)], rule!(creation::one_hot: select equal copy))
        .host(&[1]),
    Node::new("Trilu", 14, &[("T", VALUES)], rule!(creation::trilu: tril_triu)).host(&[1]),
];

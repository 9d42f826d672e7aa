//! The list of kernels.

mod elementwise;
mod images;
mod indexing;
mod microsoft;
mod products;
mod reduction;
mod shapes;

use super::Node;

/// Returns all kernels.
pub(super) fn all() -> impl Iterator<Item = &'static Node> {
    [elementwise::NODES, shapes::NODES, products::NODES, indexing::NODES, images::NODES, microsoft::NODES]
        .into_iter()
        .flatten()
        .chain(reduction::all())
}

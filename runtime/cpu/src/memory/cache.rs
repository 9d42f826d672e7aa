//! Freed blocks, ready to be handed out again.

use super::block::Block;
use super::size::{CLASSES, SMALL, class_of};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Blocks by size.
pub(crate) struct Cache {
    small: Vec<Vec<Arc<Block>>>,
    large: BTreeMap<usize, Vec<Arc<Block>>>,
    bytes: usize,
}

impl Cache {
    pub(crate) fn new() -> Self {
        Self { small: (0..CLASSES).map(|_| Vec::new()).collect(), large: BTreeMap::new(), bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn put(&mut self, block: Arc<Block>) {
        let size = block.capacity();
        self.bytes += size;
        if size <= SMALL {
            self.small[class_of(size)].push(block);
        } else {
            self.large.entry(size).or_default().push(block);
        }
    }

    /// A block of the size; for large sizes one that is up to an eighth larger will do.
    pub(crate) fn take(&mut self, size: usize) -> Option<Arc<Block>> {
        let block = if size <= SMALL {
            self.small[class_of(size)].pop()
        } else {
            let (&found, _) = self.large.range(size..=size.saturating_add(size / 8)).next()?;
            self.take_large(found)
        }?;
        self.bytes -= block.capacity();
        Some(block)
    }

    /// Takes out enough blocks to hold no more than `most` bytes, the largest first: they are
    /// the fewest calls to the system, both now and when they are wanted again.
    pub(crate) fn shrink_to(&mut self, most: usize) -> Vec<Arc<Block>> {
        let mut out = Vec::new();
        while self.bytes > most {
            let largest = self.large.keys().next_back().copied();
            let block = match largest {
                Some(size) => self.take_large(size),
                None => self.small.iter_mut().rev().find_map(Vec::pop),
            };
            let Some(block) = block else { break };
            self.bytes -= block.capacity();
            out.push(block);
        }
        out
    }

    fn take_large(&mut self, size: usize) -> Option<Arc<Block>> {
        let blocks = self.large.get_mut(&size)?;
        let block = blocks.pop();
        if blocks.is_empty() {
            self.large.remove(&size);
        }
        block
    }
}

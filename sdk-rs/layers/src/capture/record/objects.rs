//! The live objects of the recorded plugins: addresses become numbers that are never used again.

use std::collections::{BTreeMap, HashMap};

use super::super::call::{ObjectId, Position};

/// The owner of an address: addresses of different plugins and devices may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) plugin: u32,
    /// The device; `None` if the function does not name one.
    pub(super) device: Option<u64>,
}

/// A removed object, which is restored if its destruction fails.
#[derive(Clone, Copy)]
pub(super) enum Removed {
    Handle(HandleKey, ObjectId),
    Block(Owner, u64, Block),
}

type HandleKey = (u32, &'static str, u64);

#[derive(Clone, Copy)]
pub(super) struct Block {
    id: ObjectId,
    length: u64,
}

#[derive(Default)]
pub(super) struct Objects {
    last: ObjectId,
    handles: HashMap<HandleKey, ObjectId>,
    blocks: BTreeMap<(Owner, u64), Block>,
}

impl Objects {
    fn next(&mut self) -> ObjectId {
        self.last += 1;
        self.last
    }

    pub(super) fn add_handle(&mut self, plugin: u32, kind: &'static str, address: u64) -> ObjectId {
        let id = self.next();
        self.handles.insert((plugin, kind, address), id);
        id
    }

    pub(super) fn add_block(&mut self, owner: Owner, address: u64, length: u64) -> ObjectId {
        let id = self.next();
        self.blocks.insert((owner, address), Block { id, length });
        id
    }

    pub(super) fn handle(&self, plugin: u32, kind: &'static str, address: u64) -> Option<ObjectId> {
        self.handles.get(&(plugin, kind, address)).copied()
    }

    pub(super) fn remove_handle(&mut self, plugin: u32, kind: &'static str, address: u64) -> Option<Removed> {
        let key = (plugin, kind, address);
        self.handles.remove(&key).map(|id| Removed::Handle(key, id))
    }

    pub(super) fn remove_block(&mut self, owner: Owner, address: u64) -> Option<Removed> {
        self.blocks.remove(&(owner, address)).map(|block| Removed::Block(owner, address, block))
    }

    pub(super) fn restore(&mut self, removed: Removed) {
        match removed {
            Removed::Handle(key, id) => {
                self.handles.insert(key, id);
            }
            Removed::Block(owner, address, block) => {
                self.blocks.insert((owner, address), block);
            }
        }
    }

    /// Returns the position of an address: in a block of the owner, or else in any block of the plugin.
    pub(super) fn position(&self, owner: Owner, address: u64) -> Option<Position> {
        self.position_in(owner, address).or_else(|| {
            let plugin = (Owner { plugin: owner.plugin, device: None }, 0)
                ..=(Owner { plugin: owner.plugin, device: Some(u64::MAX) }, u64::MAX);
            let mut owners: Vec<Owner> = self.blocks.range(plugin).map(|((owner, _), _)| *owner).collect();
            owners.dedup();
            owners.into_iter().find_map(|owner| self.position_in(owner, address))
        })
    }

    fn position_in(&self, owner: Owner, address: u64) -> Option<Position> {
        let ((_, start), block) = self.blocks.range((owner, 0)..=(owner, address)).next_back()?;
        let offset = address - start;
        // The address after the last byte belongs to the block too, for copies of no bytes.
        (offset <= block.length).then_some(Position { block: block.id, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner { plugin: 0, device: Some(0) };

    #[test]
    fn addresses_that_are_used_again_are_new_objects() {
        let mut objects = Objects::default();
        let first = objects.add_block(OWNER, 100, 10);
        assert!(objects.remove_block(OWNER, 100).is_some());
        assert_eq!(objects.position(OWNER, 105), None);
        let second = objects.add_block(OWNER, 100, 10);
        assert_ne!(first, second);
        assert_eq!(objects.position(OWNER, 105), Some(Position { block: second, offset: 5 }));
        assert_eq!(objects.position(OWNER, 111), None);
    }

    #[test]
    fn the_block_of_the_named_device_comes_first() {
        let mut objects = Objects::default();
        let other = Owner { plugin: 0, device: Some(1) };
        let ids = [objects.add_block(OWNER, 100, 10), objects.add_block(other, 100, 10)];
        let found = |objects: &Objects, owner| objects.position(owner, 100).map(|position| position.block);
        assert_eq!([found(&objects, OWNER), found(&objects, other)], ids.map(Some));
        let unnamed = Owner { plugin: 0, device: None };
        assert_eq!(found(&objects, unnamed), Some(ids[0]));
        assert_eq!(found(&objects, Owner { plugin: 1, device: Some(0) }), None);
    }

    #[test]
    fn failed_destruction_keeps_the_object() {
        let mut objects = Objects::default();
        let id = objects.add_handle(0, "Stream", 7);
        let removed = objects.remove_handle(0, "Stream", 7).unwrap();
        assert_eq!(objects.handle(0, "Stream", 7), None);
        objects.restore(removed);
        assert_eq!(objects.handle(0, "Stream", 7), Some(id));
    }
}

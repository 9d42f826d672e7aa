//! The handles and memory of each plugin of the process.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use tenon::support::{Mutex, RwLock};

use tenon::reflect::Space;

use super::allocations::{Allocation, Memory};
use super::destroyed::{Destroyed, FreedMemory};
use super::groups::Groups;
use super::handles::{Handle, HandleInfo, Key};
use super::hash::Map;
use super::lookup_cache;
use super::stream_progress::{Progress, StreamProgress};
use crate::validate::call_site::CallSite;

/// All plugins that are being validated. They show which plugin a foreign handle belongs to.
static PLUGINS: RwLock<Vec<Arc<TrackedPlugin>>> = RwLock::new(Vec::new());
static LAST_ID: AtomicU32 = AtomicU32::new(0);
/// The number of plugins, readable without a lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Number of changes to the memory of all plugins.
static ALL_CHANGES: AtomicU64 = AtomicU64::new(0);

#[inline]
pub fn all_changes() -> u64 {
    ALL_CHANGES.load(Ordering::Acquire)
}

/// The handles and memory of a plugin.
pub struct TrackedPlugin {
    /// The number of the plugin. It is never used again.
    id: u32,
    /// Number of removed or changed handles. A new handle does not count: it changes nothing for the others.
    handle_changes: AtomicU64,
    /// Number of changes to the memory.
    memory_changes: AtomicU64,
    pub name: Arc<str>,
    shards: [RwLock<Map<Key, Handle>>; 16],
    memory: RwLock<Memory>,
    destroyed: Mutex<Destroyed>,
    /// Objects whose destroying call has not returned yet.
    kept: Mutex<Kept>,
    pub progress: Progress,
    pub groups: Groups,
    /// The default stream of each device, at its number.
    defaults: RwLock<Vec<Arc<StreamProgress>>>,
    /// The captures in progress. Meanwhile work does not run, so that nothing is known of it.
    captures: AtomicUsize,
    /// Number of devices; 0 until the plugin was asked.
    pub devices: AtomicUsize,
}

/// Values by a number, which a layer passes from before a call to after it.
#[derive(Default)]
struct Kept {
    last: u64,
    things: Map<u64, Removed>,
}

/// An object that a call is about to destroy.
pub enum Removed {
    Handle(Handle),
    /// A handle that the plugin returned several times.
    OneOfMany {
        kind: u8,
        address: u64,
    },
    Memory(Arc<Allocation>),
}

impl TrackedPlugin {
    /// Starts to track a plugin.
    pub fn register(name: &str) -> Arc<Self> {
        let plugin = Arc::new(Self {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            handle_changes: AtomicU64::new(0),
            memory_changes: AtomicU64::new(0),
            name: name.into(),
            shards: Default::default(),
            memory: RwLock::default(),
            destroyed: Mutex::default(),
            kept: Mutex::default(),
            progress: Progress::default(),
            groups: Groups::default(),
            defaults: RwLock::default(),
            captures: AtomicUsize::new(0),
            devices: AtomicUsize::new(0),
        });
        let mut plugins = PLUGINS.write();
        plugins.push(plugin.clone());
        COUNT.store(plugins.len(), Ordering::Release);
        plugin
    }

    /// Stops tracking the plugin.
    pub fn unregister(self: &Arc<Self>) {
        let mut plugins = PLUGINS.write();
        plugins.retain(|plugin| !Arc::ptr_eq(plugin, self));
        COUNT.store(plugins.len(), Ordering::Release);
    }

    /// Asks the other plugins of the process.
    #[inline]
    pub fn others<T>(self: &Arc<Self>, ask: impl Fn(&TrackedPlugin) -> Option<T>) -> Option<T> {
        if COUNT.load(Ordering::Acquire) < 2 {
            return None;
        }
        let plugins = PLUGINS.read();
        plugins.iter().filter(|plugin| !Arc::ptr_eq(plugin, self)).find_map(|plugin| ask(plugin))
    }

    /// Looks at a handle.
    #[inline]
    pub fn handle<T>(&self, kind: u8, address: u64, look: impl FnOnce(&HandleInfo) -> T) -> Option<T> {
        let key = Key::new(kind, address);
        let find = || {
            let shard = self.shards[key.shard()].read();
            shard.get(&key).map(|handle| handle.known.clone())
        };
        lookup_cache::handle((self.id, self.handle_changes.load(Ordering::Acquire), key.0), find, look)
    }

    /// Adds a handle, or counts one more creation of a known one. Returns the value that is not needed.
    pub fn add_handle(&self, handle: Handle) -> Option<Handle> {
        let key = Key::new(handle.known.kind, handle.known.address);
        let mut shard = self.shard(key);
        match shard.get_mut(&key) {
            Some(_) if handle.lent => Some(handle),
            Some(known) if known.lent => {
                self.handle_changes.fetch_add(1, Ordering::Release);
                Some(std::mem::replace(known, handle))
            }
            Some(known) => {
                known.count += 1;
                // A handle that several devices share does not identify its device any more.
                if known.known.device != handle.known.device {
                    known.known = known.known.on_any_device();
                    self.handle_changes.fetch_add(1, Ordering::Release);
                }
                Some(handle)
            }
            None => shard.insert(key, handle),
        }
    }

    /// Takes out a handle that is about to be destroyed.
    pub fn remove_handle(&self, kind: u8, address: u64, by: CallSite) -> Option<Removed> {
        let key = Key::new(kind, address);
        let mut shard = self.shard(key);
        let known = shard.get_mut(&key)?;
        if known.count > 1 {
            known.count -= 1;
            return Some(Removed::OneOfMany { kind, address });
        }
        let handle = shard.remove(&key);
        self.handle_changes.fetch_add(1, Ordering::Release);
        drop(shard);
        self.destroyed().add_handle(key, by);
        handle.map(Removed::Handle)
    }

    /// Keeps what is about to be destroyed until the call has come back, under a number.
    pub fn keep(&self, removed: Removed) -> u64 {
        let mut kept = self.kept.lock();
        kept.last += 1;
        let number = kept.last;
        kept.things.insert(number, removed);
        number
    }

    /// Takes the object that was kept under a number.
    pub fn kept(&self, number: u64) -> Option<Removed> {
        self.kept.lock().things.remove(&number)
    }

    /// Puts back what was not destroyed after all.
    pub fn restore(&self, removed: Removed) {
        match removed {
            Removed::Handle(handle) => {
                if let Some(stream) = handle.known.stream() {
                    self.progress.restore(stream);
                }
                self.add_handle(handle);
            }
            Removed::OneOfMany { kind, address } => {
                let key = Key::new(kind, address);
                if let Some(known) = self.shard(key).get_mut(&key) {
                    known.count += 1;
                }
            }
            Removed::Memory(allocation) => drop(self.add_memory(allocation)),
        }
    }

    /// Returns the call that destroyed a handle.
    pub fn destroyed_handle(&self, kind: u8, address: u64) -> Option<CallSite> {
        self.destroyed().handles.get(&Key::new(kind, address)).cloned()
    }

    /// Returns the last call that freed memory in which an address was.
    pub fn freed_memory(&self, address: u64) -> Option<FreedMemory> {
        let destroyed = self.destroyed();
        let lay_in =
            |one: &&FreedMemory| one.start == address || (one.start..one.start + one.size).contains(&address);
        destroyed.memory.iter().rev().find(lay_in).cloned()
    }

    #[inline]
    pub fn memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read()
    }

    /// Locks the memory for a change, and invalidates cached lookups.
    fn memory_mut(&self) -> RwLockWriteGuard<'_, Memory> {
        let memory = self.memory.write();
        self.memory_changes.fetch_add(1, Ordering::Release);
        ALL_CHANGES.fetch_add(1, Ordering::Release);
        memory
    }

    /// Adds memory. Removes and returns the allocations that it overlaps.
    pub fn add_memory(&self, allocation: Arc<Allocation>) -> Option<Arc<Allocation>> {
        self.memory_mut().insert(allocation)
    }

    /// Returns the version under which a lookup can be cached.
    #[inline]
    pub fn memory_version(&self) -> (u32, u64) {
        (self.id, self.memory_changes.load(Ordering::Acquire))
    }

    /// Takes out memory that is about to be freed.
    pub fn remove_memory(
        &self,
        (device, space): (i32, Space),
        address: u64,
        size: u64,
        by: CallSite,
    ) -> Option<Arc<Allocation>> {
        let removed = self.memory_mut().remove(device, space, address, size)?;
        self.destroyed().add_memory(FreedMemory { start: address, size, by });
        Some(removed)
    }

    /// Returns the work of a device's default stream.
    #[inline]
    pub fn default_stream<T>(&self, device: i32, look: impl FnOnce(&Arc<StreamProgress>) -> T) -> Option<T> {
        let defaults = self.defaults.read();
        if let Some(stream) = defaults.get(usize::try_from(device).ok()?) {
            return Some(look(stream));
        }
        drop(defaults);
        self.add_default_stream(device);
        let defaults = self.defaults.read();
        defaults.get(usize::try_from(device).ok()?).map(look)
    }

    #[cold]
    fn add_default_stream(&self, device: i32) {
        let mut defaults = self.defaults.write();
        while (defaults.len() as i64) <= i64::from(device) && defaults.len() < 4096 {
            let stream = self.progress.begin(defaults.len() as i32, 0);
            defaults.push(stream);
        }
    }

    #[inline]
    pub fn is_capturing(&self) -> bool {
        self.captures.load(Ordering::Relaxed) != 0
    }

    pub fn begin_capture(&self) {
        self.captures.fetch_add(1, Ordering::Relaxed);
    }

    pub fn end_capture(&self) {
        let less = |count: usize| count.checked_sub(1);
        let _ = self.captures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Looks at all handles of a device, or of any.
    pub fn each_handle(&self, device: Option<i32>, mut look: impl FnMut(&Handle)) {
        for shard in &self.shards {
            let shard = shard.read();
            let of = |handle: &&Handle| device.is_none_or(|device| handle.known.device == device);
            shard.values().filter(of).filter(|handle| !handle.lent).for_each(&mut look);
        }
    }

    /// Marks all live objects as destroyed, since the backend has ended.
    pub fn clear(&self, by: &CallSite) {
        for shard in &self.shards {
            let mut shard = shard.write();
            for (key, handle) in shard.drain() {
                if let Some(stream) = handle.known.stream() {
                    self.progress.end(stream.id);
                }
                self.destroyed().add_handle(key, by.clone());
            }
        }
        self.handle_changes.fetch_add(1, Ordering::Release);
        let memory = std::mem::take(&mut *self.memory_mut());
        for allocation in memory.all(None) {
            let (start, size) = (allocation.start, allocation.size);
            self.destroyed().add_memory(FreedMemory { start, size, by: by.clone() });
        }
        self.captures.store(0, Ordering::Relaxed);
        self.devices.store(0, Ordering::Relaxed);
    }

    fn shard(&self, key: Key) -> RwLockWriteGuard<'_, Map<Key, Handle>> {
        self.shards[key.shard()].write()
    }

    fn destroyed(&self) -> MutexGuard<'_, Destroyed> {
        self.destroyed.lock()
    }
}

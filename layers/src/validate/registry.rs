//! What each plugin of the process has given out.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tenon::reflect::Space;

use super::hash::{Map, fold};
use super::memory::{Allocation, Memory};
use super::origin::Origin;
use super::work::{StreamWork, Work};

/// All plugins that are being validated; more than one are needed to tell whose a handle is.
static PLUGINS: RwLock<Vec<Arc<Plugin>>> = RwLock::new(Vec::new());
/// As many as there are, to be read without a lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Of what belongs to no device, or to one that is not known.
pub(super) const NO_DEVICE: i32 = i32::MIN;

/// What a plugin has given out.
pub(super) struct Plugin {
    pub(super) name: Arc<str>,
    shards: [RwLock<Map<Key, Handle>>; 16],
    memory: RwLock<Memory>,
    gone: Mutex<Gone>,
    /// What calls that have not come back yet are destroying.
    kept: Mutex<Kept>,
    pub(super) work: Work,
    /// The default stream of each device, at its number.
    defaults: RwLock<Vec<Arc<StreamWork>>>,
    /// Captures that go on. Meanwhile work does not run, so that nothing is known of it.
    captures: AtomicUsize,
    /// How many devices there are; 0 until the plugin was asked.
    pub(super) devices: AtomicUsize,
}

/// A handle, and its kind in the upper byte. Addresses have no such bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u64);

impl Key {
    #[inline]
    fn new(kind: u8, address: u64) -> Self {
        Self(address ^ (u64::from(kind) << 56))
    }

    #[inline]
    fn shard(self) -> usize {
        // The map takes other bits.
        (fold(self.0) >> 40) as usize % 16
    }
}

/// A handle that is alive.
pub(super) struct Handle {
    pub(super) kind: u8,
    pub(super) address: u64,
    pub(super) device: i32,
    /// How often it was given out: a device may have one event for all.
    count: u32,
    /// Whether it belongs to something else, and so is no leak.
    lent: bool,
    pub(super) told: bool,
    pub(super) origin: Origin,
    pub(super) state: State,
}

/// What is known of a handle.
pub(super) enum State {
    Plain,
    Stream(Arc<StreamWork>),
    /// The last record; 0: none.
    Event(AtomicU64),
}

impl Handle {
    pub(super) fn new(kind: u8, address: u64, device: i32, lent: bool, origin: Origin, state: State) -> Self {
        Self { kind, address, device, count: 1, lent, told: false, origin, state }
    }

    pub(super) fn is_leak(&self) -> bool {
        !self.lent
    }

    pub(super) fn stream(&self) -> Option<&Arc<StreamWork>> {
        match &self.state {
            State::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// The mark of its last record, where it is an event.
    pub(super) fn event(&self) -> Option<&AtomicU64> {
        match &self.state {
            State::Event(record) => Some(record),
            _ => None,
        }
    }
}

/// What was destroyed of late.
#[derive(Default)]
struct Gone {
    handles: Map<Key, Origin>,
    order: VecDeque<Key>,
    memory: VecDeque<GoneMemory>,
}

/// Memory that was freed.
#[derive(Clone)]
pub(super) struct GoneMemory {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) by: Origin,
}

impl Gone {
    const HANDLES: usize = 4096;
    const MEMORY: usize = 1024;

    fn add_handle(&mut self, key: Key, by: Origin) {
        if self.order.len() >= Self::HANDLES
            && let Some(oldest) = self.order.pop_front()
        {
            self.handles.remove(&oldest);
        }
        self.handles.insert(key, by);
        self.order.push_back(key);
    }

    fn add_memory(&mut self, memory: GoneMemory) {
        if self.memory.len() >= Self::MEMORY {
            self.memory.pop_front();
        }
        self.memory.push_back(memory);
    }
}

/// Things by a number that goes through a call.
#[derive(Default)]
struct Kept {
    last: u64,
    things: Map<u64, Taken>,
}

/// What is about to be destroyed.
pub(super) enum Taken {
    Handle(Handle),
    /// A handle that was given out several times.
    OneOfMany {
        kind: u8,
        address: u64,
    },
    Memory(Box<Allocation>),
}

impl Plugin {
    /// Begins to keep book for a plugin.
    pub(super) fn register(name: &str) -> Arc<Self> {
        let plugin = Arc::new(Self {
            name: name.into(),
            shards: Default::default(),
            memory: RwLock::default(),
            gone: Mutex::default(),
            kept: Mutex::default(),
            work: Work::default(),
            defaults: RwLock::default(),
            captures: AtomicUsize::new(0),
            devices: AtomicUsize::new(0),
        });
        let mut plugins = PLUGINS.write().unwrap_or_else(PoisonError::into_inner);
        plugins.push(plugin.clone());
        COUNT.store(plugins.len(), Ordering::Release);
        plugin
    }

    /// Forgets the plugin.
    pub(super) fn unregister(self: &Arc<Self>) {
        let mut plugins = PLUGINS.write().unwrap_or_else(PoisonError::into_inner);
        plugins.retain(|plugin| !Arc::ptr_eq(plugin, self));
        COUNT.store(plugins.len(), Ordering::Release);
    }

    /// Asks the other plugins of the process.
    #[inline]
    pub(super) fn others<T>(self: &Arc<Self>, ask: impl Fn(&Plugin) -> Option<T>) -> Option<T> {
        if COUNT.load(Ordering::Acquire) < 2 {
            return None;
        }
        let plugins = PLUGINS.read().unwrap_or_else(PoisonError::into_inner);
        plugins.iter().filter(|plugin| !Arc::ptr_eq(plugin, self)).find_map(|plugin| ask(plugin))
    }

    /// Looks at a handle.
    #[inline]
    pub(super) fn handle<T>(&self, kind: u8, address: u64, look: impl FnOnce(&Handle) -> T) -> Option<T> {
        let key = Key::new(kind, address);
        let shard = self.shards[key.shard()].read().unwrap_or_else(PoisonError::into_inner);
        shard.get(&key).map(look)
    }

    /// Adds a handle. One that is there already is given out once more, and what is not needed comes back.
    pub(super) fn add_handle(&self, handle: Handle) -> Option<Handle> {
        let key = Key::new(handle.kind, handle.address);
        let mut shard = self.shard(key);
        match shard.get_mut(&key) {
            Some(_) if handle.lent => Some(handle),
            Some(known) if known.lent => Some(std::mem::replace(known, handle)),
            Some(known) => {
                known.count += 1;
                // One handle for all devices cannot be told apart any more.
                if known.device != handle.device {
                    known.device = NO_DEVICE;
                }
                Some(handle)
            }
            None => shard.insert(key, handle),
        }
    }

    /// Takes out a handle that is about to be destroyed.
    pub(super) fn take_handle(&self, kind: u8, address: u64, by: Origin) -> Option<Taken> {
        let key = Key::new(kind, address);
        let mut shard = self.shard(key);
        let known = shard.get_mut(&key)?;
        if known.count > 1 {
            known.count -= 1;
            return Some(Taken::OneOfMany { kind, address });
        }
        let handle = shard.remove(&key);
        drop(shard);
        self.gone().add_handle(key, by);
        handle.map(Taken::Handle)
    }

    /// Keeps what is about to be destroyed until the call has come back, under a number.
    pub(super) fn keep(&self, taken: Taken) -> u64 {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let number = kept.last;
        kept.things.insert(number, taken);
        number
    }

    /// What was kept under a number.
    pub(super) fn kept(&self, number: u64) -> Option<Taken> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).things.remove(&number)
    }

    /// Puts back what was not destroyed after all.
    pub(super) fn restore(&self, taken: Taken) {
        match taken {
            Taken::Handle(handle) => {
                if let Some(stream) = handle.stream() {
                    self.work.restore(stream);
                }
                self.add_handle(handle);
            }
            Taken::OneOfMany { kind, address } => {
                let key = Key::new(kind, address);
                if let Some(known) = self.shard(key).get_mut(&key) {
                    known.count += 1;
                }
            }
            Taken::Memory(allocation) => drop(self.memory_mut().insert(allocation)),
        }
    }

    /// Which call destroyed a handle.
    pub(super) fn gone_handle(&self, kind: u8, address: u64) -> Option<Origin> {
        self.gone().handles.get(&Key::new(kind, address)).cloned()
    }

    /// Which call freed memory that an address lay in, the last one.
    pub(super) fn gone_memory(&self, address: u64) -> Option<GoneMemory> {
        let gone = self.gone();
        let lay_in =
            |one: &&GoneMemory| one.start == address || (one.start..one.start + one.size).contains(&address);
        gone.memory.iter().rev().find(lay_in).cloned()
    }

    #[inline]
    pub(super) fn memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn memory_mut(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out memory that is about to be freed.
    pub(super) fn take_memory(
        &self,
        (device, space): (i32, Space),
        address: u64,
        size: u64,
        by: Origin,
    ) -> Option<Box<Allocation>> {
        let taken = self.memory_mut().remove(device, space, address, size)?;
        self.gone().add_memory(GoneMemory { start: address, size, by });
        Some(taken)
    }

    /// The work of a device's default stream.
    #[inline]
    pub(super) fn default_stream<T>(
        &self,
        device: i32,
        look: impl FnOnce(&Arc<StreamWork>) -> T,
    ) -> Option<T> {
        let defaults = self.defaults.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = defaults.get(usize::try_from(device).ok()?) {
            return Some(look(stream));
        }
        drop(defaults);
        self.add_default_stream(device);
        let defaults = self.defaults.read().unwrap_or_else(PoisonError::into_inner);
        defaults.get(usize::try_from(device).ok()?).map(look)
    }

    #[cold]
    fn add_default_stream(&self, device: i32) {
        let mut defaults = self.defaults.write().unwrap_or_else(PoisonError::into_inner);
        while (defaults.len() as i64) <= i64::from(device) && defaults.len() < 4096 {
            let stream = self.work.begin(defaults.len() as i32, 0);
            defaults.push(stream);
        }
    }

    #[inline]
    pub(super) fn is_capturing(&self) -> bool {
        self.captures.load(Ordering::Relaxed) != 0
    }

    pub(super) fn begin_capture(&self) {
        self.captures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_capture(&self) {
        let less = |count: usize| count.checked_sub(1);
        let _ = self.captures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Looks at all handles of a device, or of any.
    pub(super) fn each_handle(&self, device: Option<i32>, mut look: impl FnMut(&mut Handle)) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let wanted = |handle: &&mut Handle| {
                device.is_none_or(|device| handle.device == device) && handle.is_leak()
            };
            shard.values_mut().filter(wanted).for_each(&mut look);
        }
    }

    /// Takes all that is alive for destroyed, since the backend has ended.
    pub(super) fn clear(&self, by: &Origin) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            for (key, handle) in shard.drain() {
                if let State::Stream(stream) = handle.state {
                    self.work.end(stream.id);
                }
                self.gone().add_handle(key, by.clone());
            }
        }
        let memory = std::mem::take(&mut *self.memory_mut());
        for allocation in memory.all(None) {
            let (start, size) = (allocation.start, allocation.size);
            self.gone().add_memory(GoneMemory { start, size, by: by.clone() });
        }
        self.captures.store(0, Ordering::Relaxed);
        self.devices.store(0, Ordering::Relaxed);
    }

    fn shard(&self, key: Key) -> RwLockWriteGuard<'_, Map<Key, Handle>> {
        self.shards[key.shard()].write().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone(&self) -> MutexGuard<'_, Gone> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

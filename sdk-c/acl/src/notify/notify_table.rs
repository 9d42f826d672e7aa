//! The notifies of the program: flags and counters that one stream sets and another waits for.

use std::ffi::{CStr, CString};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use super::shared_flag::SharedFlag;
use super::signal::{Change, Condition, Setter, Wait};
use crate::api::{AclError, CntNotifyRecordInfo, CntNotifyRecordMode, CntNotifyWaitInfo, CntNotifyWaitMode};
use crate::error::{Error, Result, refuse, unknown_handle};
use crate::shared::name::Name;
use crate::state::State;
use crate::state::device_state::DeviceState;
use crate::state::handles::HandleKind;
use crate::state::stream::Stream;
use crate::virtual_memory::sharing;

/// The kind of a notify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotifyKind {
    Flag,
    Counter,
}

/// The start of keys.
const PREFIX: &str = "tenon-notify-";

/// The value of a notify.
#[derive(Clone)]
enum Value {
    /// Of this process.
    Own(Setter),
    /// Of several processes, from when the notify is exported.
    Shared(SharedFlag),
}

impl Value {
    fn change(&self, change: Change) {
        match self {
            Value::Own(signal) => signal.change(change),
            Value::Shared(flag) => flag.change(change),
        }
    }

    fn change_on(&self, stream: &Arc<Stream>, change: Change) -> Result<()> {
        match self {
            Value::Own(signal) => signal.change_on(stream, change),
            Value::Shared(flag) => flag.change_on(stream, change),
        }
    }

    fn wait_on(&self, stream: &Arc<Stream>, wait: Wait) -> Result<()> {
        match self {
            Value::Own(signal) => signal.wait_on(stream, wait),
            Value::Shared(flag) => flag.wait_on(stream, wait),
        }
    }
}

/// A notify of the program. Several handles may share a value.
pub(crate) struct Notify {
    handle: usize,
    kind: NotifyKind,
    device: Arc<DeviceState>,
    value: Mutex<Value>,
    key: Mutex<Option<CString>>,
}

impl Notify {
    fn lock(&self) -> MutexGuard<'_, Value> {
        self.value.lock()
    }

    fn value(&self) -> Value {
        self.lock().clone()
    }

    /// Returns the flag for other processes.
    fn shared(&self) -> Result<SharedFlag> {
        let mut value = self.lock();
        let signal = match &*value {
            Value::Shared(flag) => return Ok(flag.clone()),
            Value::Own(signal) => signal,
        };
        let Some(current) = signal.value_if_unused() else {
            let message = "a stream uses `notify` already; export it before its first use";
            return refuse(AclError::RT_FEATURE_NOT_SUPPORT, message);
        };
        let flag = SharedFlag::new(current)?;
        *value = Value::Shared(flag.clone());
        Ok(flag)
    }

    /// Lets processes import the notify.
    pub(crate) fn allow(&self, processes: &[i32]) -> Result<()> {
        self.shared()?.allow(processes)
    }

    /// Returns a small number, for messages and queries.
    pub(crate) fn id(&self) -> u32 {
        u32::try_from(tenon::handle::index(self.handle)).unwrap_or(u32::MAX)
    }
}

/// Returns the change that a record makes to a counter.
pub(crate) fn change_of(info: &CntNotifyRecordInfo) -> Result<Change> {
    Ok(match info.mode {
        CntNotifyRecordMode::SET_VALUE => Change::Set(info.value),
        CntNotifyRecordMode::ADD => Change::Add(info.value),
        CntNotifyRecordMode::BIT_OR => Change::Or(info.value),
        CntNotifyRecordMode::BIT_AND => Change::And(info.value),
        mode => {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`info.mode` is {mode:?}, which is not a valid change"),
            );
        }
    })
}

/// Returns the wait that a program requests.
pub(crate) fn wait_of(info: &CntNotifyWaitInfo) -> Result<Wait> {
    let condition = match info.mode {
        CntNotifyWaitMode::LESS => Condition::Less(info.value),
        CntNotifyWaitMode::EQUAL => Condition::Equal(info.value),
        CntNotifyWaitMode::BIGGER => Condition::More(info.value),
        CntNotifyWaitMode::BIGGER_OR_EQUAL => Condition::NotLess(info.value),
        CntNotifyWaitMode::EQUAL_WITH_BITMASK => Condition::Bits(info.value),
        mode => {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`info.mode` is {mode:?}, which is not a valid comparison"),
            );
        }
    };
    Ok(Wait { condition, clears: info.is_clear != 0, timeout: timeout(info.timeout) })
}

/// Converts a timeout in seconds; 0 means none.
fn timeout(seconds: u32) -> Option<Duration> {
    (seconds != 0).then(|| Duration::from_secs(seconds.into()))
}

/// All notifies of the program.
pub(crate) struct Notifies(HandleTable<Notify>);

impl Default for Notifies {
    fn default() -> Self {
        Notifies(HandleTable::new(HandleKind::Notify as u8))
    }
}

impl Notifies {
    /// Creates a notify of the current device.
    pub(crate) fn create(&self, state: &State, kind: NotifyKind, flag: u64) -> Result<usize> {
        let most = match kind {
            NotifyKind::Flag => 1,
            NotifyKind::Counter => 0,
        };
        if flag > most {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`flag` is {flag}, which is not a valid flag of a notify"),
            );
        }
        self.insert(kind, state.current_device()?, Value::Own(Setter::new()))
    }

    fn insert(&self, kind: NotifyKind, device: Arc<DeviceState>, value: Value) -> Result<usize> {
        let (value, key) = (Mutex::new(value), Mutex::default());
        let notify = self.0.insert_with(|handle| Notify { handle, kind, device, value, key });
        notify
            .map(|(handle, _)| handle)
            .ok_or_else(|| Error::new(AclError::RT_NO_NOTIFY_RESOURCE, "16 million notifies exist already"))
    }

    /// Destroys a notify. Queued work keeps the signal alive; a wait that can never end fails.
    pub(crate) fn destroy(&self, kind: NotifyKind, handle: usize) -> Result<()> {
        self.get(kind, handle)?;
        self.0.remove(handle).map(drop).ok_or_else(|| unknown_handle("notify", handle))
    }

    /// Destroys all notifies of a device.
    pub(crate) fn destroy_all_of(&self, device: &Arc<DeviceState>) {
        for notify in self.0.all() {
            if Arc::ptr_eq(&notify.device, device) {
                self.0.remove(notify.handle);
            }
        }
    }

    /// Returns the notify of a handle.
    pub(crate) fn get(&self, kind: NotifyKind, handle: usize) -> Result<Arc<Notify>> {
        let notify = self.0.get(handle).filter(|notify| notify.kind == kind);
        let param = if kind == NotifyKind::Flag { "notify" } else { "cnt_notify" };
        notify.ok_or_else(|| unknown_handle(param, handle))
    }

    /// Changes a notify in stream order.
    pub(crate) fn record(
        &self,
        state: &State,
        kind: NotifyKind,
        handle: usize,
        stream: usize,
        change: Change,
    ) -> Result<()> {
        let (notify, stream) = (self.get(kind, handle)?, state.stream(stream)?);
        notify.value().change_on(&stream, change)
    }

    /// Makes a stream wait for a notify.
    pub(crate) fn wait(
        &self,
        state: &State,
        kind: NotifyKind,
        handle: usize,
        stream: usize,
        wait: Wait,
    ) -> Result<()> {
        let (notify, stream) = (self.get(kind, handle)?, state.stream(stream)?);
        notify.value().wait_on(&stream, wait)
    }

    /// Makes a stream wait for a flag, and clears the flag when the wait ends.
    pub(crate) fn wait_and_reset(
        &self,
        state: &State,
        handle: usize,
        stream: usize,
        seconds: u32,
    ) -> Result<()> {
        let wait = Wait { condition: Condition::Equal(1), clears: true, timeout: timeout(seconds) };
        self.wait(state, NotifyKind::Flag, handle, stream, wait)
    }

    /// Clears flags at once: all or none.
    pub(crate) fn reset_all(&self, handles: impl Iterator<Item = usize>) -> Result<()> {
        let notifies: Vec<Arc<Notify>> =
            handles.map(|handle| self.get(NotifyKind::Flag, handle)).collect::<Result<_>>()?;
        if notifies.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`num` is 0");
        }
        for notify in notifies {
            notify.value().change(Change::Set(0));
        }
        Ok(())
    }

    /// Writes a key with which processes can import a flag.
    pub(crate) fn export(&self, handle: usize, buffer: &mut [u8], flags: u64) -> Result<()> {
        expect_flags(flags)?;
        let notify = self.get(NotifyKind::Flag, handle)?;
        let name = notify.shared()?.export(flags == 2)?;
        let key = sharing::write_key(buffer, &format!("{PREFIX}{name}"))?;
        *notify.key.lock() = Some(key);
        Ok(())
    }

    /// Creates another handle of the flag that has a key.
    pub(crate) fn import(&self, state: &State, key: &CStr, flags: u64) -> Result<usize> {
        expect_flags(flags)?;
        let device = state.current_device()?;
        let named = self.0.all().into_iter().find(|notify| notify.key.lock().as_deref() == Some(key));
        let text = key.to_str().ok().and_then(|text| text.strip_prefix(PREFIX));
        let value = match (named, text.and_then(Name::parse)) {
            (Some(notify), _) => Value::Shared(notify.shared()?),
            (None, Some(name)) if !name.is_own() => Value::Shared(SharedFlag::open(name)?),
            _ => {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    "`key` names no notify, or one that was destroyed",
                );
            }
        };
        self.insert(NotifyKind::Flag, device, value)
    }
}

fn expect_flags(flags: u64) -> Result<()> {
    if flags & !2 != 0 {
        return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it must be 0 or 2"));
    }
    Ok(())
}

/// Checks that a list of processes is not empty.
pub(crate) fn expect_processes(processes: &[i32], count: &str) -> Result<()> {
    if processes.is_empty() {
        return refuse(AclError::INVALID_PARAM, format!("`{count}` is 0"));
    }
    Ok(())
}

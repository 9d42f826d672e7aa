//! Notifies: flags and numbers that one stream sets and another waits for.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::api::{AclError, CntNotifyRecordInfo, CntNotifyRecordMode, CntNotifyWaitInfo, CntNotifyWaitMode};
use crate::error::{Error, Result, refuse};
use crate::home::Home;
use crate::runtime::{Runtime, unknown};
use crate::signal::{Change, Setter, Wait, Want};
use crate::{share, table};

/// What a notify is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Flag,
    Number,
}

/// A notify of the program's. Several handles may lead to one signal.
pub(crate) struct Notify {
    pub(crate) handle: usize,
    sort: Sort,
    home: Arc<Home>,
    signal: Setter,
    key: Mutex<Option<CString>>,
}

impl Notify {
    /// A small number, for people.
    pub(crate) fn id(&self) -> u32 {
        u32::try_from(table::index(self.handle)).unwrap_or(u32::MAX)
    }
}

/// What a record does to a number.
pub(crate) fn change_of(info: &CntNotifyRecordInfo) -> Result<Change> {
    Ok(match info.mode {
        CntNotifyRecordMode::SET_VALUE => Change::Set(info.value),
        CntNotifyRecordMode::ADD => Change::Add(info.value),
        CntNotifyRecordMode::BIT_OR => Change::Or(info.value),
        CntNotifyRecordMode::BIT_AND => Change::And(info.value),
        mode => {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`info.mode` is {mode:?}, which is no change"),
            );
        }
    })
}

/// What a wait wants of a number.
pub(crate) fn wait_of(info: &CntNotifyWaitInfo) -> Result<Wait> {
    let want = match info.mode {
        CntNotifyWaitMode::LESS => Want::Less(info.value),
        CntNotifyWaitMode::EQUAL => Want::Equal(info.value),
        CntNotifyWaitMode::BIGGER => Want::More(info.value),
        CntNotifyWaitMode::BIGGER_OR_EQUAL => Want::NotLess(info.value),
        CntNotifyWaitMode::EQUAL_WITH_BITMASK => Want::Bits(info.value),
        mode => {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`info.mode` is {mode:?}, which is no comparison"),
            );
        }
    };
    Ok(Wait { want, clears: info.is_clear != 0, patience: patience(info.timeout) })
}

/// How long a program wants a stream to wait: so many seconds, or without end.
fn patience(seconds: u32) -> Option<Duration> {
    (seconds != 0).then(|| Duration::from_secs(seconds.into()))
}

impl Runtime {
    /// Makes a notify of the current device.
    pub(crate) fn create_notify(&self, sort: Sort, flag: u64) -> Result<usize> {
        let most = match sort {
            Sort::Flag => 1,
            Sort::Number => 0,
        };
        if flag > most {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`flag` is {flag}, which is no flag of a notify"),
            );
        }
        let home = self.context()?.lease.home.clone();
        self.insert_notify(sort, home, Setter::new())
    }

    fn insert_notify(&self, sort: Sort, home: Arc<Home>, signal: Setter) -> Result<usize> {
        let key = Mutex::default();
        let notify = self.notifies.insert_with(|handle| Notify { handle, sort, home, signal, key });
        notify
            .map(|notify| notify.handle)
            .ok_or_else(|| Error::new(AclError::RT_NO_NOTIFY_RESOURCE, "a million notifies are alive"))
    }

    /// Destroys a notify. What is queued keeps the signal; a wait that nobody will end any more fails.
    pub(crate) fn destroy_notify(&self, sort: Sort, handle: usize) -> Result<()> {
        self.notify(sort, handle)?;
        self.notifies.remove(handle).map(drop).ok_or_else(|| unknown("notify", handle))
    }

    /// Destroys the notifies of a device.
    pub(crate) fn destroy_notifies_of(&self, home: &Arc<Home>) {
        for notify in self.notifies.all() {
            if Arc::ptr_eq(&notify.home, home) {
                self.notifies.remove(notify.handle);
            }
        }
    }

    /// The notify of a handle.
    pub(crate) fn notify(&self, sort: Sort, handle: usize) -> Result<Arc<Notify>> {
        let notify = self.notifies.get(handle).filter(|notify| notify.sort == sort);
        notify.ok_or_else(|| unknown(if sort == Sort::Flag { "notify" } else { "cnt_notify" }, handle))
    }

    /// Changes a notify in the order of a stream.
    pub(crate) fn record_notify(
        &self,
        sort: Sort,
        handle: usize,
        stream: usize,
        change: Change,
    ) -> Result<()> {
        let (notify, stream) = (self.notify(sort, handle)?, self.stream(stream)?);
        notify.signal.change_on(&stream, change)
    }

    /// Has a stream wait for a notify.
    pub(crate) fn wait_notify(&self, sort: Sort, handle: usize, stream: usize, wait: Wait) -> Result<()> {
        let (notify, stream) = (self.notify(sort, handle)?, self.stream(stream)?);
        notify.signal.wait_on(&stream, wait)
    }

    /// Has a stream wait for a flag, which is cleared then.
    pub(crate) fn wait_and_reset_notify(&self, handle: usize, stream: usize, timeout: u32) -> Result<()> {
        let wait = Wait { want: Want::Equal(1), clears: true, patience: patience(timeout) };
        self.wait_notify(Sort::Flag, handle, stream, wait)
    }

    /// Clears flags at once; all of them or none.
    pub(crate) fn reset_notifies(&self, handles: impl Iterator<Item = usize>) -> Result<()> {
        let notifies: Vec<Arc<Notify>> =
            handles.map(|handle| self.notify(Sort::Flag, handle)).collect::<Result<_>>()?;
        if notifies.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`num` is 0");
        }
        for notify in notifies {
            notify.signal.change(Change::Set(0));
        }
        Ok(())
    }

    /// A text by which others in the process find a flag.
    pub(crate) fn export_notify(&self, handle: usize, place: &mut [u8], flags: u64) -> Result<()> {
        expect_flags(flags)?;
        let notify = self.notify(Sort::Flag, handle)?;
        let key = share::write_key(place, &format!("tenon-notify-{}-{handle:x}", std::process::id()))?;
        *notify.key.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
        Ok(())
    }

    /// A further handle of the flag that a text names.
    pub(crate) fn import_notify(&self, key: &CStr, flags: u64) -> Result<usize> {
        expect_flags(flags)?;
        let home = self.context()?.lease.home.clone();
        let named =
            self.notifies.all().into_iter().find(|notify| {
                notify.key.lock().unwrap_or_else(PoisonError::into_inner).as_deref() == Some(key)
            });
        match named {
            Some(notify) => self.insert_notify(Sort::Flag, home, notify.signal.clone()),
            None => refuse(
                AclError::RT_PARAM_INVALID,
                "`key` names no living notify of this process; processes do not share notifies",
            ),
        }
    }
}

fn expect_flags(flags: u64) -> Result<()> {
    if flags & !2 != 0 {
        return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it is 0 or 2"));
    }
    Ok(())
}

/// Whether a list of processes names any.
pub(crate) fn expect_processes(processes: &[i32], count: &str) -> Result<()> {
    if processes.is_empty() {
        return refuse(AclError::INVALID_PARAM, format!("`{count}` is 0"));
    }
    Ok(())
}

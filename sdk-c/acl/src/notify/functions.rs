//! The functions of the group for notifies.

use std::ffi::CStr;

use super::notify_table;
use super::notify_table::NotifyKind;
use super::signal::Change;
use crate::api::{AclNotify, CntNotify, CntNotifyRecordInfo, CntNotifyWaitInfo, Notify, Stream};
use crate::error::Result;
use crate::error::only;
use crate::runtime::Runtime;

impl AclNotify for Runtime {
    fn rt_create_notify(&self, flag: u64) -> Result<Notify> {
        self.notifies.create(&self.state, NotifyKind::Flag, flag).map(Notify::from_addr)
    }

    fn rt_destroy_notify(&self, notify: Notify) -> Result<()> {
        self.notifies.destroy(NotifyKind::Flag, notify.addr())
    }

    fn rt_record_notify(&self, notify: Notify, stream: Stream) -> Result<()> {
        self.notifies.record(&self.state, NotifyKind::Flag, notify.addr(), stream.addr(), Change::Set(1))
    }

    fn rt_wait_and_reset_notify(&self, notify: Notify, stream: Stream, timeout: u32) -> Result<()> {
        self.notifies.wait_and_reset(&self.state, notify.addr(), stream.addr(), timeout)
    }

    fn rt_get_notify_id(&self, notify: Notify) -> Result<u32> {
        self.notifies.get(NotifyKind::Flag, notify.addr()).map(|notify| notify.id())
    }

    fn rt_notify_batch_reset(&self, notifies: &[Notify]) -> Result<()> {
        self.notifies.reset_all(notifies.iter().map(|notify| notify.addr()))
    }

    fn rt_notify_get_export_key(&self, notify: Notify, key: &mut [u8], flags: u64) -> Result<()> {
        self.notifies.export(notify.addr(), key, flags)
    }

    fn rt_notify_set_import_pid(&self, notify: Notify, pid: &[i32]) -> Result<()> {
        let notify = self.notifies.get(NotifyKind::Flag, notify.addr())?;
        notify_table::expect_processes(pid, "num")?;
        notify.allow(pid)
    }

    fn rt_notify_import_by_key(&self, key: &CStr, flags: u64) -> Result<Notify> {
        self.notifies.import(&self.state, key, flags).map(Notify::from_addr)
    }

    fn rt_cnt_notify_create(&self, flag: u64) -> Result<CntNotify> {
        self.notifies.create(&self.state, NotifyKind::Counter, flag).map(CntNotify::from_addr)
    }

    fn rt_cnt_notify_destroy(&self, cnt_notify: CntNotify) -> Result<()> {
        self.notifies.destroy(NotifyKind::Counter, cnt_notify.addr())
    }

    fn rt_cnt_notify_record(
        &self,
        cnt_notify: CntNotify,
        stream: Stream,
        info: &[CntNotifyRecordInfo],
    ) -> Result<()> {
        let change = notify_table::change_of(only("info", info)?)?;
        self.notifies.record(&self.state, NotifyKind::Counter, cnt_notify.addr(), stream.addr(), change)
    }

    fn rt_cnt_notify_wait_with_timeout(
        &self,
        cnt_notify: CntNotify,
        stream: Stream,
        info: &[CntNotifyWaitInfo],
    ) -> Result<()> {
        let wait = notify_table::wait_of(only("info", info)?)?;
        self.notifies.wait(&self.state, NotifyKind::Counter, cnt_notify.addr(), stream.addr(), wait)
    }

    fn rt_cnt_notify_reset(&self, cnt_notify: CntNotify, stream: Stream) -> Result<()> {
        self.notifies.record(
            &self.state,
            NotifyKind::Counter,
            cnt_notify.addr(),
            stream.addr(),
            Change::Set(0),
        )
    }

    fn rt_cnt_notify_get_id(&self, cnt_notify: CntNotify) -> Result<u32> {
        self.notifies.get(NotifyKind::Counter, cnt_notify.addr()).map(|notify| notify.id())
    }
}

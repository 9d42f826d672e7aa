//! The functions of the groups for events.

use super::event_table;
use super::event_table::EventKind;
use crate::api::{
    AclEvent, AclEventSharing, Event, EventRecordedStatus, EventStatus, EventWaitStatus, IpcEventHandle,
    Stream,
};
use crate::error::Result;
use crate::runtime::Runtime;

impl AclEvent for Runtime {
    fn rt_create_event(&self) -> Result<Event> {
        self.events.create(&self.state, EventKind::Plain, 0).map(Event::from_addr)
    }

    fn rt_create_event_with_flag(&self, flag: u32) -> Result<Event> {
        self.events.create(&self.state, EventKind::Flagged, flag).map(Event::from_addr)
    }

    fn rt_create_event_ex_with_flag(&self, flag: u32) -> Result<Event> {
        self.events.create(&self.state, EventKind::Repeated, flag).map(Event::from_addr)
    }

    fn rt_destroy_event(&self, event: Event) -> Result<()> {
        self.events.destroy(event.addr())
    }

    fn rt_record_event(&self, event: Event, stream: Stream) -> Result<()> {
        self.events.record(&self.state, event.addr(), stream.addr())
    }

    fn rt_reset_event(&self, event: Event, stream: Stream) -> Result<()> {
        self.events.reset(&self.state, event.addr(), stream.addr())
    }

    fn rt_query_event(&self, event: Event) -> Result<EventStatus> {
        let is_done = self
            .events
            .get_single(event.addr(), "`aclrtQueryEvent`; use `aclrtQueryEventStatus`")?
            .is_done()?;
        Ok(if is_done { EventStatus::COMPLETE } else { EventStatus::NOT_READY })
    }

    fn rt_query_event_status(&self, event: Event) -> Result<EventRecordedStatus> {
        let is_done = self.events.get(event.addr())?.is_done()?;
        Ok(if is_done { EventRecordedStatus::COMPLETE } else { EventRecordedStatus::NOT_READY })
    }

    fn rt_query_event_wait_status(&self, event: Event) -> Result<EventWaitStatus> {
        let is_over = self.events.are_waits_done(event.addr())?;
        Ok(if is_over { EventWaitStatus::COMPLETE } else { EventWaitStatus::NOT_READY })
    }

    fn rt_synchronize_event(&self, event: Event) -> Result<()> {
        self.events.synchronize(event.addr(), -1)
    }

    fn rt_synchronize_event_with_timeout(&self, event: Event, timeout: i32) -> Result<()> {
        self.events.synchronize(event.addr(), timeout)
    }

    fn rt_event_elapsed_time(&self, start_event: Event, end_event: Event) -> Result<f32> {
        self.events.elapsed_time(start_event.addr(), end_event.addr())
    }

    fn rt_event_get_timestamp(&self, event: Event) -> Result<u64> {
        self.events.timestamp(event.addr())
    }

    fn rt_get_event_id(&self, event: Event) -> Result<u32> {
        Ok(self.events.get(event.addr())?.id())
    }

    fn rt_get_event_avail_num(&self) -> Result<u32> {
        event_table::available(&self.state)
    }
}

impl AclEventSharing for Runtime {
    fn rt_record_event_with_flag(&self, event: Event, stream: Stream, flag: u32) -> Result<()> {
        event_table::expect_not_captured(flag)?;
        self.events.record(&self.state, event.addr(), stream.addr())
    }

    fn rt_stream_wait_event_with_flag(
        &self,
        stream: Stream,
        event: Event,
        timeout: u32,
        flag: u32,
    ) -> Result<()> {
        event_table::expect_not_captured(flag)?;
        self.events.wait_on_stream(&self.state, stream.addr(), event.addr(), event_table::timeout_ms(timeout))
    }

    fn rt_ipc_get_event_handle(&self, event: Event) -> Result<IpcEventHandle> {
        self.events.export(event.addr())
    }

    fn rt_ipc_open_event_handle(&self, handle: &IpcEventHandle) -> Result<Event> {
        self.events.open(&self.state, handle).map(Event::from_addr)
    }
}

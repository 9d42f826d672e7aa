//! The functions of the group for streams.

use std::sync::atomic::Ordering;

use super::config::StreamConfig;
use crate::api::{AclError, AclStream, Event, Stream, StreamConfigAttr, StreamConfigHandle, StreamStatus};
use crate::error::Result;
use crate::error::refuse;
use crate::runtime::Runtime;
use crate::state::stream::MAX_STREAMS;

impl AclStream for Runtime {
    fn rt_create_stream(&self) -> Result<Stream> {
        self.create_stream(StreamConfig::default()).map(Stream::from_addr)
    }

    fn rt_create_stream_with_config(&self, priority: u32, flag: u32) -> Result<Stream> {
        self.create_stream(StreamConfig::new(priority, flag)).map(Stream::from_addr)
    }

    fn rt_create_stream_config_handle(&self) -> Result<StreamConfigHandle> {
        self.stream_configs.create().map(StreamConfigHandle::from_addr)
    }

    fn rt_destroy_stream_config_handle(&self, handle: StreamConfigHandle) -> Result<()> {
        self.stream_configs.destroy(handle.addr())
    }

    fn rt_set_stream_config_opt(
        &self,
        handle: StreamConfigHandle,
        attr: StreamConfigAttr,
        attr_value: &[u8],
    ) -> Result<()> {
        self.stream_configs.set(handle.addr(), attr, attr_value)
    }

    fn rt_create_stream_v2(&self, handle: StreamConfigHandle) -> Result<Stream> {
        self.create_stream(self.stream_configs.get(handle.addr())?).map(Stream::from_addr)
    }

    fn rt_destroy_stream(&self, stream: Stream) -> Result<()> {
        self.destroy_stream(stream.addr())
    }

    fn rt_destroy_stream_force(&self, stream: Stream) -> Result<()> {
        self.destroy_stream_force(stream.addr())
    }

    fn rt_synchronize_stream(&self, stream: Stream) -> Result<()> {
        self.synchronize_stream(stream.addr(), -1)
    }

    fn rt_synchronize_stream_with_timeout(&self, stream: Stream, timeout: i32) -> Result<()> {
        self.synchronize_stream(stream.addr(), timeout)
    }

    fn rt_stream_query(&self, stream: Stream) -> Result<StreamStatus> {
        let is_done = self.state.stream(stream.addr())?.is_done()?;
        Ok(if is_done { StreamStatus::COMPLETE } else { StreamStatus::NOT_READY })
    }

    fn rt_stream_get_priority(&self, stream: Stream) -> Result<u32> {
        Ok(self.state.stream_of_any_context(stream.addr())?.priority)
    }

    fn rt_stream_get_flags(&self, stream: Stream) -> Result<u32> {
        Ok(self.state.stream_of_any_context(stream.addr())?.flags)
    }

    fn rt_stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        self.events.wait_on_stream(&self.state, stream.addr(), event.addr(), -1)
    }

    fn rt_stream_wait_event_with_timeout(&self, stream: Stream, event: Event, timeout: i32) -> Result<()> {
        self.events.wait_on_stream(&self.state, stream.addr(), event.addr(), timeout)
    }

    fn rt_stream_abort(&self, stream: Stream) -> Result<()> {
        let stream = self.state.stream(stream.addr())?;
        stream.drop_pending();
        stream.finish_dropped()
    }

    fn rt_stream_get_id(&self, stream: Stream) -> Result<i32> {
        Ok(self.state.stream_of_any_context(stream.addr())?.id.cast_signed())
    }

    fn rt_get_stream_available_num(&self) -> Result<u32> {
        let taken = self.state.current_device()?.usage().stream_ids.len();
        Ok(MAX_STREAMS - u32::try_from(taken).unwrap_or(MAX_STREAMS))
    }

    fn rt_set_stream_failure_mode(&self, stream: Stream, mode: u64) -> Result<()> {
        let stream = self.created_stream(stream.addr())?;
        match u32::try_from(mode) {
            Ok(mode @ 0..=1) => stream.failure_mode.store(mode, Ordering::Relaxed),
            _ => return refuse(AclError::INVALID_PARAM, format!("`mode` is {mode}; it must be 0 or 1")),
        }
        Ok(())
    }
}

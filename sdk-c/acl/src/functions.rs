//! The functions of the interface: [`Acl`] for [`Runtime`].
//!
//! Functions that are left out use the fallback of the spec. Handles are looked up by the subsystems, so nothing here
//! checks them. Sections are the groups of the spec, in its order.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

use tenon::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};

use crate::Runtime;
use crate::api::*;
use crate::callback::subscriptions::{self, CallbackKind};
use crate::copy::batch::{self, Batch};
use crate::copy::fill::{self, Pattern};
use crate::copy::indirect::{self, IndirectAddress};
use crate::copy::reduction::{self, Reduction};
use crate::copy::transfer::{self, Direction, Rows};
use crate::copy::{cache_hint, descriptor};
use crate::data::data_buffer::Extent;
use crate::data::element;
use crate::device::{health, info, peers, settings};
use crate::error::refuse;
use crate::event::event_table::{self, EventKind};
use crate::memory::managed::{self, PrefetchBatch};
use crate::memory::{allocation, registration, value};
use crate::notify::notify_table::{self, NotifyKind};
use crate::notify::signal::Change;
use crate::state::stream::MAX_STREAMS;
use crate::state::thread_slots;
use crate::stream::config::StreamConfig;
use crate::virtual_memory::{capabilities, mappings, sharing};

#[tenon::device(module = crate::api)]
impl Acl for Runtime {
    // --- init ---

    fn init(&self, config_path: Option<&CStr>) -> Result<()> {
        self.initialize(config_path)
    }

    fn finalize(&self) -> Result<()> {
        self.finalize_count(true).map(drop)
    }

    fn finalize_reference(&self) -> Result<u64> {
        self.finalize_count(false)
    }

    fn get_recent_err_msg(&self) -> Result<Option<Cow<'static, CStr>>> {
        Ok(take_last_message().map(Cow::Owned))
    }

    fn rt_get_version(&self) -> Result<RtGetVersion> {
        Ok(info::VERSION)
    }

    fn rt_get_soc_name(&self) -> Result<Option<Cow<'static, CStr>>> {
        Ok(Some(Cow::Borrowed(self.chip_name.get(&self.state))))
    }

    fn rt_check_arch_compatibility(&self, soc_version: &CStr) -> Result<i32> {
        Ok(i32::from(soc_version == self.chip_name.get(&self.state)))
    }

    fn get_cann_attribute(&self, cann_attr: CannAttr) -> Result<i32> {
        info::stack_has(cann_attr)
    }

    fn get_device_capability(&self, device_id: u32, device_info: DeviceInfo) -> Result<i64> {
        info::device_capability(&self.state, device_id, device_info)
    }

    // --- device ---

    fn rt_set_device(&self, device_id: i32) -> Result<()> {
        self.set_device(device_id)
    }

    fn rt_reset_device(&self, device_id: i32) -> Result<()> {
        self.reset_device(device_id)
    }

    fn rt_reset_device_force(&self, device_id: i32) -> Result<()> {
        self.reset_device_force(device_id)
    }

    fn rt_get_device(&self) -> Result<i32> {
        Ok(self.state.current_device()?.ordinal.cast_signed())
    }

    fn rt_get_device_count(&self) -> Result<u32> {
        self.state.device_count()
    }

    fn rt_get_run_mode(&self) -> Result<RunMode> {
        Ok(RunMode::HOST)
    }

    fn rt_set_ts_device(&self, ts_id: TsId) -> Result<()> {
        info::check_scheduler(ts_id)
    }

    fn rt_synchronize_device(&self) -> Result<()> {
        self.synchronize_current_device(-1)
    }

    fn rt_synchronize_device_with_timeout(&self, timeout: i32) -> Result<()> {
        self.synchronize_current_device(timeout)
    }

    fn rt_query_device_status(&self, device_id: i32) -> Result<DeviceStatus> {
        Ok(info::device_status(&self.state, &self.state.device(device_id)?))
    }

    fn rt_get_device_utilization_rate(&self, device_id: i32) -> Result<UtilizationInfo> {
        info::utilization(&self.state, &self.state.device(device_id)?)
    }

    fn rt_get_device_info(&self, device_id: u32, attr: DevAttr) -> Result<i64> {
        info::device_info(&self.state, device_id, attr)
    }

    fn rt_get_device_capability(&self, device_id: i32, dev_feature_type: DevFeatureType) -> Result<i32> {
        self.state.device(device_id)?;
        info::device_feature(dev_feature_type)
    }

    fn rt_device_get_stream_priority_range(&self) -> Result<RtDeviceGetStreamPriorityRange> {
        self.state.context().map(|_| info::PRIORITIES)
    }

    fn rt_get_devices_topo(&self, device_id: u32, other_device_id: u32) -> Result<u64> {
        info::topology(&self.state, device_id, other_device_id)
    }

    fn rt_get_logic_dev_id_by_user_dev_id(&self, user_devid: i32) -> Result<i32> {
        info::device_number(&self.state, user_devid)
    }

    fn rt_get_user_dev_id_by_logic_dev_id(&self, logic_dev_id: i32) -> Result<i32> {
        info::device_number(&self.state, logic_dev_id)
    }

    fn rt_get_logic_dev_id_by_phy_dev_id(&self, phy_dev_id: i32) -> Result<i32> {
        info::device_number(&self.state, phy_dev_id)
    }

    fn rt_get_phy_dev_id_by_logic_dev_id(&self, logic_dev_id: i32) -> Result<i32> {
        info::device_number(&self.state, logic_dev_id)
    }

    fn rt_get_user_dev_id_by_phy_dev_id(&self, phy_dev_id: i32) -> Result<i32> {
        info::device_number(&self.state, phy_dev_id)
    }

    fn rt_get_phy_dev_id_by_user_dev_id(&self, user_dev_id: i32) -> Result<i32> {
        info::device_number(&self.state, user_dev_id)
    }

    fn rt_device_get_uuid(&self, device_id: i32) -> Result<Uuid> {
        Ok(info::uuid(&self.state, &*self.state.device(device_id)?))
    }

    fn rt_device_get_bare_tgid(&self) -> Result<i32> {
        Ok(std::process::id().cast_signed())
    }

    fn rt_device_can_access_peer(&self, device_id: i32, peer_device_id: i32) -> Result<i32> {
        peers::can_be_peers(&self.state, device_id, peer_device_id).map(i32::from)
    }

    fn rt_device_enable_peer_access(&self, peer_device_id: i32, flags: u32) -> Result<()> {
        peers::enable(&self.state, peer_device_id, flags)
    }

    fn rt_device_disable_peer_access(&self, peer_device_id: i32) -> Result<()> {
        peers::disable(&self.state, peer_device_id)
    }

    fn rt_device_peer_access_status(&self, device_id: i32, peer_device_id: i32) -> Result<i32> {
        peers::is_enabled(&self.state, device_id, peer_device_id).map(i32::from)
    }

    fn rt_device_set_limit(&self, limit: DeviceLimit, value: usize) -> Result<()> {
        settings::set_device_limit(&self.state, limit, value)
    }

    fn rt_device_get_limit(&self, limit: DeviceLimit) -> Result<usize> {
        settings::device_limit(&self.state, limit)
    }

    // --- context ---

    fn rt_create_context(&self, device_id: i32) -> Result<Context> {
        self.create_context(device_id).map(Context::from_addr)
    }

    fn rt_destroy_context(&self, context: Context) -> Result<()> {
        self.destroy_context(context.addr())
    }

    fn rt_set_current_context(&self, context: Context) -> Result<()> {
        let context = self.state.context_of(context.addr())?;
        self.state.set_current_context(context.handle);
        Ok(())
    }

    fn rt_get_current_context(&self) -> Result<Context> {
        self.state.context().map(|context| Context::from_addr(context.handle))
    }

    fn rt_ctx_get_current_default_stream(&self) -> Result<Stream> {
        self.state.context().map(|context| Stream::from_addr(context.default_stream.handle))
    }

    fn rt_ctx_set_sys_param_opt(&self, opt: SysParamOpt, value: i64) -> Result<()> {
        self.state.context()?.options.set(opt, value)
    }

    fn rt_ctx_get_sys_param_opt(&self, opt: SysParamOpt) -> Result<i64> {
        self.state.context()?.options.get(opt)
    }

    fn rt_set_sys_param_opt(&self, opt: SysParamOpt, value: i64) -> Result<()> {
        self.options.set(opt, value)
    }

    fn rt_get_sys_param_opt(&self, opt: SysParamOpt) -> Result<i64> {
        self.options.get(opt)
    }

    fn rt_get_primary_ctx_state(&self, device_id: i32) -> Result<RtGetPrimaryCtxState> {
        let is_active = self.state.device(device_id)?.usage().primary.is_some();
        Ok(RtGetPrimaryCtxState { flags: 0, active: i32::from(is_active) })
    }

    // --- stream ---

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
            _ => return refuse(AclError::INVALID_PARAM, format!("`mode` is {mode}; it is 0 or 1")),
        }
        Ok(())
    }

    // --- event ---

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
        let is_done =
            self.events.get_single(event.addr(), "its completion with `aclrtQueryEventStatus`")?.is_done()?;
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

    // --- event_sharing ---

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

    // --- callback ---

    fn rt_subscribe_report(&self, thread_id: u64, stream: Stream) -> Result<()> {
        self.subscriptions.subscribe(CallbackKind::Callback, thread_id, &*self.state.stream(stream.addr())?)
    }

    fn rt_launch_callback(
        &self,
        function: Callback,
        block_type: CallbackBlockType,
        stream: Stream,
    ) -> Result<()> {
        let is_blocking = subscriptions::is_blocking(block_type)?;
        let stream = self.state.stream(stream.addr())?;
        self.subscriptions.launch_callback(&stream, is_blocking, Box::new(move || function.call()))
    }

    fn rt_process_report(&self, timeout: i32) -> Result<()> {
        self.subscriptions.process(timeout)
    }

    fn rt_un_subscribe_report(&self, thread_id: u64, stream: Stream) -> Result<()> {
        self.subscriptions.unsubscribe(CallbackKind::Callback, thread_id, &*self.state.stream(stream.addr())?)
    }

    fn rt_launch_host_func(&self, stream: Stream, function: HostFunc) -> Result<()> {
        let stream = self.state.stream(stream.addr())?;
        self.subscriptions.launch_host_function(&stream, Box::new(move || function.call()))
    }

    fn rt_subscribe_host_func(&self, host_func_thread_id: u64, exe_stream: Stream) -> Result<()> {
        let stream = self.state.stream(exe_stream.addr())?;
        self.subscriptions.subscribe(CallbackKind::HostFunction, host_func_thread_id, &stream)
    }

    fn rt_process_host_func(&self, timeout: i32) -> Result<()> {
        self.subscriptions.process(timeout)
    }

    fn rt_un_subscribe_host_func(&self, host_func_thread_id: u64, exe_stream: Stream) -> Result<()> {
        let stream = self.state.stream(exe_stream.addr())?;
        self.subscriptions.unsubscribe(CallbackKind::HostFunction, host_func_thread_id, &stream)
    }

    // --- observer ---

    fn init_callback_register(&self, r#type: RegisterCallbackType, cb_func: InitCallback) -> Result<()> {
        self.observe_initialization(r#type, cb_func)
    }

    fn init_callback_un_register(&self, r#type: RegisterCallbackType, cb_func: InitCallback) -> Result<()> {
        self.observers.remove_for_initialization(r#type, cb_func)
    }

    fn finalize_callback_register(
        &self,
        r#type: RegisterCallbackType,
        cb_func: FinalizeCallback,
    ) -> Result<()> {
        self.observers.add_for_finalization(r#type, cb_func)
    }

    fn finalize_callback_un_register(
        &self,
        r#type: RegisterCallbackType,
        cb_func: FinalizeCallback,
    ) -> Result<()> {
        self.observers.remove_for_finalization(r#type, cb_func)
    }

    fn rt_reg_stream_state_callback(
        &self,
        reg_name: &CStr,
        callback: Option<StreamStateCallback>,
    ) -> Result<()> {
        self.observers.set_for_streams(reg_name, callback)
    }

    fn rt_reg_device_state_callback(
        &self,
        reg_name: &CStr,
        callback: Option<DeviceStateCallback>,
    ) -> Result<()> {
        self.observers.set_for_devices(reg_name, callback)
    }

    fn rt_set_device_task_abort_callback(
        &self,
        reg_name: &CStr,
        callback: Option<DeviceTaskAbortCallback>,
    ) -> Result<()> {
        self.observers.set_for_aborts(reg_name, callback)
    }

    // --- memory ---

    fn rt_malloc(&self, size: usize, policy: MemMallocPolicy) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_malloc_align32(&self, size: usize, policy: MemMallocPolicy) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, false).map(DevicePtr::from_addr)
    }

    fn rt_malloc_cached(&self, size: usize, policy: MemMallocPolicy) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_malloc_with_cfg(
        &self,
        size: usize,
        policy: MemMallocPolicy,
        _cfg: Option<&[MallocConfig]>,
    ) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_malloc_for_task_scheduler(
        &self,
        size: usize,
        policy: MemMallocPolicy,
        _cfg: Option<&[MallocConfig]>,
    ) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_free(&self, dev_ptr: DevicePtr) -> Result<()> {
        allocation::free(&self.state, dev_ptr.addr(), false)
    }

    fn rt_free_with_dev_sync(&self, dev_ptr: DevicePtr) -> Result<()> {
        allocation::free(&self.state, dev_ptr.addr(), true)
    }

    fn rt_malloc_host(&self, size: usize) -> Result<HostPtr> {
        allocation::allocate_host(&self.state, size as u64).map(HostPtr::from_addr)
    }

    fn rt_malloc_host_with_cfg(&self, size: u64, _cfg: Option<&[MallocConfig]>) -> Result<HostPtr> {
        allocation::allocate_host(&self.state, size).map(HostPtr::from_addr)
    }

    fn rt_free_host(&self, host_ptr: HostPtr) -> Result<()> {
        allocation::free_host(&self.state, host_ptr.addr(), false)
    }

    fn rt_free_host_with_dev_sync(&self, host_ptr: HostPtr) -> Result<()> {
        allocation::free_host(&self.state, host_ptr.addr(), true)
    }

    fn rt_memcpy(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        src: AnyPtr,
        count: usize,
        kind: MemcpyKind,
    ) -> Result<()> {
        let rows = Rows::within(dest_max, count)?;
        transfer::copy(&self.state, dst.addr(), src.addr(), rows, Direction::of(kind)?)
    }

    fn rt_memcpy_async(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        src: AnyPtr,
        count: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let (rows, direction) = (Rows::within(dest_max, count)?, Direction::of(kind)?);
        transfer::copy_on(&self.state, stream.addr(), (dst.addr(), src.addr()), rows, direction, false)
    }

    fn rt_memcpy_async_with_condition(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        src: AnyPtr,
        count: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let (rows, direction) = (Rows::within(dest_max, count)?, Direction::of(kind)?);
        transfer::copy_on(&self.state, stream.addr(), (dst.addr(), src.addr()), rows, direction, true)
    }

    fn rt_memcpy2d(
        &self,
        dst: AnyPtr,
        dpitch: usize,
        src: AnyPtr,
        spitch: usize,
        width: usize,
        height: usize,
        kind: MemcpyKind,
    ) -> Result<()> {
        let rows = Rows { dst_pitch: dpitch, src_pitch: spitch, width, height };
        transfer::copy(&self.state, dst.addr(), src.addr(), rows, Direction::of_rectangle(kind)?)
    }

    fn rt_memcpy2d_async(
        &self,
        dst: AnyPtr,
        dpitch: usize,
        src: AnyPtr,
        spitch: usize,
        width: usize,
        height: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let rows = Rows { dst_pitch: dpitch, src_pitch: spitch, width, height };
        let direction = Direction::of_rectangle(kind)?;
        transfer::copy_on(&self.state, stream.addr(), (dst.addr(), src.addr()), rows, direction, false)
    }

    fn rt_memcpy_batch(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
        fail_index: &mut [usize],
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, None, fail_index)
    }

    fn rt_memcpy_batch_v2(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, None, &mut [])
    }

    fn rt_memcpy_batch_async(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
        fail_index: &mut [usize],
        stream: Stream,
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, Some(stream.addr()), fail_index)
    }

    fn rt_memcpy_batch_async_v2(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
        stream: Stream,
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, Some(stream.addr()), &mut [])
    }

    fn rt_memset(&self, dev_ptr: AnyPtr, max_count: usize, value: i32, count: usize) -> Result<()> {
        fill::fill(&self.state, ("dev_ptr", dev_ptr.addr()), max_count, Pattern::lowest_byte(value), count)
    }

    fn rt_memset_async(
        &self,
        dev_ptr: AnyPtr,
        max_count: usize,
        value: i32,
        count: usize,
        stream: Stream,
    ) -> Result<()> {
        let pattern = Pattern::lowest_byte(value);
        fill::fill_on(&self.state, stream.addr(), ("dev_ptr", dev_ptr.addr()), max_count, pattern, count)
    }

    fn rt_memset_d32(&self, ptr: AnyPtr, mem_size: usize, value: u32, n: usize) -> Result<()> {
        fill::fill(&self.state, ("ptr", ptr.addr()), mem_size, Pattern::Word(value), n)
    }

    fn rt_memset_d32_async(
        &self,
        ptr: AnyPtr,
        mem_size: usize,
        value: u32,
        n: usize,
        stream: Stream,
    ) -> Result<()> {
        fill::fill_on(&self.state, stream.addr(), ("ptr", ptr.addr()), mem_size, Pattern::Word(value), n)
    }

    fn rt_mem_flush(&self, dev_ptr: DevicePtr, size: usize) -> Result<()> {
        registration::expect_device_range(&self.state, dev_ptr.addr(), size)
    }

    fn rt_mem_invalidate(&self, dev_ptr: DevicePtr, size: usize) -> Result<()> {
        registration::expect_device_range(&self.state, dev_ptr.addr(), size)
    }

    fn rt_get_mem_info(&self, attr: MemAttr) -> Result<RtGetMemInfo> {
        registration::memory_info(&self.state, attr)
    }

    fn rt_get_mem_usage_info(&self, device_id: i32, mem_usage_info: &mut [MemUsageInfo]) -> Result<usize> {
        registration::memory_usage(&*self.state.device(device_id)?, mem_usage_info)
    }

    fn rt_pointer_get_attributes(&self, ptr: AnyPtr) -> Result<PtrAttributes> {
        registration::pointer_attributes(&self.state, ptr.addr())
    }

    fn rt_mem_get_address_range(&self, ptr: AnyPtr) -> Result<RtMemGetAddressRange> {
        registration::address_range(&self.state, ptr.addr())
    }

    fn rt_host_register(&self, ptr: AnyPtr, size: u64, r#type: HostRegisterType) -> Result<DevicePtr> {
        registration::register_host_as(&self.state, ptr.addr(), size, r#type)?;
        Ok(DevicePtr::from_addr(ptr.addr()))
    }

    fn rt_host_register_v2(&self, ptr: AnyPtr, size: u64, flag: u32) -> Result<()> {
        registration::register_host_with(&self.state, ptr.addr(), size, flag)
    }

    fn rt_host_get_device_pointer(&self, p_host: AnyPtr, flag: u32) -> Result<DevicePtr> {
        registration::device_pointer_of(&self.state, p_host.addr(), flag).map(DevicePtr::from_addr)
    }

    fn rt_host_unregister(&self, ptr: HostPtr) -> Result<()> {
        registration::unregister_host(&self.state, ptr.addr())
    }

    // --- managed_memory ---

    fn rt_mem_alloc_managed(&self, size: u64, flag: u32) -> Result<UnifiedPtr> {
        managed::allocate_managed(&self.state, size, flag).map(UnifiedPtr::from_addr)
    }

    fn rt_mem_managed_advise(
        &self,
        ptr: UnifiedPtr,
        size: u64,
        advise: MemManagedAdviseType,
        location: &MemManagedLocation,
    ) -> Result<()> {
        managed::advise(&self.state, ptr.addr(), size, advise, location)
    }

    fn rt_mem_managed_get_attr(
        &self,
        attribute: MemManagedRangeAttribute,
        ptr: UnifiedPtr,
        size: usize,
        data: &mut [u8],
    ) -> Result<()> {
        managed::write_attribute(&self.state, attribute, (ptr.addr(), size), data)
    }

    fn rt_mem_managed_get_attrs(
        &self,
        attributes: &[MemManagedRangeAttribute],
        ptr: UnifiedPtr,
        size: usize,
        data: &[HostPtr],
        data_sizes: &[usize],
    ) -> Result<()> {
        managed::write_attributes(&self.state, attributes, (ptr.addr(), size), data, data_sizes)
    }

    fn rt_mem_managed_prefetch_async(
        &self,
        ptr: UnifiedPtr,
        size: usize,
        location: &MemManagedLocation,
        flags: u32,
        stream: Stream,
    ) -> Result<()> {
        managed::prefetch(&self.state, (ptr.addr(), size), location, flags.into(), stream.addr())
    }

    fn rt_mem_managed_prefetch_batch_async(
        &self,
        ptrs: &[UnifiedPtr],
        sizes: &[usize],
        prefetch_locs: &[MemManagedLocation],
        prefetch_loc_idxs: &[usize],
        flags: u64,
        stream: Stream,
    ) -> Result<()> {
        let batch = PrefetchBatch { ptrs, sizes, locations: prefetch_locs, firsts: prefetch_loc_idxs };
        managed::prefetch_batch(&self.state, batch, flags, stream.addr())
    }

    // --- memory_access ---

    fn rt_check_mem_type(&self, addr_list: &[AnyPtr], mem_type: u32, reserve: u32) -> Result<u32> {
        let are_of_kinds =
            capabilities::are_of_kinds(&self.state, &self.virtual_memory, addr_list, mem_type, reserve);
        are_of_kinds.map(u32::from)
    }

    fn rt_host_mem_map_capabilities(
        &self,
        device_id: u32,
        hac_type: HacType,
    ) -> Result<HostMemMapCapability> {
        capabilities::host_mapping(&self.state, device_id, hac_type)
    }

    fn rt_device_get_host_atomic_capabilities(
        &self,
        capabilities: &mut [u32],
        operations: &[AtomicOperation],
        device_id: i32,
    ) -> Result<()> {
        capabilities::write_atomics(&self.state, &[device_id], operations, capabilities)
    }

    fn rt_device_get_p2p_atomic_capabilities(
        &self,
        capabilities: &mut [u32],
        operations: &[AtomicOperation],
        src_device_id: i32,
        dst_device_id: i32,
    ) -> Result<()> {
        capabilities::write_atomics(&self.state, &[src_device_id, dst_device_id], operations, capabilities)
    }

    fn rt_reserve_mem_address_no_uc_memory(
        &self,
        size: usize,
        alignment: usize,
        expect_ptr: AnyPtr,
        flags: u64,
    ) -> Result<AnyPtr> {
        self.virtual_memory
            .reserve(&self.state, size, alignment, expect_ptr.addr(), flags)
            .map(AnyPtr::from_addr)
    }

    fn rt_mem_map_no_access(
        &self,
        vir_ptr: AnyPtr,
        size: usize,
        offset: usize,
        handle: DrvMemHandle,
        flags: u64,
    ) -> Result<()> {
        let (address, handle) = (vir_ptr.addr(), handle.addr());
        self.virtual_memory.map(&self.state, address, size, offset, handle, flags)?;
        let location = self.virtual_memory.physical(handle)?.prop.location;
        let desc = MemAccessDesc { flags: MemAccessFlags::NONE, location, rsv: [0; 12] };
        self.virtual_memory.set_access(address, size, &desc)
    }

    fn rt_ipc_mem_set_attr(&self, key: &CStr, r#type: IpcMemAttrType, attr: u64) -> Result<()> {
        self.shared_memory.set_attribute(&self.state, key, r#type, attr)
    }

    fn rt_ipc_mem_import_pid_inter_server(&self, key: &CStr, server_pids: &[ServerPid]) -> Result<()> {
        self.shared_memory.expect(&self.state, key)?;
        capabilities::expect_servers(server_pids)
    }

    fn rt_notify_set_import_pid_inter_server(&self, notify: Notify, server_pids: &[ServerPid]) -> Result<()> {
        self.notifies.get(NotifyKind::Flag, notify.addr())?;
        capabilities::expect_servers(server_pids)
    }

    // --- buffer ---

    fn rt_alloc_buf(&self, size: usize) -> Result<Mbuf> {
        self.message_buffers.allocate(&self.state, size).map(Mbuf::from_addr)
    }

    fn rt_free_buf(&self, buf: Mbuf) -> Result<()> {
        self.message_buffers.free(&self.state, buf.addr())
    }

    fn rt_get_buf_data(&self, buf: Mbuf) -> Result<RtGetBufData> {
        let (address, size) = self.message_buffers.memory(buf.addr())?;
        Ok(RtGetBufData { data_ptr: HostPtr::from_addr(address), size })
    }

    fn rt_set_buf_data_len(&self, buf: Mbuf, len: usize) -> Result<()> {
        self.message_buffers.set_length(buf.addr(), len)
    }

    fn rt_get_buf_data_len(&self, buf: Mbuf) -> Result<usize> {
        self.message_buffers.length(buf.addr())
    }

    fn rt_set_buf_user_data(&self, buf: Mbuf, data_ptr: &[u8], offset: usize) -> Result<()> {
        self.message_buffers.write_user_data(buf.addr(), offset, data_ptr)
    }

    fn rt_get_buf_user_data(&self, buf: Mbuf, data_ptr: &mut [u8], offset: usize) -> Result<()> {
        self.message_buffers.read_user_data(buf.addr(), offset, data_ptr)
    }

    fn rt_copy_buf_ref(&self, buf: Mbuf) -> Result<Mbuf> {
        self.message_buffers.share(buf.addr()).map(Mbuf::from_addr)
    }

    fn rt_append_buf_chain(&self, head_buf: Mbuf, buf: Mbuf) -> Result<()> {
        self.message_buffers.append(head_buf.addr(), buf.addr())
    }

    fn rt_get_buf_chain_num(&self, head_buf: Mbuf) -> Result<u32> {
        self.message_buffers.count(head_buf.addr())
    }

    fn rt_get_buf_from_chain(&self, head_buf: Mbuf, index: u32) -> Result<Mbuf> {
        self.message_buffers.at(head_buf.addr(), index).map(Mbuf::from_addr)
    }

    // --- data ---

    fn float16_to_float(&self, value: u16) -> Result<f32> {
        Ok(element::from_half(value))
    }

    fn float_to_float16(&self, value: f32) -> Result<u16> {
        Ok(element::to_half(value))
    }

    fn data_type_size(&self, data_type: DataType) -> Result<usize> {
        Ok(element::size(data_type))
    }

    fn create_data_buffer(&self, data: AnyPtr, size: usize) -> Result<DataBuffer> {
        self.data_buffers.create(Extent { address: data.addr(), size }).map(DataBuffer::from_addr)
    }

    fn destroy_data_buffer(&self, data_buffer: DataBuffer) -> Result<()> {
        self.data_buffers.destroy(data_buffer.addr())
    }

    fn update_data_buffer(&self, data_buffer: DataBuffer, data: AnyPtr, size: usize) -> Result<()> {
        self.data_buffers.set(data_buffer.addr(), Extent { address: data.addr(), size })
    }

    fn get_data_buffer_addr(&self, data_buffer: DataBuffer) -> Result<AnyPtr> {
        self.data_buffers.get(data_buffer.addr()).map(|content| AnyPtr::from_addr(content.address))
    }

    fn get_data_buffer_size(&self, data_buffer: DataBuffer) -> Result<u32> {
        self.data_buffers
            .get(data_buffer.addr())
            .map(|content| u32::try_from(content.size).unwrap_or(u32::MAX))
    }

    fn get_data_buffer_size_v2(&self, data_buffer: DataBuffer) -> Result<usize> {
        self.data_buffers.get(data_buffer.addr()).map(|content| content.size)
    }

    fn create_tensor_desc(
        &self,
        data_type: DataType,
        dims: Option<&[i64]>,
        format: Format,
    ) -> Result<TensorDesc> {
        let desc = self.tensor_descs.create(data_type, dims.unwrap_or_default(), format);
        desc.map(TensorDesc::from_addr)
    }

    fn destroy_tensor_desc(&self, desc: TensorDesc) -> Result<()> {
        self.tensor_descs.destroy(desc.addr())
    }

    fn get_tensor_desc_type(&self, desc: TensorDesc) -> Result<DataType> {
        Ok(self.tensor_descs.get(desc.addr()).map_or(DataType::UNDEFINED, |content| content.data_type))
    }

    fn get_tensor_desc_format(&self, desc: TensorDesc) -> Result<Format> {
        Ok(self.tensor_descs.get(desc.addr()).map_or(Format::UNDEFINED, |content| content.format))
    }

    fn get_tensor_desc_size(&self, desc: TensorDesc) -> Result<usize> {
        self.tensor_descs.get(desc.addr()).map(|content| content.size())
    }

    fn get_tensor_desc_element_count(&self, desc: TensorDesc) -> Result<usize> {
        self.tensor_descs.get(desc.addr()).map(|content| content.elements())
    }

    fn get_tensor_desc_num_dims(&self, desc: TensorDesc) -> Result<usize> {
        self.tensor_descs.get(desc.addr()).map(|content| content.rank())
    }

    fn get_tensor_desc_dim(&self, desc: TensorDesc, index: usize) -> Result<i64> {
        Ok(self.tensor_descs.get(desc.addr()).and_then(|content| content.dim(index)).unwrap_or(-1))
    }

    fn get_tensor_desc_dim_v2(&self, desc: TensorDesc, index: usize) -> Result<i64> {
        self.tensor_descs.get(desc.addr())?.dim(index)
    }

    fn get_tensor_desc_dim_range(&self, desc: TensorDesc, index: usize, dim_range: &mut [i64]) -> Result<()> {
        self.tensor_descs.get(desc.addr())?.write_range(index, dim_range)
    }

    fn set_tensor_desc_name(&self, desc: TensorDesc, name: &CStr) -> Result<()> {
        self.tensor_descs.set_name(desc.addr(), name)
    }

    fn get_tensor_desc_name(&self, desc: TensorDesc) -> Result<Cow<'static, CStr>> {
        Ok(Cow::Borrowed(self.tensor_descs.get(desc.addr()).map_or(c"", |content| content.name)))
    }

    fn trans_tensor_desc_format(&self, src_desc: TensorDesc, dst_format: Format) -> Result<TensorDesc> {
        self.tensor_descs.create_in_format(src_desc.addr(), dst_format).map(TensorDesc::from_addr)
    }

    fn set_tensor_format(&self, desc: TensorDesc, format: Format) -> Result<()> {
        self.tensor_descs.set_format(desc.addr(), format)
    }

    fn set_tensor_shape(&self, desc: TensorDesc, dims: Option<&[i64]>) -> Result<()> {
        self.tensor_descs.set_shape(desc.addr(), dims.unwrap_or_default())
    }

    fn set_tensor_storage_format(&self, desc: TensorDesc, format: Format) -> Result<()> {
        self.tensor_descs.set_format(desc.addr(), format)
    }

    fn set_tensor_storage_shape(&self, desc: TensorDesc, dims: Option<&[i64]>) -> Result<()> {
        self.tensor_descs.set_shape(desc.addr(), dims.unwrap_or_default())
    }

    fn set_tensor_origin_format(&self, desc: TensorDesc, _: Format) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), &[])
    }

    fn set_tensor_origin_shape(&self, desc: TensorDesc, dims: Option<&[i64]>) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), dims.unwrap_or_default())
    }

    fn get_tensor_desc_by_index(&self, desc: TensorDesc, index: usize) -> Result<TensorDesc> {
        self.tensor_descs.get(desc.addr()).map(|_| if index == 0 { desc } else { TensorDesc::NULL })
    }

    fn get_tensor_desc_address(&self, desc: TensorDesc) -> Result<AnyPtr> {
        self.tensor_descs.get(desc.addr()).map(|content| AnyPtr::from_addr(content.address))
    }

    fn set_tensor_dynamic_input(&self, desc: TensorDesc, _: &CStr) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), &[])
    }

    fn set_tensor_const(&self, desc: TensorDesc, data_buffer: AnyPtr, length: usize) -> Result<()> {
        self.tensor_descs.set_constant(desc.addr(), data_buffer.addr(), length)
    }

    fn set_tensor_place_ment(&self, desc: TensorDesc, _: MemType) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), &[])
    }

    // --- virtual_memory ---

    fn rt_reserve_mem_address(
        &self,
        size: usize,
        alignment: usize,
        expect_ptr: AnyPtr,
        flags: u64,
    ) -> Result<AnyPtr> {
        self.virtual_memory
            .reserve(&self.state, size, alignment, expect_ptr.addr(), flags)
            .map(AnyPtr::from_addr)
    }

    fn rt_release_mem_address(&self, vir_ptr: AnyPtr) -> Result<()> {
        self.virtual_memory.release(vir_ptr.addr())
    }

    fn rt_malloc_physical(&self, size: usize, prop: &[PhysicalMemProp], flags: u64) -> Result<DrvMemHandle> {
        self.virtual_memory
            .allocate_physical(&self.state, size, only("prop", prop)?, flags)
            .map(DrvMemHandle::from_addr)
    }

    fn rt_free_physical(&self, handle: DrvMemHandle) -> Result<()> {
        self.virtual_memory.free(handle.addr())
    }

    fn rt_map_mem(
        &self,
        vir_ptr: AnyPtr,
        size: usize,
        offset: usize,
        handle: DrvMemHandle,
        flags: u64,
    ) -> Result<()> {
        self.virtual_memory.map(&self.state, vir_ptr.addr(), size, offset, handle.addr(), flags)
    }

    fn rt_unmap_mem(&self, vir_ptr: AnyPtr) -> Result<()> {
        self.virtual_memory.unmap(&self.state, vir_ptr.addr())
    }

    fn rt_mem_get_allocation_granularity(
        &self,
        prop: &[PhysicalMemProp],
        option: MemGranularityOptions,
    ) -> Result<usize> {
        mappings::granularity(&self.state, only("prop", prop)?, option)
    }

    fn rt_mem_set_access(&self, vir_ptr: AnyPtr, size: usize, desc: &[MemAccessDesc]) -> Result<()> {
        self.virtual_memory.set_access(vir_ptr.addr(), size, only("desc", desc)?)
    }

    fn rt_mem_get_access(&self, vir_ptr: AnyPtr, location: &[MemLocation]) -> Result<u64> {
        self.virtual_memory.access(vir_ptr.addr(), only("location", location)?)
    }

    fn rt_mem_retain_allocation_handle(&self, vir_ptr: AnyPtr) -> Result<DrvMemHandle> {
        self.virtual_memory.retain(vir_ptr.addr()).map(DrvMemHandle::from_addr)
    }

    fn rt_mem_get_allocation_properties_from_handle(&self, handle: DrvMemHandle) -> Result<PhysicalMemProp> {
        self.virtual_memory.physical(handle.addr()).map(|memory| memory.prop)
    }

    // --- ipc ---

    fn rt_mem_export_to_shareable_handle(
        &self,
        handle: DrvMemHandle,
        handle_type: MemHandleType,
        flags: u64,
    ) -> Result<u64> {
        sharing::expect_handle_type(handle_type)?;
        self.virtual_memory.export(handle.addr(), flags)
    }

    fn rt_mem_import_from_shareable_handle(
        &self,
        shareable_handle: u64,
        device_id: i32,
    ) -> Result<DrvMemHandle> {
        self.state.device(device_id)?;
        self.virtual_memory.import(shareable_handle).map(DrvMemHandle::from_addr)
    }

    fn rt_mem_set_pid_to_shareable_handle(&self, shareable_handle: u64, pid: &[i32]) -> Result<()> {
        self.virtual_memory.exported(shareable_handle)?;
        notify_table::expect_processes(pid, "pid_num")
    }

    fn rt_mem_export_to_shareable_handle_v2(
        &self,
        handle: DrvMemHandle,
        flags: u64,
        share_type: MemSharedHandleType,
        shareable_handle: HostPtr,
    ) -> Result<()> {
        let place = sharing::number_address(share_type, shareable_handle)?;
        let number = self.virtual_memory.export(handle.addr(), flags)?;
        // SAFETY: the caller promises room for a number.
        unsafe { place.write_unaligned(number) };
        Ok(())
    }

    fn rt_mem_import_from_shareable_handle_v2(
        &self,
        shareable_handle: HostPtr,
        share_type: MemSharedHandleType,
        flags: u64,
    ) -> Result<DrvMemHandle> {
        sharing::expect_flags(flags)?;
        // SAFETY: the caller promises a number.
        let number = unsafe { sharing::number_address(share_type, shareable_handle)?.read_unaligned() };
        self.virtual_memory.import(number).map(DrvMemHandle::from_addr)
    }

    fn rt_mem_set_pid_to_shareable_handle_v2(
        &self,
        shareable_handle: HostPtr,
        share_type: MemSharedHandleType,
        pid: &[i32],
    ) -> Result<()> {
        // SAFETY: the caller promises a number.
        let number = unsafe { sharing::number_address(share_type, shareable_handle)?.read_unaligned() };
        self.rt_mem_set_pid_to_shareable_handle(number, pid)
    }

    fn rt_ipc_mem_get_export_key(
        &self,
        dev_ptr: DevicePtr,
        size: usize,
        key: &mut [u8],
        flags: u64,
    ) -> Result<()> {
        self.shared_memory.export(&self.state, (dev_ptr.addr(), size), key, flags)
    }

    fn rt_ipc_mem_set_import_pid(&self, key: &CStr, pid: &[i32]) -> Result<()> {
        self.shared_memory.expect(&self.state, key)?;
        notify_table::expect_processes(pid, "num")
    }

    fn rt_ipc_mem_import_by_key(&self, key: &CStr, flags: u64) -> Result<AnyPtr> {
        self.shared_memory.import(&self.state, key, flags).map(AnyPtr::from_addr)
    }

    fn rt_ipc_mem_close(&self, key: &CStr) -> Result<()> {
        self.shared_memory.close(key)
    }

    fn rt_value_write(&self, dev_addr: AnyPtr, value: u64, flag: u32, stream: Stream) -> Result<()> {
        value::write_value(&self.state, dev_addr.addr(), value, flag, stream.addr())
    }

    fn rt_value_wait(&self, dev_addr: AnyPtr, value: u64, flag: u32, stream: Stream) -> Result<()> {
        value::wait_value(&self.state, dev_addr.addr(), value, flag, stream.addr())
    }

    // --- notify ---

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
        self.notifies.get(NotifyKind::Flag, notify.addr())?;
        notify_table::expect_processes(pid, "num")
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

    // --- limits ---

    fn rt_set_op_wait_timeout(&self, _: u32) -> Result<()> {
        Ok(())
    }

    fn rt_set_op_execute_time_out(&self, timeout: u32) -> Result<()> {
        self.timeouts.set_execute(u64::from(timeout) * 1_000_000);
        Ok(())
    }

    fn rt_set_op_execute_time_out_with_ms(&self, timeout: u32) -> Result<()> {
        self.timeouts.set_execute(u64::from(timeout) * 1_000);
        Ok(())
    }

    fn rt_set_op_execute_time_out_v2(&self, timeout: u64) -> Result<u64> {
        Ok(self.timeouts.set_execute(timeout))
    }

    fn rt_get_op_time_out_interval(&self) -> Result<u64> {
        Ok(settings::STEP)
    }

    fn rt_get_op_execute_timeout(&self) -> Result<u32> {
        Ok(self.timeouts.execute_ms())
    }

    fn rt_set_device_sat_mode(&self, mode: FloatOverflowMode) -> Result<()> {
        settings::set_saturation(&self.state, mode)
    }

    fn rt_get_device_sat_mode(&self) -> Result<FloatOverflowMode> {
        settings::saturation(&self.state)
    }

    fn rt_set_stream_overflow_switch(&self, stream: Stream, flag: u32) -> Result<()> {
        settings::set_attribute(&self.state, stream.addr(), StreamAttr::FLOAT_OVERFLOW_CHECK, flag.into())
    }

    fn rt_get_stream_overflow_switch(&self, stream: Stream) -> Result<u32> {
        settings::attribute(&self.state, stream.addr(), StreamAttr::FLOAT_OVERFLOW_CHECK)
    }

    fn rt_get_overflow_status(
        &self,
        output_addr: DevicePtr,
        output_size: usize,
        stream: Stream,
    ) -> Result<()> {
        settings::write_overflow_status(&self.state, output_addr.addr(), output_size, stream.addr())
    }

    fn rt_reset_overflow_status(&self, stream: Stream) -> Result<()> {
        self.state.stream(stream.addr()).map(drop)
    }

    fn rt_get_float_overflow_status(
        &self,
        output_addr: DevicePtr,
        output_size: u64,
        stream: Stream,
    ) -> Result<()> {
        let size = usize::try_from(output_size).unwrap_or(usize::MAX);
        settings::write_overflow_status(&self.state, output_addr.addr(), size, stream.addr())
    }

    fn rt_reset_float_overflow_status(&self, stream: Stream) -> Result<()> {
        self.state.stream(stream.addr()).map(drop)
    }

    fn rt_set_stream_attribute(
        &self,
        stream: Stream,
        stm_attr_type: StreamAttr,
        value: &[StreamAttrValue],
    ) -> Result<()> {
        let value = settings::value_of(stm_attr_type, only("value", value)?);
        settings::set_attribute(&self.state, stream.addr(), stm_attr_type, value)
    }

    fn rt_get_stream_attribute(&self, stream: Stream, stm_attr_type: StreamAttr) -> Result<StreamAttrValue> {
        settings::attribute(&self.state, stream.addr(), stm_attr_type).map(settings::as_value)
    }

    fn rt_get_device_res_limit(&self, device_id: i32, r#type: DevResLimitType) -> Result<u32> {
        settings::device_cores(&self.state, device_id, r#type)
    }

    fn rt_set_device_res_limit(&self, device_id: i32, r#type: DevResLimitType, value: u32) -> Result<()> {
        settings::set_device_cores(&self.state, device_id, r#type, value)
    }

    fn rt_reset_device_res_limit(&self, device_id: i32) -> Result<()> {
        settings::reset_device_cores(&self.state, device_id)
    }

    fn rt_get_stream_res_limit(&self, stream: Stream, r#type: DevResLimitType) -> Result<u32> {
        settings::stream_cores(&self.state, stream.addr(), r#type)
    }

    fn rt_set_stream_res_limit(&self, stream: Stream, r#type: DevResLimitType, value: u32) -> Result<()> {
        settings::set_stream_cores(&self.state, stream.addr(), r#type, value)
    }

    fn rt_reset_stream_res_limit(&self, stream: Stream) -> Result<()> {
        settings::reset_stream_cores(&self.state, stream.addr())
    }

    fn rt_use_stream_res_in_current_thread(&self, stream: Stream) -> Result<()> {
        settings::use_cores_of(&self.state, stream.addr())
    }

    fn rt_unuse_stream_res_in_current_thread(&self, stream: Stream) -> Result<()> {
        settings::unuse_cores_of(&self.state, stream.addr())
    }

    fn rt_get_res_in_current_thread(&self, r#type: DevResLimitType) -> Result<u32> {
        settings::thread_cores(&self.state, r#type)
    }

    fn rt_reduce_async(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        count: u64,
        kind: ReduceKind,
        r#type: DataType,
        stream: Stream,
        reserve: AnyPtr,
    ) -> Result<()> {
        let reduction = Reduction { dst: dst.addr(), src: src.addr(), bytes: count, kind, data_type: r#type };
        reduction::reduce(&self.state, reduction, stream.addr(), reserve.addr())
    }

    fn rt_cmo_async(&self, src: DevicePtr, size: usize, cmo_type: CmoType, stream: Stream) -> Result<()> {
        cache_hint::hint_cache(&self.state, src.addr(), size, cmo_type, stream.addr())
    }

    fn rt_get_memcpy_desc_size(&self, kind: MemcpyKind) -> Result<usize> {
        descriptor::expect_kind(kind).map(|()| descriptor::SIZE)
    }

    fn rt_set_memcpy_desc(
        &self,
        desc: DevicePtr,
        kind: MemcpyKind,
        src_addr: DevicePtr,
        dst_addr: DevicePtr,
        count: usize,
        config: AnyPtr,
    ) -> Result<()> {
        descriptor::set_copy_desc(
            &self.state,
            desc.addr(),
            kind,
            (dst_addr.addr(), src_addr.addr()),
            count,
            config.addr(),
        )
    }

    fn rt_memcpy_async_with_desc(&self, desc: DevicePtr, kind: MemcpyKind, stream: Stream) -> Result<()> {
        descriptor::copy_as_described(&self.state, desc.addr(), kind, stream.addr())
    }

    fn rt_get_thread_last_task_id(&self) -> Result<u32> {
        Ok(thread_slots::last_task())
    }

    // --- cache ---

    fn rt_cmo_async_with_barrier(
        &self,
        src: DevicePtr,
        size: usize,
        cmo_type: CmoType,
        _barrier_id: u32,
        stream: Stream,
    ) -> Result<()> {
        cache_hint::hint_cache(&self.state, src.addr(), size, cmo_type, stream.addr())
    }

    fn rt_cmo_wait_barrier(&self, task_info: &[BarrierTaskInfo], stream: Stream, flag: u32) -> Result<()> {
        cache_hint::wait_for_hints(&self.state, only("task_info", task_info)?, stream.addr(), flag)
    }

    fn rt_cmo_get_desc_size(&self) -> Result<usize> {
        Ok(cache_hint::DESC_SIZE)
    }

    fn rt_cmo_set_desc(&self, cmo_desc: DevicePtr, src: DevicePtr, size: usize) -> Result<()> {
        cache_hint::set_hint_desc(&self.state, cmo_desc.addr(), src.addr(), size)
    }

    fn rt_cmo_async_with_desc(
        &self,
        cmo_desc: DevicePtr,
        cmo_type: CmoType,
        stream: Stream,
        reserve: AnyPtr,
    ) -> Result<()> {
        cache_hint::hint_as_described(&self.state, cmo_desc.addr(), cmo_type, stream.addr(), reserve.addr())
    }

    // --- task ---

    fn rt_memcpy_async_with_offset(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        dst_data_offset: usize,
        src: AnyPtr,
        count: usize,
        src_data_offset: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let dst = IndirectAddress { at: dst.addr(), offset: dst_data_offset };
        let src = IndirectAddress { at: src.addr(), offset: src_data_offset };
        indirect::copy_indirectly(&self.state, dst, dest_max, src, count, kind, stream.addr())
    }

    fn rt_npu_get_float_over_flow_status(
        &self,
        output_addr: DevicePtr,
        output_size: u64,
        _check_mode: u32,
        stream: Stream,
    ) -> Result<()> {
        self.rt_get_float_overflow_status(output_addr, output_size, stream)
    }

    fn rt_npu_clear_float_over_flow_status(&self, _check_mode: u32, stream: Stream) -> Result<()> {
        self.state.stream(stream.addr()).map(drop)
    }

    // --- exception ---

    fn rt_peek_at_last_error(&self, _: LastErrLevel) -> Result<AclError> {
        Ok(last_status().map_or(AclError::SUCCESS, AclError))
    }

    fn rt_get_last_error(&self, _: LastErrLevel) -> Result<AclError> {
        Ok(take_last_status().map_or(AclError::SUCCESS, AclError))
    }

    fn rt_set_exception_info_callback(&self, callback: Option<ExceptionInfoCallback>) -> Result<()> {
        self.state.failures.set_listener(callback);
        Ok(())
    }

    fn rt_exception_info_callback_register(&self, callback: ExceptionInfoCallback) -> Result<()> {
        self.state.failures.add_listener(callback);
        Ok(())
    }

    fn rt_exception_info_callback_unregister(&self, callback: ExceptionInfoCallback) -> Result<()> {
        self.state.failures.remove_listener(callback)
    }

    fn rt_get_error_code_from_exception_info(&self, info: ExceptionInfo) -> Result<u32> {
        Ok(self.state.failures.field(info, |failure| failure.code))
    }

    fn rt_get_task_id_from_exception_info(&self, info: ExceptionInfo) -> Result<u32> {
        Ok(self.state.failures.field(info, |failure| failure.task))
    }

    fn rt_get_stream_id_from_exception_info(&self, info: ExceptionInfo) -> Result<u32> {
        Ok(self.state.failures.field(info, |failure| failure.stream))
    }

    fn rt_get_thread_id_from_exception_info(&self, info: ExceptionInfo) -> Result<u32> {
        Ok(self.state.failures.field(info, |failure| failure.thread))
    }

    fn rt_get_device_id_from_exception_info(&self, info: ExceptionInfo) -> Result<u32> {
        Ok(self.state.failures.field(info, |failure| failure.device))
    }

    // --- health ---

    fn rt_get_mem_uce_info(&self, device_id: i32, mem_uce_info_array: &mut [MemUceInfo]) -> Result<usize> {
        health::damaged_memory(&self.state, device_id, mem_uce_info_array)
    }

    fn rt_get_error_verbose(&self, device_id: i32) -> Result<ErrorInfo> {
        health::damage(&self.state, device_id)
    }
}

/// The only element of a slice that a pointer to one value yields.
fn only<'a, T>(param: &str, things: &'a [T]) -> Result<&'a T> {
    match things {
        [thing] => Ok(thing),
        _ => crate::error::refuse(
            AclError::RT_PARAM_INVALID,
            format!("`{param}` is one, and {} are given", things.len()),
        ),
    }
}

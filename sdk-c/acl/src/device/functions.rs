//! The functions of the groups for initialization, devices, contexts, device information, peers, hardware health and settings.

use std::borrow::Cow;
use std::ffi::CStr;

use tenon::{AnyPtr, DevicePtr, HostPtr};

use super::health;
use super::info;
use super::peers;
use super::settings;
use crate::api::{
    AclContext, AclDevice, AclDeviceInfo, AclHealth, AclInit, AclLimits, AclPeer, CannAttr, CmoType, Context,
    DataType, DevAttr, DevFeatureType, DevResLimitType, DeviceInfo, DeviceLimit, DeviceStatus, ErrorInfo,
    FloatOverflowMode, GetCannAttributeList, MemUceInfo, MemcpyKind, ReduceKind,
    RtDeviceGetStreamPriorityRange, RtGetPrimaryCtxState, RtGetVersion, RunMode, Stream, StreamAttr,
    StreamAttrValue, SysParamOpt, TsId, UtilizationInfo, Uuid, take_last_message,
};
use crate::copy::cache_hint;
use crate::copy::descriptor;
use crate::copy::reduction;
use crate::copy::reduction::Reduction;
use crate::error::Result;
use crate::error::only;
use crate::runtime::Runtime;
use crate::state::thread_slots;

impl AclInit for Runtime {
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

    fn get_cann_attribute(&self, cann_attr: CannAttr) -> Result<i32> {
        info::stack_has(cann_attr)
    }

    fn get_cann_attribute_list(&self) -> Result<GetCannAttributeList> {
        let list = info::STACK_FEATURES;
        Ok(GetCannAttributeList {
            cann_attr_list: HostPtr::from_ptr(list.as_ptr().cast_mut()),
            num: list.len(),
        })
    }

    fn get_device_capability(&self, device_id: u32, device_info: DeviceInfo) -> Result<i64> {
        info::device_capability(&self.state, device_id, device_info)
    }
}

impl AclDevice for Runtime {
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

    fn rt_device_set_limit(&self, limit: DeviceLimit, value: usize) -> Result<()> {
        settings::set_device_limit(&self.state, limit, value)
    }

    fn rt_device_get_limit(&self, limit: DeviceLimit) -> Result<usize> {
        settings::device_limit(&self.state, limit)
    }
}

impl AclDeviceInfo for Runtime {
    fn rt_get_version(&self) -> Result<RtGetVersion> {
        Ok(info::VERSION)
    }

    fn rt_get_soc_name(&self) -> Result<Option<Cow<'static, CStr>>> {
        Ok(Some(Cow::Borrowed(self.chip_name.get(&self.state))))
    }

    fn rt_check_arch_compatibility(&self, soc_version: &CStr) -> Result<i32> {
        Ok(i32::from(soc_version == self.chip_name.get(&self.state)))
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
}

impl AclPeer for Runtime {
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
}

impl AclContext for Runtime {
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
}

impl AclLimits for Runtime {
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
}

impl AclHealth for Runtime {
    fn rt_get_mem_uce_info(&self, device_id: i32, mem_uce_info_array: &mut [MemUceInfo]) -> Result<usize> {
        health::damaged_memory(&self.state, device_id, mem_uce_info_array)
    }

    fn rt_get_error_verbose(&self, device_id: i32) -> Result<ErrorInfo> {
        health::damage(&self.state, device_id)
    }
}

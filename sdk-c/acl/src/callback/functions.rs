//! The functions of the groups for callbacks, observers and failures.

use std::ffi::CStr;

use super::subscriptions;
use super::subscriptions::CallbackKind;
use crate::api::{
    AclCallback, AclError, AclException, AclObserver, Callback, CallbackBlockType, DeviceStateCallback,
    DeviceTaskAbortCallback, ExceptionInfo, ExceptionInfoCallback, FinalizeCallback, HostFunc, InitCallback,
    LastErrLevel, RegisterCallbackType, Stream, StreamStateCallback, last_status, take_last_status,
};
use crate::error::Result;
use crate::runtime::Runtime;

impl AclCallback for Runtime {
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
}

impl AclObserver for Runtime {
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
}

impl AclException for Runtime {
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
}

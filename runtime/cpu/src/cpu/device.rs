//! The generated trait of a device, on the CPU.
//!
//! The setters of captured kernels and the C++ object of device properties are not implemented: they have no meaning on a
//! CPU.

use tenon::device::{
    Allocator, BlasHandle, BlasLtHandle, CaptureMode, CaptureStatus, CollectiveComm, CudaGraphInstantiate,
    CudaStreamCaptureInfo, DataType, Device, DeviceId, DeviceMemoryStats, EigenDevice, Error, Event, Graph,
    GraphExec, GraphNode, Place, Profiler, ReduceOp, Result, Status, Stream, StreamCallback,
};
use tenon::support::check_pattern;
use tenon::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};
use tenon_gloo::{Buffer, Operation};

use super::copies::{
    between, copy_later, copy_now, do_now, fill_later, to_device, to_host, wait_for_default, within,
};
use super::core::check_device;
use super::memory::free;
use super::streams::refuse_captured;
use super::{CURRENT, Cpu, axpby, graphs, refuse_inside_work};
use crate::error::{self, ErrorKind};
use crate::executor::event::{EventState, Mark};
use crate::executor::progress::Progress;
use crate::executor::stream::{Refused, StreamState};
use crate::executor::work::Work;
use crate::graph::{Capture, check_mode};
use crate::handle::HandleKind;
use crate::memory::{Fill, GRANULE, Pattern, Space};

/// The version of this device, in CUDA's encoding: 1000 × major + 10 × minor.
const VERSION: usize = 10;

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        let status = match error.kind() {
            ErrorKind::OutOfMemory | ErrorKind::NotReady | ErrorKind::Failed | ErrorKind::System => {
                Status::FAILED
            }
            ErrorKind::InvalidArgument | ErrorKind::NotPermitted => Status::ERROR,
        };
        Error::new(status, error.to_string())
    }
}

/// Returns null instead of an error if memory is exhausted.
///
/// For PaddlePaddle, null means that memory is exhausted: it frees its cached memory and tries again.
fn null_if_out_of_memory<P>(allocated: crate::Result<P>, null: P) -> Result<P> {
    match allocated {
        Err(error) if error.kind() == ErrorKind::OutOfMemory => Ok(null),
        other => Ok(other?),
    }
}

#[tenon::device]
impl Device for Cpu {
    fn initialize(&self) -> Result<()> {
        Ok(Cpu::initialize(self)?)
    }

    fn finalize(&self) -> Result<()> {
        Ok(self.shutdown()?)
    }

    fn set_device(&self, device: DeviceId) -> Result<()> {
        self.core()?.device(device)?;
        CURRENT.set(device);
        Ok(())
    }

    fn get_device(&self) -> Result<DeviceId> {
        let (core, device) = (self.core()?, CURRENT.get());
        // All `Cpu` of a process share the setting, so it may name a device that this one lacks.
        Ok(if core.device(device).is_ok() { device } else { DeviceId(0) })
    }

    fn get_device_count(&self) -> Result<usize> {
        Ok(self.device_count()?)
    }

    fn get_device_list(&self) -> Result<Vec<usize>> {
        Ok((0..self.device_count()?).collect())
    }

    fn synchronize_device(&self, device: DeviceId) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        let streams = core.streams_of(device);
        let mode = graphs::thread_capture_mode();
        for capture in streams.iter().filter_map(|stream| stream.capture()) {
            if capture.forbids_waiting(mode) {
                return Err(capture.refuse("synchronize_device").into());
            }
        }
        refuse_inside_work("synchronize_device")?;
        core.finish(device);
        let failure = streams.iter().find_map(|stream| stream.take_failure());
        let failure = failure.or_else(|| core.device(device).ok()?.take_unread());
        Ok(failure.map_or(Ok(()), Err)?)
    }

    fn create_stream(&self, device: DeviceId) -> Result<Stream> {
        let core = self.core()?;
        let load = &core.device(device)?.load;
        let make = |handle| StreamState::new(handle, device, &core.shared, load);
        Ok(Stream::from_addr(core.streams.insert_with(make)?))
    }

    fn destroy_stream(&self, device: DeviceId, stream: Stream) -> Result<()> {
        if stream.is_null() {
            return Ok(());
        }
        let core = self.core()?;
        let state = core.device(device)?;
        let destroyed = core.streams.remove_if(stream.addr(), |found| {
            check_device(HandleKind::Stream, stream.addr(), found.device, device)
        })?;
        if let Some(capture) = destroyed.capture() {
            capture.lose(&destroyed);
        }
        state.see_off(destroyed);
        Ok(())
    }

    fn query_stream(&self, device: DeviceId, stream: Stream) -> Result<bool> {
        let stream = self.core()?.stream(device, stream)?;
        refuse_captured(&stream, "query_stream")?;
        Ok(stream.is_done())
    }

    fn synchronize_stream(&self, device: DeviceId, stream: Stream) -> Result<()> {
        let stream = self.core()?.stream(device, stream)?;
        refuse_captured(&stream, "synchronize_stream")?;
        refuse_inside_work("synchronize_stream")?;
        stream.synchronize();
        Ok(stream.take_failure().map_or(Ok(()), Err)?)
    }

    fn stream_add_callback(&self, device: DeviceId, stream: Stream, callback: StreamCallback) -> Result<()> {
        // The host's function may free its argument, so it must be called only once. A graph would call it at each
        // launch.
        refuse_captured(&*self.core()?.stream(device, stream)?, "stream_add_callback")?;
        let body = move || match callback.call(device, stream) {
            Status::SUCCESS => Ok(()),
            status => Err(format!("the host's callback answered {status:?}")),
        };
        Ok(self.launch_callback(device, stream, body)?)
    }

    fn stream_wait_event(&self, device: DeviceId, stream: Stream, event: Event) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let event = core.any_event(event)?;
        match event.mark() {
            Mark::Never => {}
            Mark::Captured(mark) => Capture::wait(&stream, &event, &mark)?,
            Mark::Done { failure, .. } => {
                stream.capture().map_or(Ok(()), |capture| Err(capture.isolate(&event)))?;
                if let Some(failure) = failure {
                    stream.fail(failure);
                }
            }
            Mark::Pending(record) => match stream.submit(Work::Wait(record)) {
                Ok(()) => {}
                Err(Refused::Captured { capture, .. }) => return Err(capture.isolate(&event).into()),
                Err(Refused::OutOfMemory) => return Err(error::Error::OutOfHostMemory.into()),
            },
        }
        Ok(())
    }

    fn create_event(&self, device: DeviceId) -> Result<Event> {
        let core = self.core()?;
        core.device(device)?;
        Ok(Event::from_addr(core.events.insert_with(|handle| EventState::new(handle, device))?))
    }

    fn destroy_event(&self, device: DeviceId, event: Event) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        core.events.remove_if(event.addr(), |found| {
            check_device(HandleKind::Event, event.addr(), found.device, device)
        })?;
        Ok(())
    }

    fn record_event(&self, device: DeviceId, stream: Stream, event: Event) -> Result<()> {
        let core = self.core()?;
        let event = core.event(device, event)?;
        let stream = core.stream(device, stream)?;
        match stream.record(&event) {
            Ok(()) => Ok(()),
            Err(capture) => Ok(capture.record(&stream, &event)?),
        }
    }

    fn query_event(&self, device: DeviceId, event: Event) -> Result<bool> {
        match self.core()?.event(device, event)?.mark() {
            Mark::Never | Mark::Done { .. } => Ok(true),
            Mark::Pending(_) => Ok(false),
            Mark::Captured(_) => Err(error::Error::CapturedEvent { event: event.addr() }.into()),
        }
    }

    fn synchronize_event(&self, device: DeviceId, event: Event) -> Result<()> {
        let mark = self.core()?.event(device, event)?.mark();
        refuse_inside_work("synchronize_event")?;
        match mark {
            Mark::Never | Mark::Done { .. } => Ok(()),
            Mark::Pending(record) => {
                record.wait();
                Ok(())
            }
            Mark::Captured(_) => Err(error::Error::CapturedEvent { event: event.addr() }.into()),
        }
    }

    fn event_elapsed_time(&self, device: DeviceId, start: Event, end: Event) -> Result<i64> {
        let core = self.core()?;
        let start = core.event(device, start)?.completed_at()?;
        let end = core.event(device, end)?.completed_at()?;
        Ok(end.wrapping_sub(start).cast_signed())
    }

    fn device_memory_allocate(&self, device: DeviceId, size: usize) -> Result<DevicePtr> {
        null_if_out_of_memory(Cpu::device_memory_allocate(self, device, size), DevicePtr::NULL)
    }

    fn device_memory_deallocate(&self, device: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        let core = self.core()?;
        Ok(free(core, &core.device(device)?.memory, device, ptr.addr(), size, Space::Device)?)
    }

    fn device_memory_set(&self, device: DeviceId, ptr: DevicePtr, value: u8, size: usize) -> Result<()> {
        let core = self.core()?;
        let stream = wait_for_default(core, device, "device_memory_set")?;
        let fill = Fill { device, ptr: ptr.addr(), pattern: Pattern::new(&[value]), size };
        do_now(core, stream, fill.prepare(&core.registry)?);
        Ok(())
    }

    fn host_memory_allocate(&self, device: DeviceId, size: usize) -> Result<HostPtr> {
        null_if_out_of_memory(Cpu::host_memory_allocate(self, device, size), HostPtr::NULL)
    }

    fn host_memory_deallocate(&self, device: DeviceId, ptr: HostPtr, size: usize) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        let core = self.core()?;
        Ok(free(core, &core.device(device)?.host, device, ptr.addr(), size, Space::Host)?)
    }

    fn unified_memory_allocate(&self, device: DeviceId, size: usize) -> Result<UnifiedPtr> {
        null_if_out_of_memory(Cpu::unified_memory_allocate(self, device, size), UnifiedPtr::NULL)
    }

    fn unified_memory_deallocate(&self, device: DeviceId, ptr: UnifiedPtr, size: usize) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        let core = self.core()?;
        Ok(free(core, &core.device(device)?.memory, device, ptr.addr(), size, Space::Unified)?)
    }

    fn memory_copy_h2d(&self, device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
        Ok(copy_now(
            self.core()?,
            device,
            to_device(device, dst, src.as_ptr().expose_provenance(), src.len()),
        )?)
    }

    fn memory_copy_d2h(&self, device: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        Ok(copy_now(
            self.core()?,
            device,
            to_host(device, dst.as_mut_ptr().expose_provenance(), src, dst.len()),
        )?)
    }

    fn memory_copy_d2d(&self, device: DeviceId, dst: DevicePtr, src: DevicePtr, size: usize) -> Result<()> {
        Ok(copy_now(self.core()?, device, within(device, dst, src, size))?)
    }

    fn memory_copy_p2p(
        &self,
        dst_device: DeviceId,
        src_device: DeviceId,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        let core = self.core()?;
        core.device(dst_device)?;
        wait_for_default(core, src_device, "memory_copy_p2p")?;
        Ok(copy_now(core, dst_device, between(dst_device, src_device, dst, src, size))?)
    }

    fn async_memory_copy_h2d(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: HostPtr,
        size: usize,
    ) -> Result<()> {
        if self.must_wait(device, stream, src)? {
            self.synchronize_stream(device, stream)?;
            // SAFETY: the generated wrapper has checked the range, and the host keeps the memory during the call.
            return self.memory_copy_h2d(device, dst, unsafe { src.bytes(size) });
        }
        // SAFETY: the memory is an allocation of this device, which the copy looks up again; or the captured graph
        // holds it.
        unsafe { Cpu::async_memory_copy_h2d(self, device, stream, dst, src, size)? };
        Ok(())
    }

    fn async_memory_copy_d2h(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: HostPtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        // Some kernels of PaddlePaddle pass an invalid stream. After all work of the device, the copy is in order with
        // every stream.
        let is_unknown = matches!(self.is_captured(device, stream), Err(crate::Error::InvalidHandle { .. }));
        if is_unknown {
            self.synchronize_device(device)?;
            // SAFETY: the generated wrapper has checked the range, and the host keeps the memory during the call.
            return self.memory_copy_d2h(device, unsafe { dst.bytes_mut(size) }, src);
        }
        if self.must_wait(device, stream, dst)? {
            self.synchronize_stream(device, stream)?;
            // SAFETY: the generated wrapper has checked the range, and the host keeps the memory during the call.
            return self.memory_copy_d2h(device, unsafe { dst.bytes_mut(size) }, src);
        }
        // SAFETY: the memory is an allocation of this device, which the copy looks up again; or the captured graph
        // holds it.
        unsafe { Cpu::async_memory_copy_d2h(self, device, stream, dst, src, size)? };
        Ok(())
    }

    fn async_memory_copy_d2d(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        Ok(copy_later(self.core()?, device, stream, within(device, dst, src, size))?)
    }

    fn async_memory_fill(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        pattern: &[u8],
        size: usize,
    ) -> Result<()> {
        check_pattern(pattern, size)?;
        let fill = Fill { device, ptr: dst.addr(), pattern: Pattern::new(pattern), size };
        Ok(fill_later(self.core()?, stream, fill)?)
    }

    fn async_memory_copy_p2p(
        &self,
        dst_device: DeviceId,
        src_device: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        // PaddlePaddle passes a stream of the destination and does not wait for the source device. A captured copy
        // runs later, in the order of its graph. A stream of the source device is already in order with the source.
        let waits = match self.is_captured(dst_device, stream) {
            Err(crate::Error::WrongDevice { .. }) => false,
            captured => dst_device != src_device && !captured?,
        };
        if waits {
            self.synchronize_device(src_device)?;
        }
        let core = self.core()?;
        core.device(src_device)?;
        // The default stream means that of the destination device.
        let device = match core.stream(dst_device, stream) {
            Err(error::Error::WrongDevice { owner, .. }) if owner == src_device => src_device,
            _ => dst_device,
        };
        Ok(copy_later(core, device, stream, between(dst_device, src_device, dst, src, size))?)
    }

    fn device_memory_stats(&self, device: DeviceId) -> Result<DeviceMemoryStats> {
        let stats = self.core()?.device(device)?.memory.stats();
        Ok(DeviceMemoryStats { total_memory: stats.total, free_memory: stats.free })
    }

    fn device_min_chunk_size(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(device)?;
        Ok(GRANULE)
    }

    fn device_max_chunk_size(&self, device: DeviceId) -> Result<usize> {
        Ok(self.core()?.device(device)?.memory.chunk())
    }

    fn device_max_alloc_size(&self, device: DeviceId) -> Result<usize> {
        Ok(self.core()?.device(device)?.memory.largest_request_ever())
    }

    fn get_runtime_version(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(device)?;
        Ok(VERSION)
    }

    fn get_driver_version(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(device)?;
        Ok(VERSION)
    }

    fn get_multi_process(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(device)?;
        Ok(self.config()?.threads)
    }

    fn get_max_threads_per_mp(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(device)?;
        Ok(1)
    }

    fn get_max_threads_per_block(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(device)?;
        Ok(1)
    }

    // Hosts without kernels use this device too. The plugin for PaddlePaddle has kernels for half precision.
    fn is_float16_supported(&self, device: DeviceId) -> Result<bool> {
        self.expect_device(device)?;
        Ok(false)
    }

    fn is_bfloat16_supported(&self, device: DeviceId) -> Result<bool> {
        self.expect_device(device)?;
        Ok(false)
    }

    fn is_dnn_supported(&self, device: DeviceId) -> Result<bool> {
        self.expect_device(device)?;
        Ok(false)
    }

    fn init_eigen_device(&self, _place: Place, stream: Stream, _allocator: Allocator) -> Result<EigenDevice> {
        let device = self.get_device()?;
        let made = self.create_library_handle(device, stream)?;
        Ok(EigenDevice::from_addr(made))
    }

    fn destroy_eigen_device(&self, device: DeviceId, eigen_device: &mut EigenDevice) -> Result<()> {
        self.destroy_library_handle(device, eigen_device.addr())?;
        *eigen_device = EigenDevice::NULL;
        Ok(())
    }

    fn profiler_initialize(&self, _prof: Profiler) -> Result<AnyPtr> {
        Ok(AnyPtr::NULL)
    }

    fn profiler_finalize(&self, _prof: Profiler, _user_data: AnyPtr) -> Result<()> {
        Ok(self.profiler_stop()?)
    }

    fn profiler_prepare_tracing(&self, _prof: Profiler, _user_data: AnyPtr) -> Result<()> {
        Ok(())
    }

    fn profiler_start_tracing(&self, _prof: Profiler, _user_data: AnyPtr) -> Result<()> {
        Ok(self.profiler_start()?)
    }

    fn profiler_stop_tracing(&self, _prof: Profiler, _user_data: AnyPtr) -> Result<()> {
        Ok(self.profiler_stop()?)
    }

    // The host takes events as C++ objects, which this library cannot create. `TENON_CPU_TRACE` names a file for the events;
    // otherwise they stay in the device, and `Cpu::profiler_drain` returns them.
    fn profiler_collect_trace_data(&self, _prof: Profiler, _start_ns: u64, _user_data: AnyPtr) -> Result<()> {
        Ok(self.write_trace()?)
    }

    fn init_blas_handle(&self, device: DeviceId, stream: Stream) -> Result<BlasHandle> {
        let made = self.create_library_handle(device, stream)?;
        Ok(BlasHandle::from_addr(made))
    }

    fn blas_set_math_mode(&self, device: DeviceId, blas_handle: BlasHandle, _: i32) -> Result<()> {
        Ok(self.check_library_handle(device, blas_handle.addr())?)
    }

    fn init_blaslt_handle(&self, device: DeviceId) -> Result<BlasLtHandle> {
        let made = self.create_library_handle(device, Stream::NULL)?;
        Ok(BlasLtHandle::from_addr(made))
    }

    fn destroy_blas_handle(&self, device: DeviceId, blas_handle: BlasHandle) -> Result<()> {
        Ok(self.destroy_library_handle(device, blas_handle.addr())?)
    }

    fn destroy_blaslt_handle(&self, device: DeviceId, blaslt_handle: BlasLtHandle) -> Result<()> {
        Ok(self.destroy_library_handle(device, blaslt_handle.addr())?)
    }

    fn blas_axpby(
        &self,
        device: DeviceId,
        stream: Stream,
        dtype: DataType,
        numel: usize,
        alpha: f32,
        x: DevicePtr,
        beta: f32,
        y: DevicePtr,
    ) -> Result<()> {
        axpby::launch(self, device, stream, dtype, numel, (alpha, x), (beta, y))
    }

    fn xccl_get_comm_name(&self, comm: CollectiveComm) -> Result<String> {
        Ok(self.communicator(comm)?.communicator.name().to_owned())
    }

    fn xccl_get_unique_id_size(&self) -> Result<usize> {
        Ok(tenon_gloo::ROOT_ID_SIZE)
    }

    fn xccl_get_unique_id(&self, unique_id: &mut [u8]) -> Result<()> {
        Ok(self.root_id(unique_id)?)
    }

    fn xccl_comm_init_rank(&self, ranks: usize, unique_id: &mut [u8], rank: usize) -> Result<CollectiveComm> {
        refuse_inside_work("xccl_comm_init_rank")?;
        Ok(self.join_group(self.get_device()?, unique_id, rank, ranks)?)
    }

    fn xccl_destroy_comm(&self, comm: CollectiveComm) -> Result<()> {
        refuse_inside_work("xccl_destroy_comm")?;
        self.communicator(comm)?.communicator.finish();
        self.core()?.communicators.remove(comm.addr())?;
        Ok(())
    }

    fn xccl_all_reduce(
        &self,
        send_buf: DevicePtr,
        recv_buf: DevicePtr,
        count: usize,
        data_type: DataType,
        op: ReduceOp,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let send = Buffer::new(send_buf, count, data_type);
        let operation = Operation::AllReduce { send, receive: recv_buf, op };
        Ok(self.collective(comm, stream, "xccl_all_reduce", operation)?)
    }

    fn xccl_broadcast(
        &self,
        buf: DevicePtr,
        count: usize,
        data_type: DataType,
        root: usize,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let operation = Operation::Broadcast { buffer: Buffer::new(buf, count, data_type), root };
        Ok(self.collective(comm, stream, "xccl_broadcast", operation)?)
    }

    fn xccl_reduce(
        &self,
        send_buf: DevicePtr,
        recv_buf: DevicePtr,
        count: usize,
        data_type: DataType,
        op: ReduceOp,
        root: usize,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let send = Buffer::new(send_buf, count, data_type);
        let operation = Operation::Reduce { send, receive: recv_buf, op, root };
        Ok(self.collective(comm, stream, "xccl_reduce", operation)?)
    }

    fn xccl_all_gather(
        &self,
        send_buf: DevicePtr,
        recv_buf: DevicePtr,
        count: usize,
        data_type: DataType,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let send = Buffer::new(send_buf, count, data_type);
        let operation = Operation::AllGather { send, receive: recv_buf };
        Ok(self.collective(comm, stream, "xccl_all_gather", operation)?)
    }

    fn xccl_reduce_scatter(
        &self,
        send_buf: DevicePtr,
        recv_buf: DevicePtr,
        count: usize,
        data_type: DataType,
        op: ReduceOp,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let receive = Buffer::new(recv_buf, count, data_type);
        let operation = Operation::ReduceScatter { send: send_buf, receive, op };
        Ok(self.collective(comm, stream, "xccl_reduce_scatter", operation)?)
    }

    fn xccl_group_start(&self) -> Result<()> {
        self.core()?;
        tenon_gloo::start_bracket();
        Ok(())
    }

    fn xccl_group_end(&self) -> Result<()> {
        self.core()?;
        Ok(tenon_gloo::end_bracket().map_err(error::Error::from)?)
    }

    fn xccl_send(
        &self,
        send_buf: DevicePtr,
        count: usize,
        data_type: DataType,
        dest_rank: usize,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let operation = Operation::Send { send: Buffer::new(send_buf, count, data_type), to: dest_rank };
        Ok(self.collective(comm, stream, "xccl_send", operation)?)
    }

    fn xccl_recv(
        &self,
        recv_buf: DevicePtr,
        count: usize,
        data_type: DataType,
        src_rank: usize,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        let operation =
            Operation::Receive { receive: Buffer::new(recv_buf, count, data_type), from: src_rank };
        Ok(self.collective(comm, stream, "xccl_recv", operation)?)
    }

    fn xccl_all_to_all(
        &self,
        send_buf: &[DevicePtr],
        send_count: &[usize],
        send_dtype: &[DataType],
        recv_buf: &[DevicePtr],
        recv_count: &[usize],
        recv_dtype: &[DataType],
        rank: usize,
        comm: CollectiveComm,
        stream: Stream,
    ) -> Result<()> {
        self.communicator(comm)?.communicator.expect_rank(rank).map_err(error::Error::from)?;
        let operation = Operation::AllToAll {
            send: Buffer::list(send_buf, send_count, send_dtype),
            receive: Buffer::list(recv_buf, recv_count, recv_dtype),
        };
        Ok(self.collective(comm, stream, "xccl_all_to_all", operation)?)
    }

    fn cuda_stream_begin_capture(&self, device: DeviceId, stream: Stream, mode: CaptureMode) -> Result<()> {
        let stream = self.core()?.stream(device, stream)?;
        if stream.handle == Stream::NULL.addr() {
            return Err(error::Error::DefaultStream { call: "cuda_stream_begin_capture" }.into());
        }
        Ok(Capture::begin(&stream, mode)?)
    }

    fn cuda_stream_end_capture(&self, device: DeviceId, stream: Stream) -> Result<Graph> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let graph = Capture::end(&stream)?;
        Ok(Graph::from_addr(core.graphs.insert_with(|_| graph.into())?))
    }

    fn cuda_graph_launch(&self, device: DeviceId, exec: GraphExec, stream: Stream) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let state = core.execs.get(exec.addr())?;
        check_device(HandleKind::Exec, exec.addr(), state.device, device)?;
        Ok(state.launch(&stream, &core.registry)?)
    }

    fn cuda_graph_destroy(&self, graph: Graph) -> Result<()> {
        self.core()?.graphs.remove(graph.addr())?;
        Ok(())
    }

    fn cuda_graph_exec_destroy(&self, exec: GraphExec) -> Result<()> {
        self.core()?.execs.remove(exec.addr())?;
        Ok(())
    }

    fn cuda_graph_instantiate(
        &self,
        graph: &mut Graph,
        log_buffer: Option<&mut [u8]>,
    ) -> Result<CudaGraphInstantiate> {
        if let Some(first) = log_buffer.and_then(|buffer| buffer.first_mut()) {
            *first = 0;
        }
        let exec = self.graph_instantiate(*graph)?;
        Ok(CudaGraphInstantiate { exec, error_node: AnyPtr::NULL })
    }

    fn cuda_graph_get_nodes(
        &self,
        graph: Graph,
        nodes: Option<&mut [GraphNode]>,
        num_nodes: &mut usize,
    ) -> Result<()> {
        let all = self.graph_get_nodes(graph)?;
        *num_nodes = match nodes {
            None => all.len(),
            Some(places) => {
                let written = places.iter_mut().zip(&all).map(|(place, node)| *place = node.handle);
                written.count()
            }
        };
        Ok(())
    }

    fn cuda_stream_capture_info(&self, device: DeviceId, stream: Stream) -> Result<CudaStreamCaptureInfo> {
        let info = self.stream_capture_info(device, stream)?;
        Ok(CudaStreamCaptureInfo {
            capture_status: info.status,
            id: info.id,
            // The graph is created only when the capture ends.
            graph: Graph::NULL,
            dependencies: info.dependencies.first().copied().unwrap_or(GraphNode::NULL),
            edge_data: AnyPtr::NULL,
            num_dependencies: info.dependencies.len(),
        })
    }

    fn cuda_graph_debug_dot_print(&self, graph: Graph, path: &std::ffi::CStr, flags: u32) -> Result<()> {
        let path = path.to_str().map_err(|_| Error::invalid("`path` is not UTF-8"))?;
        Ok(self.graph_debug_dot_print(graph, path.as_ref(), flags != 0)?)
    }

    fn cuda_thread_exchange_stream_capture_mode(&self, mode: &mut CaptureMode) -> Result<()> {
        self.core()?;
        check_mode(*mode)?;
        *mode = graphs::exchange_thread_capture_mode(*mode);
        Ok(())
    }
}

impl Cpu {
    /// Returns true if an asynchronous copy must be complete when its call returns.
    ///
    /// Hosts such as PaddlePaddle's executors free pageable memory right after the call, as CUDA permits: a copy from
    /// pageable memory returns once the source has been read, and a copy to it once it is complete (CUDA Runtime API,
    /// "API synchronization behavior"). Memory of `host_memory_allocate` is known to the device, which keeps it until
    /// the copy is complete.
    fn must_wait(&self, device: DeviceId, stream: Stream, host: HostPtr) -> crate::Result<bool> {
        let is_pinned = matches!(self.pointer_info(host.addr()), Ok(info) if info.space == Space::Host);
        Ok(!is_pinned && !self.is_captured(device, stream)?)
    }

    fn is_captured(&self, device: DeviceId, stream: Stream) -> crate::Result<bool> {
        Ok(self.stream_capture_info(device, stream)?.status != CaptureStatus::NONE)
    }
}

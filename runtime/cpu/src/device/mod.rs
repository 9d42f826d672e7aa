//! The generated trait of a device, on the CPU.
//!
//! Collectives across processes, the setters of captured kernels and the C++ object of device properties are left out:
//! they have no meaning on a CPU alone.

mod axpby;

use tenon::device::{
    Allocator, BlasHandle, BlasLtHandle, CaptureMode, CaptureStatus, CudaGraphInstantiate,
    CudaStreamCaptureInfo, DataType, Device, DeviceId, DeviceMemoryStats, EigenDevice, Error, Event, Graph,
    GraphExec, GraphNode, Place, Profiler, Result, Status, Stream, StreamCallback,
};
use tenon::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};

use crate::error::ErrorKind;
use crate::{Cpu, Library, Space};

/// The version of this device, as CUDA counts: a thousand times the major plus ten times the minor number.
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

/// The index of a device; a negative number is no device, and past the end of any list.
fn index(device: DeviceId) -> usize {
    usize::try_from(device.0).unwrap_or(usize::MAX)
}

/// PaddlePaddle takes null for «out of memory», frees what it caches, and tries again.
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
        Ok(Cpu::set_device(self, index(device))?)
    }

    fn get_device(&self) -> Result<DeviceId> {
        let device = Cpu::get_device(self)?;
        i32::try_from(device)
            .map(DeviceId)
            .map_err(|error| Error::new(Status::INTERNAL_ERROR, error.to_string()))
    }

    fn get_device_count(&self) -> Result<usize> {
        Ok(self.device_count()?)
    }

    fn get_device_list(&self) -> Result<Vec<usize>> {
        Ok((0..self.device_count()?).collect())
    }

    fn synchronize_device(&self, device: DeviceId) -> Result<()> {
        Ok(Cpu::synchronize_device(self, index(device))?)
    }

    fn create_stream(&self, device: DeviceId) -> Result<Stream> {
        Ok(Cpu::create_stream(self, index(device))?)
    }

    fn destroy_stream(&self, device: DeviceId, stream: Stream) -> Result<()> {
        if stream.is_null() {
            return Ok(());
        }
        Ok(Cpu::destroy_stream(self, index(device), stream)?)
    }

    fn query_stream(&self, device: DeviceId, stream: Stream) -> Result<bool> {
        Ok(Cpu::query_stream(self, index(device), stream)?)
    }

    fn synchronize_stream(&self, device: DeviceId, stream: Stream) -> Result<()> {
        Ok(Cpu::synchronize_stream(self, index(device), stream)?)
    }

    fn stream_add_callback(&self, device: DeviceId, stream: Stream, callback: StreamCallback) -> Result<()> {
        // The host's function is called once and may free what it was given; a graph would call it at each launch.
        self.refuse_in_capture(index(device), stream, "stream_add_callback")?;
        let body = move || match callback.call(device, stream) {
            Status::SUCCESS => Ok(()),
            status => Err(format!("the host's callback answered {status:?}")),
        };
        Ok(Cpu::stream_add_callback(self, index(device), stream, body)?)
    }

    fn stream_wait_event(&self, device: DeviceId, stream: Stream, event: Event) -> Result<()> {
        Ok(Cpu::stream_wait_event(self, index(device), stream, event)?)
    }

    fn create_event(&self, device: DeviceId) -> Result<Event> {
        Ok(Cpu::create_event(self, index(device))?)
    }

    fn destroy_event(&self, device: DeviceId, event: Event) -> Result<()> {
        Ok(Cpu::destroy_event(self, index(device), event)?)
    }

    fn record_event(&self, device: DeviceId, stream: Stream, event: Event) -> Result<()> {
        Ok(Cpu::record_event(self, index(device), stream, event)?)
    }

    fn query_event(&self, device: DeviceId, event: Event) -> Result<bool> {
        Ok(Cpu::query_event(self, index(device), event)?)
    }

    fn synchronize_event(&self, device: DeviceId, event: Event) -> Result<()> {
        Ok(Cpu::synchronize_event(self, index(device), event)?)
    }

    fn device_memory_allocate(&self, device: DeviceId, size: usize) -> Result<DevicePtr> {
        null_if_out_of_memory(Cpu::device_memory_allocate(self, index(device), size), DevicePtr::NULL)
    }

    fn device_memory_deallocate(&self, device: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        Ok(Cpu::device_memory_deallocate(self, index(device), ptr, size)?)
    }

    fn device_memory_set(&self, device: DeviceId, ptr: DevicePtr, value: u8, size: usize) -> Result<()> {
        Ok(Cpu::device_memory_set(self, index(device), ptr, value, size)?)
    }

    fn host_memory_allocate(&self, device: DeviceId, size: usize) -> Result<HostPtr> {
        null_if_out_of_memory(Cpu::host_memory_allocate(self, index(device), size), HostPtr::NULL)
    }

    fn host_memory_deallocate(&self, device: DeviceId, ptr: HostPtr, size: usize) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        Ok(Cpu::host_memory_deallocate(self, index(device), ptr, size)?)
    }

    fn unified_memory_allocate(&self, device: DeviceId, size: usize) -> Result<UnifiedPtr> {
        null_if_out_of_memory(Cpu::unified_memory_allocate(self, index(device), size), UnifiedPtr::NULL)
    }

    fn unified_memory_deallocate(&self, device: DeviceId, ptr: UnifiedPtr, size: usize) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        Ok(Cpu::unified_memory_deallocate(self, index(device), ptr, size)?)
    }

    fn memory_copy_h2d(&self, device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
        Ok(Cpu::memory_copy_h2d(self, index(device), dst, src)?)
    }

    fn memory_copy_d2h(&self, device: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        Ok(Cpu::memory_copy_d2h(self, index(device), dst, src)?)
    }

    fn memory_copy_d2d(&self, device: DeviceId, dst: DevicePtr, src: DevicePtr, size: usize) -> Result<()> {
        Ok(Cpu::memory_copy_d2d(self, index(device), dst, src, size)?)
    }

    fn memory_copy_p2p(
        &self,
        dst_device: DeviceId,
        src_device: DeviceId,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        Ok(Cpu::memory_copy_p2p(self, index(dst_device), index(src_device), dst, src, size)?)
    }

    fn async_memory_copy_h2d(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: HostPtr,
        size: usize,
    ) -> Result<()> {
        let device = index(device);
        if self.must_wait(device, stream, src)? {
            Cpu::synchronize_stream(self, device, stream)?;
            // SAFETY: the thunk has checked the range, and the host lends the memory for the call.
            return Ok(Cpu::memory_copy_h2d(self, device, dst, unsafe { src.bytes(size) })?);
        }
        // SAFETY: the memory is our own, and looked up at the copy; or it is held as long as the captured graph.
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
        let device = index(device);
        // PaddlePaddle's kernels hand over streams that are none: after all work of the device any order is kept.
        let is_unknown = matches!(self.is_captured(device, stream), Err(crate::Error::InvalidHandle { .. }));
        if is_unknown {
            Cpu::synchronize_device(self, device)?;
            // SAFETY: the thunk has checked the range, and the host lends the memory for the call.
            return Ok(Cpu::memory_copy_d2h(self, device, unsafe { dst.bytes_mut(size) }, src)?);
        }
        if self.must_wait(device, stream, dst)? {
            Cpu::synchronize_stream(self, device, stream)?;
            // SAFETY: the thunk has checked the range, and the host lends the memory for the call.
            return Ok(Cpu::memory_copy_d2h(self, device, unsafe { dst.bytes_mut(size) }, src)?);
        }
        // SAFETY: the memory is our own, and looked up at the copy; or it is held as long as the captured graph.
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
        Ok(Cpu::async_memory_copy_d2d(self, index(device), stream, dst, src, size)?)
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
        let (to, from) = (index(dst_device), index(src_device));
        // PaddlePaddle passes a stream of the destination and waits for nothing on the source. A captured stream
        // runs later, and then behind whatever the graph says; one of the source has an order of its own there.
        let waits = match self.is_captured(to, stream) {
            Err(crate::Error::WrongDevice { .. }) => false,
            captured => to != from && !captured?,
        };
        if waits {
            Cpu::synchronize_device(self, from)?;
        }
        Ok(Cpu::async_memory_copy_p2p(self, to, from, stream, dst, src, size)?)
    }

    fn device_memory_stats(&self, device: DeviceId) -> Result<DeviceMemoryStats> {
        let stats = Cpu::device_memory_stats(self, index(device))?;
        Ok(DeviceMemoryStats { total_memory: stats.total, free_memory: stats.free })
    }

    fn device_min_chunk_size(&self, device: DeviceId) -> Result<usize> {
        Ok(Cpu::device_min_chunk_size(self, index(device))?)
    }

    fn device_max_chunk_size(&self, device: DeviceId) -> Result<usize> {
        Ok(Cpu::device_max_chunk_size(self, index(device))?)
    }

    fn device_max_alloc_size(&self, device: DeviceId) -> Result<usize> {
        Ok(Cpu::device_max_alloc_size(self, index(device))?)
    }

    fn get_runtime_version(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(index(device))?;
        Ok(VERSION)
    }

    fn get_driver_version(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(index(device))?;
        Ok(VERSION)
    }

    fn get_multi_process(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(index(device))?;
        Ok(self.config()?.threads)
    }

    fn get_max_threads_per_mp(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(index(device))?;
        Ok(1)
    }

    fn get_max_threads_per_block(&self, device: DeviceId) -> Result<usize> {
        self.expect_device(index(device))?;
        Ok(1)
    }

    // The answer makes hosts compute in the type, and there are no kernels that do.
    fn is_float16_supported(&self, device: DeviceId) -> Result<bool> {
        self.expect_device(index(device))?;
        Ok(false)
    }

    fn is_bfloat16_supported(&self, device: DeviceId) -> Result<bool> {
        self.expect_device(index(device))?;
        Ok(false)
    }

    fn is_dnn_supported(&self, device: DeviceId) -> Result<bool> {
        self.expect_device(index(device))?;
        Ok(false)
    }

    fn init_eigen_device(&self, _place: Place, stream: Stream, _allocator: Allocator) -> Result<EigenDevice> {
        let device = Cpu::get_device(self)?;
        let made = self.create_library_handle(device, Library::Eigen, stream)?;
        Ok(EigenDevice::from_addr(made))
    }

    fn destroy_eigen_device(&self, device: DeviceId, eigen_device: &mut EigenDevice) -> Result<()> {
        self.destroy_library_handle(index(device), eigen_device.addr())?;
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

    // The host takes events as objects of C++, which only its own compiler can make: they stay in the device, for
    // `Cpu::profiler_drain`.
    fn profiler_collect_trace_data(&self, _prof: Profiler, _start_ns: u64, _user_data: AnyPtr) -> Result<()> {
        Ok(())
    }

    fn init_blas_handle(&self, device: DeviceId, stream: Stream) -> Result<BlasHandle> {
        let made = self.create_library_handle(index(device), Library::Blas, stream)?;
        Ok(BlasHandle::from_addr(made))
    }

    fn blas_set_math_mode(&self, device: DeviceId, blas_handle: BlasHandle, math_mode: i32) -> Result<()> {
        Ok(self.set_math_mode(index(device), blas_handle.addr(), math_mode)?)
    }

    fn init_blaslt_handle(&self, device: DeviceId) -> Result<BlasLtHandle> {
        let made = self.create_library_handle(index(device), Library::BlasLt, Stream::NULL)?;
        Ok(BlasLtHandle::from_addr(made))
    }

    fn destroy_blas_handle(&self, device: DeviceId, blas_handle: BlasHandle) -> Result<()> {
        Ok(self.destroy_library_handle(index(device), blas_handle.addr())?)
    }

    fn destroy_blaslt_handle(&self, device: DeviceId, blaslt_handle: BlasLtHandle) -> Result<()> {
        Ok(self.destroy_library_handle(index(device), blaslt_handle.addr())?)
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
        axpby::launch(self, index(device), stream, dtype, numel, (alpha, x), (beta, y))
    }

    fn cuda_stream_begin_capture(&self, device: DeviceId, stream: Stream, mode: CaptureMode) -> Result<()> {
        Ok(self.stream_begin_capture(index(device), stream, mode)?)
    }

    fn cuda_stream_end_capture(&self, device: DeviceId, stream: Stream) -> Result<Graph> {
        Ok(self.stream_end_capture(index(device), stream)?)
    }

    fn cuda_graph_launch(&self, device: DeviceId, exec: GraphExec, stream: Stream) -> Result<()> {
        Ok(self.graph_launch(index(device), exec, stream)?)
    }

    fn cuda_graph_destroy(&self, graph: Graph) -> Result<()> {
        Ok(self.graph_destroy(graph)?)
    }

    fn cuda_graph_exec_destroy(&self, exec: GraphExec) -> Result<()> {
        Ok(self.graph_exec_destroy(exec)?)
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
        let info = self.stream_capture_info(index(device), stream)?;
        Ok(CudaStreamCaptureInfo {
            capture_status: info.status,
            id: info.id,
            // The graph comes to be only when the capture ends.
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
        *mode = self.thread_exchange_capture_mode(*mode)?;
        Ok(())
    }
}

impl Cpu {
    /// Whether an asynchronous copy has to be over when its call returns.
    ///
    /// Hosts give pageable memory back at once, as CUDA lets them: its copies from pageable memory return when the
    /// source has been taken over, and those to it when they are done (CUDA Runtime API, «API synchronization
    /// behavior»). PaddlePaddle's executors do so. Memory of `host_memory_allocate` is known here and stays.
    fn must_wait(&self, device: usize, stream: Stream, host: HostPtr) -> crate::Result<bool> {
        let is_pinned = matches!(self.pointer_info(host.addr()), Ok(info) if info.space == Space::Host);
        Ok(!is_pinned && !self.is_captured(device, stream)?)
    }

    fn is_captured(&self, device: usize, stream: Stream) -> crate::Result<bool> {
        Ok(self.stream_capture_info(device, stream)?.status != CaptureStatus::NONE)
    }
}

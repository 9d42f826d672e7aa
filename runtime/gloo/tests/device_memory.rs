//! Collectives of a device whose memory the host cannot access.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use tenon::device::*;
use tenon::{DevicePtr, HostPtr};
use tenon_cpu::{Config, Cpu};
use tenon_gloo::WithCollectives;

const ID: DeviceId = DeviceId(0);

/// The offset of device addresses. The host has no memory there.
const FAR: usize = 1 << 56;

/// The CPU device with other addresses, without its collectives, and without callbacks if that is wanted.
struct Far {
    cpu: Cpu,
    has_callbacks: bool,
    pinned: Mutex<Vec<usize>>,
}

fn far(near: DevicePtr) -> DevicePtr {
    DevicePtr::from_addr(near.addr() + FAR)
}

fn near(far: DevicePtr) -> DevicePtr {
    DevicePtr::from_addr(far.addr().checked_sub(FAR).expect("the address is one of the device"))
}

impl Wrapper for Far {
    fn target(&self) -> &dyn Partial {
        &self.cpu
    }

    fn provides(&self, function: Function) -> bool {
        let is_hidden = tenon_gloo::FUNCTIONS.contains(&function)
            || function == Function::StreamAddCallback && !self.has_callbacks;
        !is_hidden && self.cpu.provides(function)
    }
}

impl Forward for Far {
    fn device_memory_allocate(&self, id: DeviceId, size: usize) -> Result<DevicePtr> {
        Ok(far(self.cpu.device_memory_allocate(id, size)?))
    }

    fn device_memory_deallocate(&self, id: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
        self.cpu.device_memory_deallocate(id, near(ptr), size)
    }

    fn host_memory_allocate(&self, id: DeviceId, size: usize) -> Result<HostPtr> {
        let made = self.cpu.host_memory_allocate(id, size)?;
        self.pinned.lock().unwrap().push(made.addr());
        Ok(made)
    }

    fn host_memory_deallocate(&self, id: DeviceId, ptr: HostPtr, size: usize) -> Result<()> {
        self.pinned.lock().unwrap().retain(|known| *known != ptr.addr());
        self.cpu.host_memory_deallocate(id, ptr, size)
    }

    fn memory_copy_h2d(&self, id: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
        self.cpu.memory_copy_h2d(id, near(dst), src)
    }

    fn memory_copy_d2h(&self, id: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        self.cpu.memory_copy_d2h(id, dst, near(src))
    }

    fn async_memory_copy_h2d(
        &self,
        id: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: HostPtr,
        size: usize,
    ) -> Result<()> {
        Device::async_memory_copy_h2d(&self.cpu, id, stream, near(dst), src, size)
    }

    fn async_memory_copy_d2h(
        &self,
        id: DeviceId,
        stream: Stream,
        dst: HostPtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        Device::async_memory_copy_d2h(&self.cpu, id, stream, dst, near(src), size)
    }

    fn async_memory_copy_d2d(
        &self,
        id: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        self.cpu.async_memory_copy_d2d(id, stream, near(dst), near(src), size)
    }
}

/// A member of a group: a device of its own, with collectives.
struct Member {
    device: Forwarded<WithCollectives>,
    far: &'static Forwarded<Far>,
    rank: usize,
    size: usize,
    comm: CollectiveComm,
    stream: Stream,
}

impl Member {
    fn upload(&self, values: &[f32]) -> DevicePtr {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let memory = self.device.device_memory_allocate(ID, bytes.len()).unwrap();
        self.device.memory_copy_h2d(ID, memory, &bytes).unwrap();
        memory
    }

    fn download(&self, memory: DevicePtr, count: usize) -> Vec<f32> {
        self.device.synchronize_stream(ID, self.stream).unwrap();
        let mut bytes = vec![0; count * 4];
        self.device.memory_copy_d2h(ID, &mut bytes, memory).unwrap();
        bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    fn sum(&self, from: DevicePtr, to: DevicePtr, count: usize) -> Result<()> {
        let (data_type, op) = (DataType::FLOAT32, ReduceOp::SUM);
        self.device.xccl_all_reduce(from, to, count, data_type, op, self.comm, self.stream)
    }
}

/// Runs `body` as each member of a group.
fn members<R: Send>(size: usize, has_callbacks: bool, body: impl Fn(&Member) -> R + Sync) -> Vec<R> {
    let id = tenon_gloo::new_root_id().unwrap();
    thread::scope(|scope| {
        let member = |rank| {
            let body = &body;
            scope.spawn(move || {
                let cpu = Cpu::with_config(Config { devices: 1, memory: 64 << 20, threads: 2 });
                let far = Far { cpu, has_callbacks, pinned: Mutex::default() };
                // Never freed, as a plugin is not.
                let far: &'static Forwarded<Far> = Box::leak(Box::new(Forwarded(far)));
                let device = Forwarded(WithCollectives::new(far));
                device.initialize().unwrap();
                device.set_device(ID).unwrap();
                let comm = device.xccl_comm_init_rank(size, &mut id.to_vec(), rank).unwrap();
                let stream = device.create_stream(ID).unwrap();
                let member = Member { device, far, rank, size, comm, stream };
                let result = body(&member);
                // It may have left before.
                let _ = member.device.xccl_destroy_comm(comm);
                assert!(member.device.xccl_get_comm_name(comm).is_err());
                assert_eq!(*far.0.pinned.lock().unwrap(), [], "pinned memory is left");
                result
            })
        };
        let threads: Vec<_> = (0..size).map(member).collect();
        threads.into_iter().map(|thread| thread.join().expect("no member panics")).collect()
    })
}

#[test]
fn all_collectives_are_computed_on_the_device() {
    if !tenon_testing::has_gloo() {
        return;
    }
    for has_callbacks in [true, false] {
        members(3, has_callbacks, |member| {
            let Member { device, rank, size, comm, stream, .. } = member;
            let (rank, size, comm, stream) = (*rank, *size, *comm, *stream);
            let own = |rank: usize| [rank as f32, 10.0 + rank as f32];
            let total = [3.0, 33.0];
            let (data, result) = (member.upload(&own(rank)), member.upload(&[-1.0; 6]));
            let float = DataType::FLOAT32;

            member.sum(data, result, 2).unwrap();
            assert_eq!(member.download(result, 3), [total[0], total[1], -1.0]);
            assert_eq!(member.download(data, 2), own(rank));

            device.xccl_reduce(data, result, 2, float, ReduceOp::MAX, 1, comm, stream).unwrap();
            let reduced = if rank == 1 { own(2) } else { total };
            assert_eq!(member.download(result, 2), reduced);

            device.xccl_all_gather(data, result, 2, float, comm, stream).unwrap();
            assert_eq!(member.download(result, 6), [0, 1, 2].map(own).as_flattened());

            device.xccl_reduce_scatter(result, data, 2, float, ReduceOp::SUM, comm, stream).unwrap();
            assert_eq!(member.download(data, 2), own(rank).map(|value| value * size as f32));

            let here = member.upload(&own(rank));
            device.xccl_broadcast(here, 2, float, 2, comm, stream).unwrap();
            assert_eq!(member.download(here, 2), own(2));

            device.xccl_group_start().unwrap();
            device.xccl_recv(result, 2, float, (rank + 2) % 3, comm, stream).unwrap();
            device.xccl_send(data, 2, float, (rank + 1) % 3, comm, stream).unwrap();
            device.xccl_group_end().unwrap();
            assert_eq!(member.download(result, 2), own((rank + 2) % 3).map(|value| value * size as f32));

            let sent: Vec<DevicePtr> = (0..3).map(|to| member.upload(&[(10 * rank + to) as f32])).collect();
            let received: Vec<DevicePtr> = (0..3).map(|_| member.upload(&[-1.0])).collect();
            let (counts, types) = ([1; 3], [float; 3]);
            device
                .xccl_all_to_all(&sent, &counts, &types, &received, &counts, &types, rank, comm, stream)
                .unwrap();
            for (from, memory) in received.into_iter().enumerate() {
                assert_eq!(member.download(memory, 1), [(10 * from + rank) as f32]);
            }
        });
    }
}

#[test]
fn the_caller_goes_on_while_the_stream_is_held() {
    if !tenon_testing::has_gloo() {
        return;
    }
    members(2, true, |member| {
        let gate: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        unsafe extern "C-unwind" fn held(
            _: ffi::C_Device,
            _: ffi::C_Stream,
            gate: *mut std::ffi::c_void,
            _: *mut Status,
        ) {
            // SAFETY: the test leaks one reference for this call.
            let gate = unsafe { Arc::from_raw(gate.cast::<(Mutex<bool>, Condvar)>()) };
            drop(gate.1.wait_while(gate.0.lock().unwrap(), |open| !*open).unwrap());
        }
        let context = tenon::AnyPtr::from_ptr(Arc::into_raw(gate.clone()));
        // SAFETY: the function is called once with this context.
        let callback = unsafe { StreamCallback::from_raw(Some(held), context) };
        member.device.stream_add_callback(ID, member.stream, callback).unwrap();
        let (source, data) = (member.upload(&[2.0; 9]), member.upload(&[-1.0; 9]));
        member.device.async_memory_copy_d2d(ID, member.stream, data, source, 36).unwrap();
        // Returns although nothing before it has run, and uses what is queued before it.
        member.sum(data, data, 9).unwrap();
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        assert_eq!(member.download(data, 9), [4.0; 9]);
    });
}

#[test]
fn a_failure_is_an_error_of_the_stream_and_of_the_next_call() {
    if !tenon_testing::has_gloo() {
        return;
    }
    for has_callbacks in [true, false] {
        members(2, has_callbacks, |member| {
            let data = member.upload(&[1.0; 4]);
            if member.rank == 1 {
                return member.device.xccl_destroy_comm(member.comm).unwrap();
            }
            let queued = member.sum(data, data, 4);
            let waited = member.device.synchronize_stream(ID, member.stream);
            assert!(queued.is_err() || waited.is_err());
            let error = member.sum(data, data, 4).unwrap_err();
            let expected = "all_reduce of 4 float32 (sum) failed on rank 0 of 2: rank 1 has left the group";
            assert!(error.message.contains(expected), "{error}");
        });
    }
}

#[test]
fn blocks_of_pinned_memory_are_used_again() {
    if !tenon_testing::has_gloo() {
        return;
    }
    members(2, true, |member| {
        let data = member.upload(&[0.0; 1000]);
        for _ in 0..50 {
            member.sum(data, data, 1000).unwrap();
            member.device.synchronize_stream(ID, member.stream).unwrap();
        }
        let blocks = member.far.0.pinned.lock().unwrap().len();
        assert!(blocks <= 2, "{blocks}");
    });
}

#[test]
fn wrong_arguments_are_errors() {
    members(1, true, |member| {
        let data = member.upload(&[0.0; 4]);
        let Member { device, comm, stream, .. } = member;
        let float = DataType::FLOAT32;
        let text = |result: Result<()>| result.unwrap_err().message.to_string();
        assert_eq!(
            text(device.xccl_broadcast(data, 4, float, 1, *comm, *stream)),
            "there is no rank 1 in a group of 1"
        );
        let unknown = CollectiveComm::from_addr(77);
        assert_eq!(
            text(device.xccl_broadcast(data, 4, float, 0, unknown, *stream)),
            "0x4d is not a live communicator"
        );
        assert_eq!(text(device.xccl_get_unique_id(&mut [0; 4])), "the buffer has 4 bytes, but a root id 42");
        let overflow = device.xccl_broadcast(data, usize::MAX, float, 0, *comm, *stream);
        assert!(text(overflow).contains("more than memory has"));
    });
}

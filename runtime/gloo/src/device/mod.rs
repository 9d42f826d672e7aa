//! Collectives for a device with memory of its own, by copies through pinned memory.

mod staging;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;

use tenon::DevicePtr;
use tenon::device::{
    CollectiveComm, DataType, Device, DeviceId, Error, Forward, Function, Partial, ReduceOp, Result, Status,
    Stream, WithFallbacks, Wrapper,
};
use tenon::support::Mutex;

use self::staging::Staging;
use crate::communicator::Communicator;
use crate::operation::{Buffer, Operation};

/// A device with the collectives of this crate, which need no library of the device's vendor.
///
/// The data of an operation is copied to pinned memory in the order of its stream, and the results back. In between, a
/// callback of the stream waits until the operation is over. So the device must be able to run the callbacks of different
/// streams at the same time, if a program uses several groups; a device without callbacks makes the caller wait.
///
/// `#[tenon::plugin(collectives = tenon_gloo)]` makes a plugin of such a device. In C, `tenon_collectives_fill` of
/// `tenon/collectives.h` does.
pub struct WithCollectives {
    device: &'static dyn Partial,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    known: HashMap<usize, Arc<Member>>,
    last: usize,
}

/// The membership that a communicator stands for.
struct Member {
    communicator: Communicator,
    staging: Arc<Staging>,
}

/// The functions that [`WithCollectives`] has, whatever the device has.
pub const FUNCTIONS: [Function; 15] = [
    Function::XcclGetCommName,
    Function::XcclGetUniqueIdSize,
    Function::XcclGetUniqueId,
    Function::XcclCommInitRank,
    Function::XcclDestroyComm,
    Function::XcclAllReduce,
    Function::XcclBroadcast,
    Function::XcclReduce,
    Function::XcclAllGather,
    Function::XcclReduceScatter,
    Function::XcclGroupStart,
    Function::XcclGroupEnd,
    Function::XcclSend,
    Function::XcclRecv,
    Function::XcclAllToAll,
];

/// Defines a type that is the plugin of a device with collectives, for the attribute `#[tenon::plugin]`.
#[doc(hidden)]
#[macro_export]
macro_rules! plugin_with_collectives {
    ($name:ident, $device:ty) => {
        #[doc(hidden)]
        struct $name;

        impl ::tenon::device::Plugin for $name {
            type Instance = ::tenon::device::Forwarded<$crate::WithCollectives>;
            const PROVIDED: ::tenon::device::Provided =
                <$device as ::tenon::device::Plugin>::PROVIDED.with(&$crate::FUNCTIONS);
            const FALLBACKS: bool = <$device as ::tenon::device::Plugin>::FALLBACKS;

            fn instance() -> &'static Self::Instance {
                static INSTANCE: ::std::sync::OnceLock<::tenon::device::Forwarded<$crate::WithCollectives>> =
                    ::std::sync::OnceLock::new();
                INSTANCE.get_or_init(|| {
                    let device = <$device as ::tenon::device::Plugin>::instance();
                    ::tenon::device::Forwarded($crate::WithCollectives::new(device))
                })
            }
        }
    };
}

impl Member {
    /// Leaves the group, and frees what the device has for it.
    fn leave(&self) -> Result<()> {
        self.communicator.finish();
        self.communicator.close();
        self.staging.free()
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::new(if error.is_callers() { Status::ERROR } else { Status::FAILED }, error.to_string())
    }
}

impl WithCollectives {
    /// Adds collectives to a device.
    pub fn new(device: &'static dyn Partial) -> Self {
        Self { device, members: Mutex::default() }
    }

    fn member(&self, comm: CollectiveComm) -> Result<Arc<Member>> {
        let known = self.members.lock().known.get(&comm.addr()).cloned();
        known.ok_or_else(|| Error::invalid(format!("{:#x} is not a live communicator", comm.addr())))
    }

    /// Queues an operation of a group in a stream.
    fn collective(&self, comm: CollectiveComm, stream: Stream, operation: &Operation) -> Result<()> {
        let member = self.member(comm)?;
        let Member { communicator, staging } = &*member;
        if let Some(failure) = staging.failure() {
            return Err(Error::new(Status::FAILED, failure));
        }
        operation.check(communicator.size())?;
        let staged = staging.stage(stream, operation, [communicator.rank(), communicator.size()])?;
        let moved = staged.moved(operation);
        // Operations of a device that makes the caller wait have no streams to come to.
        let key = if staging.waits() { 0 } else { stream.addr() };
        let staging = staging.clone();
        let launch = Box::new(move |ticket, memory| stream::launch(&staging, ticket, memory));
        // SAFETY: the operation is on pinned memory, which stays as it is until the staged copies have passed the stream.
        unsafe { communicator.queue(moved, key, Box::new(staged), launch)? };
        Ok(())
    }
}

impl Wrapper for WithCollectives {
    fn target(&self) -> &dyn Partial {
        self.device
    }

    fn provides(&self, function: Function) -> bool {
        FUNCTIONS.contains(&function) || self.device.provides(function)
    }
}

#[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
impl Forward for WithCollectives {
    fn finalize(&self) -> Result<()> {
        // They use functions of the device.
        let members = std::mem::take(&mut self.members.lock().known);
        let left = members.into_values().try_for_each(|member| member.leave());
        WithFallbacks(self.device).finalize()?;
        left
    }

    fn xccl_get_comm_name(&self, comm: CollectiveComm) -> Result<String> {
        Ok(self.member(comm)?.communicator.name().to_owned())
    }

    fn xccl_get_unique_id_size(&self) -> Result<usize> {
        Ok(crate::ROOT_ID_SIZE)
    }

    fn xccl_get_unique_id(&self, unique_id: &mut [u8]) -> Result<()> {
        Ok(crate::write_root_id(unique_id)?)
    }

    fn xccl_comm_init_rank(&self, ranks: usize, unique_id: &mut [u8], rank: usize) -> Result<CollectiveComm> {
        let id: DeviceId = self.device.get_device()?;
        let communicator = Communicator::join(unique_id, rank, ranks)?;
        let member = Member { communicator, staging: Arc::new(Staging::new(self.device, id)) };
        let mut members = self.members.lock();
        // Never used again, so that a stale handle is noticed.
        members.last += 1;
        let handle = members.last;
        members.known.insert(handle, Arc::new(member));
        Ok(CollectiveComm::from_addr(handle))
    }

    fn xccl_destroy_comm(&self, comm: CollectiveComm) -> Result<()> {
        let member = self.member(comm)?;
        self.members.lock().known.remove(&comm.addr());
        member.leave()
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
        self.collective(comm, stream, &Operation::AllReduce { send, receive: recv_buf, op })
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
        let buffer = Buffer::new(buf, count, data_type);
        self.collective(comm, stream, &Operation::Broadcast { buffer, root })
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
        self.collective(comm, stream, &Operation::Reduce { send, receive: recv_buf, op, root })
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
        self.collective(comm, stream, &Operation::AllGather { send, receive: recv_buf })
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
        self.collective(comm, stream, &Operation::ReduceScatter { send: send_buf, receive, op })
    }

    fn xccl_group_start(&self) -> Result<()> {
        crate::start_bracket();
        Ok(())
    }

    fn xccl_group_end(&self) -> Result<()> {
        Ok(crate::end_bracket()?)
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
        let send = Buffer::new(send_buf, count, data_type);
        self.collective(comm, stream, &Operation::Send { send, to: dest_rank })
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
        let receive = Buffer::new(recv_buf, count, data_type);
        self.collective(comm, stream, &Operation::Receive { receive, from: src_rank })
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
        self.member(comm)?.communicator.expect_rank(rank)?;
        let send = Buffer::list(send_buf, send_count, send_dtype);
        let receive = Buffer::list(recv_buf, recv_count, recv_dtype);
        self.collective(comm, stream, &Operation::AllToAll { send, receive })
    }
}

//! The objects that the host calls: the factory of a library, the providers of sessions, memory, copies and streams.

mod allocator;
mod device;
mod factory;
mod islands;
mod lease;
mod pool;
mod profiler;
mod provider;
mod stream;
mod transfer;

pub(crate) use device::DeviceState;
pub(crate) use factory::LibraryFactory;
pub(crate) use islands::Taken;
pub(crate) use lease::Lease;
pub(crate) use pool::{Owner, Pool};
pub(crate) use profiler::measured;
pub(crate) use stream::{state_of, stream_of};

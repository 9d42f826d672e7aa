//! The runtime: the shared state and the subsystems.

use std::sync::Arc;
use tenon::support::Mutex;

use crate::callback::observers::Observers;
use crate::callback::subscriptions::Subscriptions;
use crate::data::data_buffer::DataBuffers;
use crate::data::message_buffer::MessageBuffers;
use crate::data::tensor_desc::TensorDescs;
use crate::device::info::ChipName;
use crate::device::settings::Timeouts;
use crate::event::event_table::Events;
use crate::memory::pool::Pools;
use crate::notify::notify_table::Notifies;
use crate::provider::{Devices, NoDevices};
use crate::state::State;
use crate::state::context::Options;
use crate::stream::config::StreamConfigs;
use crate::virtual_memory::mappings::VirtualMemory;
use crate::virtual_memory::sharing::SharedMemory;

/// The implementation of the interface on the devices of a provider.
///
/// A process has one. Any thread may call it. It holds no lock while it calls a device or a function of the program.
pub struct Runtime {
    pub(crate) state: State,
    /// Number of initializations by the program.
    pub(crate) initialized: Mutex<u64>,
    /// The options of the process.
    pub(crate) options: Options,
    pub(crate) chip_name: ChipName,
    pub(crate) timeouts: Timeouts,
    pub(crate) stream_configs: StreamConfigs,
    pub(crate) events: Events,
    pub(crate) notifies: Notifies,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) observers: Observers,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) shared_memory: SharedMemory,
    pub(crate) pools: Pools,
    pub(crate) data_buffers: DataBuffers,
    pub(crate) tensor_descs: TensorDescs,
    pub(crate) message_buffers: MessageBuffers,
}

impl Runtime {
    /// Creates a runtime on the devices of a provider.
    pub fn new(provider: Arc<dyn Devices>) -> Self {
        Runtime {
            state: State::new(provider),
            initialized: Mutex::new(0),
            options: Options::default(),
            chip_name: ChipName::default(),
            timeouts: Timeouts::default(),
            stream_configs: StreamConfigs::default(),
            events: Events::default(),
            notifies: Notifies::default(),
            subscriptions: Arc::default(),
            observers: Observers::default(),
            virtual_memory: VirtualMemory::default(),
            shared_memory: SharedMemory::default(),
            pools: Pools::default(),
            data_buffers: DataBuffers::default(),
            tensor_descs: TensorDescs::default(),
            message_buffers: MessageBuffers::default(),
        }
    }
}

/// A runtime without devices.
impl Default for Runtime {
    fn default() -> Self {
        Runtime::new(Arc::new(NoDevices))
    }
}

//! The runtime as a whole: what is alive, and how calls find it.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::api::AclError;
use crate::block::Memory;
use crate::buffer::Buffers;
use crate::callback::Reports;
use crate::context::Context;
use crate::data_buffer::DataBuffer;
use crate::devices::Devices;
use crate::error::{Error, Result, of_device, refuse};
use crate::event::Event;
use crate::exception::Exceptions;
use crate::home::Home;
use crate::limits::Timeouts;
use crate::notify::Notify;
use crate::observer::Observers;
use crate::options::Options;
use crate::share::Shared;
use crate::stream::Stream;
use crate::stream_config::StreamConfig;
use crate::table::{Kind, Table};
use crate::tensor_desc::TensorDesc;
use crate::thread;
use crate::virtual_memory::VirtualMemory;

/// The state behind the functions of the interface.
///
/// A process has one. Any thread may call it; no lock of it is held while a device or a function of the program is called.
pub struct Runtime {
    /// Tells the current contexts of several instances apart.
    pub(crate) instance: u64,
    pub(crate) devices: Arc<dyn Devices>,
    homes: Mutex<BTreeMap<u32, Arc<Home>>>,
    /// How often the program initialised the library.
    pub(crate) initialised: Mutex<u64>,
    pub(crate) contexts: Table<Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) stream_configs: Table<StreamConfig>,
    pub(crate) events: Table<Event>,
    pub(crate) memory: Memory,
    /// Callbacks on their way to the threads that serve them.
    pub(crate) reports: Arc<Reports>,
    /// Options of the process.
    pub(crate) options: Options,
    pub(crate) soc_name: OnceLock<&'static CStr>,
    pub(crate) data_buffers: Table<DataBuffer>,
    pub(crate) tensor_descs: Table<TensorDesc>,
    pub(crate) notifies: Table<Notify>,
    pub(crate) buffers: Buffers,
    /// Who is told of the beginning and the end, and of devices and streams.
    pub(crate) observers: Observers,
    /// Who is told of failures of queued work.
    pub(crate) exceptions: Arc<Exceptions>,
    /// Device memory that has a key.
    pub(crate) shared: Shared,
    pub(crate) virtual_memory: VirtualMemory,
    /// Limits of the whole process.
    pub(crate) timeouts: Timeouts,
}

impl Runtime {
    /// A runtime on these devices.
    pub fn new(devices: Arc<dyn Devices>) -> Self {
        static INSTANCES: AtomicU64 = AtomicU64::new(0);
        Runtime {
            instance: INSTANCES.fetch_add(1, Ordering::Relaxed) + 1,
            devices,
            homes: Mutex::default(),
            initialised: Mutex::new(0),
            contexts: Table::new(Kind::Context),
            streams: Table::new(Kind::Stream),
            stream_configs: Table::new(Kind::StreamConfig),
            events: Table::new(Kind::Event),
            memory: Memory::default(),
            reports: Arc::default(),
            options: Options::default(),
            soc_name: OnceLock::new(),
            data_buffers: Table::new(Kind::DataBuffer),
            tensor_descs: Table::new(Kind::TensorDesc),
            notifies: Table::new(Kind::Notify),
            buffers: Buffers::default(),
            observers: Observers::default(),
            exceptions: Arc::default(),
            shared: Shared::default(),
            virtual_memory: VirtualMemory::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// The device of a number.
    pub(crate) fn home(&self, ordinal: i64) -> Result<Arc<Home>> {
        let count = self.device_count()?;
        match u32::try_from(ordinal) {
            Ok(number) if number < count => {
                let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(homes.entry(number).or_insert_with(|| Home::new(number)).clone())
            }
            _ => refuse(
                AclError::RT_INVALID_DEVICEID,
                match count {
                    0 => format!("there is no device {ordinal}; there is none at all"),
                    1 => format!("there is no device {ordinal}; there is one, number 0"),
                    _ => format!("there is no device {ordinal}; there are 0 to {}", count - 1),
                },
            ),
        }
    }

    /// How many devices there are.
    pub(crate) fn device_count(&self) -> Result<u32> {
        self.devices
            .count()
            .map_err(|error| Error::new(AclError::RT_NO_DEVICE, of_device(&error).message.clone()))
    }

    /// All devices that were ever asked for.
    pub(crate) fn homes(&self) -> Vec<Arc<Home>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The current context of the calling thread, if it has one that is alive.
    pub(crate) fn context_if_any(&self) -> Option<Arc<Context>> {
        self.contexts.get(thread::context(self.instance))
    }

    /// The current context of the calling thread.
    pub(crate) fn context(&self) -> Result<Arc<Context>> {
        self.context_if_any().ok_or_else(|| self.no_context())
    }

    #[cold]
    fn no_context(&self) -> Error {
        Error::new(
            AclError::RT_CONTEXT_NULL,
            match thread::context(self.instance) {
                0 => "this thread has no current context; set a device or a context first",
                _ => "the current context of this thread is destroyed; set a device or a context first",
            },
        )
    }

    /// Makes a context the current one of the calling thread.
    pub(crate) fn make_current(&self, context: &Context) {
        thread::set_context(self.instance, context.handle);
    }

    /// Leaves the calling thread without a current context, if it is this one.
    pub(crate) fn make_uncurrent(&self, context: usize) {
        if thread::context(self.instance) == context {
            thread::set_context(self.instance, 0);
        }
    }

    /// The stream of a handle, which must belong to the current context; 0 is the context's default stream.
    pub(crate) fn stream(&self, handle: usize) -> Result<Arc<Stream>> {
        let context = self.context()?;
        if handle == 0 {
            return Ok(context.default_stream.clone());
        }
        let stream = self.any_stream(handle)?;
        if stream.context() != context.handle {
            return refuse(
                AclError::RT_STREAM_CONTEXT,
                "`stream` belongs to another context than the current one of this thread",
            );
        }
        Ok(stream)
    }

    /// The stream of a handle, of whatever context.
    pub(crate) fn any_stream(&self, handle: usize) -> Result<Arc<Stream>> {
        self.streams.get(handle).ok_or_else(|| unknown("stream", handle))
    }

    /// The stream of a handle, for questions that any thread may ask; 0 is the default stream of the current context.
    pub(crate) fn known_stream(&self, handle: usize) -> Result<Arc<Stream>> {
        if handle == 0 { Ok(self.context()?.default_stream.clone()) } else { self.any_stream(handle) }
    }

    /// The event of a handle.
    pub(crate) fn event(&self, handle: usize) -> Result<Arc<Event>> {
        self.events.get(handle).ok_or_else(|| unknown("event", handle))
    }
}

/// A runtime without any device, as it is before somebody brings some.
impl Default for Runtime {
    fn default() -> Self {
        Runtime::new(Arc::new(crate::devices::Nothing))
    }
}

/// What is said of a handle that leads nowhere.
#[cold]
pub(crate) fn unknown(param: &str, handle: usize) -> Error {
    if handle == 0 {
        Error::new(AclError::INVALID_PARAM, format!("`{param}` is null"))
    } else {
        Error::new(
            AclError::RT_INVALID_HANDLE,
            format!("`{param}` is {handle:#x}, which is destroyed or was never made"),
        )
    }
}

/// The same of a handle for data of the host's, whose functions have one code for whatever is wrong with a parameter.
#[cold]
pub(crate) fn unknown_data(param: &str, handle: usize) -> Error {
    Error::new(AclError::INVALID_PARAM, unknown(param, handle).message.clone())
}

//! A backend of ggml that takes every graph and does nothing but count them.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tenon::Made;

use crate::ggml::{
    Backend, Buffer, BufferType, Capabilities, Device, DeviceType, Error, GgmlHost, Graph, Memory,
    Properties, Registry, Result, Tensor, ffi,
};

/// Returns the registry, which lasts as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn ggml_backend_init() -> *mut ffi::ggml_backend_reg {
    static ADDRESS: OnceLock<usize> = OnceLock::new();
    let make = || GgmlHost {}.make_registry(Box::<IdleRegistry>::default()).expose_provenance();
    std::ptr::with_exposed_provenance_mut(*ADDRESS.get_or_init(make))
}

/// Has one device, which it makes when the host asks for it: then its own address is known.
#[derive(Default)]
struct IdleRegistry {
    device: OnceLock<Made<dyn Device>>,
    graphs: Arc<AtomicU32>,
}

#[tenon::object]
impl Registry for IdleRegistry {
    fn registry_name(&self) -> &CStr {
        c"idle"
    }

    fn device_count(&self) -> usize {
        1
    }

    fn device(&self, registry: *mut ffi::ggml_backend_reg, index: usize) -> Option<&Made<dyn Device>> {
        let make = || {
            let device = IdleDevice { graphs: Arc::clone(&self.graphs), buffers: OnceLock::new() };
            GgmlHost {}.keep_device(registry.cast(), Box::new(device))
        };
        (index == 0).then(|| self.device.get_or_init(make))
    }
}

struct IdleDevice {
    graphs: Arc<AtomicU32>,
    buffers: OnceLock<Made<dyn BufferType>>,
}

#[tenon::object]
impl Device for IdleDevice {
    fn device_name(&self) -> &CStr {
        c"idle0"
    }

    fn description(&self) -> &CStr {
        c"a device that does nothing"
    }

    fn memory(&self) -> Memory {
        Memory { free: 1 << 20, total: 2 << 20 }
    }

    fn device_type(&self) -> DeviceType {
        DeviceType::ACCEL
    }

    fn properties(&self) -> Properties {
        let text = |text: &'static CStr| -> *const c_char { text.as_ptr() };
        Properties {
            name: text(c"idle0"),
            description: text(c"a device that does nothing"),
            memory_free: 1 << 20,
            memory_total: 2 << 20,
            r#type: DeviceType::ACCEL,
            caps: Capabilities {
                r#async: false,
                host_buffer: false,
                buffer_from_host_ptr: false,
                events: false,
            },
        }
    }

    fn make_backend(&self, parameters: Option<&CStr>) -> Option<Box<dyn Backend>> {
        // A text that it does not know.
        let backend = || Box::new(IdleBackend { graphs: Arc::clone(&self.graphs) }) as Box<dyn Backend>;
        parameters.is_none().then(backend)
    }

    fn buffer_type(&self, device: *mut ffi::ggml_backend_device) -> &Made<dyn BufferType> {
        self.buffers.get_or_init(|| GgmlHost {}.keep_buffer_type(device.cast(), Box::new(NoBuffers)))
    }

    fn supports_operator(&self, _: Tensor) -> bool {
        true
    }

    fn supports_buffers(&self, buffers: &dyn BufferType) -> bool {
        buffers.buffer_type_name() == c"idle"
    }
}

/// The device has no memory.
struct NoBuffers;

#[tenon::object]
impl BufferType for NoBuffers {
    fn buffer_type_name(&self) -> &CStr {
        c"idle"
    }

    fn allocate(&self, _: usize) -> Buffer {
        Buffer::NULL
    }

    fn alignment(&self) -> usize {
        64
    }
}

struct IdleBackend {
    graphs: Arc<AtomicU32>,
}

#[tenon::object]
impl Backend for IdleBackend {
    fn backend_name(&self) -> &CStr {
        c"idle"
    }

    fn run_graph(&self, _: Graph) -> Result<()> {
        if self.graphs.fetch_add(1, Ordering::Relaxed) >= 2 {
            return Err(Error::invalid("the backend has run two graphs, and that is enough"));
        }
        Ok(())
    }
}

//! The registry of kernels, which the host looks nodes up in.

use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use super::{Node, Work, list};
use crate::api::ep::{KernelDef, KernelDefBuilder};
use crate::api::objects::{Error, KernelRegistry, Result};
use crate::api::runtime::ffi::{OrtKernelInfo, OrtStatus};
use crate::api::runtime::{ErrorCode, KernelInfo, MemoryPlace};
use crate::element::data_type;
use crate::error::reported;
use crate::host::{Host, refuse};
use crate::kernel::{Info, NodeKernel};
use crate::session::DeviceState;

/// The kernels of a device in the host.
pub(crate) struct Registry {
    host: Host,
    handle: KernelRegistry,
    /// The state of each kernel, whose address the host has.
    entries: Vec<Entry>,
}

// SAFETY: the host's registry is read after it was filled.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

/// The state of a kernel.
struct Entry {
    node: &'static Node,
    host: Host,
    /// The device owns the registry.
    device: Weak<DeviceState>,
}

impl Entry {
    /// Makes the kernel of a node, which the host releases.
    fn make(&self, device: Arc<DeviceState>, info: KernelInfo) -> Result<*mut c_void> {
        let make = match self.node.work {
            Work::Rule(make) => make,
            // SAFETY: the host passes a node that is alive.
            Work::Host(kernel) => return unsafe { kernel.make(device, info) },
        };
        let info = Info::of_kernel(self.host.runtime, info)?;
        let compute = make(&info).map_err(reported)?;
        let (places, operator) = (info.places(), self.node.operator);
        let kernel = NodeKernel { device, compute, places, operator };
        Ok(self.host.objects().make_kernel(Box::new(kernel)).cast())
    }
}

impl Registry {
    /// Registers the kernels that a device has methods for.
    pub(crate) fn new(device: &Arc<DeviceState>) -> Result<Self> {
        let host = device.host;
        // SAFETY: the host's own function.
        let handle = unsafe { host.ep.create_kernel_registry() }?;
        let entry = |node| Entry { node, host, device: Arc::downgrade(device) };
        // Their addresses stay as they are.
        let registry = Self { host, handle, entries: list::all().map(entry).collect() };
        for entry in &registry.entries {
            registry.add(device, entry)?;
        }
        Ok(registry)
    }

    pub(crate) fn handle(&self) -> KernelRegistry {
        self.handle
    }

    /// Adds a kernel, if the device has its methods for a type.
    fn add(&self, device: &DeviceState, entry: &Entry) -> Result<()> {
        let Host { ep, .. } = self.host;
        // SAFETY: the host's own functions with their own objects. The definition is copied, and the entry lives as long
        // as the registry.
        unsafe {
            let builder = ep.create_kernel_def_builder()?;
            let defined = self.define(device, entry.node, builder);
            ep.release_kernel_def_builder(builder)?;
            let Some(definition) = defined? else { return Ok(()) };
            let state = (&raw const *entry).cast_mut().cast::<c_void>();
            let added = ep.add_kernel(self.handle, definition, Some(create_kernel), state);
            ep.release_kernel_def(definition)?;
            added
        }
    }

    /// Defines the nodes that a kernel computes; `None` if the device accepts no type of them.
    ///
    /// # Safety
    /// The builder is alive.
    unsafe fn define(
        &self,
        device: &DeviceState,
        node: &Node,
        builder: KernelDefBuilder,
    ) -> Result<Option<KernelDef>> {
        let Host { ep, .. } = self.host;
        let library = device.library;
        // SAFETY: the caller's promise; texts and lists are copied.
        unsafe {
            ep.set_operator(builder, text(node.operator)?.as_ptr())?;
            ep.set_domain(builder, text(node.domain)?.as_ptr())?;
            ep.set_versions(builder, node.versions.0, node.versions.1)?;
            ep.set_provider(builder, library.name.as_ptr())?;
            for (index, (name, elements)) in node.types.iter().enumerate() {
                let mut types = Vec::new();
                for element in elements.iter() {
                    let accepts = |ty| node.methods.iter().all(|method| library.provides(method, ty));
                    if index > 0 || data_type(element).is_some_and(accepts) {
                        types.push(ep.tensor_type(element)?.as_raw().cast_const());
                    }
                }
                if types.is_empty() {
                    return Ok(None);
                }
                let name = text(name)?;
                ep.add_type_constraint(builder, name.as_ptr(), types.as_ptr().cast(), types.len())?;
            }
            for input in node.host_inputs {
                ep.set_input_memory(builder, *input, MemoryPlace::CPU_INPUT)?;
            }
            if node.is_host_output {
                ep.set_output_memory(builder, 0, MemoryPlace::CPU_OUTPUT)?;
            }
            if node.is_in_place {
                ep.add_mutable_aliases(builder, [0].as_ptr(), [0].as_ptr(), 1)?;
            }
            ep.build_kernel_def(builder).map(Some)
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: it is released once, with its provider. Nothing can be done about a failure.
        let _ = unsafe { self.host.ep.release_kernel_registry(self.handle) };
    }
}

/// Returns a text for the host.
fn text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::invalid("a name has a null character"))
}

/// Makes the kernel of a node.
///
/// # Safety
/// The host calls it with the state that was added, a node and a place.
unsafe extern "C-unwind" fn create_kernel(
    state: *mut c_void,
    info: *const OrtKernelInfo,
    kernel: *mut c_void,
) -> *mut OrtStatus {
    // SAFETY: the entry lives as long as the registry, and thus as the provider.
    let entry = unsafe { &*state.cast::<Entry>() };
    let host = entry.host;
    let Some(device) = entry.device.upgrade() else {
        return refuse(host.runtime, "the library was unregistered").0.cast();
    };
    let info = KernelInfo::from_raw(info.cast_mut());
    let make = || entry.make(device, info);
    let made = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
        Err(Error::new(ErrorCode::FAIL, tenon::support::panic_text(&*panic).to_owned()))
    });
    match made {
        Ok(made) => {
            // SAFETY: the host passes a place for the kernel.
            unsafe { kernel.cast::<*mut c_void>().write(made) };
            std::ptr::null_mut()
        }
        Err(error) => refuse(host.runtime, &format!("{}: {error}", entry.node.operator)).0.cast(),
    }
}

//! The objects of the provider: each trait is one of the structs that the host calls.

use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tenon::{AnyPtr, OwnValue};

use crate::entry::Tables;
use crate::provider::{
    Computation, ComputationContext, DataTransfer, EpDevice, Error, Factory, GraphSupport, HostStream,
    Logger, MemoryDevice, Notification, Provider, Result, SessionOptions, Stream, ffi,
};
use crate::runtime::{
    ElementType, Graph, HardwareDevice, HardwareDeviceType, KernelContext, KeyValuePairs, Node, Value,
};

/// Makes providers for the CPU.
pub struct AddFactory {
    name: CString,
    tables: Tables,
}

impl AddFactory {
    pub fn new(name: CString, tables: Tables) -> Self {
        Self { name, tables }
    }
}

#[tenon::object]
impl Factory for AddFactory {
    fn factory_name(&self) -> &CStr {
        &self.name
    }

    fn vendor(&self) -> &CStr {
        c"Tenon"
    }

    fn vendor_id(&self) -> u32 {
        0xFFFF
    }

    fn version(&self) -> &CStr {
        c"0.1.0"
    }

    fn supported_devices(
        &self,
        factory: *mut ffi::OrtEpFactory,
        devices: &[HardwareDevice],
        ep_devices: &mut [EpDevice],
    ) -> Result<usize> {
        let mut count = 0;
        for device in devices {
            // SAFETY: the host passes devices that are alive.
            let kind = unsafe { self.tables.runtime.hardware_device_type(*device) }?;
            if kind == HardwareDeviceType::CPU && count < ep_devices.len() {
                let none = KeyValuePairs::NULL;
                // SAFETY: as above; the factory is this object.
                ep_devices[count] =
                    unsafe { self.tables.api.create_ep_device(factory, *device, none, none) }?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn create_provider(
        &self,
        _: &[HardwareDevice],
        _: &[KeyValuePairs],
        _: SessionOptions,
        _: Logger,
    ) -> Result<Box<dyn Provider>> {
        Ok(Box::new(AddProvider { name: self.name.clone(), tables: self.tables }))
    }

    fn create_data_transfer(&self) -> Result<DataTransfer> {
        Ok(DataTransfer::NULL)
    }

    fn create_stream(&self, _: MemoryDevice, _: KeyValuePairs) -> Result<Box<dyn Stream>> {
        Ok(Box::new(CpuStream::default()))
    }
}

/// Takes each `Add` of a graph.
struct AddProvider {
    name: CString,
    tables: Tables,
}

#[tenon::object]
impl Provider for AddProvider {
    fn provider_name(&self) -> &CStr {
        &self.name
    }

    fn capability(&self, graph: Graph, support: GraphSupport) -> Result<()> {
        let Tables { runtime, api } = self.tables;
        // SAFETY: the host passes a graph that is alive, and its nodes live as long.
        unsafe {
            let count = runtime.graph_get_num_nodes(graph)?;
            let mut nodes = vec![std::ptr::null_mut(); count];
            runtime.graph_get_nodes(graph, nodes.as_mut_ptr(), count)?;
            for node in nodes {
                let operator = runtime.node_get_operator_type(Node::from_raw(node))?;
                if CStr::from_ptr(operator) == c"Add" {
                    api.add_nodes_to_fuse(support, [node].as_ptr(), 1, std::ptr::null())?;
                }
            }
        }
        Ok(())
    }

    fn compile(
        &self,
        graphs: &[Graph],
        _: &[Node],
        context_nodes: &mut [Node],
    ) -> Result<Vec<Box<dyn Computation>>> {
        context_nodes.fill(Node::NULL);
        Ok(graphs
            .iter()
            .map(|_| Box::new(Addition { tables: self.tables }) as Box<dyn Computation>)
            .collect())
    }
}

/// Adds two tensors.
struct Addition {
    tables: Tables,
}

/// The state of a session: counts its calls.
#[derive(Default)]
struct Calls(AtomicU32);

#[tenon::object]
impl Computation for Addition {
    fn create_state(&self, _: ComputationContext) -> Result<Box<OwnValue>> {
        Ok(Box::<Calls>::default())
    }

    fn compute(&self, state: &OwnValue, context: KernelContext) -> Result<()> {
        let calls =
            state.downcast_ref::<Calls>().ok_or_else(|| Error::invalid("the state is of another kind"))?;
        calls.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the host passes a call with two inputs of floats.
        unsafe {
            let runtime = self.tables.runtime;
            let [left, right] = [0, 1].map(|index| runtime.kernel_context_get_input(context, index));
            let (left, right) = (left?, right?);
            let (shape, size) = self.shape(left)?;
            if self.shape(right)?.0 != shape {
                return Err(Error::invalid("the inputs of `Add` have different shapes"));
            }
            let out = runtime.kernel_context_get_output(context, 0, shape.as_ptr(), shape.len())?;
            let [left, right, out] = [left, right, out].map(|value| runtime.get_tensor_mutable_data(value));
            let (left, right, out) = (left?.as_ptr(), right?.as_ptr(), out?.as_ptr());
            for index in 0..size {
                let sum = *left.cast::<f32>().add(index) + *right.cast::<f32>().add(index);
                out.cast::<f32>().add(index).write(sum);
            }
        }
        Ok(())
    }
}

impl Addition {
    /// Returns the dimensions of a tensor, and its number of elements.
    ///
    /// # Safety
    /// The tensor is alive.
    unsafe fn shape(&self, value: Value) -> Result<(Vec<i64>, usize)> {
        let runtime = self.tables.runtime;
        // SAFETY: the caller's promise; the shape is released once, and the list is as long as the rank.
        unsafe {
            let shape = runtime.get_tensor_type_and_shape(value)?;
            let dimensions = runtime.get_dimensions_count(shape).and_then(|rank| {
                if runtime.get_tensor_element_type(shape)? != ElementType::FLOAT {
                    return Err(Error::invalid("only tensors of `float` can be added"));
                }
                let mut dimensions = vec![0; rank];
                runtime.get_dimensions(shape, dimensions.as_mut_ptr(), rank)?;
                Ok(dimensions)
            });
            runtime.release_tensor_type_and_shape_info(shape)?;
            let dimensions = dimensions?;
            let size = dimensions.iter().map(|size| usize::try_from(*size).unwrap_or(0)).product();
            Ok((dimensions, size))
        }
    }
}

/// A stream whose work is complete at once: it counts what was marked.
#[derive(Default)]
struct CpuStream {
    marks: Arc<AtomicU32>,
}

#[tenon::object]
impl Stream for CpuStream {
    fn handle(&self) -> AnyPtr {
        AnyPtr::from_ptr(Arc::as_ptr(&self.marks).cast_mut().cast::<c_void>())
    }

    fn create_notification(&self) -> Result<Box<dyn Notification>> {
        Ok(Box::new(Mark(Arc::clone(&self.marks))))
    }
}

struct Mark(Arc<AtomicU32>);

#[tenon::object]
impl Notification for Mark {
    fn activate(&self) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn wait_on_device(&self, _: HostStream) -> Result<()> {
        Err(Error::invalid("all streams are of the CPU, so none has to wait for another one"))
    }

    fn wait_on_host(&self) -> Result<()> {
        assert!(self.0.load(Ordering::Relaxed) > 0, "nothing was marked");
        Ok(())
    }
}

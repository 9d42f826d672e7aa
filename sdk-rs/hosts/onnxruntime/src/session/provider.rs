//! The provider of a session: the nodes that the device takes.

use std::ffi::CStr;
use std::sync::Arc;

use super::device::DeviceState;
use super::islands::{self, Described};
use super::lease::Lease;
use super::profiler::SessionProfiler;
use crate::api::objects::{GraphSupport, KernelRegistry, Profiler, Provider, Result, RunOptions};
use crate::api::runtime::{Graph, Node, ValueInfo};
use crate::error::reported;
use crate::host::Host;
use crate::kernel::Info;
use crate::library::Memory;
use crate::nodes::{self, Work};

/// The variable that, with the value `all`, makes a device take all nodes that it has kernels for.
const NODES: &str = "TENON_ONNXRUNTIME_NODES";

fn takes_all() -> bool {
    std::env::var_os(NODES).is_some_and(|nodes| nodes == "all")
}

/// The provider of a session.
pub(crate) struct SessionProvider {
    device: Arc<DeviceState>,
    _lease: Lease,
}

impl SessionProvider {
    pub(crate) fn new(device: Arc<DeviceState>) -> Self {
        Self { device, _lease: Lease::new() }
    }

    /// Takes the nodes of a graph that have kernels.
    ///
    /// # Safety
    /// The host passes a graph and its support, which are alive.
    unsafe fn take_nodes(&self, graph: Graph, support: GraphSupport) -> Result<()> {
        let Host { runtime, ep } = self.device.host;
        // SAFETY: the caller's promise; nodes live as long as their graph, and there is room for all of them.
        unsafe {
            let count = runtime.graph_get_num_nodes(graph)?;
            let mut raw = vec![std::ptr::null_mut(); count];
            runtime.graph_get_nodes(graph, raw.as_mut_ptr(), count)?;
            let all: Vec<Node> = raw.into_iter().map(Node::from_raw).collect();
            let mut taken = Vec::with_capacity(count);
            for node in &all {
                let has_kernel = !ep.find_kernel(support, *node)?.is_null();
                taken.push(if has_kernel { self.accepted(*node)? } else { None });
            }
            if self.device.library.memory == Memory::OfTheDevice && !takes_all() {
                self.give_back(&all, &mut taken)?;
            }
            for (node, taken) in all.into_iter().zip(taken) {
                if taken.is_some() {
                    ep.add_node(support, node)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves nodes to the host for which copies would take longer than their work.
    ///
    /// # Safety
    /// The nodes are alive.
    unsafe fn give_back(&self, all: &[Node], taken: &mut [Option<&nodes::Node>]) -> Result<()> {
        if taken.iter().all(Option::is_some) {
            return Ok(());
        }
        let mut described = Vec::with_capacity(all.len());
        for (node, entry) in all.iter().zip(&*taken) {
            // SAFETY: the caller's promise.
            described.push(unsafe { self.described(*node, *entry) }?);
        }
        for island in islands::too_small(&described) {
            let names: Vec<&str> =
                island.nodes.iter().filter_map(|index| taken[*index]).map(|entry| entry.operator).collect();
            tenon::log_info(format_args!(
                "ONNX Runtime computes {} on its CPU, because of {} tensor{} to copy to the device or back",
                names.join(", "),
                island.copies,
                if island.copies == 1 { "" } else { "s" }
            ));
            island.nodes.into_iter().for_each(|index| taken[index] = None);
        }
        Ok(())
    }

    /// Describes a node with its values.
    ///
    /// # Safety
    /// The node is alive.
    unsafe fn described(&self, node: Node, entry: Option<&nodes::Node>) -> Result<Described> {
        let runtime = self.device.host.runtime;
        // SAFETY: the caller's promise; there is room for all values, which live as long as the graph.
        unsafe {
            let mut inputs = vec![std::ptr::null_mut(); runtime.node_input_count(node)?];
            runtime.node_inputs(node, inputs.as_mut_ptr(), inputs.len())?;
            let mut outputs = vec![std::ptr::null_mut(); runtime.node_output_count(node)?];
            runtime.node_outputs(node, outputs.as_mut_ptr(), outputs.len())?;
            let name = |value| {
                let value = ValueInfo::from_raw(value);
                if value.is_null() {
                    return Ok(String::new());
                }
                Ok(CStr::from_ptr(runtime.value_name(value)?).to_string_lossy().into_owned())
            };
            Ok(Described {
                inputs: inputs.into_iter().map(name).collect::<Result<_>>()?,
                outputs: outputs.into_iter().map(name).collect::<Result<_>>()?,
                taken: entry.map(nodes::Node::taken),
            })
        }
    }

    /// Returns the kernel of a node if it can compute it with its attributes.
    ///
    /// # Safety
    /// The node is alive.
    unsafe fn accepted(&self, node: Node) -> Result<Option<&'static nodes::Node>> {
        let runtime = self.device.host.runtime;
        // SAFETY: the caller's promise; the texts live as long as the node.
        let (operator, domain, version) = unsafe {
            let operator = CStr::from_ptr(runtime.node_get_operator_type(node)?);
            let domain = CStr::from_ptr(runtime.node_domain(node)?);
            (operator.to_string_lossy(), domain.to_string_lossy(), runtime.node_since_version(node)?)
        };
        let Some(entry) = nodes::find(&domain, &operator, version) else { return Ok(None) };
        let is_accepted = match entry.work {
            Work::Rule(make) => make(&Info::of_node(runtime, node, version)).is_ok(),
            Work::Host(_) => true,
        };
        Ok(is_accepted.then_some(entry))
    }
}

#[tenon::object]
impl Provider for SessionProvider {
    fn provider_name(&self) -> &CStr {
        &self.device.library.name
    }

    fn capability(&self, graph: Graph, support: GraphSupport) -> Result<()> {
        // SAFETY: the host passes a graph that is alive.
        unsafe { self.take_nodes(graph, support) }
    }

    fn kernels(&self) -> Result<KernelRegistry> {
        self.device.kernels()
    }

    fn run_ends(&self, _: RunOptions, synchronize: bool) -> Result<()> {
        if synchronize && self.device.library.memory == Memory::OfTheDevice {
            return self.device.library.device.synchronize_device(self.device.id).map_err(reported);
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.device.library.device.synchronize_device(self.device.id).map_err(reported)
    }

    fn create_profiler(&self) -> Result<Box<dyn Profiler>> {
        Ok(Box::new(SessionProfiler::new(Arc::clone(&self.device))))
    }
}

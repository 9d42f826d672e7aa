//! The provider of a session: the nodes that the device takes.

use std::ffi::CStr;
use std::sync::Arc;

use super::device::DeviceState;
use crate::api::objects::{GraphSupport, KernelRegistry, Provider, Result, RunOptions};
use crate::api::runtime::{Graph, Node};
use crate::error::reported;
use crate::host::Host;
use crate::kernel::Info;
use crate::library::Memory;
use crate::nodes::{self, Work};

/// The provider of a session.
pub(crate) struct SessionProvider {
    device: Arc<DeviceState>,
}

impl SessionProvider {
    pub(crate) fn new(device: Arc<DeviceState>) -> Self {
        Self { device }
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
            for node in raw.into_iter().map(Node::from_raw) {
                if !ep.find_kernel(support, node)?.is_null() && self.accepts(node)? {
                    ep.add_node(support, node)?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if the kernel of a node can compute it with its attributes.
    ///
    /// # Safety
    /// The node is alive.
    unsafe fn accepts(&self, node: Node) -> Result<bool> {
        let runtime = self.device.host.runtime;
        // SAFETY: the caller's promise; the texts live as long as the node.
        let (operator, domain, version) = unsafe {
            let operator = CStr::from_ptr(runtime.node_get_operator_type(node)?);
            let domain = CStr::from_ptr(runtime.node_domain(node)?);
            (operator.to_string_lossy(), domain.to_string_lossy(), runtime.node_since_version(node)?)
        };
        let Some(entry) = nodes::find(&domain, &operator, version) else { return Ok(false) };
        Ok(match entry.work {
            Work::Rule(make) => make(&Info::of_node(runtime, node, version)).is_ok(),
            Work::Host(_) => true,
        })
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
}

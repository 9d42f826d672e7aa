//! Graphs: work of streams that is captured once and launched many times.
//!
//! While a stream is captured, its work becomes nodes and does not run. Another stream
//! joins the capture by waiting for an event that was recorded in it, as with CUDA. A launch
//! runs the nodes in an order that respects every dependency, and independent branches in parallel.

mod capture;
mod dot;
mod exec;

pub(crate) use capture::{Capture, CapturedMark, check_mode};
pub(crate) use exec::ExecutableGraph;

use crate::error::Result;
use crate::executor::work::Work;
use crate::executor::work::task::{SharedTask, Task};
use crate::handle::HandleKind;
use crate::memory::{Fill, Registry, Transfer};
use std::sync::atomic::{AtomicU64, Ordering};
use tenon::device::{CaptureStatus, DeviceId, Event, GraphNode};

/// The capture of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureInfo {
    /// The state of the capture; `NONE` if there is no capture.
    pub status: CaptureStatus,
    /// Its number, unique in the process; zero if there is none.
    pub id: u64,
    /// The nodes that the stream's next node would depend on.
    pub dependencies: Vec<GraphNode>,
}

/// A node of a graph, as [`crate::Cpu::graph_get_nodes`] lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its handle.
    pub handle: GraphNode,
    /// `copy`, `fill`, `kernel`, `callback`, `event record` or `event wait`.
    pub kind: &'static str,
    /// The nodes that come directly before it.
    pub dependencies: Vec<GraphNode>,
}

/// The operation of a node.
#[derive(Clone)]
pub(crate) enum Op {
    Copy(Transfer),
    Fill(Fill),
    Kernel {
        name: &'static str,
        task: SharedTask,
    },
    Callback(SharedTask),
    /// A point that other branches wait for. A launch does not change the event.
    Record(Event),
    Wait(Event),
}

impl Op {
    fn kind(&self) -> &'static str {
        match self {
            Self::Copy(_) => "copy",
            Self::Fill(_) => "fill",
            Self::Kernel { .. } => "kernel",
            Self::Callback(_) => "callback",
            Self::Record(_) => "event record",
            Self::Wait(_) => "event wait",
        }
    }

    /// Returns true if the node only carries dependencies.
    fn is_marker(&self) -> bool {
        matches!(self, Self::Record(_) | Self::Wait(_))
    }

    /// Returns the work of one launch, with its pointers checked, or none for a marker.
    fn prepare(&self, registry: &Registry) -> Result<Option<Work>> {
        match self {
            Self::Copy(transfer) => transfer.prepare(registry),
            Self::Fill(fill) => fill.prepare(registry),
            Self::Kernel { name, task } => Ok(Some(Work::Kernel { name, task: Task::Shared(task.clone()) })),
            Self::Callback(task) => Ok(Some(Work::Callback { task: Task::Shared(task.clone()) })),
            Self::Record(_) | Self::Wait(_) => Ok(None),
        }
    }
}

/// A node: its operation, and the indices of the earlier nodes that it depends on.
#[derive(Clone)]
pub(crate) struct Node {
    handle: GraphNode,
    op: Op,
    after: Vec<usize>,
}

impl Node {
    fn new(op: Op, after: Vec<usize>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let handle = tenon::handle::encode(HandleKind::Node as u8, 0, number);
        Self { handle: GraphNode::from_addr(handle), op, after }
    }
}

/// A captured graph. The order of its nodes respects their dependencies.
pub(crate) struct CapturedGraph {
    pub(crate) device: DeviceId,
    nodes: Vec<Node>,
}

impl CapturedGraph {
    pub(crate) fn node_infos(&self) -> Vec<NodeInfo> {
        let info = |node: &Node| NodeInfo {
            handle: node.handle,
            kind: node.op.kind(),
            dependencies: node.after.iter().map(|&index| self.nodes[index].handle).collect(),
        };
        self.nodes.iter().map(info).collect()
    }

    pub(crate) fn dot(&self, verbose: bool) -> String {
        dot::render(&self.nodes, verbose)
    }
}

//! Capture and graphs.

use super::Cpu;
use crate::error::{Error, Result};
use crate::graph::{CaptureInfo, ExecutableGraph, NodeInfo};
use std::cell::Cell;
use std::path::Path;
use tenon::device::{CaptureMode, CaptureStatus, DeviceId, Graph, GraphExec, Stream};

thread_local! {
    // No destructor, see `executor::context`.
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::GLOBAL) };
}

/// Returns which captures of other threads restrict this thread: `GLOBAL` until set.
pub(super) fn thread_capture_mode() -> CaptureMode {
    MODE.get()
}

pub(super) fn exchange_thread_capture_mode(mode: CaptureMode) -> CaptureMode {
    MODE.replace(mode)
}

/// # Graphs
///
/// Between `cuda_stream_begin_capture` and `cuda_stream_end_capture` of the trait, the copies, fills,
/// kernels, callbacks and events of a stream become nodes of a graph. Another stream joins by
/// waiting for an event that was recorded in the capture, and must be waited for in turn before
/// the end. Calls that wait for a captured stream, or make it wait for something outside, make
/// the capture invalid.
///
/// Allocation is not captured. Every launch checks the graph's pointers again.
impl Cpu {
    /// Describes the stream's capture without ending it.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn stream_capture_info(&self, device: DeviceId, stream: Stream) -> Result<CaptureInfo> {
        let stream = self.core()?.stream(device, stream)?;
        let none = CaptureInfo { status: CaptureStatus::NONE, id: 0, dependencies: Vec::new() };
        Ok(stream.capture().map_or(none, |capture| capture.info(&stream)))
    }

    /// Returns the nodes of a graph, each after those that it depends on.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`].
    pub fn graph_get_nodes(&self, graph: Graph) -> Result<Vec<NodeInfo>> {
        Ok(self.core()?.graphs.get(graph.addr())?.node_infos())
    }

    /// Makes a graph ready to launch. It does not need the graph afterwards.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`].
    pub fn graph_instantiate(&self, graph: Graph) -> Result<GraphExec> {
        let core = self.core()?;
        let graph = core.graphs.get(graph.addr())?;
        let load = &core.device(graph.device)?.load;
        let make = |handle| ExecutableGraph::new(handle, &graph, &core.shared, load);
        Ok(GraphExec::from_addr(core.execs.insert_with(make)?))
    }

    /// Returns the graph as Graphviz text; with addresses and sizes if `verbose`.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`].
    pub fn graph_dot(&self, graph: Graph, verbose: bool) -> Result<String> {
        Ok(self.core()?.graphs.get(graph.addr())?.dot(verbose))
    }

    /// Writes [`Cpu::graph_dot`] to a file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::InvalidHandle`].
    pub fn graph_debug_dot_print(&self, graph: Graph, path: &Path, verbose: bool) -> Result<()> {
        let text = self.graph_dot(graph, verbose)?;
        std::fs::write(path, text)
            .map_err(|error| Error::Io { path: path.display().to_string(), reason: error.to_string() })
    }
}

//! Capture and graphs.

use super::Cpu;
use super::core::check_device;
use crate::error::{Error, Result};
use crate::graph::{Capture, CaptureInfo, ExecutableGraph, NodeInfo, NodeParameters, check_mode};
use crate::handle::HandleKind;
use std::cell::Cell;
use std::path::Path;
use tenon::device::{CaptureMode, CaptureStatus, Graph, GraphExec, GraphNode, Stream};

thread_local! {
    // No destructor, see `executor::context`.
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::GLOBAL) };
}

pub(super) fn thread_capture_mode() -> CaptureMode {
    MODE.get()
}

/// # Graphs
///
/// Between [`Cpu::stream_begin_capture`] and [`Cpu::stream_end_capture`] the copies, fills,
/// kernels, callbacks and events of a stream become nodes of a graph. Another stream joins by
/// waiting for an event that was recorded in the capture, and must be waited for in turn before
/// the end. Calls that wait for a captured stream, or make it wait for something outside, make
/// the capture invalid.
///
/// Allocation is not captured. Every launch checks the graph's pointers anew.
impl Cpu {
    /// Begins to capture the stream.
    ///
    /// # Errors
    /// [`Error::AlreadyCapturing`], [`Error::DefaultStream`], [`Error::UnknownCaptureMode`],
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn stream_begin_capture(&self, device: usize, stream: Stream, mode: CaptureMode) -> Result<()> {
        let stream = self.core()?.stream(device, stream)?;
        if stream.handle == Stream::NULL.addr() {
            return Err(Error::DefaultStream { call: "stream_begin_capture" });
        }
        Capture::begin(&stream, mode)
    }

    /// Ends the capture that began on the stream, and returns the graph.
    ///
    /// # Errors
    /// The capture is over after each of these: [`Error::CaptureInvalidated`],
    /// [`Error::CaptureUnjoined`]. It goes on after these: [`Error::NotCapturing`],
    /// [`Error::CaptureWrongStream`], [`Error::CaptureWrongThread`] unless it is relaxed,
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn stream_end_capture(&self, device: usize, stream: Stream) -> Result<Graph> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let graph = Capture::end(&stream)?;
        Ok(Graph::from_addr(core.graphs.insert_with(|_| graph.into())))
    }

    /// Describes the stream's capture, which goes on.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn stream_capture_info(&self, device: usize, stream: Stream) -> Result<CaptureInfo> {
        let stream = self.core()?.stream(device, stream)?;
        let none = CaptureInfo { status: CaptureStatus::NONE, id: 0, dependencies: Vec::new() };
        Ok(stream.capture().map_or(none, |capture| capture.info(&stream)))
    }

    /// Sets which captures of other threads restrict this thread, and returns the previous mode.
    /// The mode is `GLOBAL` until set.
    ///
    /// # Errors
    /// [`Error::UnknownCaptureMode`], [`Error::ShutDown`].
    pub fn thread_exchange_capture_mode(&self, mode: CaptureMode) -> Result<CaptureMode> {
        self.core()?;
        check_mode(mode)?;
        Ok(MODE.replace(mode))
    }

    /// The nodes of a graph, each after those that it depends on.
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
        Ok(GraphExec::from_addr(core.execs.insert_with(make)))
    }

    /// Launches a graph in the order of the stream, as often as wanted. Launches of one
    /// executable graph do not overlap, whatever their streams. On a captured stream the
    /// graph's nodes become nodes of the capture.
    ///
    /// # Errors
    /// Any error of the captured copies and fills, if their memory was freed since; nothing is
    /// launched then. [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn graph_launch(&self, device: usize, exec: GraphExec, stream: Stream) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let handle = exec.addr();
        let exec = core.execs.get(handle)?;
        check_device(HandleKind::Exec, handle, exec.device, device)?;
        exec.launch(&stream, &core.registry)
    }

    /// Gives a node new parameters for launches to come. The node is named by the handle that
    /// [`Cpu::graph_get_nodes`] gave for the graph.
    ///
    /// # Safety
    /// Host memory in [`NodeParameters::Copy`] must meet the conditions of
    /// [`Cpu::async_memory_copy_h2d`] and [`Cpu::async_memory_copy_d2h`].
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongNodeKind`].
    pub unsafe fn graph_exec_set_node(
        &self,
        exec: GraphExec,
        node: GraphNode,
        parameters: NodeParameters,
    ) -> Result<()> {
        self.core()?.execs.get(exec.addr())?.set_node(node, parameters)
    }

    /// Destroys a graph. Executable graphs made from it stay.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`].
    pub fn graph_destroy(&self, graph: Graph) -> Result<()> {
        self.core()?.graphs.remove(graph.addr()).map(drop)
    }

    /// Destroys an executable graph and returns at once. Launches already queued still run.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`].
    pub fn graph_exec_destroy(&self, exec: GraphExec) -> Result<()> {
        self.core()?.execs.remove(exec.addr()).map(drop)
    }

    /// The graph as Graphviz text; with addresses and sizes if `verbose`.
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

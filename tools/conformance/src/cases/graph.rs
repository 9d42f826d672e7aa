//! Cases of captured graphs.

use tenon::device::Function::{
    self, AsyncMemoryCopyD2d, CudaGraphDebugDotPrint, CudaGraphDestroy, CudaGraphExecDestroy,
    CudaGraphGetNodes, CudaGraphInstantiate, CudaGraphLaunch, CudaStreamBeginCapture, CudaStreamCaptureInfo,
    CudaStreamEndCapture, CudaThreadExchangeStreamCaptureMode, RecordEvent, StreamWaitEvent,
};
use tenon::device::{CaptureMode, CaptureStatus, Status};

use crate::case::{Case, Level, Verdict, ensure, failed, skipped};
use crate::plugin_under_test::{Memory, PluginUnderTest, address, id, pattern, status_text};

/// The functions that every capture needs.
const ALL: [Function; 5] =
    [CudaStreamBeginCapture, CudaStreamEndCapture, CudaGraphInstantiate, CudaGraphLaunch, AsyncMemoryCopyD2d];

pub(super) fn cases() -> Vec<Case> {
    let case = |id, body| Case::written(id, Level::Promised, body).uses(ALL).native();
    vec![
        case("graph.capture-does-not-run", does_not_run)
            .of([CudaStreamBeginCapture])
            .spec("graph", "While a stream captures, what is put into it does not run but becomes a node of a graph."),
        case("graph.replay", replay)
            .of([CudaGraphLaunch, CudaGraphInstantiate])
            .spec("graph", "A graph is made executable once and can then be launched many times."),
        case("graph.order", order)
            .of([CudaGraphLaunch])
            .spec("cuda_graph_launch", "Queues all work of the graph in the order of the stream."),
        case("graph.two-streams", two_streams).of([CudaStreamBeginCapture, RecordEvent, StreamWaitEvent]).spec(
            "cuda_stream_begin_capture",
            "If another stream waits for an event that was recorded while the stream captures, that stream joins the capture.",
        ),
        case("graph.nodes", nodes)
            .of([CudaGraphGetNodes])
            .spec("cuda_graph_get_nodes", "With null for `nodes` it only counts"),
        case("graph.empty", empty)
            .of([CudaStreamEndCapture, CudaGraphGetNodes])
            .spec("cuda_stream_end_capture", "A graph without nodes is a success."),
        case("graph.destroyed-before-launch", destroyed)
            .of([CudaGraphDestroy, CudaGraphExecDestroy])
            .spec("cuda_graph_destroy", "Executable graphs that were created from it stay valid."),
        case("graph.info", info)
            .of([CudaStreamCaptureInfo])
            .spec("cuda_stream_capture_info", "PaddlePaddle calls it right after `cuda_stream_begin_capture`, for the status alone"),
        case("graph.begin.default-stream", default_stream)
            .of([CudaStreamBeginCapture])
            .spec("cuda_stream_begin_capture", "The default stream cannot capture."),
        case("graph.begin.twice", twice)
            .of([CudaStreamBeginCapture])
            .spec("cuda_stream_begin_capture", "there is no such stream, it is null, or it captures already"),
        case("graph.end.without-begin", no_begin)
            .of([CudaStreamEndCapture])
            .spec("cuda_stream_end_capture", "the stream does not capture"),
        case("graph.begin.unknown-device", unknown_device)
            .of([CudaStreamBeginCapture])
            .spec("cuda_stream_begin_capture", "there is no such stream, it is null, or it captures already"),
        case("graph.mode", mode).of([CudaThreadExchangeStreamCaptureMode]).spec(
            "cuda_thread_exchange_stream_capture_mode",
            "Sets the capture mode of the calling thread and returns the previous one.",
        ),
        case("graph.picture", picture)
            .of([CudaGraphDebugDotPrint])
            .spec("cuda_graph_debug_dot_print", "Writes the graph to a file in the DOT language."),
    ]
}

fn begin(plugin: &PluginUnderTest, stream: u64) -> Verdict {
    match plugin.call(CudaStreamBeginCapture, &[id(0), stream, CaptureMode::RELAXED.0 as u64])? {
        Status::SUCCESS => Ok(()),
        // A device without graphs must report that: a host takes a null pointer for a success.
        Status::FAILED => skipped("`cuda_stream_begin_capture` says that the stream cannot capture"),
        status => failed(format!("`cuda_stream_begin_capture` answered {}", status_text(status))),
    }
}

fn end(plugin: &PluginUnderTest, stream: u64) -> Verdict<u64> {
    let mut graph = u64::MAX;
    plugin.ok(CudaStreamEndCapture, &[id(0), stream, address(&mut graph)])?;
    ensure!(graph != u64::MAX, "`cuda_stream_end_captrue` answered `success` and wrote no graph");
    Ok(graph)
}

fn instantiate(plugin: &PluginUnderTest, mut graph: u64) -> Verdict<u64> {
    let mut exec = u64::MAX;
    plugin.ok(CudaGraphInstantiate, &[address(&mut exec), address(&mut graph), 0, 0, 0])?;
    ensure!(exec != u64::MAX, "`cuda_graph_instantiate` answered `success` and wrote no graph");
    Ok(exec)
}

fn launch(plugin: &PluginUnderTest, exec: u64, stream: u64) -> Verdict {
    plugin.ok(CudaGraphLaunch, &[id(0), exec, stream])
}

fn give_back(plugin: &PluginUnderTest, graph: u64, exec: Option<u64>) -> Verdict {
    if let Some(exec) = exec.filter(|_| plugin.answers(CudaGraphExecDestroy)) {
        plugin.ok(CudaGraphExecDestroy, &[exec])?;
    }
    if plugin.answers(CudaGraphDestroy) { plugin.ok(CudaGraphDestroy, &[graph]) } else { Ok(()) }
}

/// Three pieces of memory, and a graph that copies the first to the second and that to the third.
struct Captured {
    stream: u64,
    memory: [Memory; 3],
    graph: u64,
}

const LEN: usize = 3000;

impl Captured {
    fn new(plugin: &PluginUnderTest) -> Verdict<Self> {
        let stream = plugin.stream(0)?;
        if stream == 0 {
            return skipped("the plugin has no stream but the default one");
        }
        let memory =
            [plugin.filled(0, &pattern(LEN, 1))?, plugin.filled(0, &[0; LEN])?, plugin.filled(0, &[0; LEN])?];
        begin(plugin, stream)?;
        plugin.queue_copy(stream, &memory[1], &memory[0])?;
        plugin.queue_copy(stream, &memory[2], &memory[1])?;
        let graph = end(plugin, stream)?;
        Ok(Self { stream, memory, graph })
    }

    fn end(self, plugin: &PluginUnderTest, exec: Option<u64>) -> Verdict {
        give_back(plugin, self.graph, exec)?;
        self.memory.into_iter().try_for_each(|memory| plugin.free(memory))?;
        plugin.destroy_stream(0, self.stream)
    }
}

fn does_not_run(plugin: &PluginUnderTest) -> Verdict {
    let captured = Captured::new(plugin)?;
    plugin.synchronize_stream(0, captured.stream)?;
    plugin.expect(
        &captured.memory[2],
        0,
        &[0; LEN],
        "memory that a captured copy writes, before any launch",
    )?;
    captured.end(plugin, None)
}

fn replay(plugin: &PluginUnderTest) -> Verdict {
    let captured = Captured::new(plugin)?;
    let exec = instantiate(plugin, captured.graph)?;
    for round in 2..6 {
        plugin.write(&captured.memory[0], 0, &pattern(LEN, round))?;
        plugin.write(&captured.memory[1], 0, &[0; LEN])?;
        launch(plugin, exec, captured.stream)?;
        plugin.synchronize_stream(0, captured.stream)?;
        let what = format!("what the graph copies, launch {}", round - 1);
        plugin.expect(&captured.memory[2], 0, &pattern(LEN, round), &what)?;
    }
    captured.end(plugin, Some(exec))
}

fn order(plugin: &PluginUnderTest) -> Verdict {
    let captured = Captured::new(plugin)?;
    let exec = instantiate(plugin, captured.graph)?;
    let (source, result) = (plugin.filled(0, &pattern(LEN, 9))?, plugin.filled(0, &[0; LEN])?);
    plugin.queue_copy(captured.stream, &captured.memory[0], &source)?;
    launch(plugin, exec, captured.stream)?;
    plugin.queue_copy(captured.stream, &result, &captured.memory[2])?;
    launch(plugin, exec, captured.stream)?;
    plugin.synchronize_stream(0, captured.stream)?;
    plugin.expect(
        &result,
        0,
        &pattern(LEN, 9),
        "a copy before a launch, the launch, and a copy behind it",
    )?;
    plugin.free(source)?;
    plugin.free(result)?;
    captured.end(plugin, Some(exec))
}

fn two_streams(plugin: &PluginUnderTest) -> Verdict {
    let (first, second) = (plugin.stream(0)?, plugin.stream(0)?);
    let (fork, join) = (plugin.event(0)?, plugin.event(0)?);
    let memory =
        [plugin.filled(0, &pattern(LEN, 1))?, plugin.filled(0, &[0; LEN])?, plugin.filled(0, &[0; LEN])?];
    begin(plugin, first)?;
    plugin.queue_copy(first, &memory[1], &memory[0])?;
    plugin.record(0, first, fork)?;
    plugin.wait_event(0, second, fork)?;
    plugin.queue_copy(second, &memory[2], &memory[1])?;
    plugin.record(0, second, join)?;
    plugin.wait_event(0, first, join)?;
    let graph = end(plugin, first)?;
    plugin.synchronize_stream(0, second)?;
    plugin.expect(
        &memory[2],
        0,
        &[0; LEN],
        "memory that a copy of the second stream writes, before any launch",
    )?;
    let exec = instantiate(plugin, graph)?;
    for _ in 0..2 {
        plugin.write(&memory[2], 0, &[0; LEN])?;
        launch(plugin, exec, first)?;
        plugin.synchronize_stream(0, first)?;
        plugin.expect(
            &memory[2],
            0,
            &pattern(LEN, 1),
            "what two captured streams copy, one behind the other",
        )?;
    }
    give_back(plugin, graph, Some(exec))?;
    memory.into_iter().try_for_each(|memory| plugin.free(memory))?;
    for event in [fork, join] {
        plugin.destroy_event(0, event)?;
    }
    plugin.destroy_stream(0, first)?;
    plugin.destroy_stream(0, second)
}

fn count(plugin: &PluginUnderTest, graph: u64) -> Verdict<usize> {
    let mut count = usize::MAX;
    plugin.ok(CudaGraphGetNodes, &[graph, 0, address(&mut count)])?;
    Ok(count)
}

fn nodes(plugin: &PluginUnderTest) -> Verdict {
    let captured = Captured::new(plugin)?;
    let found = count(plugin, captured.graph)?;
    ensure!((1..1000).contains(&found), "a graph of two copies has {found} nodes");
    let mut nodes = vec![0_u64; found + 1];
    let mut room = found;
    let start = nodes.as_mut_ptr().expose_provenance() as u64;
    plugin.ok(CudaGraphGetNodes, &[captured.graph, start, address(&mut room)])?;
    ensure!(room == found, "counted {found} nodes, and wrote {room}");
    ensure!(nodes[found] == 0, "wrote more than the {found} nodes that there was room for");
    ensure!(nodes[..found].iter().all(|node| *node != 0), "some of the {found} nodes are null");
    captured.end(plugin, None)
}

fn empty(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    begin(plugin, stream)?;
    let graph = end(plugin, stream)?;
    let found = count(plugin, graph)?;
    ensure!(found == 0, "a graph without work has {found} nodes");
    give_back(plugin, graph, None)?;
    plugin.destroy_stream(0, stream)
}

fn destroyed(plugin: &PluginUnderTest) -> Verdict {
    let captured = Captured::new(plugin)?;
    let exec = instantiate(plugin, captured.graph)?;
    plugin.ok(CudaGraphDestroy, &[captured.graph])?;
    launch(plugin, exec, captured.stream)?;
    plugin.ok(CudaGraphExecDestroy, &[exec])?;
    plugin.synchronize_stream(0, captured.stream)?;
    let what = "a launch whose graph was destroyed before, and whose executable graph right after";
    plugin.expect(&captured.memory[2], 0, &pattern(LEN, 1), what)?;
    captured.memory.into_iter().try_for_each(|memory| plugin.free(memory))?;
    plugin.destroy_stream(0, captured.stream)
}

fn status(plugin: &PluginUnderTest, stream: u64) -> Verdict<CaptureStatus> {
    let mut status = CaptureStatus(-1);
    let arguments = [id(0), stream, address(&mut status), 0, 0, 0, 0, 0];
    plugin.ok(CudaStreamCaptureInfo, &arguments)?;
    Ok(status)
}

fn info(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    begin(plugin, stream)?;
    let during = status(plugin, stream)?;
    let graph = end(plugin, stream)?;
    let after = status(plugin, stream)?;
    ensure!(during == CaptureStatus::ACTIVE, "a stream that captures says {during:?}");
    ensure!(after == CaptureStatus::NONE, "a stream whose capture was ended says {after:?}");
    give_back(plugin, graph, None)?;
    plugin.destroy_stream(0, stream)
}

fn default_stream(plugin: &PluginUnderTest) -> Verdict {
    let arguments = [id(0), 0, CaptureMode::RELAXED.0 as u64];
    plugin.refused(CudaStreamBeginCapture, &arguments, "the default stream")
}

fn twice(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    begin(plugin, stream)?;
    let arguments = [id(0), stream, CaptureMode::RELAXED.0 as u64];
    plugin.refused(CudaStreamBeginCapture, &arguments, "a stream that captures already")
}

fn no_begin(plugin: &PluginUnderTest) -> Verdict {
    let (stream, mut graph) = (plugin.stream(0)?, 0_u64);
    let arguments = [id(0), stream, address(&mut graph)];
    plugin.refused(CudaStreamEndCapture, &arguments, "a stream that does not capture")?;
    plugin.destroy_stream(0, stream)
}

fn unknown_device(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let unknown = plugin.device_count();
    let arguments = [id(unknown), stream, CaptureMode::RELAXED.0 as u64];
    plugin.refused(CudaStreamBeginCapture, &arguments, &format!("device {unknown} of {unknown}"))
}

fn mode(plugin: &PluginUnderTest) -> Verdict {
    let exchange = |mode: CaptureMode| {
        let mut place = mode;
        plugin.ok(CudaThreadExchangeStreamCaptureMode, &[address(&mut place)])?;
        Ok(place)
    };
    let first = exchange(CaptureMode::RELAXED)?;
    let second = exchange(CaptureMode::THREAD_LOCAL)?;
    let third = exchange(first)?;
    let given = [second, third];
    ensure!(
        given == [CaptureMode::RELAXED, CaptureMode::THREAD_LOCAL],
        "set `relaxed` and `thread_local`, and was given {given:?}"
    );
    Ok(())
}

fn picture(plugin: &PluginUnderTest) -> Verdict {
    let captured = Captured::new(plugin)?;
    let path = std::env::temp_dir().join(format!("conformance-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_string_lossy().into_owned()).unwrap_or_default();
    let arguments = [captured.graph, name.as_ptr().expose_provenance() as u64, 0];
    let printed = plugin.ok(CudaGraphDebugDotPrint, &arguments);
    let text = std::fs::read_to_string(&path);
    // If it was never written, the next line reports it.
    let _ = std::fs::remove_file(&path);
    printed?;
    let is_dot = text.as_ref().is_ok_and(|text| text.contains("graph"));
    ensure!(is_dot, "the file holds {text:?}, which is not DOT");
    captured.end(plugin, None)
}

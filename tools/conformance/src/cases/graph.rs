//! Work that is captured and run again.

use tenon::device::Function::{
    self, AsyncMemoryCopyD2d, CudaGraphDebugDotPrint, CudaGraphDestroy, CudaGraphExecDestroy,
    CudaGraphGetNodes, CudaGraphInstantiate, CudaGraphLaunch, CudaStreamBeginCapture, CudaStreamCaptureInfo,
    CudaStreamEndCapture, CudaThreadExchangeStreamCaptureMode, RecordEvent, StreamWaitEvent,
};
use tenon::device::{CaptureMode, CaptureStatus, Status};

use crate::case::{Case, Level, Verdict, ensure, failed, skipped};
use crate::subject::{Memory, Subject, address, id, pattern, told};

/// What every capture needs.
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
            .spec("cuda_graph_launch", "which runs after what is in the stream and before what follows"),
        case("graph.two-streams", two_streams).of([CudaStreamBeginCapture, RecordEvent, StreamWaitEvent]).spec(
            "cuda_stream_begin_capture",
            "An event that is recorded while the stream captures, and that another stream waits for, draws that stream into the capture.",
        ),
        case("graph.nodes", nodes)
            .of([CudaGraphGetNodes])
            .spec("cuda_graph_get_nodes", "With null for `nodes` it only counts"),
        case("graph.empty", empty)
            .of([CudaStreamEndCapture, CudaGraphGetNodes])
            .spec("cuda_stream_end_capture", "A graph without nodes is a success."),
        case("graph.destroyed-before-launch", destroyed)
            .of([CudaGraphDestroy, CudaGraphExecDestroy])
            .spec("cuda_graph_destroy", "Executable graphs that were made from it stay valid."),
        case("graph.info", info)
            .of([CudaStreamCaptureInfo])
            .spec("cuda_stream_capture_info", "PaddlePaddle asks right after `cuda_stream_begin_capture`, for the status alone"),
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
            "Sets the capture mode of the calling thread and gives the one from before.",
        ),
        case("graph.picture", picture)
            .of([CudaGraphDebugDotPrint])
            .spec("cuda_graph_debug_dot_print", "Writes a picture of the graph to a file, in the language DOT."),
    ]
}

fn begin(subject: &Subject, stream: u64) -> Verdict {
    match subject.call(CudaStreamBeginCapture, &[id(0), stream, CaptureMode::RELAXED.0 as u64])? {
        Status::SUCCESS => Ok(()),
        // A device without graphs has to say so: where the pointer is null, a host takes that for a success.
        Status::FAILED => skipped("`cuda_stream_begin_capture` says that the stream cannot capture"),
        status => failed(format!("`cuda_stream_begin_capture` answered {}", told(status))),
    }
}

fn end(subject: &Subject, stream: u64) -> Verdict<u64> {
    let mut graph = u64::MAX;
    subject.ok(CudaStreamEndCapture, &[id(0), stream, address(&mut graph)])?;
    ensure!(graph != u64::MAX, "`cuda_stream_end_captrue` answered `success` and wrote no graph");
    Ok(graph)
}

fn instantiate(subject: &Subject, mut graph: u64) -> Verdict<u64> {
    let mut exec = u64::MAX;
    subject.ok(CudaGraphInstantiate, &[address(&mut exec), address(&mut graph), 0, 0, 0])?;
    ensure!(exec != u64::MAX, "`cuda_graph_instantiate` answered `success` and wrote no graph");
    Ok(exec)
}

fn launch(subject: &Subject, exec: u64, stream: u64) -> Verdict {
    subject.ok(CudaGraphLaunch, &[id(0), exec, stream])
}

fn give_back(subject: &Subject, graph: u64, exec: Option<u64>) -> Verdict {
    if let Some(exec) = exec.filter(|_| subject.answers(CudaGraphExecDestroy)) {
        subject.ok(CudaGraphExecDestroy, &[exec])?;
    }
    if subject.answers(CudaGraphDestroy) { subject.ok(CudaGraphDestroy, &[graph]) } else { Ok(()) }
}

/// Three pieces of memory, and a graph that copies the first to the second and that to the third.
struct Captured {
    stream: u64,
    memory: [Memory; 3],
    graph: u64,
}

const LEN: usize = 3000;

impl Captured {
    fn new(subject: &Subject) -> Verdict<Self> {
        let stream = subject.stream(0)?;
        if stream == 0 {
            return skipped("the plugin has no stream but the default one");
        }
        let memory = [
            subject.filled(0, &pattern(LEN, 1))?,
            subject.filled(0, &[0; LEN])?,
            subject.filled(0, &[0; LEN])?,
        ];
        begin(subject, stream)?;
        subject.queue_copy(stream, &memory[1], &memory[0])?;
        subject.queue_copy(stream, &memory[2], &memory[1])?;
        let graph = end(subject, stream)?;
        Ok(Self { stream, memory, graph })
    }

    fn end(self, subject: &Subject, exec: Option<u64>) -> Verdict {
        give_back(subject, self.graph, exec)?;
        self.memory.into_iter().try_for_each(|memory| subject.free(memory))?;
        subject.destroy_stream(0, self.stream)
    }
}

fn does_not_run(subject: &Subject) -> Verdict {
    let captured = Captured::new(subject)?;
    subject.synchronize_stream(0, captured.stream)?;
    subject.expect(
        &captured.memory[2],
        0,
        &[0; LEN],
        "memory that a captured copy writes, before any launch",
    )?;
    captured.end(subject, None)
}

fn replay(subject: &Subject) -> Verdict {
    let captured = Captured::new(subject)?;
    let exec = instantiate(subject, captured.graph)?;
    for round in 2..6 {
        subject.write(&captured.memory[0], 0, &pattern(LEN, round))?;
        subject.write(&captured.memory[1], 0, &[0; LEN])?;
        launch(subject, exec, captured.stream)?;
        subject.synchronize_stream(0, captured.stream)?;
        let what = format!("what the graph copies, launch {}", round - 1);
        subject.expect(&captured.memory[2], 0, &pattern(LEN, round), &what)?;
    }
    captured.end(subject, Some(exec))
}

fn order(subject: &Subject) -> Verdict {
    let captured = Captured::new(subject)?;
    let exec = instantiate(subject, captured.graph)?;
    let (source, result) = (subject.filled(0, &pattern(LEN, 9))?, subject.filled(0, &[0; LEN])?);
    subject.queue_copy(captured.stream, &captured.memory[0], &source)?;
    launch(subject, exec, captured.stream)?;
    subject.queue_copy(captured.stream, &result, &captured.memory[2])?;
    launch(subject, exec, captured.stream)?;
    subject.synchronize_stream(0, captured.stream)?;
    subject.expect(
        &result,
        0,
        &pattern(LEN, 9),
        "a copy before a launch, the launch, and a copy behind it",
    )?;
    subject.free(source)?;
    subject.free(result)?;
    captured.end(subject, Some(exec))
}

fn two_streams(subject: &Subject) -> Verdict {
    let (first, second) = (subject.stream(0)?, subject.stream(0)?);
    let (fork, join) = (subject.event(0)?, subject.event(0)?);
    let memory =
        [subject.filled(0, &pattern(LEN, 1))?, subject.filled(0, &[0; LEN])?, subject.filled(0, &[0; LEN])?];
    begin(subject, first)?;
    subject.queue_copy(first, &memory[1], &memory[0])?;
    subject.record(0, first, fork)?;
    subject.wait_event(0, second, fork)?;
    subject.queue_copy(second, &memory[2], &memory[1])?;
    subject.record(0, second, join)?;
    subject.wait_event(0, first, join)?;
    let graph = end(subject, first)?;
    subject.synchronize_stream(0, second)?;
    subject.expect(
        &memory[2],
        0,
        &[0; LEN],
        "memory that a copy of the second stream writes, before any launch",
    )?;
    let exec = instantiate(subject, graph)?;
    for _ in 0..2 {
        subject.write(&memory[2], 0, &[0; LEN])?;
        launch(subject, exec, first)?;
        subject.synchronize_stream(0, first)?;
        subject.expect(
            &memory[2],
            0,
            &pattern(LEN, 1),
            "what two captured streams copy, one behind the other",
        )?;
    }
    give_back(subject, graph, Some(exec))?;
    memory.into_iter().try_for_each(|memory| subject.free(memory))?;
    for event in [fork, join] {
        subject.destroy_event(0, event)?;
    }
    subject.destroy_stream(0, first)?;
    subject.destroy_stream(0, second)
}

fn count(subject: &Subject, graph: u64) -> Verdict<usize> {
    let mut count = usize::MAX;
    subject.ok(CudaGraphGetNodes, &[graph, 0, address(&mut count)])?;
    Ok(count)
}

fn nodes(subject: &Subject) -> Verdict {
    let captured = Captured::new(subject)?;
    let found = count(subject, captured.graph)?;
    ensure!((1..1000).contains(&found), "a graph of two copies has {found} nodes");
    let mut nodes = vec![0_u64; found + 1];
    let mut room = found;
    let start = nodes.as_mut_ptr().expose_provenance() as u64;
    subject.ok(CudaGraphGetNodes, &[captured.graph, start, address(&mut room)])?;
    ensure!(room == found, "counted {found} nodes, and wrote {room}");
    ensure!(nodes[found] == 0, "wrote more than the {found} nodes that there was room for");
    ensure!(nodes[..found].iter().all(|node| *node != 0), "some of the {found} nodes are null");
    captured.end(subject, None)
}

fn empty(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    begin(subject, stream)?;
    let graph = end(subject, stream)?;
    let found = count(subject, graph)?;
    ensure!(found == 0, "a graph without work has {found} nodes");
    give_back(subject, graph, None)?;
    subject.destroy_stream(0, stream)
}

fn destroyed(subject: &Subject) -> Verdict {
    let captured = Captured::new(subject)?;
    let exec = instantiate(subject, captured.graph)?;
    subject.ok(CudaGraphDestroy, &[captured.graph])?;
    launch(subject, exec, captured.stream)?;
    subject.ok(CudaGraphExecDestroy, &[exec])?;
    subject.synchronize_stream(0, captured.stream)?;
    let what = "a launch whose graph was destroyed before, and whose executable graph right after";
    subject.expect(&captured.memory[2], 0, &pattern(LEN, 1), what)?;
    captured.memory.into_iter().try_for_each(|memory| subject.free(memory))?;
    subject.destroy_stream(0, captured.stream)
}

fn status(subject: &Subject, stream: u64) -> Verdict<CaptureStatus> {
    let mut status = CaptureStatus(-1);
    let arguments = [id(0), stream, address(&mut status), 0, 0, 0, 0, 0];
    subject.ok(CudaStreamCaptureInfo, &arguments)?;
    Ok(status)
}

fn info(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    begin(subject, stream)?;
    let during = status(subject, stream)?;
    let graph = end(subject, stream)?;
    let after = status(subject, stream)?;
    ensure!(during == CaptureStatus::ACTIVE, "a stream that captures says {during:?}");
    ensure!(after == CaptureStatus::NONE, "a stream whose capture was ended says {after:?}");
    give_back(subject, graph, None)?;
    subject.destroy_stream(0, stream)
}

fn default_stream(subject: &Subject) -> Verdict {
    let arguments = [id(0), 0, CaptureMode::RELAXED.0 as u64];
    subject.refused(CudaStreamBeginCapture, &arguments, "the default stream")
}

fn twice(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    begin(subject, stream)?;
    let arguments = [id(0), stream, CaptureMode::RELAXED.0 as u64];
    subject.refused(CudaStreamBeginCapture, &arguments, "a stream that captures already")
}

fn no_begin(subject: &Subject) -> Verdict {
    let (stream, mut graph) = (subject.stream(0)?, 0_u64);
    let arguments = [id(0), stream, address(&mut graph)];
    subject.refused(CudaStreamEndCapture, &arguments, "a stream that does not capture")?;
    subject.destroy_stream(0, stream)
}

fn unknown_device(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let unknown = subject.device_count();
    let arguments = [id(unknown), stream, CaptureMode::RELAXED.0 as u64];
    subject.refused(CudaStreamBeginCapture, &arguments, &format!("device {unknown} of {unknown}"))
}

fn mode(subject: &Subject) -> Verdict {
    let exchange = |mode: CaptureMode| {
        let mut place = mode;
        subject.ok(CudaThreadExchangeStreamCaptureMode, &[address(&mut place)])?;
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

fn picture(subject: &Subject) -> Verdict {
    let captured = Captured::new(subject)?;
    let path = std::env::temp_dir().join(format!("conformance-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_string_lossy().into_owned()).unwrap_or_default();
    let arguments = [captured.graph, name.as_ptr().expose_provenance() as u64, 0];
    let printed = subject.ok(CudaGraphDebugDotPrint, &arguments);
    let text = std::fs::read_to_string(&path);
    // Where it was never written, the next line says so.
    let _ = std::fs::remove_file(&path);
    printed?;
    let is_dot = text.as_ref().is_ok_and(|text| text.contains("graph"));
    ensure!(is_dot, "the file holds {text:?}, which is no DOT");
    captured.end(subject, None)
}

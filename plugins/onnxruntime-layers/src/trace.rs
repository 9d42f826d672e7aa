//! The layer `trace`: a file with the calls, in the trace event format, which Perfetto and Chrome show.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use serde_json::json;
use tenon::support::Mutex;

/// The function whose calls have the name of their node, so that a timeline shows the model.
const COMPUTE: &str = "OrtKernelImpl::Compute";

static TRACE: OnceLock<Trace> = OnceLock::new();

struct Trace {
    begin: Instant,
    /// Not buffered: the provider may end the process at any time.
    file: Mutex<File>,
}

/// A call between its begin and its end.
#[derive(Debug)]
pub(crate) struct Call {
    node: Option<String>,
    function: &'static str,
    begin: Option<Instant>,
    bytes: Option<usize>,
}

/// Begins the file. It is complete when the process ends by `exit`, and readable when it does not.
pub(crate) fn open(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    write!(
        file,
        "[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":\"ONNX Runtime\"}}}}",
        std::process::id()
    )?;
    if TRACE.set(Trace { begin: Instant::now(), file: Mutex::new(file) }).is_ok() {
        extern "C" fn close() {
            if let Some(trace) = TRACE.get() {
                let mut file = trace.file.lock();
                // Nobody is left who could be told of a failure.
                let _ = file.write_all(b"\n]\n");
            }
        }
        // SAFETY: the function takes no arguments, and the library stays loaded.
        unsafe { libc::atexit(close) };
    }
    Ok(())
}

impl Call {
    /// Begins a call of a function. `node` is the node of the model that it is about, if it is known.
    pub(crate) fn begin(function: &'static str, node: Option<&str>) -> Self {
        let begin = TRACE.get().map(|_| Instant::now());
        let node = node.filter(|node| begin.is_some() && !node.is_empty()).map(str::to_owned);
        Self { node, function, begin, bytes: None }
    }

    /// Adds the number of bytes that it is about.
    pub(crate) fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// Ends the call, and writes it.
    pub(crate) fn end(self, has_succeeded: bool) {
        let (Some(trace), Some(begin)) = (TRACE.get(), self.begin) else { return };
        let microseconds = |time: std::time::Duration| time.as_nanos() as f64 / 1e3;
        let status = if has_succeeded { "success" } else { "failed" };
        let mut args = json!({ "function": self.function, "status": status });
        if let Some(bytes) = self.bytes {
            args["bytes"] = bytes.into();
        }
        let name = self.node.as_deref().filter(|_| self.function == COMPUTE).unwrap_or(self.function);
        if let Some(node) = &self.node {
            args["node"] = node.as_str().into();
        }
        // SAFETY: asks for a number.
        let thread = unsafe { libc::gettid() };
        let event = json!({
            "name": name,
            "cat": "provider",
            "ph": "X",
            "ts": microseconds(begin.duration_since(trace.begin)),
            "dur": microseconds(begin.elapsed()),
            "pid": std::process::id(),
            "tid": thread,
            "args": args,
        });
        // A full disk must not end the program.
        let _ = trace.file.lock().write_all(format!(",\n{event}").as_bytes());
    }
}

//! The CPU device as an execution provider of ONNX Runtime: `libtenon_onnxruntime_cpu.so`, one file for every release from 1.24 on.

use std::num::NonZero;
use std::sync::LazyLock;

use cpu_operators::{CpuOperators, Threads};
use tenon::device::Plugin as _;
use tenon_cpu::Cpu;
use tenon_onnxruntime::Library;

tenon_onnxruntime::library!(@ library());

/// The variable that gives the device memory of its own.
const MEMORY: &str = "TENON_ONNXRUNTIME_MEMORY";

/// Returns the library to the host when it first needs it.
fn library() -> Library {
    if let Err(reason) = cpu_operators::use_onednn() {
        eprintln!("tenon: {reason}");
    }
    // One device, as other hosts of a CPU have: programs pass what `get_ep_devices` lists to a session.
    Cpu::instance().set_default_devices(1);
    let library = Library::with_operators::<Cpu>(&CpuOperators)
        .with_name("TenonCpuExecutionProvider")
        .with_vendor("Tenon", 0xFFFF)
        .with_version(env!("CARGO_PKG_VERSION"));
    // The device then works as one that the host cannot access: with copies and streams.
    if std::env::var_os(MEMORY).is_some_and(|memory| memory == "device") {
        cpu_operators::compute_on_streams();
        cpu_operators::use_device_threads();
        return library;
    }
    cpu_operators::ignore_streams();
    cpu_operators::use_threads(&SessionThreads);
    // SAFETY: the operators of the CPU device compute in host memory, and at once, since they ignore streams.
    unsafe { library.with_host_memory() }
}

/// The threads of the session that computes a node.
struct SessionThreads;

impl Threads for SessionThreads {
    /// Returns the number of cores: a session does not tell how many threads it has.
    fn count(&self) -> usize {
        static CORES: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
        *CORES
    }

    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        tenon_onnxruntime::share(parts, work);
    }
}

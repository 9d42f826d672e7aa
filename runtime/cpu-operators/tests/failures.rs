//! Kernels that fail after their calls have returned.

use std::env;
use std::process::Command;
use tenon_operators::attributes::SumAttributes;

use cpu_operators::CpuOperators;
use tenon::DevicePtr;
use tenon::device::{DataType, Device, DeviceId, Plugin, Result};
use tenon_cpu::Cpu;
use tenon_operators::{Indexing, Launch, Layout, Reduction, TensorMut, TensorRef};

const DEVICE: DeviceId = DeviceId(0);

/// Set in the process whose kernel fails.
const CHILD: &str = "FAILING_KERNEL";

/// More elements than operators compute before their calls return.
const LEN: usize = 1 << 16;

#[test]
fn failed_kernel_on_a_stream_says_why_on_standard_error() {
    let test = "failed_kernel_on_a_stream_says_why_on_standard_error";
    expect_line(test, "the operator sum failed after its call had returned: axis 3", |launch, out, x| {
        CpuOperators.sum(launch, out, x, &SumAttributes { axis: &[3], keep_dim: false, reduce_all: false })
    });
}

#[test]
fn index_out_of_range_is_reported_by_the_synchronisation_of_a_busy_stream() {
    let test = "index_out_of_range_is_reported_by_the_synchronisation_of_a_busy_stream";
    let beyond = [LEN as i64];
    let first = DevicePtr::from_ptr(beyond.as_ptr());
    // SAFETY: the index lives longer than the call, and is not written.
    let index = unsafe { TensorRef::new(first, DataType::INT64, Layout::new(&[], &[]).unwrap()) }.unwrap();
    let line =
        "the operator gather failed after its call had returned: the index 65536 is outside of a dimension";
    expect_line(test, line, |launch, out, x| CpuOperators.gather(launch, out, x, &index, 0));
}

/// Calls an operator on a busy stream in a process of its own, and expects what it says on standard error.
fn expect_line(
    test: &str,
    line: &str,
    call: impl Fn(Launch, &mut TensorMut<'_>, &TensorRef<'_>) -> Result<()>,
) {
    if env::var_os(CHILD).is_some() {
        return fail_on_a_stream(call);
    }
    let child = Command::new(env::current_exe().unwrap())
        .args(["--nocapture", "--exact", test])
        .envs([(CHILD, "1"), ("TENON_CPU_THREADS", "2"), ("TENON_LOG", "off")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}");
    assert!(said.contains(&format!("tenon: {line}")), "{said}");
    assert!(said.contains("; with TENON_CPU_THREADS=1 the call fails"), "{said}");
}

fn fail_on_a_stream(call: impl Fn(Launch, &mut TensorMut<'_>, &TensorRef<'_>) -> Result<()>) {
    cpu_operators::compute_on_streams();
    let cpu = Cpu::instance();
    let stream = cpu.create_stream(DEVICE).unwrap();
    let memory = cpu.device_memory_allocate(DEVICE, LEN * 4).unwrap();
    let (dims, no_dims) = ([LEN], []);
    // SAFETY: the memory is never freed, and has LEN floats.
    let x = unsafe { TensorRef::new(memory, DataType::FLOAT32, Layout::new(&dims, &[1]).unwrap()) }.unwrap();
    // SAFETY: as above.
    let mut out =
        unsafe { TensorMut::new(memory, DataType::FLOAT32, Layout::new(&no_dims, &[]).unwrap()) }.unwrap();
    call(Launch { device: DEVICE, stream }, &mut out, &x).unwrap();
    let error = cpu.synchronize_stream(DEVICE, stream).unwrap_err();
    assert!(error.to_string().contains("kernel"), "{error}");
}

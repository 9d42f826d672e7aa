//! Kernels that fail after their calls have returned.

use std::env;
use std::process::Command;

use tenon::device::{DataType, Device, DeviceId, Plugin};
use tenon::operators::{Launch, Layout, Reduction, TensorMut, TensorRef};
use tenon_cpu::Cpu;
use tenon_operators::CpuOperators;

const DEVICE: DeviceId = DeviceId(0);

/// Set in the process whose kernel fails.
const CHILD: &str = "FAILING_KERNEL";

/// More elements than operators compute before their calls return.
const LEN: usize = 1 << 16;

#[test]
fn failed_kernel_on_a_stream_says_why_on_standard_error() {
    if env::var_os(CHILD).is_some() {
        return fail_on_a_stream();
    }
    let child = Command::new(env::current_exe().unwrap())
        .args(["--nocapture", "--exact", "failed_kernel_on_a_stream_says_why_on_standard_error"])
        .envs([(CHILD, "1"), ("TENON_CPU_THREADS", "2"), ("TENON_LOG", "off")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}");
    let line = "tenon: the operator sum failed after its call had returned: axis 3";
    assert!(said.contains(line), "{said}");
}

fn fail_on_a_stream() {
    tenon_operators::compute_on_streams();
    let cpu = Cpu::instance();
    let stream = cpu.create_stream(DEVICE).unwrap();
    let memory = cpu.device_memory_allocate(DEVICE, LEN * 4).unwrap();
    let (dims, no_dims) = ([LEN], []);
    // SAFETY: the memory is never freed, and has LEN floats.
    let x = unsafe { TensorRef::new(memory, DataType::FLOAT32, Layout::new(&dims, &[1]).unwrap()) }.unwrap();
    // SAFETY: as above.
    let mut out =
        unsafe { TensorMut::new(memory, DataType::FLOAT32, Layout::new(&no_dims, &[]).unwrap()) }.unwrap();
    CpuOperators.sum(Launch { device: DEVICE, stream }, &mut out, &x, &[3], false, false).unwrap();
    let error = cpu.synchronize_stream(DEVICE, stream).unwrap_err();
    assert!(error.to_string().contains("axis 3"), "{error}");
}

//! A forked child, which has none of the device's threads.

use std::ffi::c_int;

use tenon::device::{Device, DeviceId};
use tenon_cpu::{Config, Cpu};

/// Runs work that needs the threads: two streams that wait for each other, and a callback.
fn compute(cpu: &Cpu) -> Result<(), Box<dyn std::error::Error>> {
    let device = DeviceId(0);
    let (first, second) = (cpu.create_stream(device)?, cpu.create_stream(device)?);
    let event = cpu.create_event(device)?;
    cpu.launch_callback(device, first, || Ok(()))?;
    cpu.record_event(device, first, event)?;
    cpu.stream_wait_event(device, second, event)?;
    cpu.synchronize_stream(device, second)?;
    cpu.synchronize_device(device)?;
    cpu.destroy_event(device, event)?;
    cpu.destroy_stream(device, first)?;
    Ok(cpu.destroy_stream(device, second)?)
}

/// The program of a test must have no other tests: a lock that one of their threads holds stays locked in the child.
#[test]
fn a_forked_child_does_the_work_on_its_own_thread() {
    let cpu = Cpu::with_config(Config { devices: 1, memory: 1 << 20, threads: 2 });
    cpu.initialize().unwrap();
    compute(&cpu).unwrap();
    // SAFETY: the child only runs the lines below, and ends without the destructors of the parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that waits for ever; the signal has its default action.
        unsafe { libc::alarm(60) };
        let code = compute(&cpu).map_or(1, |()| 0);
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    let mut status: c_int = 0;
    // SAFETY: the process is a child, and the address is that of an integer.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child ended with the wait status {status}");
    compute(&cpu).unwrap();
}

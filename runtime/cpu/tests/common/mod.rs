//! Helpers of several tests.
#![allow(dead_code)]

use std::sync::{Arc, Condvar, Mutex};
use tenon::DevicePtr;
use tenon::device::{CaptureMode, Device, DeviceId, Stream};
use tenon_cpu::{Config, Cpu};

pub const MIB: usize = 1 << 20;

/// Creates two devices of 64 MiB with two threads.
pub fn cpu() -> Cpu {
    cpu_with(64 * MIB)
}

pub fn cpu_with(memory: usize) -> Cpu {
    Cpu::with_config(Config { devices: 2, memory, threads: 2 })
}

/// Returns true if a call failed with this text in its message.
pub fn fails<T>(result: Result<T, impl ToString>, text: &str) -> bool {
    result.is_err_and(|error| error.to_string().contains(text))
}

/// Something that work waits at until the test lets it through.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub fn pass(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(open, |open| !*open).unwrap());
    }
}

/// Holds a stream back. It opens when the test ends, also by a panic, so that a failure does
/// not hang the test.
pub struct Block(Gate);

impl Block {
    pub fn open(&self) {
        self.0.open();
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.open();
    }
}

/// Blocks the stream until it is opened, on the callback thread, so that the pool stays free.
pub fn block(cpu: &Cpu, device: i32, stream: Stream) -> Block {
    let gate = Gate::default();
    let held = gate.clone();
    cpu.launch_callback(DeviceId(device), stream, move || {
        held.pass();
        Ok(())
    })
    .unwrap();
    Block(gate)
}

/// Log of values, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<usize>>>);

impl Log {
    pub fn push(&self, value: usize) {
        self.0.lock().unwrap().push(value);
    }

    pub fn read(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }

    pub fn writer(&self, value: usize) -> impl FnMut() -> Result<(), String> + Send + 'static + use<> {
        let log = self.clone();
        move || {
            log.push(value);
            Ok(())
        }
    }
}

/// Creates a stream of device 0 and begins to capture it.
pub fn begin_capture(cpu: &Cpu) -> Stream {
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    cpu.cuda_stream_begin_capture(DeviceId(0), stream, CaptureMode::GLOBAL).unwrap();
    stream
}

pub fn upload(cpu: &Cpu, device: i32, bytes: &[u8]) -> DevicePtr {
    let ptr = cpu.device_memory_allocate(DeviceId(device), bytes.len()).unwrap();
    cpu.memory_copy_h2d(DeviceId(device), ptr, bytes).unwrap();
    ptr
}

pub fn download(cpu: &Cpu, device: i32, ptr: DevicePtr, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    cpu.memory_copy_d2h(DeviceId(device), &mut bytes, ptr).unwrap();
    bytes
}

/// Bytes that repeat nowhere near.
pub fn pattern(size: usize, seed: usize) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(31).wrapping_add(at >> 8).wrapping_add(seed)) as u8).collect()
}

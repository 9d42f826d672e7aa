//! What several tests need.
#![allow(dead_code)]

use std::sync::{Arc, Condvar, Mutex};
use tenon::DevicePtr;
use tenon::device::Stream;
use tenon_cpu::{Config, Cpu};

pub const MIB: usize = 1 << 20;

/// Two devices of 64 MiB, two threads.
pub fn cpu() -> Cpu {
    cpu_with(64 * MIB)
}

pub fn cpu_with(memory: usize) -> Cpu {
    Cpu::with_config(Config { devices: 2, memory, threads: 2 })
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

/// What holds a stream back. It opens when the test ends, however it ends, so that a failure does
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
pub fn block(cpu: &Cpu, device: usize, stream: Stream) -> Block {
    let gate = Gate::default();
    let held = gate.clone();
    cpu.stream_add_callback(device, stream, move || {
        held.pass();
        Ok(())
    })
    .unwrap();
    Block(gate)
}

/// What happened, in order.
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

pub fn upload(cpu: &Cpu, device: usize, bytes: &[u8]) -> DevicePtr {
    let ptr = cpu.device_memory_allocate(device, bytes.len()).unwrap();
    cpu.memory_copy_h2d(device, ptr, bytes).unwrap();
    ptr
}

pub fn download(cpu: &Cpu, device: usize, ptr: DevicePtr, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    cpu.memory_copy_d2h(device, &mut bytes, ptr).unwrap();
    bytes
}

/// Bytes that repeat nowhere near.
pub fn pattern(size: usize, seed: usize) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(31).wrapping_add(at >> 8).wrapping_add(seed)) as u8).collect()
}

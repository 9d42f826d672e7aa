//! Random programs on many streams, against the same programs done one step after the other.
//!
//! A program's steps touch buffers. If two steps on different streams use the same buffer, and one of them
//! writes, the test puts an event between them, as a correct program must; so the outcome is that of doing
//! the steps in their order, whatever the streams do.
#![cfg(not(loom))]

mod common;

use common::{MIB, cpu_with, download, pattern};
use proptest::collection::vec;
use proptest::prelude::*;
use tenon::DevicePtr;
use tenon::device::{CaptureMode, Device, DeviceId, Event, Stream};
use tenon_cpu::{Cpu, INLINE_BYTES};

const STREAMS: usize = 5;
const BUFFERS: usize = 6;

#[derive(Debug, Clone)]
enum Step {
    Fill {
        to: usize,
        value: u8,
    },
    Copy {
        to: usize,
        from: usize,
    },
    Kernel {
        to: usize,
        from: usize,
    },
    Callback {
        to: usize,
    },
    /// Free the buffer without waiting, and allocate it again. Its content is set at once.
    Renew {
        to: usize,
    },
    SyncStream,
    SyncEvent {
        to: usize,
    },
    SyncDevice,
    /// Destroy the stream without waiting, and create it again.
    NewStream,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let buffer = 0..BUFFERS;
    let step = prop_oneof![
        4 => (buffer.clone(), any::<u8>()).prop_map(|(to, value)| Step::Fill { to, value }),
        6 => (buffer.clone(), buffer.clone()).prop_map(|(to, from)| Step::Copy { to, from }),
        6 => (buffer.clone(), buffer.clone()).prop_map(|(to, from)| Step::Kernel { to, from }),
        3 => buffer.clone().prop_map(|to| Step::Callback { to }),
        2 => buffer.clone().prop_map(|to| Step::Renew { to }),
        1 => Just(Step::SyncStream),
        1 => buffer.prop_map(|to| Step::SyncEvent { to }),
        1 => Just(Step::SyncDevice),
        1 => Just(Step::NewStream),
    ];
    vec((0..STREAMS, step), 1..120)
}

/// Runs the body of the kernels: reads one buffer, changes the other.
fn mix(to: &mut [u8], from: &[u8]) {
    for (a, b) in to.iter_mut().zip(from) {
        *a = a.wrapping_mul(5).wrapping_add(*b).wrapping_add(1);
    }
}

/// Computes the outcome, one step after the other.
fn expected(steps: &[(usize, Step)], buffers: &mut [Vec<u8>]) {
    for (_, step) in steps {
        match *step {
            Step::Fill { to, value } => buffers[to].fill(value),
            Step::Copy { to, from } => buffers[to] = buffers[from].clone(),
            Step::Kernel { to, from } => {
                let from = buffers[from].clone();
                mix(&mut buffers[to], &from);
            }
            Step::Callback { to } => buffers[to].iter_mut().for_each(|byte| *byte ^= 0x5a),
            Step::Renew { to } => buffers[to].fill(0x11),
            Step::SyncStream | Step::SyncEvent { .. } | Step::SyncDevice | Step::NewStream => {}
        }
    }
}

/// Events after the last write of a buffer and after the reads since.
#[derive(Default, Clone)]
struct Uses {
    write: Option<(usize, Event)>,
    reads: Vec<(usize, Event)>,
}

struct Machine<'a> {
    cpu: &'a Cpu,
    size: usize,
    streams: Vec<Stream>,
    buffers: Vec<DevicePtr>,
    uses: Vec<Uses>,
    events: Vec<Event>,
}

/// Buffers live on both devices in turn.
fn device_of(buffer: usize) -> i32 {
    i32::from(buffer % 2 == 1)
}

impl<'a> Machine<'a> {
    fn new(cpu: &'a Cpu, size: usize) -> Self {
        let mut machine = Self {
            cpu,
            size,
            streams: (0..STREAMS).map(|_| cpu.create_stream(DeviceId(0)).unwrap()).collect(),
            buffers: Vec::new(),
            uses: vec![Uses::default(); BUFFERS],
            events: Vec::new(),
        };
        for buffer in 0..BUFFERS {
            let ptr = cpu.device_memory_allocate(DeviceId(device_of(buffer)), size).unwrap();
            cpu.memory_copy_h2d(DeviceId(device_of(buffer)), ptr, &pattern(size, buffer)).unwrap();
            machine.buffers.push(ptr);
        }
        machine
    }

    fn wait(&self, stream: usize, (by, event): (usize, Event)) {
        if by != stream {
            self.cpu.stream_wait_event(DeviceId(0), self.streams[stream], event).unwrap();
        }
    }

    /// Runs `work` on the stream, after all work that it depends on.
    fn ordered(&mut self, stream: usize, to: usize, from: Option<usize>, work: impl FnOnce(&Self, Stream)) {
        for read in self.uses[to].reads.clone() {
            self.wait(stream, read);
        }
        for buffer in [Some(to), from].into_iter().flatten() {
            if let Some(write) = self.uses[buffer].write {
                self.wait(stream, write);
            }
        }
        work(self, self.streams[stream]);
        let event = self.cpu.create_event(DeviceId(0)).unwrap();
        self.cpu.record_event(DeviceId(0), self.streams[stream], event).unwrap();
        self.events.push(event);
        if let Some(from) = from.filter(|&from| from != to) {
            self.uses[from].reads.push((stream, event));
        }
        self.uses[to] = Uses { write: Some((stream, event)), reads: Vec::new() };
    }

    fn step(&mut self, stream: usize, step: &Step) {
        let (cpu, size) = (self.cpu, self.size);
        match *step {
            Step::Fill { to, value } => self.ordered(stream, to, None, |own, on| {
                let from = if device_of(to) == 0 { own.buffers[to] } else { DevicePtr::from_addr(0) };
                if device_of(to) == 0 {
                    cpu.async_memory_fill(DeviceId(0), on, from, &[value], size).unwrap();
                } else {
                    // A stream of device 0 cannot fill memory of device 1 but by a kernel.
                    let ptr = own.buffers[to].addr();
                    cpu.launch_kernel(DeviceId(0), on, "fill", move || {
                        // SAFETY: the events order all uses of the buffer.
                        unsafe { (ptr as *mut u8).write_bytes(value, size) };
                        Ok(())
                    })
                    .unwrap();
                }
            }),
            Step::Copy { to, from } => self.ordered(stream, to, Some(from), |own, on| {
                let (dst, src) = (own.buffers[to], own.buffers[from]);
                match (device_of(to), device_of(from)) {
                    (0, 0) => cpu.async_memory_copy_d2d(DeviceId(0), on, dst, src, size).unwrap(),
                    (a, b) if a != b => {
                        cpu.async_memory_copy_p2p(DeviceId(a), DeviceId(b), on, dst, src, size).unwrap()
                    }
                    _ => own.kernel(on, dst, src, |to, from| to.copy_from_slice(from)),
                }
            }),
            Step::Kernel { to, from } => self.ordered(stream, to, Some(from), |own, on| {
                own.kernel(on, own.buffers[to], own.buffers[from], mix);
            }),
            Step::Callback { to } => self.ordered(stream, to, None, |own, on| {
                let ptr = own.buffers[to].addr();
                cpu.launch_callback(DeviceId(0), on, move || {
                    // SAFETY: the events order all uses of the buffer.
                    let bytes = unsafe { std::slice::from_raw_parts_mut(ptr as *mut u8, size) };
                    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
                    Ok(())
                })
                .unwrap();
            }),
            Step::Renew { to } => self.renew(to),
            Step::SyncStream => cpu.synchronize_stream(DeviceId(0), self.streams[stream]).unwrap(),
            Step::SyncEvent { to } => {
                if let Some((_, event)) = self.uses[to].write {
                    cpu.synchronize_event(DeviceId(0), event).unwrap();
                    assert!(cpu.query_event(DeviceId(0), event).unwrap());
                }
            }
            Step::SyncDevice => cpu.synchronize_device(DeviceId(0)).unwrap(),
            Step::NewStream => {
                cpu.destroy_stream(DeviceId(0), self.streams[stream]).unwrap();
                self.streams[stream] = cpu.create_stream(DeviceId(0)).unwrap();
                // The old stream's work is not before the new one's any more.
                for uses in &mut self.uses {
                    let all = uses.reads.iter_mut().chain(&mut uses.write);
                    all.filter(|(by, _)| *by == stream).for_each(|(by, _)| *by = usize::MAX);
                }
            }
        }
    }

    /// Replaces a buffer by a new block.
    ///
    /// The new block is not the old one while queued work may use that, so no event is needed. Kernels of device 0 that
    /// use memory of device 1 are not seen by a free there.
    fn renew(&mut self, to: usize) {
        let device = device_of(to);
        if device == 1 {
            self.cpu.synchronize_device(DeviceId(0)).unwrap();
        }
        self.cpu.device_memory_deallocate(DeviceId(device), self.buffers[to], self.size).unwrap();
        let ptr = self.cpu.device_memory_allocate(DeviceId(device), self.size).unwrap();
        self.cpu.device_memory_set(DeviceId(device), ptr, 0x11, self.size).unwrap();
        self.buffers[to] = ptr;
        self.uses[to] = Uses::default();
    }

    fn kernel(&self, on: Stream, to: DevicePtr, from: DevicePtr, body: fn(&mut [u8], &[u8])) {
        let size = self.size;
        let work = move || {
            // SAFETY: the events order all uses of both buffers.
            let source = unsafe { std::slice::from_raw_parts(from.addr() as *const u8, size) }.to_vec();
            // SAFETY: as above.
            body(unsafe { std::slice::from_raw_parts_mut(to.addr() as *mut u8, size) }, &source);
            Ok(())
        };
        self.cpu.launch_kernel(DeviceId(0), on, "mix", work).unwrap();
    }

    fn outcome(&self) -> Vec<Vec<u8>> {
        (0..BUFFERS).map(|b| download(self.cpu, device_of(b), self.buffers[b], self.size)).collect()
    }

    fn clean_up(self) {
        self.events.iter().for_each(|&event| self.cpu.destroy_event(DeviceId(0), event).unwrap());
        self.streams.iter().for_each(|&stream| self.cpu.destroy_stream(DeviceId(0), stream).unwrap());
        for (buffer, &ptr) in self.buffers.iter().enumerate() {
            self.cpu.device_memory_deallocate(DeviceId(device_of(buffer)), ptr, self.size).unwrap();
        }
        for device in 0..2 {
            let stats = self.cpu.device_memory_stats(DeviceId(device)).unwrap();
            assert_eq!((stats.used, stats.allocations), (0, 0), "everything is freed");
        }
    }
}

fn sizes() -> impl Strategy<Value = usize> {
    // Done by the caller on an idle stream, and always by the pool.
    prop_oneof![Just(16), Just(INLINE_BYTES + 100)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streams_do_what_one_thread_would(steps in steps(), size in sizes()) {
        let cpu = cpu_with(64 * MIB);
        let mut machine = Machine::new(&cpu, size);
        for (stream, step) in &steps {
            machine.step(*stream, step);
        }
        let mut model: Vec<_> = (0..BUFFERS).map(|buffer| pattern(size, buffer)).collect();
        expected(&steps, &mut model);
        cpu.synchronize_device(DeviceId(0)).unwrap();
        prop_assert!(machine.outcome() == model);
        machine.clean_up();
    }

    #[test]
    fn launches_do_what_the_captured_program_would(steps in steps(), size in sizes(), launches in 1_usize..4) {
        let captured: Vec<_> = steps
            .into_iter()
            .filter(|(_, step)| matches!(step, Step::Fill { .. } | Step::Copy { .. } | Step::Kernel { .. } | Step::Callback { .. }))
            .collect();
        let cpu = cpu_with(64 * MIB);
        let mut machine = Machine::new(&cpu, size);
        let origin = machine.streams[0];
        cpu.cuda_stream_begin_capture(DeviceId(0), origin, CaptureMode::GLOBAL).unwrap();
        let fork = cpu.create_event(DeviceId(0)).unwrap();
        cpu.record_event(DeviceId(0), origin, fork).unwrap();
        for &side in &machine.streams[1..] {
            cpu.stream_wait_event(DeviceId(0), side, fork).unwrap();
        }
        for (stream, step) in &captured {
            machine.step(*stream, step);
        }
        for &side in &machine.streams[1..] {
            cpu.record_event(DeviceId(0), side, fork).unwrap();
            cpu.stream_wait_event(DeviceId(0), origin, fork).unwrap();
        }
        let graph = cpu.cuda_stream_end_capture(DeviceId(0), origin).unwrap();
        let exec = cpu.graph_instantiate(graph).unwrap();
        let mut model: Vec<_> = (0..BUFFERS).map(|buffer| pattern(size, buffer)).collect();
        for launch in 0..launches {
            // On different streams: launches of one graph keep their order by themselves.
            cpu.cuda_graph_launch(DeviceId(0), exec, machine.streams[launch]).unwrap();
            expected(&captured, &mut model);
        }
        cpu.synchronize_device(DeviceId(0)).unwrap();
        prop_assert!(machine.outcome() == model);
        machine.clean_up();
    }
}

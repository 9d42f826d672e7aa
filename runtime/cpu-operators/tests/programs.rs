//! Random programs of operators, copies and events on several streams, against the same programs step by step.
//!
//! Where two steps on different streams use a buffer and one of them writes it, the test puts an event between them, as a
//! correct program must. So the outcome is that of the steps in their order, whatever runs at the same time.

use cpu_operators::CpuOperators;
use proptest::collection::vec;
use proptest::prelude::*;
use tenon::DevicePtr;
use tenon::device::{DataType, Device, DeviceId, Event, Plugin, Stream};
use tenon_cpu::Cpu;
use tenon_operators::attributes::SumAttributes;
use tenon_operators::{Arithmetic, Expansion, Indexing, Launch, Layout, Reduction, TensorMut, TensorRef};

const DEVICE: DeviceId = DeviceId(0);
const STREAMS: usize = 3;
const BUFFERS: usize = 5;

/// Returns a layout of one dimension.
fn line(dims: &[usize; 1]) -> Layout<'_> {
    Layout::new(dims, &[1]).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Add {
        to: usize,
        left: usize,
        right: usize,
    },
    /// Assigns a number that is in memory of the caller.
    Fill {
        to: usize,
        value: i32,
    },
    /// Reverses a buffer with an operator that checks its indices.
    Reverse {
        to: usize,
        from: usize,
    },
    CopyOnStream {
        to: usize,
        from: usize,
    },
    /// Copies from the host, as hosts do after they have waited for the stream.
    Upload {
        to: usize,
        value: i32,
    },
    Download {
        from: usize,
    },
    /// Frees the buffer without waiting, and allocates it again.
    Renew {
        to: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let buffer = || 0..BUFFERS;
    let step = prop_oneof![
        8 => (buffer(), buffer(), buffer()).prop_map(|(to, left, right)| Step::Add { to, left, right }),
        3 => (buffer(), any::<i32>()).prop_map(|(to, value)| Step::Fill { to, value }),
        2 => (buffer(), buffer()).prop_map(|(to, from)| Step::Reverse { to, from }),
        3 => (buffer(), buffer()).prop_map(|(to, from)| Step::CopyOnStream { to, from }),
        1 => (buffer(), any::<i32>()).prop_map(|(to, value)| Step::Upload { to, value }),
        1 => buffer().prop_map(|from| Step::Download { from }),
        1 => buffer().prop_map(|to| Step::Renew { to }),
    ];
    vec((0..STREAMS, step), 1..60)
}

/// Computes the contents of the buffers after a step.
fn apply(step: &Step, buffers: &mut [Vec<i32>]) {
    match *step {
        Step::Add { to, left, right } => {
            buffers[to] =
                buffers[left].iter().zip(&buffers[right]).map(|(a, b)| a.wrapping_add(*b)).collect();
        }
        Step::Fill { to, value } | Step::Upload { to, value } => buffers[to].fill(value),
        Step::Reverse { to, from } => buffers[to] = buffers[from].iter().rev().copied().collect(),
        Step::CopyOnStream { to, from } => buffers[to] = buffers[from].clone(),
        Step::Renew { to } => buffers[to].fill(7),
        Step::Download { .. } => {}
    }
}

/// Events after the last write of a buffer, and after the reads since then.
#[derive(Clone, Default)]
struct Uses {
    write: Option<(usize, Event)>,
    reads: Vec<(usize, Event)>,
}

struct Machine {
    cpu: &'static Cpu,
    len: usize,
    streams: Vec<Stream>,
    buffers: Vec<DevicePtr>,
    reversed: DevicePtr,
    uses: Vec<Uses>,
    events: Vec<Event>,
}

impl Machine {
    fn new(len: usize) -> Self {
        cpu_operators::compute_on_streams();
        let cpu = Cpu::instance();
        let mut machine = Self {
            cpu,
            len,
            streams: (0..STREAMS).map(|_| cpu.create_stream(DEVICE).unwrap()).collect(),
            buffers: Vec::new(),
            reversed: cpu.device_memory_allocate(DEVICE, len * 8).unwrap(),
            uses: vec![Uses::default(); BUFFERS],
            events: Vec::new(),
        };
        let indices: Vec<u8> = (0..len as i64).rev().flat_map(i64::to_ne_bytes).collect();
        cpu.memory_copy_h2d(DEVICE, machine.reversed, &indices).unwrap();
        machine.buffers = (0..BUFFERS).map(|_| machine.allocate()).collect();
        machine
    }

    /// Allocates a buffer of sevens.
    fn allocate(&self) -> DevicePtr {
        let buffer = self.cpu.device_memory_allocate(DEVICE, self.len * 4).unwrap();
        self.cpu.memory_copy_h2d(DEVICE, buffer, &7_i32.to_ne_bytes().repeat(self.len)).unwrap();
        buffer
    }

    fn input(&self, first: DevicePtr, ty: DataType) -> TensorRef<'static> {
        let dims = [self.len];
        // SAFETY: the memory is freed only after the work that uses it is queued.
        unsafe { TensorRef::new(first, ty, line(&dims)) }.unwrap()
    }

    fn output(&self, buffer: usize) -> TensorMut<'static> {
        let dims = [self.len];
        // SAFETY: as above.
        unsafe { TensorMut::new(self.buffers[buffer], DataType::INT32, line(&dims)) }.unwrap()
    }

    /// Makes the stream wait for the steps on other streams that a step depends on.
    fn order(&self, on: usize, reads: &[usize], writes: &[usize]) {
        let mut earlier: Vec<&(usize, Event)> = Vec::new();
        for buffer in reads.iter().chain(writes) {
            earlier.extend(&self.uses[*buffer].write);
        }
        for buffer in writes {
            earlier.extend(&self.uses[*buffer].reads);
        }
        for (_, event) in earlier.into_iter().filter(|(stream, _)| *stream != on) {
            self.cpu.stream_wait_event(DEVICE, self.streams[on], *event).unwrap();
        }
    }

    /// Remembers a step that the stream has now.
    fn remember(&mut self, on: usize, reads: &[usize], writes: &[usize]) {
        let event = self.cpu.create_event(DEVICE).unwrap();
        self.cpu.record_event(DEVICE, self.streams[on], event).unwrap();
        self.events.push(event);
        for buffer in reads {
            self.uses[*buffer].reads.push((on, event));
        }
        for buffer in writes {
            self.uses[*buffer] = Uses { write: Some((on, event)), reads: Vec::new() };
        }
    }

    fn download(&self, buffer: usize) -> Vec<i32> {
        let mut bytes = vec![0; self.len * 4];
        self.cpu.memory_copy_d2h(DEVICE, &mut bytes, self.buffers[buffer]).unwrap();
        bytes.chunks_exact(4).map(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap())).collect()
    }

    /// Does a step. Returns what was downloaded.
    fn run(&mut self, on: usize, step: &Step) -> Option<Vec<i32>> {
        let (stream, ints) = (self.streams[on], DataType::INT32);
        let launch = Launch { device: DEVICE, stream };
        let (reads, writes) = match *step {
            Step::Add { to, left, right } => (vec![left, right], vec![to]),
            Step::Reverse { to, from } | Step::CopyOnStream { to, from } => (vec![from], vec![to]),
            Step::Fill { to, .. } | Step::Upload { to, .. } | Step::Renew { to } => (vec![], vec![to]),
            Step::Download { from } => (vec![from], vec![]),
        };
        if let Step::Renew { to } = *step {
            self.cpu.device_memory_deallocate(DEVICE, self.buffers[to], self.len * 4).unwrap();
            self.buffers[to] = self.allocate();
            self.uses[to] = Uses::default();
            return None;
        }
        self.order(on, &reads, &writes);
        let mut downloaded = None;
        match *step {
            Step::Add { to, left, right } => {
                let [left, right] = [left, right].map(|buffer| self.input(self.buffers[buffer], ints));
                CpuOperators.add(launch, &mut self.output(to), &left, &right).unwrap();
            }
            Step::Fill { to, value } => {
                let mut number = value;
                let first = DevicePtr::from_ptr(&raw const number);
                // SAFETY: the number lives until the call has returned, which is all that an operator may count on for
                // memory of the caller.
                let tensor = unsafe { TensorRef::new(first, ints, Layout::new(&[], &[]).unwrap()) }.unwrap();
                CpuOperators.expand(launch, &mut self.output(to), &tensor).unwrap();
                number = !number;
                std::hint::black_box(&mut number);
            }
            Step::Reverse { to, from } => {
                let (from, index) =
                    (self.input(self.buffers[from], ints), self.input(self.reversed, DataType::INT64));
                CpuOperators.gather(launch, &mut self.output(to), &from, &index, 0).unwrap();
            }
            Step::CopyOnStream { to, from } => {
                let (to, from) = (self.buffers[to], self.buffers[from]);
                self.cpu.async_memory_copy_d2d(DEVICE, stream, to, from, self.len * 4).unwrap();
            }
            Step::Upload { to, value } => {
                self.cpu.synchronize_stream(DEVICE, stream).unwrap();
                let bytes = value.to_ne_bytes().repeat(self.len);
                self.cpu.memory_copy_h2d(DEVICE, self.buffers[to], &bytes).unwrap();
            }
            Step::Download { from } => {
                self.cpu.synchronize_stream(DEVICE, stream).unwrap();
                downloaded = Some(self.download(from));
            }
            Step::Renew { .. } => {}
        }
        self.remember(on, &reads, &writes);
        downloaded
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let freed = self.buffers.drain(..).map(|buffer| (buffer, self.len * 4));
        for (memory, size) in freed.chain([(self.reversed, self.len * 8)]) {
            self.cpu.device_memory_deallocate(DEVICE, memory, size).unwrap();
        }
        for event in self.events.drain(..) {
            self.cpu.destroy_event(DEVICE, event).unwrap();
        }
        for stream in self.streams.drain(..) {
            self.cpu.destroy_stream(DEVICE, stream).unwrap();
        }
    }
}

fn check(len: usize, steps: &[(usize, Step)]) {
    let mut machine = Machine::new(len);
    let mut expected = vec![vec![7_i32; len]; BUFFERS];
    for (n, (on, step)) in steps.iter().enumerate() {
        let downloaded = machine.run(*on, step);
        apply(step, &mut expected);
        if let (Some(actual), Step::Download { from }) = (downloaded, step) {
            assert!(actual == expected[*from], "step {n}: {step:?}");
        }
    }
    machine.cpu.synchronize_device(DEVICE).unwrap();
    for (buffer, expected) in expected.iter().enumerate() {
        assert!(machine.download(buffer) == *expected, "buffer {buffer}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Runs operators each of which is worth a thread.
    #[test]
    fn large_operators_keep_the_order_of_the_program(steps in steps()) {
        check(20_000, &steps);
    }

    /// Operators run inline on idle streams.
    #[test]
    fn small_operators_keep_the_order_of_the_program(steps in steps()) {
        check(50, &steps);
    }

    /// Operators on the threshold: some have more elements than it, some fewer.
    #[test]
    fn mixed_operators_keep_the_order_of_the_program(steps in steps()) {
        check(1500, &steps);
    }
}

/// Queues work that takes a while.
fn hold(cpu: &Cpu, stream: Stream) {
    let wait = || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        Ok(())
    };
    cpu.launch_kernel(DEVICE, stream, "hold", wait).unwrap();
}

#[test]
fn the_host_goes_on_while_a_kernel_computes() {
    let machine = Machine::new(20_000);
    if machine.cpu.config().unwrap().threads == 1 {
        return;
    }
    let stream = machine.streams[0];
    hold(machine.cpu, stream);
    let (launch, input) =
        (Launch { device: DEVICE, stream }, machine.input(machine.buffers[0], DataType::INT32));
    CpuOperators.add(launch, &mut machine.output(1), &input, &input).unwrap();
    assert!(!machine.cpu.query_stream(DEVICE, stream).unwrap());
    machine.cpu.synchronize_stream(DEVICE, stream).unwrap();
    assert!(machine.download(1).iter().all(|&element| element == 14));
}

#[test]
fn errors_in_shapes_are_those_of_the_call() {
    let machine = Machine::new(20_000);
    let stream = machine.streams[0];
    hold(machine.cpu, stream);
    let launch = Launch { device: DEVICE, stream };
    let input = machine.input(machine.buffers[0], DataType::INT32);
    // SAFETY: a part of the buffer.
    let short = unsafe { TensorRef::new(input.first(), DataType::INT32, line(&[3])) }.unwrap();
    let refused = CpuOperators.add(launch, &mut machine.output(1), &input, &short).unwrap_err();
    assert!(refused.message.contains("cannot be broadcast"), "{refused}");
}

#[test]
fn outputs_in_host_memory_are_computed_before_the_call_returns() {
    let machine = Machine::new(1 << 20);
    let launch = Launch { device: DEVICE, stream: machine.streams[0] };
    let input = machine.input(machine.buffers[0], DataType::INT32);
    for _ in 0..20 {
        let mut sum = 0_i32;
        let first = DevicePtr::from_ptr(&raw mut sum);
        // SAFETY: the number lives longer than the call.
        let mut out = unsafe { TensorMut::new(first, DataType::INT32, line(&[1])) }.unwrap();
        CpuOperators
            .sum(launch, &mut out, &input, &SumAttributes { axis: &[0], keep_dim: true, reduce_all: true })
            .unwrap();
        assert_eq!(std::hint::black_box(sum), 7 << 20);
    }
}

//! Measures the cost of a call with layers over one without.
//!
//! The same calls of a device that does next to nothing are made plainly and through each layer in turn, many
//! rounds of many calls each; the figures are medians of the rounds.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tenon::DevicePtr;
use tenon::device::*;
use tenon_layers::trace::{self, Trace};
use tenon_layers::validate::{self, Checker};
use tenon_testing::stub_device;

/// A device that does almost nothing, so that the benchmark measures the path to it.
#[derive(Default)]
struct Idle;

static NEXT: AtomicUsize = AtomicUsize::new(1);

stub_device! {
    #[tenon::device]
    impl Idle {
        #[inline(never)]
        fn set_device(&self, device: DeviceId) -> Result<()> {
            black_box(device);
            Ok(())
        }

        fn get_device_count(&self) -> Result<usize> {
            Ok(2)
        }

        fn create_event(&self, _: DeviceId) -> Result<Event> {
            Ok(Event::from_addr(NEXT.fetch_add(1, Ordering::Relaxed) * 64))
        }

        #[inline(never)]
        fn record_event(&self, _: DeviceId, stream: Stream, event: Event) -> Result<()> {
            black_box((stream, event));
            Ok(())
        }

        #[inline(never)]
        fn device_memory_allocate(&self, _: DeviceId, _: usize) -> Result<DevicePtr> {
            Ok(DevicePtr::from_addr(NEXT.fetch_add(1, Ordering::Relaxed) * 4096 + (1 << 40)))
        }

        #[inline(never)]
        fn device_memory_deallocate(&self, _: DeviceId, ptr: DevicePtr, _: usize) -> Result<()> {
            black_box(ptr);
            Ok(())
        }

        #[inline(never)]
        fn memory_copy_h2d(&self, device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
            black_box((device, dst, src));
            Ok(())
        }
    }
    optional {
        fn create_stream(&self, _: DeviceId) -> Result<Stream> {
            Ok(Stream::from_addr(NEXT.fetch_add(1, Ordering::Relaxed) * 64))
        }

        fn query_stream(&self, _: DeviceId, _: Stream) -> Result<bool> {
            Ok(true)
        }

        #[inline(never)]
        fn stream_wait_event(&self, _: DeviceId, stream: Stream, event: Event) -> Result<()> {
            black_box((stream, event));
            Ok(())
        }

        #[inline(never)]
        fn async_memory_copy_d2d(
            &self,
            device: DeviceId,
            stream: Stream,
            dst: DevicePtr,
            src: DevicePtr,
            size: usize,
        ) -> Result<()> {
            black_box((device, stream, dst, src, size));
            Ok(())
        }
    }
}

const CALLS: usize = 8_000;
const ROUNDS: usize = 301;
const ID: DeviceId = DeviceId(0);
/// Live objects that the calls do not use.
const ALIVE: usize = 1000;
/// Number of allocations that a program copies to at a time.
const FEW: usize = 4;

/// A way to the device, with what the calls use.
struct Way {
    device: Box<dyn Device>,
    streams: [Stream; 2],
    event: Event,
    memory: Vec<DevicePtr>,
}

impl Way {
    fn new(device: Box<dyn Device>) -> Self {
        let streams = [0; 2].map(|_| device.create_stream(ID).unwrap());
        let event = device.create_event(ID).unwrap();
        device.record_event(ID, streams[0], event).unwrap();
        let memory = (0..ALIVE).map(|_| device.device_memory_allocate(ID, 4096).unwrap()).collect();
        Self { device, streams, event, memory }
    }
}

fn copy_h2d(way: &Way, to: DevicePtr) {
    way.device.memory_copy_h2d(ID, to, black_box(&[0; 64])).unwrap();
}

fn copy_d2d(way: &Way, to: DevicePtr, from: DevicePtr) {
    way.device.async_memory_copy_d2d(ID, way.streams[0], to, from, 64).unwrap();
}

type Body = fn(&Way, usize);

const ROWS: [(&str, Body); 8] = [
    ("set_device", |way, _| way.device.set_device(black_box(ID)).unwrap()),
    ("memory_copy_h2d", |way, at| copy_h2d(way, way.memory[at % FEW])),
    ("  anywhere in 1000", |way, at| copy_h2d(way, way.memory[at * 7 % ALIVE])),
    ("async_memory_copy_d2d", |way, at| copy_d2d(way, way.memory[at * 3 % FEW], way.memory[FEW + at % FEW])),
    ("  anywhere in 1000", |way, at| copy_d2d(way, way.memory[at * 7 % ALIVE], way.memory[at % ALIVE])),
    ("record_event", |way, _| way.device.record_event(ID, way.streams[0], way.event).unwrap()),
    ("stream_wait_event", |way, _| way.device.stream_wait_event(ID, way.streams[1], way.event).unwrap()),
    ("allocate and free", |way, _| {
        let memory = way.device.device_memory_allocate(ID, 64).unwrap();
        way.device.device_memory_deallocate(ID, memory, 64).unwrap();
    }),
];

/// Nanoseconds a call of each way, the medians of the rounds; `between` is not measured.
fn side_by_side<const N: usize>(ways: &[Way; N], body: Body, between: impl Fn()) -> [f64; N] {
    let mut figures = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (way, figures) in ways.iter().zip(&mut figures) {
            between();
            let start = Instant::now();
            (0..CALLS).for_each(|at| body(black_box(way), at));
            figures.push(start.elapsed().as_nanos() as f64 / CALLS as f64);
        }
    }
    let median = |mut figures: Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures[ROUNDS / 2]
    };
    figures.map(median)
}

fn main() {
    let instance = <Idle as Plugin>::instance;
    let layered = |layers| Box::new(Layered::new(WithFallbacks(instance()), layers)) as Box<dyn Device>;
    let checker = Checker::new(validate::Options::default());
    // The rule for the order of work takes the most time.
    let without_order = "V033".parse().expect("a rule");
    let unordered = validate::Options { ignore: vec![without_order], ..validate::Options::default() };
    let unordered = Checker::new(unordered);
    let file = std::env::temp_dir().join(format!("tenon-layers-{}.json", std::process::id()));
    // Beyond the limit, calls are recorded as before, but not written to the disk.
    let options = trace::Options { file: file.clone(), limit: 1_000_000, streams: false };
    let trace = Trace::start(options).expect("the folder for temporary files takes files");
    let ways = [
        Box::new(WithFallbacks(instance())) as Box<dyn Device>,
        layered(vec![checker.layer("idle", instance()) as Arc<dyn Layer>]),
        layered(vec![unordered.layer("idle", instance()) as Arc<dyn Layer>]),
        layered(vec![trace.layer("idle", instance()) as Arc<dyn Layer>]),
    ]
    .map(Way::new);
    println!(
        "a call through a layer, beside the plain one ({ROUNDS} rounds of {CALLS} calls, nanoseconds)\n"
    );
    println!(
        "{:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "plain", "validate", "more", "no V033", "more", "trace", "more"
    );
    for (name, body) in ROWS {
        // The records are written between the measurements, so that only recording is measured.
        let [plain, validated, unordered, traced] = side_by_side(&ways, body, || trace.flush());
        print!("{name:<24} {plain:>9.1}");
        for layer in [validated, unordered, traced] {
            print!(" {layer:>9.1} {:>9.1}", layer - plain);
        }
        println!();
    }
    trace.finish();
    let _ = std::fs::remove_file(file);
}

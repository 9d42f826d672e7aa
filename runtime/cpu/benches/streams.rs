//! The cost of streams and events, next to a plain channel to a thread.
//!
//! `cargo bench -p tenon-cpu --bench streams`

mod common;

use common::{compare, head, show, size_name};
use std::hint::black_box;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tenon::device::{Device, DeviceId};
use tenon_cpu::{Config, Cpu};

type Task = Box<dyn FnMut() + Send>;

/// Returns a thread that does what comes through a channel: the plainest stream there is.
fn channel_thread() -> Sender<Task> {
    let (sender, tasks) = channel::<Task>();
    thread::spawn(move || tasks.into_iter().for_each(|mut task| task()));
    sender
}

fn main() {
    let cpu = Cpu::with_config(Config { memory: 1 << 30, ..Config::default() });
    launches(&cpu);
    events(&cpu);
    short_copies(&cpu);
}

fn launches(cpu: &Cpu) {
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let tasks = channel_thread();
    let (done, finished) = channel();
    head("launch and complete, per task", "stream", "channel");
    for count in [1, 10, 100, 10_000, 100_000] {
        compare(
            &format!("{count} empty tasks, then wait"),
            count,
            || {
                for value in 0..count {
                    let kernel = move || {
                        black_box(value);
                        Ok(())
                    };
                    cpu.launch_kernel(DeviceId(0), stream, "empty", kernel).unwrap();
                }
                cpu.synchronize_stream(DeviceId(0), stream).unwrap();
            },
            || {
                for value in 0..count {
                    let task = move || {
                        black_box(value);
                    };
                    tasks.send(Box::new(task)).unwrap();
                }
                let done = done.clone();
                tasks.send(Box::new(move || done.send(()).unwrap())).unwrap();
                finished.recv().unwrap();
            },
        );
    }
    let streams: Vec<_> = (0..10_000).map(|_| cpu.create_stream(DeviceId(0)).unwrap()).collect();
    show("one task on each of 10000 streams, then wait", streams.len(), || {
        for &stream in &streams {
            cpu.launch_kernel(DeviceId(0), stream, "empty", || Ok(())).unwrap();
        }
        cpu.synchronize_device(DeviceId(0)).unwrap();
    });
    for stream in streams {
        cpu.destroy_stream(DeviceId(0), stream).unwrap();
    }
    show("create and destroy a stream", 1, || {
        let stream = cpu.create_stream(DeviceId(0)).unwrap();
        cpu.destroy_stream(DeviceId(0), stream).unwrap();
    });
}

fn events(cpu: &Cpu) {
    let (a, b) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
    let event = cpu.create_event(DeviceId(0)).unwrap();
    println!();
    show("record on an idle stream", 1, || cpu.record_event(DeviceId(0), a, event).unwrap());
    show("query a complete event", 1, || {
        black_box(cpu.query_event(DeviceId(0), event).unwrap());
    });
    show("wait for a complete event", 1, || cpu.stream_wait_event(DeviceId(0), b, event).unwrap());

    let (first, second) = (channel_thread(), channel_thread());
    let (done, finished) = channel();
    head("from one stream to another and back", "streams", "channels");
    compare(
        "task, record, wait, task, synchronise",
        1,
        || {
            cpu.launch_kernel(DeviceId(0), a, "first", || Ok(())).unwrap();
            cpu.record_event(DeviceId(0), a, event).unwrap();
            cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
            cpu.launch_kernel(DeviceId(0), b, "second", || Ok(())).unwrap();
            cpu.synchronize_stream(DeviceId(0), b).unwrap();
        },
        || {
            let (second, done) = (second.clone(), done.clone());
            first
                .send(Box::new(move || {
                    let done = done.clone();
                    second.send(Box::new(move || done.send(()).unwrap())).unwrap();
                }))
                .unwrap();
            finished.recv().unwrap();
        },
    );
}

fn short_copies(cpu: &Cpu) {
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    head("copy on an idle stream", "async d2d", "memcpy");
    for size in [64, 1 << 10, 4 << 10, 16 << 10, 32 << 10] {
        let dst = cpu.device_memory_allocate(DeviceId(0), size).unwrap();
        let src = cpu.device_memory_allocate(DeviceId(0), size).unwrap();
        let (mut to, from) = (vec![0_u8; size], vec![1_u8; size]);
        compare(
            &size_name(size),
            1,
            || cpu.async_memory_copy_d2d(DeviceId(0), stream, dst, src, size).unwrap(),
            || black_box(&mut to).copy_from_slice(black_box(&from)),
        );
    }
    println!("\nthe other way: handed to the pool and waited for");
    for size in [33 << 10, 64 << 10, 128 << 10] {
        let ptr = cpu.device_memory_allocate(DeviceId(0), size).unwrap();
        show(&size_name(size), 1, || {
            cpu.async_memory_fill(DeviceId(0), stream, ptr, &[1], size).unwrap();
            cpu.synchronize_stream(DeviceId(0), stream).unwrap();
        });
    }
}

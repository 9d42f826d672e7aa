//! Each rule, broken on the CPU device.

mod common;

use std::time::{Duration, Instant};

use common::faulty::faulty;
use common::{ID, OTHER, Validated, cpu, hold, validated, validated_cpu};
use tenon::device::*;
use tenon::{DevicePtr, HostPtr, UnifiedPtr};
use tenon_cpu::Cpu;
use tenon_layers::validate::{Options, Rule, Severity};

fn allocate(cpu: &Validated<Cpu>, size: usize) -> DevicePtr {
    cpu.device.device_memory_allocate(ID, size).unwrap()
}

fn free(cpu: &Validated<Cpu>, memory: DevicePtr, size: usize) {
    cpu.device.device_memory_deallocate(ID, memory, size).unwrap();
}

#[test]
fn a_program_that_keeps_the_rules_is_left_alone() {
    let cpu = validated_cpu();
    let device = &cpu.device;
    device.initialize().unwrap();
    device.init_device(ID).unwrap();
    device.set_device(ID).unwrap();
    let (stream, second) = (device.create_stream(ID).unwrap(), device.create_stream(ID).unwrap());
    let event = device.create_event(ID).unwrap();
    let (a, b) = (allocate(&cpu, 64), allocate(&cpu, 64));
    let pinned = device.host_memory_allocate(ID, 64).unwrap();
    let unified = device.unified_memory_allocate(ID, 64).unwrap();
    let far = device.device_memory_allocate(OTHER, 64).unwrap();
    let mut bytes = [7; 64];
    device.memory_copy_h2d(ID, a, &bytes).unwrap();
    device.async_memory_copy_d2d(ID, stream, b, a, 64).unwrap();
    device.record_event(ID, stream, event).unwrap();
    device.stream_wait_event(ID, second, event).unwrap();
    device.async_memory_copy_d2h(ID, second, pinned, b, 64).unwrap();
    // Unified memory is device memory and host memory.
    device.async_memory_copy_h2d(ID, second, DevicePtr::from_addr(unified.addr()), pinned, 64).unwrap();
    device.async_memory_copy_h2d(ID, second, b, HostPtr::from_addr(unified.addr()), 64).unwrap();
    device.memory_copy_p2p(OTHER, ID, far, a, 64).unwrap();
    device.synchronize_stream(ID, second).unwrap();
    // Part of an allocation, nothing at all, and the same place twice.
    let middle = DevicePtr::from_addr(a.addr() + 60);
    device.memory_copy_h2d(ID, middle, &bytes[..4]).unwrap();
    device.memory_copy_h2d(ID, DevicePtr::NULL, &[]).unwrap();
    device.memory_copy_d2d(ID, a, a, 64).unwrap();
    device.blas_axpby(ID, stream, DataType::FLOAT32, 16, 1.0, a, 1.0, b).unwrap();
    device.synchronize_stream(ID, stream).unwrap();
    device.synchronize_stream(ID, second).unwrap();
    device.memory_copy_d2h(ID, &mut bytes, b).unwrap();
    // The default stream, and null where null is fine.
    device.device_memory_set(ID, a, 1, 64).unwrap();
    device.async_memory_copy_d2d(ID, Stream::NULL, b, a, 64).unwrap();
    device.synchronize_stream(ID, Stream::NULL).unwrap();
    device.destroy_stream(ID, Stream::NULL).unwrap();
    device.device_memory_deallocate(ID, DevicePtr::NULL, 64).unwrap();
    let empty = allocate(&cpu, 0);
    free(&cpu, empty, 0);
    free(&cpu, a, 64);
    free(&cpu, b, 64);
    device.device_memory_deallocate(OTHER, far, 64).unwrap();
    device.host_memory_deallocate(ID, pinned, 64).unwrap();
    device.unified_memory_deallocate(ID, unified, 64).unwrap();
    device.destroy_event(ID, event).unwrap();
    device.destroy_stream(ID, stream).unwrap();
    device.destroy_stream(ID, second).unwrap();
    device.deinit_device(ID).unwrap();
    device.finalize().unwrap();
    assert!(cpu.validate.finish().is_empty());
    cpu.silent();
}

#[test]
fn v001_null() {
    let cpu = validated_cpu();
    let text = cpu.refused(Rule::Null, cpu.device.memory_copy_h2d(ID, DevicePtr::NULL, &[1; 8]));
    assert_eq!(text, "error V001: memory_copy_h2d(dst) on cpu:0: null, but 8 bytes are accessed");
    cpu.refused(Rule::Null, cpu.device.record_event(ID, Stream::NULL, Event::NULL));
    // SAFETY: the callback is null, and null is never called.
    let callback = unsafe { StreamCallback::from_raw(None, tenon::AnyPtr::NULL) };
    cpu.refused(Rule::Null, cpu.device.stream_add_callback(ID, Stream::NULL, callback));
}

#[test]
fn v002_size_overflow() {
    let cpu = validated_cpu();
    let memory = allocate(&cpu, 64);
    cpu.refused(Rule::SizeOverflow, cpu.device.device_memory_allocate(ID, usize::MAX));
    cpu.refused(Rule::SizeOverflow, cpu.device.device_memory_set(ID, memory, 0, usize::MAX - 8));
    let elements = usize::MAX / 2;
    let many = cpu.device.blas_axpby(ID, Stream::NULL, DataType::FLOAT32, elements, 1.0, memory, 1.0, memory);
    cpu.refused(Rule::SizeOverflow, many);
    free(&cpu, memory, 64);
}

#[test]
fn v003_unknown_value() {
    let cpu = validated_cpu();
    let stream = cpu.device.create_stream(ID).unwrap();
    let begun = cpu.device.cuda_stream_begin_capture(ID, stream, CaptureMode(7));
    let text = cpu.refused(Rule::UnknownValue, begun);
    assert!(
        text.ends_with("(mode) on cpu:0: 7 is none of 0 (global), 1 (thread_local), 2 (relaxed)"),
        "{text}"
    );
}

#[test]
fn v004_unknown_device() {
    let cpu = validated_cpu();
    let text = cpu.refused(Rule::UnknownDevice, cpu.device.set_device(DeviceId(2)));
    assert_eq!(text, "error V004: set_device(device) on cpu:2: there is no device 2, only 0 to 1");
    cpu.refused(Rule::UnknownDevice, cpu.device.create_stream(DeviceId(-1)));
}

#[test]
fn v010_unknown_handle() {
    let cpu = validated_cpu();
    let made_up = Stream::from_addr(0x1234);
    let text = cpu.refused(Rule::UnknownHandle, cpu.device.synchronize_stream(ID, made_up));
    assert!(text.ends_with("(stream) on cpu:0: no call returned Stream 0x1234"), "{text}");
    cpu.refused(Rule::UnknownHandle, cpu.device.destroy_event(ID, Event::from_addr(0x1234)));
    let launch = cpu.device.cuda_graph_launch(ID, GraphExec::from_addr(0x1234), Stream::NULL);
    cpu.refused(Rule::UnknownHandle, launch);
}

#[test]
fn v011_destroyed_handle() {
    let cpu = validated_cpu();
    let event = cpu.device.create_event(ID).unwrap();
    cpu.device.destroy_event(ID, event).unwrap();
    let text = cpu.refused(Rule::DestroyedHandle, cpu.device.record_event(ID, Stream::NULL, event));
    assert!(text.contains("was destroyed by `destroy_event`, "), "{text}");
}

#[test]
fn v012_destroyed_twice() {
    let cpu = validated_cpu();
    let stream = cpu.device.create_stream(ID).unwrap();
    cpu.device.destroy_stream(ID, stream).unwrap();
    let text = cpu.refused(Rule::DestroyedTwice, cpu.device.destroy_stream(ID, stream));
    assert!(text.contains("was destroyed by `destroy_stream`, "), "{text}");
}

#[test]
fn v013_handle_of_other_device() {
    let cpu = validated_cpu();
    let stream = cpu.device.create_stream(OTHER).unwrap();
    let text = cpu.refused(Rule::HandleOfOtherDevice, cpu.device.synchronize_stream(ID, stream));
    assert!(text.ends_with("belongs to device 1"), "{text}");
    // A stream of either device will do for a copy between the two.
    let (near, far) = (allocate(&cpu, 8), cpu.device.device_memory_allocate(OTHER, 8).unwrap());
    cpu.device.async_memory_copy_p2p(OTHER, ID, stream, far, near, 8).unwrap();
    let wrong = cpu.device.async_memory_copy_p2p(ID, ID, stream, near, near, 8);
    cpu.refused(Rule::HandleOfOtherDevice, wrong);
    let (near, far) = (cpu.device.create_event(ID).unwrap(), cpu.device.create_event(OTHER).unwrap());
    let text = cpu.refused(Rule::HandleOfOtherDevice, cpu.device.event_elapsed_time(ID, near, far));
    assert!(text.contains("event_elapsed_time(end) on cpu:0: "), "{text}");
}

#[test]
fn v014_handle_of_other_plugin() {
    let (cpu, second) = (validated_cpu(), validated("second", cpu(), Options::default()));
    // Handles of two devices may be the same number; this one is only known to the second.
    let streams: Vec<Stream> = (0..3).map(|_| second.device.create_stream(ID).unwrap()).collect();
    let text = cpu.refused(Rule::HandleOfOtherPlugin, cpu.device.synchronize_stream(ID, streams[2]));
    assert!(text.ends_with("belongs to the plugin second"), "{text}");
}

#[test]
fn v015_handle_of_other_kind() {
    let cpu = validated_cpu();
    let event = cpu.device.create_event(ID).unwrap();
    let cast = Stream::from_addr(event.addr());
    let text = cpu.refused(Rule::HandleOfOtherKind, cpu.device.synchronize_stream(ID, cast));
    assert!(text.ends_with("is not of type Stream but Event"), "{text}");
}

#[test]
fn v020_unknown_memory() {
    let cpu = validated_cpu();
    let local = [0u8; 8];
    let wrong = DevicePtr::from_ptr(local.as_ptr());
    let text = cpu.refused(Rule::UnknownMemory, cpu.device.device_memory_set(ID, wrong, 0, 8));
    assert!(text.contains("are in no allocation; is it a host address?"), "{text}");
    cpu.refused(Rule::UnknownMemory, cpu.device.device_memory_deallocate(ID, wrong, 8));
    let axpby = cpu.device.blas_axpby(ID, Stream::NULL, DataType::FLOAT32, 1, 1.0, wrong, 1.0, wrong);
    cpu.refused(Rule::UnknownMemory, axpby);
}

#[test]
fn v021_host_as_device() {
    let cpu = validated_cpu();
    let pinned = cpu.device.host_memory_allocate(ID, 64).unwrap();
    let wrong = DevicePtr::from_addr(pinned.addr() + 8);
    cpu.refused(Rule::HostAsDevice, cpu.device.memory_copy_h2d(ID, wrong, &[1; 8]));
    cpu.device.host_memory_deallocate(ID, pinned, 64).unwrap();
}

#[test]
fn v022_device_as_host() {
    let cpu = validated_cpu();
    let (a, b) = (allocate(&cpu, 64), allocate(&cpu, 64));
    let wrong = HostPtr::from_addr(b.addr() + 8);
    let copy = |cpu: &Validated<Cpu>| cpu.device.async_memory_copy_h2d(ID, Stream::NULL, a, wrong, 8);
    cpu.refused(Rule::DeviceAsHost, copy(&cpu));
    // Also that of another plugin.
    let second = validated("second", common::cpu(), Options::default());
    let own = second.device.device_memory_allocate(ID, 64).unwrap();
    let text = second
        .refused(Rule::DeviceAsHost, second.device.async_memory_copy_h2d(ID, Stream::NULL, own, wrong, 8));
    assert!(text.contains("device memory of the plugin cpu"), "{text}");
}

#[test]
fn v023_outside_allocation() {
    let cpu = validated_cpu();
    let memory = allocate(&cpu, 64);
    let middle = DevicePtr::from_addr(memory.addr() + 60);
    let text = cpu.refused(Rule::OutsideAllocation, cpu.device.memory_copy_h2d(ID, middle, &[1; 8]));
    assert!(text.contains("run 4 bytes past the end of 64 bytes at"), "{text}");
    let mut large = [0; 65];
    cpu.refused(Rule::OutsideAllocation, cpu.device.memory_copy_d2h(ID, &mut large, memory));
    let axpby = cpu.device.blas_axpby(ID, Stream::NULL, DataType::FLOAT32, 17, 1.0, memory, 1.0, memory);
    cpu.refused(Rule::OutsideAllocation, axpby);
    let pinned = cpu.device.host_memory_allocate(ID, 8).unwrap();
    let copy = cpu.device.async_memory_copy_h2d(ID, Stream::NULL, memory, pinned, 9);
    cpu.refused(Rule::OutsideAllocation, copy);
}

#[test]
fn v024_memory_of_other_device() {
    let cpu = validated_cpu();
    let far = cpu.device.device_memory_allocate(OTHER, 64).unwrap();
    let text = cpu.refused(Rule::MemoryOfOtherDevice, cpu.device.device_memory_set(ID, far, 0, 8));
    assert!(text.contains("is memory of device 1, not of 0"), "{text}");
}

#[test]
fn v025_memory_of_other_plugin() {
    let (cpu, second) = (validated_cpu(), validated("second", cpu(), Options::default()));
    let foreign = second.device.device_memory_allocate(ID, 64).unwrap();
    let text = cpu.refused(Rule::MemoryOfOtherPlugin, cpu.device.device_memory_set(ID, foreign, 0, 8));
    assert!(text.contains("belongs to the plugin second: 64 bytes at"), "{text}");
    cpu.refused(Rule::MemoryOfOtherPlugin, cpu.device.device_memory_deallocate(ID, foreign, 64));
}

#[test]
fn v026_freed_memory() {
    let cpu = validated_cpu();
    let memory = allocate(&cpu, 64);
    free(&cpu, memory, 64);
    let middle = DevicePtr::from_addr(memory.addr() + 8);
    let text = cpu.refused(Rule::FreedMemory, cpu.device.device_memory_set(ID, middle, 0, 8));
    assert!(text.contains("freed by `device_memory_deallocate`, ") && text.ends_with(" ago"), "{text}");
    let fill = cpu.device.async_memory_fill(ID, Stream::NULL, middle, &[0; 4], 8);
    cpu.refused(Rule::FreedMemory, fill);
}

#[test]
fn v027_freed_twice() {
    let cpu = validated_cpu();
    let memory = allocate(&cpu, 64);
    free(&cpu, memory, 64);
    cpu.refused(Rule::FreedTwice, cpu.device.device_memory_deallocate(ID, memory, 64));
}

#[test]
fn v028_freed_wrongly() {
    let cpu = validated_cpu();
    let memory = allocate(&cpu, 64);
    let middle = DevicePtr::from_addr(memory.addr() + 8);
    let wrongly = |text: String, part: &str| assert!(text.contains(part), "{text}");
    let freed = cpu.device.device_memory_deallocate(ID, middle, 56);
    wrongly(cpu.refused(Rule::FreedWrongly, freed), "is not the beginning of 64 bytes");
    let freed = cpu.device.device_memory_deallocate(ID, memory, 63);
    wrongly(cpu.refused(Rule::FreedWrongly, freed), "63 bytes are not the size of 64 bytes");
    let freed = cpu.device.device_memory_deallocate(OTHER, memory, 64);
    wrongly(cpu.refused(Rule::FreedWrongly, freed), "is memory of device 0");
    let freed = cpu.device.unified_memory_deallocate(ID, UnifiedPtr::from_addr(memory.addr()), 64);
    wrongly(cpu.refused(Rule::FreedWrongly, freed), "is device memory");
    free(&cpu, memory, 64);
}

#[test]
fn v029_overlapping_copy() {
    let cpu = validated_cpu();
    let memory = allocate(&cpu, 64);
    let [near, far] = [31, 32].map(|offset| DevicePtr::from_addr(memory.addr() + offset));
    cpu.refused(Rule::OverlappingCopy, cpu.device.memory_copy_d2d(ID, near, memory, 32));
    cpu.refused(Rule::OverlappingCopy, cpu.device.async_memory_copy_d2d(ID, Stream::NULL, memory, near, 32));
    cpu.device.memory_copy_d2d(ID, far, memory, 32).unwrap();
    cpu.silent();
}

#[test]
fn v030_double_buffer_is_silent() {
    let cpu = validated_cpu();
    let (fill, drain) = (cpu.device.create_stream(ID).unwrap(), cpu.device.create_stream(ID).unwrap());
    let buffers: Vec<_> =
        (0..2).map(|_| (allocate(&cpu, 64), cpu.device.create_event(ID).unwrap())).collect();
    let (source, result) = (allocate(&cpu, 64), allocate(&cpu, 64));
    let gate = hold(&cpu.device, ID, drain);
    // The first round waits for events that nothing has recorded, while both streams have work.
    for (memory, drained) in buffers.iter().chain(&buffers) {
        cpu.device.stream_wait_event(ID, fill, *drained).unwrap();
        cpu.device.async_memory_copy_d2d(ID, fill, *memory, source, 64).unwrap();
        let filled = cpu.device.create_event(ID).unwrap();
        cpu.device.record_event(ID, fill, filled).unwrap();
        cpu.device.stream_wait_event(ID, drain, filled).unwrap();
        cpu.device.async_memory_copy_d2d(ID, drain, result, *memory, 64).unwrap();
        cpu.device.record_event(ID, drain, *drained).unwrap();
        cpu.device.destroy_event(ID, filled).unwrap();
    }
    gate.open();
    // The same with a host that fills the buffer.
    let free = cpu.device.create_event(ID).unwrap();
    for _ in 0..3 {
        cpu.device.synchronize_event(ID, free).unwrap();
        cpu.device.async_memory_copy_d2d(ID, fill, source, buffers[0].0, 64).unwrap();
        cpu.device.record_event(ID, fill, free).unwrap();
    }
    cpu.device.synchronize_device(ID).unwrap();
    for event in buffers.iter().map(|(_, event)| *event).chain([free]) {
        cpu.device.destroy_event(ID, event).unwrap();
    }
    cpu.silent();
}

#[test]
fn v030_event_never_recorded() {
    let cpu = validated_cpu();
    let wait: [fn(&Validated<Cpu>, Event); 3] = [
        |cpu, event| cpu.device.synchronize_event(ID, event).unwrap(),
        |cpu, event| assert!(cpu.device.query_event(ID, event).unwrap()),
        |cpu, event| cpu.device.stream_wait_event(ID, Stream::NULL, event).unwrap(),
    ];
    for wait in wait {
        let event = cpu.device.create_event(ID).unwrap();
        wait(&cpu, event);
        cpu.silent();
        cpu.device.destroy_event(ID, event).unwrap();
        let text = cpu.report(Rule::NeverRecorded);
        assert!(text.starts_with("warning V030: destroy_event(event) on cpu:0: "), "{text}");
        assert!(text.ends_with("and never recorded: the wait had no effect"), "{text}");
    }
    let event = cpu.device.create_event(ID).unwrap();
    cpu.device.synchronize_event(ID, event).unwrap();
    cpu.device.finalize().unwrap();
    let rules: Vec<_> = cpu.reports().iter().map(|report| report.rule).collect();
    assert_eq!(rules, [Rule::NeverRecorded, Rule::Leak]);
}

#[test]
fn v030_wait_before_record() {
    let cpu = validated_cpu();
    let (from, to) = (cpu.device.create_stream(ID).unwrap(), cpu.device.create_stream(ID).unwrap());
    let (a, b) = (allocate(&cpu, 64), allocate(&cpu, 64));
    let on_host: fn(&Validated<Cpu>, Stream, Event) =
        |cpu, _, event| cpu.device.synchronize_event(ID, event).unwrap();
    let on_stream: fn(&Validated<Cpu>, Stream, Event) =
        |cpu, stream, event| cpu.device.stream_wait_event(ID, stream, event).unwrap();
    for (wait, by) in [(on_host, "`synchronize_event`"), (on_stream, "`stream_wait_event`")] {
        let event = cpu.device.create_event(ID).unwrap();
        let gate = hold(&cpu.device, ID, from);
        cpu.device.async_memory_copy_d2d(ID, from, a, b, 64).unwrap();
        wait(&cpu, to, event);
        cpu.silent();
        cpu.device.record_event(ID, from, event).unwrap();
        let text = cpu.report(Rule::NeverRecorded);
        assert!(text.starts_with("warning V030: record_event(event) on cpu:0: "), "{text}");
        assert!(text.contains(&format!("was queued before {by}")), "{text}");
        gate.open();
        cpu.device.synchronize_stream(ID, from).unwrap();
        cpu.device.destroy_event(ID, event).unwrap();
        cpu.silent();
    }
}

#[test]
fn v031_freed_in_flight() {
    let cpu = validated_cpu();
    let stream = cpu.device.create_stream(ID).unwrap();
    let (a, b, c) = (allocate(&cpu, 64), allocate(&cpu, 64), allocate(&cpu, 64));
    let gate = hold(&cpu.device, ID, stream);
    cpu.device.async_memory_copy_d2d(ID, stream, a, b, 64).unwrap();
    free(&cpu, a, 64);
    let text = cpu.report(Rule::FreedInFlight);
    assert!(text.contains(&format!("work on Stream {:#x} uses 64 bytes at", stream.addr())), "{text}");
    assert!(text.contains("is not done yet"), "{text}");
    free(&cpu, c, 64);
    cpu.silent();
    gate.open();
    cpu.device.synchronize_stream(ID, stream).unwrap();
    free(&cpu, b, 64);
    cpu.silent();
    cpu.device.destroy_stream(ID, stream).unwrap();
}

#[test]
fn v032_destroyed_in_flight() {
    let cpu = validated_cpu();
    let (held, done) = (cpu.device.create_stream(ID).unwrap(), cpu.device.create_stream(ID).unwrap());
    drop(hold(&cpu.device, ID, done));
    cpu.device.synchronize_stream(ID, done).unwrap();
    cpu.device.destroy_stream(ID, done).unwrap();
    cpu.silent();
    let gate = hold(&cpu.device, ID, held);
    std::thread::scope(|scope| {
        // The device may wait in there.
        scope.spawn(|| cpu.device.destroy_stream(ID, held).unwrap());
        let late = Instant::now() + Duration::from_secs(10);
        while cpu.checker.count(Severity::Warning) == 0 && Instant::now() < late {
            std::thread::yield_now();
        }
        gate.open();
    });
    cpu.report(Rule::DestroyedInFlight);
}

#[test]
fn v040_leaks() {
    let cpu = validated("cpu", cpu(), Options { backtraces: true, ..Options::default() });
    let memory = allocate(&cpu, 64);
    let event = cpu.device.create_event(ID).unwrap();
    let stream = cpu.device.create_stream(OTHER).unwrap();
    let leaks = cpu.validate.leaks();
    let whats: Vec<_> = leaks.iter().map(|leak| (leak.what.as_str(), leak.address, leak.size)).collect();
    assert_eq!(
        whats,
        [
            ("device memory", memory.addr() as u64, Some(64)),
            ("Event", event.addr() as u64, None),
            ("Stream", stream.addr() as u64, None),
        ]
    );
    let place = leaks[0].place.as_deref().unwrap();
    assert!(place.contains("v040_leaks") && !place.contains("tenon_layers::"), "{place}");
    cpu.silent();
    cpu.device.deinit_device(OTHER).unwrap();
    let text = cpu.report(Rule::Leak);
    assert!(text.starts_with("warning V040: deinit_device on cpu:1: Stream 0x"), "{text}");
    cpu.device.finalize().unwrap();
    // The stream was reported already.
    let rules: Vec<_> = cpu.reports().iter().map(|report| (report.rule, report.function)).collect();
    assert_eq!(rules, [(Rule::Leak, "finalize"); 2]);
    assert!(cpu.validate.leaks().is_empty() && cpu.validate.finish().is_empty());
    cpu.device.initialize().unwrap();
    let text = cpu.refused(Rule::DestroyedHandle, cpu.device.record_event(ID, Stream::NULL, event));
    assert!(text.contains("was destroyed by `finalize`"), "{text}");
}

#[test]
fn v050_memory_given_twice() {
    let faulty = faulty();
    faulty.device.device_memory_allocate(ID, 64).unwrap();
    faulty.silent();
    faulty.device.device_memory_allocate(ID, 32).unwrap();
    faulty.report(Rule::MemoryGivenTwice);
}

#[test]
fn v051_no_handle() {
    let faulty = faulty();
    faulty.device.create_event(ID).unwrap();
    let text = faulty.report(Rule::NoHandle);
    assert_eq!(
        text,
        "warning V051: create_event(event) on faulty:0: the plugin reported success but returned no Event"
    );
}

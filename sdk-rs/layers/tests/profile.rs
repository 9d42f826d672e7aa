//! The layer `profile` on the CPU device.

use std::sync::Arc;

use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Event, Function, Partial, Stream, WithFallbacks};
use tenon_cpu::{Config, Cpu};
use tenon_layers::profile::Profile;

const DEVICE: DeviceId = DeviceId(0);

fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::with_config(Config { devices: 2, memory: 1 << 20, threads: 1 }))
}

#[test]
fn default_profile_changes_nothing() {
    let (plain, cpu) = (cpu(), cpu());
    let same = Profile::default().apply(cpu);
    for function in Function::ALL {
        assert_eq!(same.provides(function), plain.provides(function), "{}", function.name());
    }
    assert_eq!(same.get_device_count(), Ok(2));
    assert_eq!(same.device_memory_stats(DEVICE).map(|stats| stats.total_memory), Ok(1 << 20));
}

#[test]
fn hidden_functions_are_replaced_by_fallbacks() {
    let hidden = vec![Function::AsyncMemoryCopyH2d, Function::StreamWaitEvent, Function::QueryStream];
    let small = Profile { hidden: hidden.clone(), ..Profile::default() }.apply(cpu());
    for function in &hidden {
        assert!(!small.provides(*function), "{}", function.name());
    }
    assert!(small.provides(Function::AsyncMemoryCopyD2h));
    let device = WithFallbacks(small);
    let stream = device.create_stream(DEVICE).unwrap();
    let memory = device.device_memory_allocate(DEVICE, 5).unwrap();
    let host = device.host_memory_allocate(DEVICE, 5).unwrap();
    // SAFETY: the block has 5 bytes, and no work is queued.
    unsafe { host.bytes_mut(5) }.copy_from_slice(b"tenon");
    device.async_memory_copy_h2d(DEVICE, stream, memory, host, 5).unwrap();
    let mut back = [0; 5];
    // The fallback copies before it returns, so no synchronisation is needed.
    device.memory_copy_d2h(DEVICE, &mut back, memory).unwrap();
    assert_eq!(&back, b"tenon");
    device.stream_wait_event(DEVICE, stream, recorded(&device, stream)).unwrap();
}

fn recorded(device: &impl Device, stream: Stream) -> Event {
    let event = device.create_event(DEVICE).unwrap();
    device.record_event(DEVICE, stream, event).unwrap();
    event
}

#[test]
fn required_functions_stay() {
    let all = Profile { hidden: Function::ALL.to_vec(), ..Profile::default() }.apply(cpu());
    let mut left = Function::ALL.into_iter().filter(|function| all.provides(*function));
    assert!(left.clone().any(|function| function == Function::DeviceMemoryAllocate));
    assert!(left.all(|function| function.info().need != tenon::reflect::Need::Optional));
}

#[test]
fn memory_has_the_limit() {
    let small = Profile { memory: Some(1000), ..Profile::default() }.apply(cpu());
    let stats = |used: usize| {
        let stats = small.device_memory_stats(DEVICE).unwrap();
        assert_eq!((stats.total_memory, stats.free_memory), (1000, 1000 - used));
    };
    let first = small.device_memory_allocate(DEVICE, 600).unwrap();
    stats(600);
    assert_eq!(small.device_memory_allocate(DEVICE, 401), Ok(DevicePtr::NULL));
    stats(600);
    let other = small.device_memory_allocate(DeviceId(1), 1000).unwrap();
    assert!(!other.is_null(), "each device has its own limit");
    small.device_memory_deallocate(DEVICE, first, 600).unwrap();
    stats(0);
    assert_eq!(small.device_memory_allocate(DEVICE, usize::MAX), Ok(DevicePtr::NULL));
    let used = small.device_memory_allocate(DEVICE, 100).unwrap();
    assert!(small.device_memory_deallocate(DEVICE, first, 600).is_err());
    stats(100);
    small.device_memory_deallocate(DEVICE, used, 100).unwrap();
    stats(0);
}

#[test]
fn devices_have_the_limit() {
    let count = |most| {
        let small = Profile { devices: Some(most), ..Profile::default() }.apply(cpu());
        (small.get_device_count().unwrap(), small.get_device_list().unwrap())
    };
    assert_eq!(count(1), (1, vec![0]));
    assert_eq!(count(5), (2, vec![0, 1]), "a profile has no more devices than the plugin");
}

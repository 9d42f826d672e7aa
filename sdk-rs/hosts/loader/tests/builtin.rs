//! Tests of the built-in device, and of the availability of each function.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::load;
use tenon::device::{Device, DeviceId, Error, Function, Layer, Outcome, Release};
use tenon::reflect::{Call, FallbackKind};
use tenon_loader::{Availability, LoadOptions, Plugin, Recognition};

#[test]
fn the_cpu_is_a_plugin_like_any_other() {
    let cpu = Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone());
    assert_eq!((cpu.name(), cpu.path(), cpu.release()), ("cpu", None, None));
    assert_eq!((cpu.device_type(), cpu.sub_device_type()), (c"cpu", None));
    assert_eq!(*cpu.recognised_by(), Recognition::BuiltIn);
    let device = cpu.device();
    let id = DeviceId(0);
    let there = device.device_memory_allocate(id, 5).expect("there is memory");
    device.memory_copy_h2d(id, there, b"tenon").expect("the copy works");
    let mut back = [0; 5];
    // The same device, by another way.
    cpu.partial().memory_copy_d2h(id, &mut back, there).expect("the copy works");
    assert_eq!(&back, b"tenon");
    device.device_memory_deallocate(id, there, 5).expect("the memory goes");
}

#[test]
fn each_function_is_native_replaced_or_unavailable() {
    let flags = ["CHECK_BOTH", "CLEAR_OWN", "FILL_MOVED"];
    let plugin = load("availability", Release::V3_1, &flags, &LoadOptions::default()).expect("it loads");
    assert_eq!(plugin.functions().len(), Function::ALL.len());
    let native: Vec<Function> = plugin
        .functions()
        .filter(|(_, availability)| matches!(availability, Availability::Native))
        .map(|(function, _)| function)
        .collect();
    assert_eq!(native.len(), 13 + 2);
    assert!(native.iter().all(|function| plugin.partial().provides(*function)));
    let Availability::Fallback(fallback) = plugin.availability(Function::QueryEvent) else {
        panic!("no fallback")
    };
    assert_eq!(fallback.calls, ["synchronize_event"]);
    // It only refuses, so it is not a fallback.
    let refuses = Function::UnifiedMemoryAllocate.info().fallback.as_ref().map(|fallback| fallback.kind);
    assert_eq!(refuses, Some(FallbackKind::Refuse));
    for absent in [Function::UnifiedMemoryAllocate, Function::SynchronizeDevice, Function::XcclAllReduce] {
        assert!(matches!(plugin.availability(absent), Availability::Unavailable), "{absent:?}");
    }
    // Its fallback sends and receives, and nobody here does.
    assert!(Function::XcclAllToAll.has_fallback());
    assert!(matches!(plugin.availability(Function::XcclAllToAll), Availability::Unavailable));
}

#[test]
fn what_is_called_unavailable_refuses_and_the_rest_answers() {
    let flags = ["CHECK_BOTH", "CLEAR_OWN"];
    let plugin = load("answers", Release::V2_6, &flags, &LoadOptions::default()).expect("it loads");
    let device = plugin.device();
    assert!(matches!(plugin.availability(Function::DeviceMinChunkSize), Availability::Fallback(_)));
    assert_eq!(device.device_min_chunk_size(DeviceId(0)).expect("the fallback answers"), 256);
    assert!(matches!(plugin.availability(Function::XcclGetUniqueIdSize), Availability::Unavailable));
    device.xccl_get_unique_id_size().expect_err("nobody can say");
}

struct Counts(AtomicUsize);

impl Layer for Counts {
    fn before(&self, _: &Call<'_>, _: &dyn Device) -> Result<u64, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(0)
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

#[test]
fn layers_see_the_calls_of_both_kinds() {
    let flags = ["CHECK_BOTH", "CLEAR_OWN"];
    let loaded = load("layered", Release::V3_3, &flags, &LoadOptions::default()).expect("it loads");
    for plugin in [loaded, Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone())] {
        let counts = Arc::new(Counts(AtomicUsize::new(0)));
        let device = plugin.layered(vec![counts.clone()]);
        device.set_device(DeviceId(0)).expect("there is such a device");
        assert_eq!(counts.0.load(Ordering::Relaxed), 1, "{}", plugin.name());
    }
}

//! Collectives that are added to a device in C.

use std::ffi::{CStr, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::thread;

use tenon::device::ffi::v3_3::{C_DeviceInterface, CustomRuntimeParams};
use tenon::device::*;
use tenon_plugin::tenon_collectives_fill;

/// Compiles the device of the conformance tests without collectives, and returns the table that it fills.
fn table_of_the_device() -> Box<C_DeviceInterface> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libwithout_collectives.so");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-pthread"])
        .args(["-DWITHOUT_COLLECTIVES", "-I"])
        .arg(here.join("../include"))
        .arg(here.join("../../tools/conformance/tests/faulty/plugin.c"))
        .arg("-o")
        .arg(&library)
        .output()
        .expect("a C compiler is installed");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // SAFETY: zero is a null pointer, a missing function or a number. The library has no initialisers, its function has this
    // type, and it stays loaded.
    unsafe {
        let mut table = Box::new(MaybeUninit::<C_DeviceInterface>::zeroed().assume_init());
        let mut params = MaybeUninit::<CustomRuntimeParams>::zeroed().assume_init();
        table.size = size_of::<C_DeviceInterface>();
        params.size = size_of::<CustomRuntimeParams>();
        params.interface = (&raw mut *table).cast();
        let library = ManuallyDrop::new(libloading::Library::new(&library).unwrap());
        let init = library.get::<unsafe extern "C" fn(*mut CustomRuntimeParams)>(b"InitPlugin").unwrap();
        init(&raw mut params);
        assert_eq!(CStr::from_ptr(params.device_type), c"faulty");
        table
    }
}

fn fill(table: &mut C_DeviceInterface) -> Status {
    // SAFETY: a table that begins with its size.
    unsafe { tenon_collectives_fill((&raw mut *table).cast()) }
}

/// Returns the device with collectives. A process has one plugin.
fn device() -> &'static WithFallbacks<&'static Loaded> {
    static DEVICE: OnceLock<WithFallbacks<&'static Loaded>> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let mut table = table_of_the_device();
        let mut empty = Box::new(C_DeviceInterface { size: table.size, ..*zeroed() });
        // SAFETY: null is allowed.
        assert_eq!(unsafe { tenon_collectives_fill(null_mut()) }, Status::ERROR);
        assert_eq!(fill(&mut empty), Status::ERROR, "it lacks what is needed");
        let size = table.size;
        table.size = 17;
        assert_eq!(fill(&mut table), Status::ERROR, "no release has this size");
        table.size = size;
        assert!(table.xccl_all_reduce.is_none());
        assert_eq!(fill(&mut table), Status::SUCCESS);
        assert!(table.xccl_all_reduce.is_some());
        assert_eq!(fill(&mut table), Status::ERROR, "it has collectives now");
        let table: &'static C_DeviceInterface = Box::leak(table);
        let place: *const c_void = (&raw const *table).cast();
        // SAFETY: the table has the layout of this release, and its library stays loaded.
        let loaded = unsafe { Loaded::from_table(Release::NEWEST, place, None) };
        let device = WithFallbacks(&*Box::leak(Box::new(loaded)));
        device.initialize().unwrap();
        device
    })
}

fn zeroed() -> Box<C_DeviceInterface> {
    // SAFETY: zero is a null pointer, a missing function or a number.
    Box::new(unsafe { MaybeUninit::zeroed().assume_init() })
}

#[test]
fn two_devices_in_c_add_their_numbers() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let device = device();
    let mut id = vec![0; device.xccl_get_unique_id_size().unwrap()];
    device.xccl_get_unique_id(&mut id).unwrap();
    thread::scope(|scope| {
        for rank in 0..2 {
            let mut id = id.clone();
            scope.spawn(move || {
                let own = DeviceId(rank as i32);
                device.set_device(own).unwrap();
                let comm = device.xccl_comm_init_rank(2, &mut id, rank).unwrap();
                assert!(device.xccl_get_comm_name(comm).unwrap().starts_with("tenon-"));
                let stream = device.create_stream(own).unwrap();
                let data = device.device_memory_allocate(own, 8).unwrap();
                device
                    .memory_copy_h2d(own, data, &[1.5_f32, rank as f32].map(f32::to_ne_bytes).concat())
                    .unwrap();
                for _ in 0..3 {
                    let (data_type, op) = (DataType::FLOAT32, ReduceOp::SUM);
                    device.xccl_all_reduce(data, data, 2, data_type, op, comm, stream).unwrap();
                }
                device.synchronize_stream(own, stream).unwrap();
                let mut bytes = [0; 8];
                device.memory_copy_d2h(own, &mut bytes, data).unwrap();
                let sums = bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
                assert_eq!(sums.collect::<Vec<_>>(), [12.0, 4.0]);
                device.xccl_destroy_comm(comm).unwrap();
                assert!(device.xccl_destroy_comm(comm).is_err());
                device.device_memory_deallocate(own, data, 8).unwrap();
                device.destroy_stream(own, stream).unwrap();
            });
        }
    });
}

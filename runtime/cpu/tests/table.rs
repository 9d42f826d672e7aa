//! The device as a host meets it: through the table of function pointers.
#![cfg(not(loom))]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tenon::device::*;
use tenon_cpu::Cpu;

/// Returns the newest table, filled.
fn table() -> ffi::C_DeviceInterface {
    let mut words = vec![0u64; Release::NEWEST.table_size() / 8];
    words[0] = Release::NEWEST.table_size() as u64;
    let mut params = [0u64; 12];
    params[0] = Release::NEWEST.params_size() as u64;
    // As a pointer: an integer would lose the provenance.
    // SAFETY: the array has a second element, of the size of a pointer.
    unsafe { params.as_mut_ptr().add(1).cast::<*mut u64>().write(words.as_mut_ptr()) };
    // SAFETY: the params begin with their size and with the table, which begins with its own.
    let met = unsafe { hand_over::<Cpu>(params.as_mut_ptr().cast(), c"cpu") };
    assert_eq!(met, std::result::Result::Ok(Release::NEWEST));
    // SAFETY: the vector holds the table of that release, and is aligned to its words.
    unsafe { words.as_ptr().cast::<ffi::C_DeviceInterface>().read() }
}

macro_rules! call {
    ($table:ident . $function:ident ( $($argument:expr),* )) => {
        // SAFETY: the tests pass what the interface asks for, or what the device is to refuse.
        unsafe { $table.$function.expect(stringify!($function))($($argument),*) }
    };
}

macro_rules! ok {
    ($table:ident . $function:ident ( $($argument:expr),* )) => {
        assert_eq!(call!($table.$function($($argument),*)), Status::SUCCESS, "{}", message())
    };
}

fn message() -> String {
    tenon::last_error(|text| text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default())
}

fn id(id: i32) -> ffi::C_Device_st {
    ffi::C_Device_st { id }
}

/// Allocates memory of a device with these bytes in it.
fn filled(table: &ffi::C_DeviceInterface, device: i32, bytes: &[u8]) -> *mut c_void {
    let mut pointer = null_mut();
    ok!(table.device_memory_allocate(&mut id(device), &mut pointer, bytes.len()));
    ok!(table.memory_copy_h2d(&mut id(device), pointer, bytes.as_ptr().cast(), bytes.len()));
    pointer
}

/// Allocates pinned host memory of a device with these bytes in it: copies with it do not wait.
fn pinned<'a>(table: &ffi::C_DeviceInterface, device: i32, bytes: &[u8]) -> &'a mut [u8] {
    let mut pointer = null_mut();
    ok!(table.host_memory_allocate(&mut id(device), &mut pointer, bytes.len()));
    // SAFETY: the device has just made as many bytes, and nobody else knows of them.
    let memory = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), bytes.len()) };
    memory.copy_from_slice(bytes);
    memory
}

fn read(table: &ffi::C_DeviceInterface, device: i32, pointer: *const c_void, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    ok!(table.memory_copy_d2h(&mut id(device), bytes.as_mut_ptr().cast(), pointer, len));
    bytes
}

#[test]
fn what_a_cpu_has_no_meaning_for_is_absent() {
    let table = table();
    assert!(table.xccl_all_reduce.is_some());
    assert!(table.get_device_properties.is_none());
    assert!(table.get_parameter_setter_for_exec_graph.is_none());
    assert!(table.cuda_stream_end_captrue.is_some());
}

#[test]
fn an_asynchronous_copy_runs_in_the_order_of_its_stream() {
    let table = table();
    let mut stream = null_mut();
    ok!(table.create_stream(&mut id(0), &mut stream));
    let source = pinned(&table, 0, &vec![7u8; 1 << 20]);
    let memory = filled(&table, 0, &vec![1u8; 1 << 20]);
    let back = pinned(&table, 0, &vec![0u8; 1 << 20]);
    ok!(table.async_memory_copy_h2d(&mut id(0), stream, memory, source.as_ptr().cast(), source.len()));
    ok!(table.async_memory_copy_d2h(&mut id(0), stream, back.as_mut_ptr().cast(), memory, back.len()));
    ok!(table.synchronize_stream(&mut id(0), stream));
    assert_eq!(back, source);
    ok!(table.device_memory_deallocate(&mut id(0), memory, 1 << 20));
    ok!(table.destroy_stream(&mut id(0), stream));
}

#[test]
fn pageable_memory_may_go_when_the_call_returns() {
    let table = table();
    let mut stream = null_mut();
    ok!(table.create_stream(&mut id(0), &mut stream));
    let size = 4 << 20;
    let (from, to) = (filled(&table, 0, &vec![3u8; size]), filled(&table, 0, &vec![0u8; size]));
    for round in 1..=20u8 {
        // Work in front of the copies, so that they cannot run at once.
        ok!(table.async_memory_copy_d2d(&mut id(0), stream, to, from, size));
        let mut source = vec![round; size];
        ok!(table.async_memory_copy_h2d(&mut id(0), stream, from, source.as_ptr().cast(), size));
        source.fill(0);
        ok!(table.async_memory_copy_d2d(&mut id(0), stream, to, from, size));
        let mut back = vec![0u8; size];
        ok!(table.async_memory_copy_d2h(&mut id(0), stream, back.as_mut_ptr().cast(), to, size));
        let wrong = back.iter().filter(|byte| **byte != round).count();
        assert_eq!(wrong, 0, "of {size} bytes in round {round}; the first is {}", back[0]);
    }
    ok!(table.destroy_stream(&mut id(0), stream));
}

#[test]
fn memory_that_does_not_suffice_is_a_null_address() {
    let table = table();
    let mut pointer = std::ptr::without_provenance_mut(1);
    ok!(table.device_memory_allocate(&mut id(0), &mut pointer, 1 << 60));
    assert!(pointer.is_null());
}

#[test]
fn properties_of_a_device_that_is_not_there_are_refused() {
    let table = table();
    for unknown in [-1, 2, i32::MAX] {
        let mut number = 7;
        for ask in [
            table.get_runtime_version,
            table.get_driver_version,
            table.get_multi_process,
            table.get_max_threads_per_mp,
            table.get_max_threads_per_block,
        ] {
            // SAFETY: the table is filled, and both addresses lead to places of ours.
            let status = unsafe { ask.expect("it is there")(&mut id(unknown), &mut number) };
            assert_eq!((status, number), (Status::ERROR, 7), "device {unknown}");
        }
        let mut truth = true;
        for ask in [table.is_float16_supported, table.is_bfloat16_supported, table.is_dnn_supported] {
            // SAFETY: as above.
            let status = unsafe { ask.expect("it is there")(&mut id(unknown), &mut truth) };
            assert_eq!((status, truth), (Status::ERROR, true), "device {unknown}");
        }
    }
}

#[test]
fn the_statistics_add_up() {
    let table = table();
    let (mut total, mut before, mut after) = (0, 0, 0);
    ok!(table.device_memory_stats(&mut id(1), &mut total, &mut before));
    assert!(before <= total && total > 0);
    let mut pointer = null_mut();
    ok!(table.device_memory_allocate(&mut id(1), &mut pointer, 1 << 16));
    ok!(table.device_memory_stats(&mut id(1), &mut total, &mut after));
    assert!(after + (1 << 16) <= before, "{before} free before, {after} after");
    ok!(table.device_memory_deallocate(&mut id(1), pointer, 1 << 16));
}

#[test]
fn what_the_device_does_not_know_is_refused_with_its_reason() {
    let table = table();
    let made_up: ffi::C_Stream = std::ptr::without_provenance_mut(0xdead_beef);
    assert_eq!(call!(table.synchronize_stream(&mut id(0), made_up)), Status::ERROR);
    assert_eq!(message(), "synchronize_stream: 0xdeadbeef is not a live stream");
    assert_eq!(call!(table.set_device(&mut id(99))), Status::ERROR);
    assert_eq!(call!(table.set_device(&mut id(-1))), Status::ERROR);
    let nowhere: *mut c_void = std::ptr::without_provenance_mut(0x1000);
    assert_eq!(call!(table.memory_copy_d2d(&mut id(0), nowhere, nowhere, 8)), Status::ERROR);
    assert!(message().contains("0x1000 lies in no live allocation"), "{}", message());
    let memory = filled(&table, 0, b"four");
    assert_eq!(call!(table.device_memory_set(&mut id(0), memory, 0, 5_000)), Status::ERROR);
    assert_eq!(call!(table.device_memory_set(&mut id(1), memory, 0, 4)), Status::ERROR);
    ok!(table.device_memory_deallocate(&mut id(0), memory, 4));
    assert_eq!(call!(table.device_memory_deallocate(&mut id(0), memory, 4)), Status::ERROR);
    let mut event = null_mut();
    ok!(table.create_event(&mut id(0), &mut event));
    ok!(table.destroy_event(&mut id(0), event));
    assert_eq!(call!(table.synchronize_event(&mut id(0), event)), Status::ERROR);
}

#[test]
fn null_is_the_default_stream_and_is_never_destroyed() {
    let table = table();
    ok!(table.destroy_stream(&mut id(0), null_mut()));
    ok!(table.synchronize_stream(&mut id(0), null_mut()));
    ok!(table.device_memory_deallocate(&mut id(0), null_mut(), 0));
    ok!(table.query_stream(&mut id(0), null_mut()));
}

static CALLED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" fn count(
    device: ffi::C_Device,
    _stream: ffi::C_Stream,
    user_data: *mut c_void,
    status: *mut Status,
) {
    // SAFETY: the device passes live pointers for the call.
    unsafe {
        assert_eq!((*device).id, 0);
        assert_eq!(*status, Status::SUCCESS, "a callback that says nothing has succeeded");
    }
    CALLED.fetch_add(user_data.addr(), Ordering::SeqCst);
}

#[test]
fn a_callback_gets_what_it_was_given() {
    let table = table();
    let mut stream = null_mut();
    ok!(table.create_stream(&mut id(0), &mut stream));
    let context = std::ptr::without_provenance_mut(42);
    ok!(table.stream_add_callback(&mut id(0), stream, Some(count), context));
    ok!(table.synchronize_stream(&mut id(0), stream));
    assert_eq!(CALLED.load(Ordering::SeqCst), 42);
    assert_eq!(call!(table.stream_add_callback(&mut id(0), stream, None, null_mut())), Status::ERROR);
    assert_eq!(message(), "stream_add_callback: `callback` is null");
    ok!(table.destroy_stream(&mut id(0), stream));
}

#[test]
fn a_callback_is_not_captured_since_graphs_run_more_than_once() {
    let table = table();
    let (mut stream, mut graph) = (null_mut(), null_mut());
    ok!(table.create_stream(&mut id(0), &mut stream));
    ok!(table.cuda_stream_begin_capture(&mut id(0), stream, CaptureMode::GLOBAL));
    let added = call!(table.stream_add_callback(&mut id(0), stream, Some(count), null_mut()));
    assert_eq!(added, Status::ERROR);
    assert!(message().contains("`stream_add_callback` is not possible while a stream is being captured"));
    assert_eq!(call!(table.cuda_stream_end_captrue(&mut id(0), stream, &mut graph)), Status::ERROR);
    ok!(table.destroy_stream(&mut id(0), stream));
}

#[test]
fn a_peer_copy_comes_after_the_source_s_own_work() {
    let table = table();
    let (mut on_source, mut on_target) = (null_mut(), null_mut());
    ok!(table.create_stream(&mut id(0), &mut on_source));
    ok!(table.create_stream(&mut id(1), &mut on_target));
    let size = 8 << 20;
    let source = filled(&table, 0, &vec![0u8; size]);
    let target = filled(&table, 1, &vec![0u8; size]);
    let fresh = pinned(&table, 0, &vec![9u8; size]);
    ok!(table.async_memory_copy_h2d(&mut id(0), on_source, source, fresh.as_ptr().cast(), size));
    // As PaddlePaddle does it: a stream of the destination, and no wait for the source.
    ok!(table.async_memory_copy_p2p(&mut id(1), &mut id(0), on_target, target, source, size));
    ok!(table.synchronize_stream(&mut id(1), on_target));
    assert_eq!(read(&table, 1, target, size), fresh);
    ok!(table.device_memory_deallocate(&mut id(0), source, size));
    ok!(table.device_memory_deallocate(&mut id(1), target, size));
}

/// Blocks its stream until it is released, for ten seconds at most.
unsafe extern "C-unwind" fn hold(
    _device: ffi::C_Device,
    _stream: ffi::C_Stream,
    notified: *mut c_void,
    status: *mut Status,
) {
    // SAFETY: the test keeps the receiver until its stream is done, and the device the status for the call.
    let (notified, status) = unsafe { (&*notified.cast::<Receiver<()>>(), &mut *status) };
    if notified.recv_timeout(Duration::from_secs(10)).is_err() {
        *status = Status::ERROR;
    }
}

#[test]
fn a_peer_copy_in_a_stream_of_the_source_is_only_queued() {
    let table = table();
    let (mut stream, mut other) = (null_mut(), null_mut());
    ok!(table.create_stream(&mut id(0), &mut stream));
    ok!(table.create_stream(&mut id(0), &mut other));
    let (source, target) = (filled(&table, 0, b"there"), filled(&table, 1, b"....."));
    let (tell, notified) = channel::<()>();
    let notified = (&raw const notified).cast_mut().cast();
    ok!(table.stream_add_callback(&mut id(0), stream, Some(hold), notified));
    ok!(table.async_memory_copy_p2p(&mut id(1), &mut id(0), stream, target, source, 5));
    ok!(table.async_memory_copy_p2p(&mut id(1), &mut id(0), other, target, source, 5));
    tell.send(()).unwrap();
    // Had a copy waited for the callback, that would have failed.
    ok!(table.synchronize_stream(&mut id(0), stream));
    ok!(table.synchronize_stream(&mut id(0), other));
    assert_eq!(read(&table, 1, target, 5), b"there");
    ok!(table.device_memory_deallocate(&mut id(0), source, 5));
    ok!(table.device_memory_deallocate(&mut id(1), target, 5));
    for stream in [stream, other] {
        ok!(table.destroy_stream(&mut id(0), stream));
    }
}

#[test]
fn a_capture_replays() {
    let table = table();
    let mut stream = null_mut();
    ok!(table.create_stream(&mut id(0), &mut stream));
    let (from, to) = (filled(&table, 0, b"first"), filled(&table, 0, b"....."));
    ok!(table.cuda_stream_begin_capture(&mut id(0), stream, CaptureMode::RELAXED));
    ok!(table.async_memory_copy_d2d(&mut id(0), stream, to, from, 5));
    let (mut status, mut capture) = (CaptureStatus::NONE, 0);
    ok!(table.cuda_stream_capture_info(
        &mut id(0),
        stream,
        &mut status,
        &mut capture,
        null_mut(),
        null_mut(),
        null_mut(),
        null_mut()
    ));
    assert_eq!(status, CaptureStatus::ACTIVE);
    assert_ne!(capture, 0);
    let mut graph = null_mut();
    ok!(table.cuda_stream_end_captrue(&mut id(0), stream, &mut graph));
    assert_eq!(read(&table, 0, to, 5), b".....", "a captured copy has not run");
    let mut nodes = 0;
    ok!(table.cuda_graph_get_nodes(graph, null_mut(), &mut nodes));
    assert_eq!(nodes, 1);
    let mut exec = null_mut();
    ok!(table.cuda_graph_instantiate(&mut exec, &mut graph, null_mut(), null_mut(), 0));
    for round in [b"first", b"again"] {
        ok!(table.memory_copy_h2d(&mut id(0), from, round.as_ptr().cast(), 5));
        ok!(table.cuda_graph_launch(&mut id(0), exec, stream));
        ok!(table.synchronize_stream(&mut id(0), stream));
        assert_eq!(read(&table, 0, to, 5), round);
    }
    ok!(table.cuda_graph_exec_destroy(exec));
    ok!(table.cuda_graph_destroy(graph));
    assert_eq!(call!(table.cuda_graph_destroy(graph)), Status::ERROR);
}

#[test]
fn axpby_computes_in_place() {
    let table = table();
    let values = |numbers: [f32; 3]| numbers.map(f32::to_ne_bytes).concat();
    let x = filled(&table, 0, &values([1.0, 2.0, 3.0]));
    let y = filled(&table, 0, &values([10.0, 20.0, f32::NAN]));
    ok!(table.blas_axpby(&mut id(0), null_mut(), DataType::FLOAT32, 2, 2.0, x, 0.5, y));
    // A factor of zero does not read: the NaN does not spread.
    let third = y.wrapping_byte_add(8);
    ok!(table.blas_axpby(&mut id(0), null_mut(), DataType::FLOAT32, 1, 4.0, x, 0.0, third));
    ok!(table.synchronize_stream(&mut id(0), null_mut()));
    assert_eq!(read(&table, 0, y, 12), values([7.0, 14.0, 4.0]));
    assert_eq!(
        call!(table.blas_axpby(&mut id(0), null_mut(), DataType::FLOAT32, 4_000, 1.0, x, 1.0, y)),
        Status::ERROR
    );
    assert_eq!(
        call!(table.blas_axpby(&mut id(0), null_mut(), DataType::INT8, 1, 1.0, x, 1.0, y)),
        Status::ERROR
    );
    assert_eq!(
        call!(table.blas_axpby(&mut id(0), null_mut(), DataType::FLOAT32, 1, 1.0, null_mut(), 1.0, y)),
        Status::ERROR
    );
}

#[test]
fn library_handles_are_of_their_device() {
    let table = table();
    let mut handle = null_mut();
    ok!(table.init_blas_handle(&mut id(0), &mut handle, null_mut()));
    ok!(table.blas_set_math_mode(&mut id(0), handle, 1));
    assert_eq!(call!(table.blas_set_math_mode(&mut id(1), handle, 1)), Status::ERROR);
    ok!(table.destroy_blas_handle(&mut id(0), handle));
    assert_eq!(call!(table.destroy_blas_handle(&mut id(0), handle)), Status::ERROR);
}

#[test]
fn an_empty_copy_asks_for_nothing() {
    let table = table();
    ok!(table.memory_copy_h2d(&mut id(0), null_mut(), null(), 0));
    ok!(table.memory_copy_d2d(&mut id(0), null_mut(), null(), 0));
}

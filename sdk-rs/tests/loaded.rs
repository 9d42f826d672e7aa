//! A plugin of each release, called through its table as a host of another release would.

mod minimal;

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use minimal::minimal;
use tenon::device::*;
use tenon::{AnyPtr, DevicePtr};

minimal!(tenon::device => Rich {
    fn get_runtime_version(&self, device: DeviceId) -> Result<usize> {
        Ok(100 + device.0 as usize)
    }

    fn query_stream(&self, _: DeviceId, stream: Stream) -> Result<bool> {
        match stream.addr() {
            1 => Ok(true),
            2 => Ok(false),
            _ => Err(Error::invalid("there is no such stream")),
        }
    }

    fn get_max_grid_dim_size(&self, _: DeviceId) -> Result<[u32; 3]> {
        Ok([1, 2, 3])
    }

    fn xccl_get_comm_name(&self, _: CollectiveComm) -> Result<String> {
        Ok("ring".to_owned())
    }

    fn xccl_get_unique_id(&self, id: &mut [u8]) -> Result<()> {
        id.fill(7);
        Ok(())
    }

    fn stream_add_callback(&self, device: DeviceId, stream: Stream, callback: StreamCallback) -> Result<()> {
        callback.call(device, stream);
        Ok(())
    }

    fn cuda_graph_get_nodes(&self, _: Graph, nodes: Option<&mut [GraphNode]>, count: &mut usize) -> Result<()> {
        *count = 2;
        if let Some(nodes) = nodes {
            for (index, node) in nodes.iter_mut().enumerate() {
                *node = GraphNode::from_addr(10 + index);
            }
        }
        Ok(())
    }

    fn async_memory_fill(&self, _: DeviceId, _: Stream, dst: DevicePtr, pattern: &[u8], size: usize) -> Result<()> {
        match (dst.addr(), pattern, size) {
            (64, b"ab", 6) => Ok(()),
            _ => Err(Error::invalid("other arguments")),
        }
    }

    fn event_elapsed_time(&self, _: DeviceId, start: Event, end: Event) -> Result<i64> {
        Ok(end.addr() as i64 - start.addr() as i64)
    }

    fn device_memory_stats(&self, _: DeviceId) -> Result<DeviceMemoryStats> {
        Ok(DeviceMemoryStats { total_memory: 64, free_memory: 32 })
    }

    fn xccl_all_to_all(
        &self,
        send_buf: &[DevicePtr],
        send_count: &[usize],
        _: &[DataType],
        recv_buf: &[DevicePtr],
        _: &[usize],
        recv_dtype: &[DataType],
        rank: usize,
        _: CollectiveComm,
        _: Stream,
    ) -> Result<()> {
        assert_eq!(send_buf, [DevicePtr::from_addr(64), DevicePtr::from_addr(128)]);
        assert_eq!((send_count, recv_buf.len(), rank), (&[3, 4][..], 2, 1));
        assert_eq!(recv_dtype, [DataType::FLOAT32, DataType::INT8]);
        Ok(())
    }
});

unsafe extern "C-unwind" fn last_error() -> *const c_char {
    tenon::last_error(|message| message.map_or(std::ptr::null(), CStr::as_ptr))
}

const ID: DeviceId = DeviceId(1);

/// Loads the plugin for a host of one release, with and without error messages.
fn loaded(release: Release, tells: bool) -> Loaded {
    let mut table = vec![0u64; release.table_size() / 8];
    let mut words = [0u64; 12];
    table[0] = release.table_size() as u64;
    words[0] = release.params_size() as u64;
    words[1] = table.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the params begin with their size and with the table, which begins with its own.
    let met = unsafe { hand_over::<Rich>(words.as_mut_ptr().cast::<c_void>(), c"rich") };
    assert_eq!(met, std::result::Result::Ok(release));
    // SAFETY: just filled in that layout, by functions of this program.
    unsafe { Loaded::from_table(release, table.as_ptr().cast(), tells.then_some(last_error as LastError)) }
}

fn each_release(test: impl Fn(&Loaded)) {
    for release in Release::ALL {
        test(&loaded(release, true));
    }
}

#[test]
fn what_a_release_has_is_there_and_nothing_else() {
    each_release(|device| {
        for function in Function::ALL {
            let provided = Rich::PROVIDED.has(function) || function.is_always_filled();
            let expected = provided && device.release().offset_of(function).is_some();
            assert_eq!(device.has(function), expected, "{} in {}", function.name(), device.release().name());
        }
    });
}

#[test]
fn values_arrays_texts_and_structs_come_back() {
    each_release(|device| {
        assert_eq!(device.get_device_count(), Ok(2));
        assert_eq!(device.get_device_list(), Ok(vec![0, 1]));
        assert_eq!(device.create_event(ID), Ok(Event::from_addr(1)));
        device.set_device(ID).unwrap();
        assert_eq!(device.get_device(), Ok(ID));
        let stats = device.device_memory_stats(ID).unwrap();
        assert_eq!((stats.total_memory, stats.free_memory), (64, 32));
        let mut id = [0; 5];
        device.xccl_get_unique_id(&mut id).unwrap();
        assert_eq!(id, [7; 5]);
        if device.has(Function::XcclGetCommName) {
            assert_eq!(device.xccl_get_comm_name(CollectiveComm::from_addr(1)), Ok("ring".to_owned()));
        }
        if device.has(Function::GetMaxGridDimSize) {
            assert_eq!(device.get_max_grid_dim_size(ID), Ok([1, 2, 3]));
        }
    });
}

#[test]
fn a_signature_of_its_own_release_is_used() {
    // Until 3.0 the function has no device, and the plugin uses the current one.
    each_release(|device| {
        device.set_device(DeviceId(0)).unwrap();
        let expected = if device.release() <= Release::V3_0 { 100 } else { 101 };
        assert_eq!(device.get_runtime_version(ID), Ok(expected), "in {}", device.release().name());
    });
}

#[test]
fn memory_is_copied_there_and_back() {
    each_release(|device| {
        let memory = device.device_memory_allocate(ID, 4).unwrap();
        let mut back = *b"....";
        device.memory_copy_h2d(ID, memory, b"abcd").unwrap();
        device.memory_copy_d2h(ID, &mut back, memory).unwrap();
        assert_eq!(&back, b"abcd");
        device.device_memory_deallocate(ID, memory, 4).unwrap();
    });
}

#[test]
fn questions_are_answered_or_fail() {
    each_release(|device| {
        assert_eq!(device.query_stream(ID, Stream::from_addr(1)), Ok(true));
        assert_eq!(device.query_stream(ID, Stream::from_addr(2)), Ok(false));
        let error = device.query_stream(ID, Stream::from_addr(3)).unwrap_err();
        assert_eq!(error.status, Status::ERROR);
        assert_eq!(error.message, "query_stream: there is no such stream");
    });
}

#[test]
fn a_plugin_that_tells_nothing_is_quoted_by_its_status() {
    let error = loaded(Release::V3_3, false).set_device(DeviceId(9)).unwrap_err();
    assert_eq!((error.status, &*error.message), (Status::ERROR, "`set_device` answered error"));
}

#[test]
fn what_is_absent_says_so() {
    let error = loaded(Release::V2_6, true).get_max_grid_dim_size(ID).unwrap_err();
    assert_eq!(error.message, "`get_max_grid_dim_size` is not implemented by this device");
}

#[test]
fn callbacks_take_their_pointer_along() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C-unwind" fn seen(
        device: ffi::C_Device,
        stream: ffi::C_Stream,
        data: *mut c_void,
        _: *mut Status,
    ) {
        // SAFETY: the interface passes a device.
        let device = unsafe { (*device).id } as usize;
        SEEN.fetch_add(device + stream.addr() + data.addr(), Ordering::SeqCst);
    }
    // SAFETY: it follows only what the interface passes.
    let callback = unsafe { StreamCallback::from_raw(Some(seen), AnyPtr::from_addr(100)) };
    each_release(|device| device.stream_add_callback(ID, Stream::from_addr(10), callback).unwrap());
    assert_eq!(SEEN.load(Ordering::SeqCst), 111 * Release::ALL.len());
}

#[test]
fn what_goes_in_and_out_comes_back_changed() {
    let device = loaded(Release::V3_3, true);
    let (mut nodes, mut count) = ([GraphNode::NULL; 2], 2);
    device.cuda_graph_get_nodes(Graph::from_addr(1), Some(&mut nodes), &mut count).unwrap();
    assert_eq!((nodes, count), ([GraphNode::from_addr(10), GraphNode::from_addr(11)], 2));
    count = 0;
    device.cuda_graph_get_nodes(Graph::from_addr(1), None, &mut count).unwrap();
    assert_eq!(count, 2);
}

#[test]
fn slices_that_share_a_length_must_agree() {
    each_release(|device| {
        let buffers = [DevicePtr::from_addr(64), DevicePtr::from_addr(128)];
        let types = [DataType::FLOAT32, DataType::INT8];
        let all_to_all = |counts: &[usize]| {
            let (comm, stream) = (CollectiveComm::from_addr(1), Stream::NULL);
            device.xccl_all_to_all(&buffers, &[3, 4], &types, &buffers, counts, &types, 1, comm, stream)
        };
        all_to_all(&[1, 2]).unwrap();
        let error = all_to_all(&[1]).unwrap_err();
        assert_eq!(error.message, "slices of 2 and 1 elements, where `nranks` is one");
    });
}

fn with_extension(table: &ffi::TenonDeviceExtension) -> Loaded {
    // SAFETY: its functions are those of this program.
    unsafe { loaded(Release::V2_6, true).with_extension(std::ptr::from_ref(table).cast()) }
}

#[test]
fn function_of_the_extension_is_called() {
    let device = with_extension(&extension::<Rich>());
    assert!(device.has(Function::AsyncMemoryFill));
    device.async_memory_fill(ID, Stream::NULL, DevicePtr::from_addr(64), b"ab", 6).unwrap();
    let error = device.async_memory_fill(ID, Stream::NULL, DevicePtr::from_addr(64), b"ab", 4).unwrap_err();
    assert_eq!(error.message, "async_memory_fill: other arguments");
    let [earlier, later] = [Event::from_addr(16), Event::from_addr(48)];
    assert_eq!(device.event_elapsed_time(ID, earlier, later), Ok(32));
    assert_eq!(device.event_elapsed_time(ID, later, earlier), Ok(-32));
}

#[test]
fn extension_is_read_as_far_as_both_sides_know_it() {
    let whole = extension::<Rich>();
    let has = |table: ffi::TenonDeviceExtension| {
        let device = with_extension(&table);
        [Function::AsyncMemoryFill, Function::EventElapsedTime].map(|function| device.has(function))
    };
    let (newer, older) = (whole.size + 8, whole.size - 8);
    assert_eq!(
        has(ffi::TenonDeviceExtension { size: newer, minor: 7, ..whole }),
        [true, true],
        "a newer plugin"
    );
    assert_eq!(
        has(ffi::TenonDeviceExtension { size: older, minor: 0, ..whole }),
        [true, false],
        "an older plugin"
    );
    assert_eq!(has(ffi::TenonDeviceExtension { size: 8, ..whole }), [false, false], "no version");
    assert_eq!(has(ffi::TenonDeviceExtension { major: 2, ..whole }), [false, false], "another major version");
    // SAFETY: null is allowed.
    let none = unsafe { loaded(Release::NEWEST, true).with_extension(std::ptr::null()) };
    assert!(!none.has(Function::AsyncMemoryFill));
}

#[test]
fn functions_of_a_plugin_may_unwind_so_that_their_caller_can_say_so() {
    // With `extern "C"` the compiler may leave out the code that names the function.
    fn unwinds(_: unsafe extern "C-unwind" fn(ffi::C_Device) -> Status) {}
    let _: fn(signature::SynchronizeDeviceFn) = unwinds;
    let _: fn(signature::SetDeviceFn) = unwinds;
}

//! A device as its author writes it, and the same device as hosts of every release meet it.

mod minimal;

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use minimal::minimal;
use tenon::device::*;
use tenon::{DevicePtr, last_error};

minimal!(tenon::device => Minimal {
    fn get_runtime_version(&self, device: DeviceId) -> Result<usize> {
        Ok(100 + device.0 as usize)
    }
});

minimal!(tenon::device(fallbacks = true) => Padded {});

/// A host of a release: its table and its params, with guard bytes behind both.
struct Host {
    table: Vec<u64>,
    params: Vec<u64>,
    table_words: usize,
    params_words: usize,
}

const GUARD: u64 = 0x5afe_5afe_5afe_5afe;

impl Host {
    fn of_sizes(table: usize, params: usize) -> Self {
        let mut host = Host {
            table: vec![0; table / 8],
            params: vec![0; params / 8],
            table_words: table / 8,
            params_words: params / 8,
        };
        host.table.extend([GUARD; 16]);
        host.params.extend([GUARD; 16]);
        host.table[0] = table as u64;
        host.params[0] = params as u64;
        host.params[1] = host.table.as_mut_ptr().expose_provenance() as u64;
        host
    }

    fn of(release: Release) -> Self {
        Self::of_sizes(release.table_size(), release.params_size())
    }

    fn meet<D: Plugin>(&mut self) -> std::result::Result<Release, HandOverError> {
        // SAFETY: the params begin with their size and with the table, which begins with its own.
        unsafe { hand_over::<D>(self.params.as_mut_ptr().cast(), c"toy") }
    }

    fn slot(&self, release: Release, function: Function) -> u64 {
        self.table[release.offset_of(function).expect("the release has the function") / 8]
    }

    fn assert_guards(&self) {
        assert!(self.table[self.table_words..].iter().all(|word| *word == GUARD), "written past the table");
        assert!(
            self.params[self.params_words..].iter().all(|word| *word == GUARD),
            "written past the params"
        );
    }
}

#[test]
fn every_release_gets_its_own_layout() {
    for release in Release::ALL {
        let mut host = Host::of(release);
        assert_eq!(host.meet::<Minimal>(), Ok(release));
        host.assert_guards();
        for function in Function::ALL {
            if release.offset_of(function).is_some() {
                let is_filled = host.slot(release, function) != 0;
                let expected = Minimal::PROVIDED.has(function) || function.is_always_filled();
                assert_eq!(is_filled, expected, "{} in {}", function.name(), release.name());
            }
        }
        let filled = host.table[1..host.table_words].iter().filter(|word| **word != 0).count();
        let expected = Function::ALL
            .iter()
            .filter(|function| release.offset_of(**function).is_some() && Minimal::fills(**function))
            .count();
        assert_eq!(filled, expected, "something stands outside of the slots of {}", release.name());
        assert_eq!(&host.params[2..5], [0, 1, 1], "the version is 0.1.1");
        // SAFETY: the plugin wrote a static text.
        let name = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(host.params[5] as usize)) };
        assert_eq!(name, c"toy");
    }
}

#[test]
fn fallbacks_fill_what_was_asked_for() {
    let mut host = Host::of(Release::NEWEST);
    assert_eq!(host.meet::<Padded>(), Ok(Release::NEWEST));
    assert_ne!(host.slot(Release::NEWEST, Function::DeviceMemorySet), 0);
    assert_ne!(host.slot(Release::NEWEST, Function::QueryStream), 0);
    // Null makes the host say «not implemented»; a slot that refuses could not say it better.
    assert_eq!(host.slot(Release::NEWEST, Function::XcclAllReduce), 0);
}

#[test]
fn an_unknown_host_is_refused_and_left_alone() {
    let (oldest, newest) = (Release::ALL[0], Release::NEWEST);
    let sizes = [
        (oldest.table_size() - 8, oldest.params_size()),
        (newest.table_size() + 8, newest.params_size()),
        (oldest.table_size(), newest.params_size()),
        (newest.table_size(), oldest.params_size()),
        (8, 8),
        (1 << 20, newest.params_size()),
    ];
    for (table, params) in sizes {
        let mut host = Host::of_sizes(table, params);
        let before = (host.table.clone(), host.params.clone());
        let error = host.meet::<Minimal>().expect_err("the sizes are of no release");
        assert_eq!(error, HandOverError::UnknownHost { table, params });
        assert_eq!((host.table, host.params), before);
        let text = error.to_string();
        assert!(text.contains(&format!("{table} bytes")) && text.contains("3.1 (976/96)"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn a_null_hand_over_is_refused() {
    // SAFETY: null is allowed.
    assert_eq!(unsafe { hand_over::<Minimal>(null_mut(), c"toy") }, Err(HandOverError::Null));
    let mut params = [96u64; 12];
    params[1] = 0;
    // SAFETY: the params begin with their size and with a null table.
    assert_eq!(unsafe { hand_over::<Minimal>(params.as_mut_ptr().cast(), c"toy") }, Err(HandOverError::Null));
}

fn table() -> ffi::C_DeviceInterface {
    let mut host = Host::of(Release::NEWEST);
    host.meet::<Minimal>().expect("a known release");
    // SAFETY: the vector holds the table of that release, and is aligned to its words.
    unsafe { host.table.as_ptr().cast::<ffi::C_DeviceInterface>().read() }
}

fn message() -> String {
    last_error(|message| message.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default())
}

#[test]
fn a_copy_goes_there_and_back() {
    let table = table();
    let mut id = ffi::C_Device_st { id: 0 };
    let mut memory: *mut c_void = null_mut();
    let mut back = [0u8; 5];
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(table.device_memory_allocate.unwrap()(&mut id, &mut memory, 5), Status::SUCCESS);
        assert_eq!(
            table.memory_copy_h2d.unwrap()(&mut id, memory, c"tenon".as_ptr().cast(), 5),
            Status::SUCCESS
        );
        // Not implemented by the device: the fallback goes through the host.
        let copy = memory.byte_add(0);
        assert_eq!(table.memory_copy_d2d.unwrap()(&mut id, copy, memory, 5), Status::SUCCESS);
        assert_eq!(
            table.memory_copy_d2h.unwrap()(&mut id, back.as_mut_ptr().cast(), copy, 5),
            Status::SUCCESS
        );
        assert_eq!(table.device_memory_deallocate.unwrap()(&mut id, memory, 5), Status::SUCCESS);
    }
    assert_eq!(&back, b"tenon");
}

#[test]
fn bad_arguments_get_an_error_that_names_them() {
    let table = table();
    let mut id = ffi::C_Device_st { id: 0 };
    let mut memory: *mut c_void = null_mut();
    // SAFETY: what is wrong here is checked before anything is followed.
    unsafe {
        assert_eq!(table.set_device.unwrap()(null_mut()), Status::ERROR);
        assert_eq!(message(), "set_device: `device` is null");
        assert_eq!(table.device_memory_allocate.unwrap()(&mut id, null_mut(), 8), Status::ERROR);
        assert_eq!(message(), "device_memory_allocate: `ptr` is null");
        assert_eq!(
            table.memory_copy_h2d.unwrap()(&mut id, null_mut(), c"x".as_ptr().cast(), 1),
            Status::ERROR
        );
        assert_eq!(message(), "memory_copy_h2d: `dst` is null, but 1 bytes are accessed");
        table.device_memory_allocate.unwrap()(&mut id, &mut memory, 8);
        assert_eq!(table.memory_copy_h2d.unwrap()(&mut id, memory, memory, usize::MAX), Status::ERROR);
        assert!(message().contains("reach past the address space"), "{}", message());
        assert_eq!(table.record_event.unwrap()(&mut id, null_mut(), null_mut()), Status::ERROR);
        assert_eq!(message(), "record_event: `event` is null");
        table.device_memory_deallocate.unwrap()(&mut id, memory, 8);
    }
}

#[test]
fn a_panic_stays_inside() {
    let table = table();
    let mut id = ffi::C_Device_st { id: 13 };
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(table.set_device.unwrap()(&mut id), Status::INTERNAL_ERROR);
    }
    assert_eq!(message(), "set_device: the device panicked: unlucky device 13");
}

#[test]
fn the_device_s_own_error_arrives() {
    let table = table();
    let mut id = ffi::C_Device_st { id: 7 };
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(table.set_device.unwrap()(&mut id), Status::ERROR);
    }
    assert_eq!(message(), "set_device: there is no device 7");
}

#[test]
fn a_device_that_calls_its_failure_a_success_is_not_believed() {
    let table = table();
    let mut id = ffi::C_Device_st { id: -1 };
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(table.set_device.unwrap()(&mut id), Status::INTERNAL_ERROR);
    }
}

#[test]
fn a_list_of_the_wrong_length_writes_nothing() {
    let table = table();
    let mut list = [GUARD as usize; 4];
    let mut count = 0;
    // SAFETY: the list has room for what the count says.
    unsafe {
        assert_eq!(table.get_device_count.unwrap()(&mut count), Status::SUCCESS);
        assert_eq!(table.get_device_list.unwrap()(list.as_mut_ptr()), Status::SUCCESS);
    }
    assert_eq!((count, list), (2, [0, 1, GUARD as usize, GUARD as usize]));
}

/// Before 3.1 the host passed no device: the current one stands in.
#[test]
fn an_older_signature_gets_the_current_device() {
    let mut host = Host::of(Release::V3_0);
    host.meet::<Minimal>().expect("a known release");
    // SAFETY: the vector holds the table of that release, and is aligned to its words.
    let old = unsafe { host.table.as_ptr().cast::<ffi::v3_0::C_DeviceInterface>().read() };
    let mut id = ffi::C_Device_st { id: 1 };
    let mut version = 0;
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(old.set_device.unwrap()(&mut id), Status::SUCCESS);
        assert_eq!(old.get_runtime_version.unwrap()(&mut version), Status::SUCCESS);
        assert_eq!(version, 101);
        assert_eq!(
            table().get_runtime_version.unwrap()(&mut ffi::C_Device_st { id: 0 }, &mut version),
            Status::SUCCESS
        );
    }
    assert_eq!(version, 100);
}

#[test]
fn slots_that_hold_fallbacks_are_named() {
    let names = |names: std::ffi::CString| -> Vec<Function> {
        let text = names.into_string().expect("names are UTF-8");
        text.split(' ').filter_map(Function::of_name).collect()
    };
    let filled = names(filled_by_fallbacks::<Padded>());
    assert!(filled.contains(&Function::QueryStream) && !filled.contains(&Function::SetDevice), "{filled:?}");
    for function in Function::ALL {
        let expected = Padded::fills(function) && !Padded::PROVIDED.has(function);
        assert_eq!(filled.contains(&function), expected, "{}", function.name());
    }
    let always = names(filled_by_fallbacks::<Minimal>());
    assert!(always.iter().all(|function| function.is_always_filled()), "{always:?}");
}

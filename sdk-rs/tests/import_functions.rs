//! The macro that calls the functions of another library, on functions of this program.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use tenon::device::{Error, Status};

/// A handle, as generated code has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item(*mut u8);

impl Item {
    fn from_raw(raw: *mut u8) -> Self {
        Item(raw)
    }

    fn as_raw(self) -> *mut u8 {
        self.0
    }
}

tenon::import_functions! {
    /// Functions of this program.
    struct Imports;
    type Failure = Error;
    const LIBRARIES: &'static [&'static str] = &["libitems.so"];
    unsafe extern "C" {
        /// Finds an item, and counts the bytes behind it.
        #[import(c"item_find", checked)]
        fn find(#[out(handle Item)] item: *mut u8, #[out] count: u32, index: usize) -> Status;

        /// Returns the byte of an item.
        #[import(c"item_byte", returns)]
        fn byte(#[const_handle(Item)] item: *const u8, #[status] status: Status) -> u8;

        /// Returns an item that may only be read.
        #[import(c"item_first", returns(const_handle Item))]
        fn first() -> *const u8;

        /// Does nothing, and this program does not have it.
        #[import(c"item_absent")]
        fn unknown(#[handle(Item)] item: *mut u8);
    }
}

static ITEMS: [u8; 3] = [7, 8, 9];

unsafe extern "C" fn find(item: *mut *mut u8, count: *mut u32, index: usize) -> Status {
    let Some(found) = ITEMS.get(index) else { return Status::FAILED };
    // SAFETY: the macro passes places.
    unsafe {
        item.write(std::ptr::from_ref(found).cast_mut());
        count.write(ITEMS.len() as u32 - index as u32 - 1);
    }
    Status::SUCCESS
}

unsafe extern "C" fn byte(item: *const u8, status: *mut Status) -> u8 {
    // SAFETY: the test passes an item or null.
    let byte = unsafe { item.as_ref() };
    if byte.is_none() {
        // SAFETY: the macro passes a place.
        unsafe { status.write(Status::INTERNAL_ERROR) };
    }
    byte.copied().unwrap_or_default()
}

unsafe extern "C" fn first() -> *const u8 {
    &raw const ITEMS[0]
}

fn load() -> Imports {
    let look_up = |name: &CStr| match name.to_bytes() {
        b"item_find" => find as *mut c_void,
        b"item_byte" => byte as *mut c_void,
        b"item_first" => first as *mut c_void,
        _ => null_mut(),
    };
    // SAFETY: the functions have the signatures of the list.
    unsafe { Imports::load(look_up) }
}

#[test]
fn results_are_what_the_function_writes_and_returns() {
    let imports = load();
    // SAFETY: the items are of this program.
    unsafe {
        let (item, count) = imports.find(1).unwrap();
        assert_eq!((count, imports.byte(item).unwrap()), (1, 8));
        assert_eq!(imports.byte(imports.first().unwrap()).unwrap(), 7);
    }
}

#[test]
fn failures_name_the_function_and_have_its_status() {
    let imports = load();
    // SAFETY: the function checks the index, and the other one null.
    let (refused, failed) = unsafe { (imports.find(3), imports.byte(Item(null_mut()))) };
    let (refused, failed) = (refused.unwrap_err(), failed.unwrap_err());
    assert_eq!((refused.status, &*refused.message), (Status::FAILED, "the library refused `find`"));
    assert_eq!((failed.status, &*failed.message), (Status::INTERNAL_ERROR, "the host failed in `byte`"));
}

#[test]
fn symbols_that_are_not_found_are_listed_and_their_calls_refused() {
    let imports = load();
    assert_eq!(imports.missing(), ["item_absent"]);
    // SAFETY: the function is not there.
    let error = unsafe { imports.unknown(Item(null_mut())) }.unwrap_err();
    assert!(error.message.contains("`unknown`"), "{}", error.message);
    assert_eq!(Imports::LIBRARIES, ["libitems.so"]);
}

//! The plugin for PJRT, called through its table in Rust: error objects are read through structs of arguments.

use std::ffi::c_void;

use example_known_apis::pjrt::{Client, ErrorCode, Event, Loaded, Pjrt, Release};
use tenon::AnyPtr;

// SAFETY: the library exports it, and is linked with this test.
unsafe extern "C" {
    fn GetPjrtApi() -> *const c_void;
}

#[test]
fn errors_and_texts_are_those_of_the_plugin() {
    // SAFETY: the table begins with its size and lasts as long as the program.
    let plugin = unsafe { Loaded::from_own_table(GetPjrtApi()) }.expect("the table is that of a release");
    assert_eq!(plugin.release(), Release::V0_33);
    let client = |options| {
        let null = AnyPtr::NULL;
        plugin.client_create(null, options, null, null, null, null)
    };
    let error = client(3).expect_err("no option is known");
    assert_eq!(error.status, ErrorCode::INVALID_ARGUMENT);
    assert!(error.message.ends_with("3 options, of which none is known"), "{}", error.message);
    let client = client(0).expect("there are no options");
    let name = plugin.client_platform_name(client).expect("the client is alive");
    // SAFETY: the text lives as long as the client.
    let name: Vec<u8> = unsafe { name.as_slice() }.iter().map(|letter| letter.cast_unsigned()).collect();
    assert_eq!(name, b"quiet");
    assert!(plugin.event_await(Event::from_addr(7)).is_err());
    plugin.client_destroy(client).expect("the client is alive");
    assert!(plugin.client_process_index(Client::from_addr(7)).is_err());
}

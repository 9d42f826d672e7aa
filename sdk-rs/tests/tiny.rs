//! The smallest interfaces of each kind: what they expand to has no warnings, and works.
#![deny(warnings, missing_docs, clippy::all)]

/// A table of one function, without fallbacks and releases.
pub mod one {
    tenon_spec_macros::interface!("one", spec = "tests/tiny/spec");
}

/// A table none of whose functions returns the status.
pub mod plain {
    tenon_spec_macros::interface!("plain", spec = "tests/tiny/spec");
}

/// A table that returns handles by pointer.
pub mod pointers {
    tenon_spec_macros::interface!("pointers", spec = "tests/tiny/spec");
}

/// An export.
pub mod offered {
    tenon_spec_macros::interface!("offered", spec = "tests/tiny/spec");
}

/// An import.
pub mod wanted {
    tenon_spec_macros::interface!("wanted", spec = "tests/tiny/spec");
}

/// Types without a function.
pub mod shared {
    tenon_spec_macros::interface!("shared", spec = "tests/tiny/spec");
}

use pointers::{Item, Pointers};

#[derive(Default)]
struct Device;

#[tenon_spec_macros::device(spec = "tests/tiny/spec", module = crate::one)]
impl one::One for Device {
    fn start(&self) -> one::Result<()> {
        Ok(())
    }
}

impl offered::Offered for Device {}

use offered as api;

fn instance() -> &'static Device {
    &Device
}

mod functions {
    tenon_spec_macros::exports!("offered", spec = "tests/tiny/spec");
}

#[derive(Default)]
struct List;

#[tenon_spec_macros::device(spec = "tests/tiny/spec", module = crate::pointers)]
impl Pointers for List {
    fn first(&self) -> Item {
        Item::from_addr(8)
    }

    fn next(&self, item: Item) -> Item {
        if item.addr() < 24 { Item::from_addr(item.addr() + 8) } else { Item::NULL }
    }
}

#[derive(Default)]
struct Things;

#[tenon_spec_macros::device(spec = "tests/tiny/spec", module = crate::plain)]
impl plain::Plain for Things {
    fn count(&self) -> usize {
        2
    }

    fn reset(&self) {}

    fn find(&self, number: u32) -> plain::Thing {
        assert!(number < 2, "there is no thing {number}");
        plain::Thing::from_addr(64)
    }

    fn flag(&self) -> bool {
        true
    }
}

#[test]
fn handle_by_pointer_is_returned() {
    // SAFETY: null is a value of each pointer in the table.
    let mut table: pointers::ffi::v2::T_Pointers = unsafe { std::mem::zeroed() };
    pointers::fill_v2::<List>(&mut table);
    // SAFETY: the table was filled in that layout, with functions of this binary.
    let list =
        unsafe { pointers::Loaded::from_table(pointers::Release::V2, (&raw const table).cast(), None) };
    let items = std::iter::successors(Some(list.first()), |item| Some(list.next(*item)));
    let addresses: Vec<usize> = items.take_while(|item| !item.is_null()).map(Item::addr).collect();
    assert_eq!(addresses, [8, 16, 24]);
    // SAFETY: as above; the layout is the same.
    let list =
        unsafe { pointers::Loaded::from_table(pointers::Release::V1, (&raw const table).cast(), None) };
    assert_eq!(pointers::Layered::new(list, Vec::new()).first().addr(), 8);
}

#[test]
fn table_of_values_is_called() {
    // SAFETY: null is a value of each pointer in the table.
    let mut table: plain::ffi::T_Plain = unsafe { std::mem::zeroed() };
    plain::fill::<Things>(&mut table);
    // SAFETY: functions of this binary, with the arguments that they take.
    unsafe {
        assert_eq!(table.count.expect("it is filled")(), 2);
        table.reset.expect("it is filled")();
        let find = table.find.expect("it is filled");
        assert_eq!(find(0).addr(), 64);
        assert!(find(2).is_null(), "a panic is answered with null");
        assert!(table.flag.expect("it is filled")());
    }
}

#[test]
fn absent_function_returns_the_constant_of_its_fallback() {
    use plain::Plain as _;

    // SAFETY: null is a value of each pointer in the table.
    let mut table: plain::ffi::T_Plain = unsafe { std::mem::zeroed() };
    plain::fill::<Things>(&mut table);
    assert!(table.limit.is_none() && table.last.is_none(), "a function that is left out is null");
    // SAFETY: the table was filled in that layout, with functions of this binary.
    let things = unsafe { plain::Loaded::from_table(plain::Release::Only, (&raw const table).cast(), None) };
    let things = plain::WithFallbacks(std::sync::Arc::new(things));
    assert_eq!((things.limit(), things.last()), (-1, plain::Thing::NULL));
    assert_eq!(things.count(), 2, "a function that is there is called");
}

#[test]
fn place_is_a_struct() {
    assert_eq!(size_of::<shared::Place>(), 8);
}

//! An export whose functions return values, lend texts and take structs: what a library offers, called as C calls it.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

mod kit {
    tenon_spec_macros::interface!("kit", spec = "../codegen/tests/export/spec");
}

use kit::{Chooser, Colour, KitError, Label, Place, Ports, Serial, Size, ffi};

use kit as api;

struct Shelf;

fn instance() -> &'static Shelf {
    &Shelf
}

mod functions {
    tenon_spec_macros::exports!("kit", spec = "../codegen/tests/export/spec");
}

impl kit::KitBox for Shelf {
    fn make_box(&self, colour: Colour) -> kit::Result<kit::Box> {
        match colour {
            Colour::UNKNOWN => panic!("nobody knows the colour"),
            colour => Ok(kit::Box::from_addr(0x100 + colour.0.unsigned_abs() as usize)),
        }
    }

    fn colour_of(&self, of: kit::Box) -> kit::Result<Colour> {
        match of.addr() {
            0x100 => Ok(Colour::RED),
            _ => Err(kit::Error::invalid("there is no such box")),
        }
    }

    fn switch_ports(&self, ports: Ports) -> kit::Result<Ports> {
        Ok(Ports(Ports::FIRST.0 | ports.0))
    }

    fn paint(&self, of: kit::Box, chooser: Chooser) -> kit::Result<Colour> {
        let before = self.colour_of(of)?;
        chooser.call(before).ok_or_else(|| kit::Error::invalid("there is no function"))
    }

    fn measure(&self, of: kit::Box, wanted: Option<&Size>) -> kit::Result<kit::Measure> {
        let place = Place { shelf_number: 1, address: of.as_raw() };
        let sides = wanted.map_or([0; 3], |wanted| wanted.sides);
        Ok(kit::Measure { size: Size { place, sides, mark: [0; 4] }, weight: 2.0 })
    }

    fn label_of(&self, of: kit::Box) -> kit::Result<Label> {
        Ok(Label::from_addr(of.addr() + 1))
    }
}

impl kit::KitText for Shelf {
    fn text_message(&self) -> kit::Result<Option<Cow<'static, CStr>>> {
        Ok(kit::take_last_message().map(Cow::Owned))
    }
}

// SAFETY: this binary exports them, with these signatures.
unsafe extern "C" {
    fn kitMakeBox(box_: *mut ffi::kitBox, colour: Colour) -> KitError;
    fn kitFreeBox(box_: ffi::kitBox) -> KitError;
    fn kitColourOf(box_: ffi::kitBox) -> Colour;
    fn kitSwitchPorts(ports: u32, switched: *mut u32) -> KitError;
    fn kitSerialOf(box_: ffi::kitBox) -> u32;
    fn kitPaint(
        box_: ffi::kitBox,
        chooser: ffi::kitChooser,
        context: *mut c_void,
        painted: *mut Colour,
    ) -> KitError;
    fn kitMeasure(
        box_: ffi::kitBox,
        wanted: *const ffi::kitSize,
        size: *mut ffi::kitSize,
        weight: *mut f32,
    ) -> KitError;
    fn kitLabelOf(box_: ffi::kitBox) -> *const ffi::kitLabel;
    fn kitMelt(box_: ffi::kitBox, either: *mut c_void) -> KitError;
    fn kitMelted() -> *mut c_void;
    fn kitCountBoxes() -> usize;
    fn kitTextName(box_: ffi::kitBox, name: *const c_char) -> KitError;
    fn kitTextMessage() -> *const c_char;
}

fn message() -> Option<String> {
    // SAFETY: a text that is not null is lent until the next call of this thread.
    unsafe {
        let text = kitTextMessage();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_failure_leaves_its_message_once() {
    let mut made: ffi::kitBox = null_mut();
    // SAFETY: arguments as the interface says, or null.
    unsafe {
        assert_eq!(kitMakeBox(&mut made, Colour::RED), KitError::SUCCESS);
        assert_eq!((made.addr(), message()), (0x100, None));
        assert_eq!(kitMakeBox(null_mut(), Colour::RED), KitError::WRONG);
        assert_eq!(message(), some("kitMakeBox: `box` is null"));
        assert_eq!(message(), None);
        assert_eq!(kitTextName(made, null()), KitError::WRONG);
        // A call that succeeds leaves it alone, and so does another thread.
        assert_eq!(kitMakeBox(&mut made, Colour::BLUE), KitError::SUCCESS);
        std::thread::spawn(|| assert_eq!(message(), None)).join().expect("the thread ends well");
        assert_eq!(message(), some("kitTextName: `name` is null"));
    }
}

#[test]
fn a_panic_is_an_error_like_any_other() {
    let mut made: ffi::kitBox = null_mut();
    // SAFETY: arguments as the interface says.
    unsafe { assert_eq!(kitMakeBox(&mut made, Colour::UNKNOWN), KitError::BROKEN) };
    assert!(made.is_null());
    assert_eq!(message(), some("kitMakeBox: the device panicked: nobody knows the colour"));
}

#[test]
fn a_value_says_that_it_failed_and_the_message_says_why() {
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(kitColourOf(kit::Box::from_addr(0x100).as_raw()), Colour::RED);
        assert_eq!(message(), None);
        assert_eq!(kitColourOf(null_mut()), Colour::UNKNOWN);
        assert_eq!(message(), some("kitColourOf: there is no such box"));
        assert_eq!(kitLabelOf(kit::Box::from_addr(0x100).as_raw()).addr(), 0x101);
    }
}

#[test]
fn enum_with_bit_31_is_unsigned() {
    let mut switched = 0;
    // SAFETY: arguments as the interface says, or null.
    unsafe {
        assert_eq!(kitSwitchPorts(0x8000_0000, &mut switched), KitError::SUCCESS);
        assert_eq!((switched, Ports::LAST.0), (0x8000_0001, 0x8000_0000));
        // `serial_of` is left out, so that it returns what the spec says for a failure.
        assert_eq!(kitSerialOf(null_mut()), Serial::ANY.0);
    }
    assert_eq!(
        (Ports::LAST.name(), format!("{:?}", Ports(0x8000_0001))),
        (Some("last"), "Ports(2147483649)".into())
    );
}

#[test]
fn result_of_a_callback_is_returned() {
    /// Adds the number behind the context.
    unsafe extern "C-unwind" fn next(colour: Colour, context: *mut c_void) -> Colour {
        // SAFETY: the test passes a number.
        Colour(colour.0 + unsafe { *context.cast::<i32>() })
    }
    let (mut one, mut painted) = (1, Colour::UNKNOWN);
    let made = kit::Box::from_addr(0x100).as_raw();
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(kitPaint(made, Some(next), (&raw mut one).cast(), &mut painted), KitError::SUCCESS);
    }
    assert_eq!(painted, Colour::BLUE);
}

#[test]
fn what_is_left_out_is_refused_as_the_spec_says() {
    let mut either = 1_i64;
    // SAFETY: arguments as the interface says, or null.
    unsafe {
        assert_eq!(kitMelt(null_mut(), (&raw mut either).cast()), KitError::ABSENT);
        assert_eq!(message(), some("kitMelt: there is no fire"));
        assert!(kitMelted().is_null());
        assert_eq!(message(), some("kitMelted: there is no fire"));
        assert_eq!(kitFreeBox(null_mut()), KitError::ABSENT);
        assert_eq!(kitCountBoxes(), 0);
        assert_eq!(message(), some("kitCountBoxes: `count_boxes` is not implemented by this device"));
    }
}

#[test]
fn a_struct_comes_by_its_address_or_not_at_all() {
    let place = Place { shelf_number: 0, address: null_mut() };
    let wanted = Size { place, sides: [1, 2, 3], mark: [0; 4] };
    let mut size = wanted;
    let mut weight = 0.0;
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(kitMeasure(null_mut(), null(), &mut size, null_mut()), KitError::SUCCESS);
        assert_eq!(size.sides, [0; 3]);
        assert_eq!(kitMeasure(null_mut(), &wanted, &mut size, &mut weight), KitError::SUCCESS);
        assert_eq!((size.sides, size.place.shelf_number, weight), ([1, 2, 3], 1, 2.0));
        assert_eq!(kitMeasure(null_mut(), &wanted, null_mut(), &mut weight), KitError::WRONG);
    }
    assert_eq!(message(), some("kitMeasure: `size` is null"));
}

//! Which layer refused a call.
//!
//! An error that comes back from a device does not tell whether the device or a layer before it made it. So each layer
//! is wrapped, and the wrapper leaves a note for whoever tells the story.

use std::cell::RefCell;
use std::sync::Arc;

use tenon::device::{self, Device, Layer, Outcome};
use tenon::reflect::Call;

use crate::Status;

/// A note of a layer that refused a call.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) layer: String,
    /// What the caller is answered.
    pub(crate) status: Status,
    message: String,
}

impl Refusal {
    /// The rule that was broken, if the message names one: `V` and three digits.
    pub(crate) fn rule(&self) -> Option<String> {
        let words = self.message.split(|c: char| !c.is_ascii_alphanumeric());
        let mut rules = words.filter(|word| {
            word.strip_prefix('V')
                .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        });
        rules.next().map(str::to_owned)
    }
}

thread_local! {
    static LAST: RefCell<Option<Refusal>> = const { RefCell::new(None) };
}

/// Leaves the note.
#[cold]
pub(crate) fn note(layer: &str, status: Status, message: &str) {
    let refusal = Refusal { layer: layer.to_owned(), status, message: message.to_owned() };
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(refusal));
}

/// Takes the note, if it is about this message: an older one may be about an error that was dealt with.
pub(crate) fn take(message: &str) -> Option<Refusal> {
    let last = LAST.try_with(|last| last.borrow_mut().take()).ok().flatten();
    last.filter(|refusal| refusal.message == message)
}

/// What the caller of a call that failed is going to be answered, if a layer refused it.
pub(crate) fn status_of(error: &device::Error) -> Status {
    let noted = LAST.try_with(|last| {
        last.borrow()
            .as_ref()
            .filter(|refusal| refusal.message == *error.message)
            .map(|refusal| refusal.status)
    });
    noted.ok().flatten().unwrap_or(Status::of_device(error.status))
}

/// A layer that leaves a note when it refuses.
pub(crate) struct Noted {
    pub(crate) name: &'static str,
    pub(crate) layer: Arc<dyn Layer>,
}

impl Layer for Noted {
    fn before(&self, call: &Call<'_>, next: &dyn Device) -> device::Result<u64> {
        let note = self.layer.before(call, next);
        if let Err(error) = &note {
            self::note(self.name, Status::REFUSED, &error.message);
        }
        note
    }

    fn after(&self, call: &Call<'_>, note: u64, outcome: &Outcome<'_>, next: &dyn Device) {
        self.layer.after(call, note, outcome, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_taken_once_and_by_its_own_message() {
        note("validate", Status::REFUSED, "V012 of `ptr`: it is null");
        let refusal = take("V012 of `ptr`: it is null").unwrap();
        assert_eq!(refusal.rule().as_deref(), Some("V012"));
        assert!(take("V012 of `ptr`: it is null").is_none());
        note("custom", Status::FAILED, "no");
        assert!(take("something else").is_none());
        assert!(take("no").is_none(), "an old note is gone");
    }
}

//! Making and ending handles, by the name of their type.

use tenon::device::Function;

use crate::case::{Verdict, skipped};
use crate::subject::{Subject, address, id};

/// The functions that make and end a handle.
pub(super) fn life(name: &str) -> Option<(Function, Function)> {
    Some(match name {
        "Stream" => (Function::CreateStream, Function::DestroyStream),
        "Event" => (Function::CreateEvent, Function::DestroyEvent),
        "BlasHandle" => (Function::InitBlasHandle, Function::DestroyBlasHandle),
        "BlasLtHandle" => (Function::InitBlasltHandle, Function::DestroyBlasltHandle),
        _ => return None,
    })
}

/// A new handle.
pub(super) fn make(subject: &Subject, name: &str, device: i32) -> Verdict<u64> {
    match name {
        "Stream" => subject.stream(device),
        "Event" => subject.event(device),
        "BlasHandle" => {
            let (mut handle, stream) = (0_u64, subject.stream(device)?);
            let arguments = [id(device), address(&mut handle), stream];
            subject.ok(Function::InitBlasHandle, &arguments)?;
            Ok(handle)
        }
        "BlasLtHandle" => {
            let mut handle = 0_u64;
            subject.ok(Function::InitBlasltHandle, &[id(device), address(&mut handle)])?;
            Ok(handle)
        }
        _ => skipped(format!("no `{name}` can be made without the host")),
    }
}

/// A handle that was alive once.
pub(super) fn destroyed(subject: &Subject, name: &str, device: i32) -> Verdict<u64> {
    let Some((_, destroy)) =
        life(name).filter(|(make, destroy)| subject.is_native(*make) && subject.is_native(*destroy))
    else {
        return skipped(format!("no `{name}` can be made and destroyed"));
    };
    let handle = make(subject, name, device)?;
    if handle == 0 {
        return skipped("the plugin has no stream but the default one, which does not end");
    }
    subject.ok(destroy, &[id(device), handle])?;
    Ok(handle)
}

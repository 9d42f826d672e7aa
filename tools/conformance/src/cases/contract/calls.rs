//! Calls with valid arguments, from the entries of the spec.

use tenon::device::{Function, Status};
use tenon::reflect::{Direction, FunctionInfo, Kind, ParamInfo, Role, Space};

use super::arguments::{Arguments, LEN, can_be_made, is_device, is_length};
use super::{functions, made};
use crate::case::{Case, Level, PromisedBy, Verdict, ensure, failed, skipped};
use crate::cases::statistics;
use crate::plugin_under_test::{PluginUnderTest, status_text};

/// The values that outputs are filled with before a call, in two runs: a byte that is neither's own twice was
/// not written.
const POISON: [u8; 2] = [0xA5, 0x5A];

pub(in crate::cases) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (function, info) in functions().filter(|(function, info)| can_be_made(*function, info)) {
        let name = info.name;
        let id = |rule: &str| format!("contract.{name}.{rule}");
        let status =
            (PromisedBy::Spec("Status"), "The call completed, or queued its work where it may return early.");
        let promise = |(source, quote): (PromisedBy, &str)| (source, quote.to_owned());
        cases.push(made(id("succeeds"), Level::Promised, function, promise(status), move |plugin| {
            succeeds(plugin, function)
        }));
        if info.params.iter().any(ParamInfo::is_output) {
            cases.push(made(
                id("writes-its-answers"),
                Level::Promised,
                function,
                promise(answers(info)),
                move |plugin| writes_its_answers(plugin, function),
            ));
        }
        let has_places = info.params.iter().any(|param| {
            param.is_output()
                || (param.is_memory() && param.direction != Direction::In && param.space == Some(Space::Host))
        });
        if has_places {
            cases.push(made(
                id("stays-in-bounds"),
                Level::Required,
                function,
                (PromisedBy::Host, "Behind an answer lies memory of the host".to_owned()),
                move |plugin| stays_in_bounds(plugin, function),
            ));
        }
        if let Some((index, quote)) = zero(info) {
            cases.push(made(id("nothing"), Level::Promised, function, promise(quote), move |plugin| {
                nothing(plugin, function, index)
            }));
        }
        if has_default_stream(info) {
            let quote = "A null stream is the default stream of the device";
            let promise = (PromisedBy::Spec("device"), quote.to_owned());
            cases.push(made(id("default-stream"), Level::Promised, function, promise, move |plugin| {
                default_stream(plugin, function)
            }));
        }
    }
    cases
}

/// Returns the sentences of the spec about written outputs.
fn answers(info: &FunctionInfo) -> (PromisedBy, &'static str) {
    match info.name {
        "create_stream" | "create_event" => (
            PromisedBy::Spec(info.name),
            "The host passes an uninitialised handle, so the function must write it if it succeeds.",
        ),
        "get_device" => (
            PromisedBy::Spec(info.name),
            "The host passes an uninitialised number, so the function must always write it.",
        ),
        name => (PromisedBy::Spec(name), info.summary),
    }
}

/// Returns the length that may be 0, and where the spec says so.
fn zero(info: &'static FunctionInfo) -> Option<(usize, (PromisedBy, &'static str))> {
    let index = (0..info.params.len()).find(|index| is_length(info, *index))?;
    let quote = match info.name {
        "device_memory_allocate" => "The host may request 0 bytes; then null is as good as an address.",
        "memory_copy_h2d" | "memory_copy_d2h" => {
            "A copy of 0 bytes does nothing, and then null addresses are allowed."
        }
        "device_memory_set" => "Length in bytes; 0 writes nothing.",
        _ if info.name.contains("memory_copy") => "Length in bytes; 0 copies nothing.",
        _ => return None,
    };
    Some((index, (PromisedBy::Spec(info.name), quote)))
}

fn has_default_stream(info: &FunctionInfo) -> bool {
    info.params.iter().any(|param| {
        matches!(param.kind, Kind::Handle { name: "Stream", null: true })
            && param.direction == Direction::In
            && param.role != Role::Destroys
    })
}

/// Returns true if a status is correct for a call with valid arguments.
fn is_fine(info: &FunctionInfo, status: Status) -> bool {
    status == Status::SUCCESS || (info.question && status == Status::FAILED)
}

/// Returns true if a function may well be a fallback, in the plugin or here, that takes a share of memory
/// which is not there.
fn is_made_of_nothing(plugin: &PluginUnderTest, function: Function) -> Verdict<bool> {
    let shares = [
        Function::DeviceInitAllocSize,
        Function::DeviceReallocSize,
        Function::DeviceMaxAllocSize,
        Function::DeviceMaxChunkSize,
    ];
    Ok(shares.contains(&function)
        && (!plugin.answers(Function::DeviceMemoryStats) || statistics::stats(plugin, 0)?.free == 0))
}

fn call(plugin: &PluginUnderTest, function: Function, arguments: &Arguments) -> Verdict {
    let status = plugin.call(function, &arguments.bits)?;
    if is_fine(arguments.info, status) {
        return Ok(());
    }
    if status == Status::FAILED && is_made_of_nothing(plugin, function)? {
        return skipped(
            "it is a share of the free memory, and `device_memory_stats` says that there is none",
        );
    }
    let because = arguments.info.returns.iter().find(|(name, _)| Some(*name) == status.name());
    let because = because.map_or_else(String::new, |(_, when)| format!(", which means: {when}"));
    failed(format!("`{}` answered {}{because}", function.name(), status_text(status)))
}

/// Waits for work that the call may have queued, so that its memory can be freed.
fn settle(plugin: &PluginUnderTest, arguments: &Arguments) -> Verdict {
    if arguments.info.stream_ordered.is_some() { plugin.synchronize_device(0) } else { Ok(()) }
}

fn succeeds(plugin: &PluginUnderTest, function: Function) -> Verdict {
    let arguments = Arguments::make(plugin, function, POISON[0])?;
    call(plugin, function, &arguments)?;
    settle(plugin, &arguments)?;
    for (param, place) in arguments.info.params.iter().zip(&arguments.places) {
        let Some(place) = place.as_ref().filter(|_| param.is_output()) else { continue };
        let bytes = place.bytes();
        let is_null = bytes.iter().all(|byte| *byte == 0);
        let may_be_null = param.nullable || matches!(param.kind, Kind::Handle { null: true, .. });
        ensure!(
            !(is_null && !may_be_null && param.role == Role::Creates),
            "`{}` answered `success` and made `{}` null",
            function.name(),
            param.name
        );
        ensure!(
            !matches!(param.kind, Kind::Bool) || bytes[0] <= 1,
            "`{}` wrote {} for `{}`, which is not 0 or 1",
            function.name(),
            bytes[0],
            param.name
        );
    }
    Ok(())
}

fn writes_its_answers(plugin: &PluginUnderTest, function: Function) -> Verdict {
    let mut runs = Vec::new();
    for poison in POISON {
        let arguments = Arguments::make(plugin, function, poison)?;
        call(plugin, function, &arguments)?;
        settle(plugin, &arguments)?;
        runs.push(arguments);
    }
    for (index, param) in runs[0].info.params.iter().enumerate().filter(|(_, param)| param.is_output()) {
        let [Some(first), Some(second)] = [&runs[0].places[index], &runs[1].places[index]] else { continue };
        let untouched = |(first, second): (&u8, &u8)| *first == POISON[0] && *second == POISON[1];
        let left = first.bytes().iter().zip(&second.bytes()).filter(|bytes| untouched(*bytes)).count();
        ensure!(
            left == 0,
            "`{}` answered `success` and left {left} of the {} bytes of `{}` as they were",
            function.name(),
            first.bytes().len(),
            param.name
        );
    }
    Ok(())
}

fn stays_in_bounds(plugin: &PluginUnderTest, function: Function) -> Verdict {
    let arguments = Arguments::make(plugin, function, POISON[0])?;
    call(plugin, function, &arguments)?;
    settle(plugin, &arguments)?;
    for (param, place) in arguments.info.params.iter().zip(&arguments.places) {
        if let Some(place) = place {
            place.intact(&format!("`{}` of `{}`", param.name, function.name()))?;
        }
    }
    Ok(())
}

fn nothing(plugin: &PluginUnderTest, function: Function, length: usize) -> Verdict {
    let mut arguments = Arguments::make(plugin, function, POISON[0])?;
    arguments.bits[length] = 0;
    call(plugin, function, &arguments)?;
    settle(plugin, &arguments)?;
    if function == Function::DeviceMemoryAllocate {
        return give_back_nothing(plugin, &arguments);
    }
    for (param, place) in arguments.info.params.iter().zip(&arguments.places) {
        let untouched = place.as_ref().is_none_or(|place| place.bytes() == [POISON[0]; LEN]);
        ensure!(untouched, "`{}` with 0 bytes wrote to `{}`", function.name(), param.name);
    }
    if matches!(function, Function::MemoryCopyH2d | Function::MemoryCopyD2h) {
        for (index, param) in arguments.info.params.iter().enumerate() {
            if !is_device(param) {
                arguments.bits[index] = 0;
            }
        }
        call(plugin, function, &arguments)?;
    }
    Ok(())
}

/// Frees an allocation of 0 bytes like any other memory.
fn give_back_nothing(plugin: &PluginUnderTest, arguments: &Arguments) -> Verdict {
    let Some(place) = arguments.places.iter().flatten().next() else { return Ok(()) };
    let address = u64::from_ne_bytes(place.bytes().try_into().unwrap_or_default());
    plugin.ok(Function::DeviceMemoryDeallocate, &[arguments.bits[0], address, 0])
}

fn default_stream(plugin: &PluginUnderTest, function: Function) -> Verdict {
    let mut arguments = Arguments::make(plugin, function, POISON[0])?;
    for (index, param) in arguments.info.params.iter().enumerate() {
        if matches!(param.kind, Kind::Handle { name: "Stream", .. }) && param.direction == Direction::In {
            arguments.bits[index] = 0;
        }
    }
    call(plugin, function, &arguments)?;
    settle(plugin, &arguments)
}

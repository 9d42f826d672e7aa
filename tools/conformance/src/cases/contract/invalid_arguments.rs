//! Calls with invalid arguments, from the entries of the spec. Each may crash, so the cases run in processes.
//!
//! An entry of the spec states the status for an argument that a device detects as invalid. Detection needs a check of the
//! argument or a table of live objects. The spec requires it only for destroyed streams; all else is good practice.

use tenon::device::Function;
use tenon::reflect::{Direction, FunctionInfo, Kind, ParamInfo, Role};

use super::arguments::{Arguments, can_be_made, is_device, is_length};
use super::{functions, handles, made};
use crate::case::{Case, Level, PromisedBy, Verdict, ensure};
use crate::plugin_under_test::PluginUnderTest;

const POISON: u8 = 0xA5;

/// Devices that no plugin has, given how many it has.
fn unknown_devices(count: i32) -> [i32; 4] {
    [-1, count, i32::MAX, i32::MIN]
}

pub(in crate::cases) fn cases() -> Vec<Case> {
    functions()
        .filter(|(function, info)| can_be_made(*function, info))
        .flat_map(|(function, info)| of_function(function, info))
        // A constant has no argument to check, and Tenon's own checks say nothing about the plugin.
        .map(Case::native)
        .collect()
}

type Rule = fn(&PluginUnderTest, Function, usize) -> Verdict;

fn of_function(function: Function, info: &'static FunctionInfo) -> Vec<Case> {
    let refuses = info.returns.iter().find(|(name, _)| *name == "error").map(|(_, when)| *when);
    let mut cases = Vec::new();
    let mut add = |index: usize, rule: &str, level: Level, promise: (PromisedBy, String), body: Rule| {
        let id = format!("invalid-argument.{}.{rule}.{}", info.name, info.params[index].name);
        cases.push(made(id, level, function, promise, move |plugin| body(plugin, function, index)));
    };
    let practice = |promise: &str| (PromisedBy::Practice, promise.to_owned());
    // The entry's text about the status, if it has one; otherwise good practice.
    let entry = |promise: &str| match refuses {
        Some(when) => (PromisedBy::Spec(info.name), when.to_owned()),
        None => practice(promise),
    };
    for (index, param) in info.params.iter().enumerate() {
        if is_device(param) {
            add(index, "unknown-device", Level::Good, entry("there is no such device"), unknown_device);
            add(index, "null-device", Level::Good, practice("null is not a device"), null);
            if info.params.iter().any(ParamInfo::is_output) {
                let promise = "a call that fails leaves the places for its answers alone, or clears them";
                add(index, "failure-writes-nothing", Level::Good, practice(promise), failure_writes_nothing);
            }
        }
        if param.is_output() && !param.nullable {
            add(index, "null-answer", Level::Good, practice("there is nowhere to write to"), null);
        }
        if param.is_memory() && !param.nullable {
            add(index, "null-memory", Level::Good, entry("there is no memory at null"), null);
        }
        if param.is_memory() && param.role == Role::Destroys {
            add(index, "twice", Level::Good, entry("the memory is gone"), twice);
        }
        if matches!(param.kind, Kind::Int { .. }) && is_length(info, index) && takes_memory(info) {
            let promise = "no memory is as long as the address space";
            add(index, "huge", Level::Good, entry(promise), huge);
        }
        if let (Kind::Handle { name, null }, Direction::In) = (param.kind, param.direction)
            && handles::lifecycle(name).is_some()
        {
            if !null {
                add(index, "null-handle", Level::Good, entry("null is not a handle"), null_handle);
            }
            // Hosts pass invalid streams to it: see `async.d2h.unknown-stream`.
            let takes_unknown = function == Function::AsyncMemoryCopyD2h && name == "Stream";
            if !takes_unknown {
                let (level, promise) = destroyed_promise(info, param, entry("the handle is gone"));
                add(index, "destroyed", level, promise, destroyed);
                add(index, "garbage", Level::Good, entry("there is no such handle"), garbage);
            }
            // As in CUDA, a stream of one device may well wait for an event of another.
            let crosses = function == Function::StreamWaitEvent && name == "Event";
            if param.of.is_some() && !crosses {
                add(
                    index,
                    "of-another-device",
                    Level::Good,
                    entry("it is of another device"),
                    of_another_device,
                );
            }
        }
    }
    cases
}

/// Returns the only handle whose destruction a device must detect by the spec.
fn destroyed_promise(
    info: &FunctionInfo,
    param: &ParamInfo,
    entry: (PromisedBy, String),
) -> (Level, (PromisedBy, String)) {
    match (info.name, param.kind) {
        (_, Kind::Handle { name: "Stream", .. }) => {
            let quote = "At the end of a process, threads of PaddlePaddle may use a stream shortly after it was \
                         destroyed; return `error` then, and do not crash.";
            (Level::Promised, (PromisedBy::Spec("destroy_stream"), quote.to_owned()))
        }
        _ => (Level::Good, entry),
    }
}

/// Returns true if there is memory for a length to leave, rather than memory to be made.
fn takes_memory(info: &FunctionInfo) -> bool {
    info.params.iter().any(ParamInfo::is_memory)
}

fn unknown_device(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    is_passed(plugin, function, index)?;
    for id in unknown_devices(plugin.devices()?) {
        let mut arguments = Arguments::make(plugin, function, POISON)?;
        arguments.set_device(index, id);
        plugin.refused(function, &arguments.bits, &format!("device {id} of {}", plugin.devices()?))?;
    }
    Ok(())
}

/// Skips the case if its parameter came in a later release than the plugin's.
fn is_passed(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    let since = function.info().params[index].since;
    match since.filter(|since| plugin.release().name() < *since) {
        Some(since) => {
            crate::case::skipped(format!("`{}` takes a device since {since} only", function.name()))
        }
        None => Ok(()),
    }
}

fn failure_writes_nothing(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    is_passed(plugin, function, index)?;
    let mut arguments = Arguments::make(plugin, function, POISON)?;
    arguments.set_device(index, -1);
    plugin.refused(function, &arguments.bits, "device -1")?;
    for (param, place) in arguments.info.params.iter().zip(&arguments.places) {
        let Some(place) = place.as_ref().filter(|_| param.is_output()) else { continue };
        let bytes = place.bytes();
        let clean = [POISON, 0].iter().any(|clean| bytes.iter().all(|byte| byte == clean));
        ensure!(clean, "`{}` failed and still wrote {:02x?} to `{}`", function.name(), bytes, param.name);
    }
    Ok(())
}

fn null(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    is_passed(plugin, function, index)?;
    let mut arguments = Arguments::make(plugin, function, POISON)?;
    arguments.bits[index] = 0;
    let what = format!("null for `{}`", arguments.info.params[index].name);
    plugin.refused(function, &arguments.bits, &what)?;
    plugin.synchronize_device(0)
}

fn null_handle(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    null(plugin, function, index)
}

fn twice(plugin: &PluginUnderTest, function: Function, _: usize) -> Verdict {
    let arguments = Arguments::make(plugin, function, POISON)?;
    plugin.ok(function, &arguments.bits)?;
    plugin.refused(function, &arguments.bits, "the same memory a second time")
}

fn huge(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    for size in [u64::MAX, u64::MAX - 63, i64::MAX as u64, 1 << 46] {
        let mut arguments = Arguments::make(plugin, function, POISON)?;
        arguments.bits[index] = size;
        plugin.refused(function, &arguments.bits, &format!("{size:#x} bytes of memory that has 64"))?;
        plugin.synchronize_device(0)?;
    }
    Ok(())
}

fn handle_name(function: Function, index: usize) -> &'static str {
    match function.info().params[index].kind {
        Kind::Handle { name, .. } => name,
        _ => "",
    }
}

fn destroyed(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    let mut arguments = Arguments::make(plugin, function, POISON)?;
    let name = handle_name(function, index);
    arguments.bits[index] = handles::destroyed(plugin, name, 0)?;
    plugin.refused(function, &arguments.bits, &format!("a destroyed `{name}`"))
}

fn garbage(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    let zeros = Box::leak(Box::new([0_u64; 64]));
    for handle in [crate::plugin_under_test::address(zeros), 0x1, 0x7, u64::MAX - 7, 0xdead_beef_dead_bee0] {
        let mut arguments = Arguments::make(plugin, function, POISON)?;
        arguments.bits[index] = handle;
        let what = format!("{handle:#x}, which is no `{}`", handle_name(function, index));
        plugin.refused(function, &arguments.bits, &what)?;
    }
    Ok(())
}

fn of_another_device(plugin: &PluginUnderTest, function: Function, index: usize) -> Verdict {
    let other = plugin.second_device()?;
    let mut arguments = Arguments::make(plugin, function, POISON)?;
    let handle = handles::make(plugin, handle_name(function, index), other)?;
    if handle == 0 {
        return crate::case::skipped("the plugin has no streams of its own");
    }
    arguments.bits[index] = handle;
    let what = format!("`{}` of another device", handle_name(function, index));
    plugin.refused(function, &arguments.bits, &what)
}

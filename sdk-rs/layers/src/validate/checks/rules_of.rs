//! The rules that are checked for each function, derived from its checks.

use tenon::device::Function;
use tenon::reflect::Space;

use super::functions::{Bytes, CHECKS, Effect, FunctionChecks, HandleParam, KINDS, Lifecycle, MemoryParam};
use crate::validate::rules::Rule;

/// Returns the rules that a call of a function can break, in the order of their numbers.
pub fn rules_of(function: Function) -> Vec<Rule> {
    let checks = &CHECKS[function as usize];
    let mut rules = of_values(checks);
    for handle in &checks.handles {
        rules.extend(of_handle(handle, checks));
    }
    for part in &checks.memory {
        rules.extend(of_memory(part));
        rules.extend(of_order(part, checks));
    }
    rules.extend(checks.apart.map(|_| Rule::OverlappingCopy));
    if let Some(collective) = &checks.collective {
        rules.extend((!collective.ranks.is_empty()).then_some(Rule::UnknownRank));
        rules.extend(collective.is_compared().then_some(Rule::Disagreement));
    }
    rules.extend(of_effect(checks.effect));
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn of_values(checks: &FunctionChecks) -> Vec<Rule> {
    let mut rules = Vec::new();
    rules.extend((!checks.devices.is_empty()).then_some(Rule::UnknownDevice));
    rules.extend((!checks.filled.is_empty()).then_some(Rule::Null));
    rules.extend((!checks.enums.is_empty()).then_some(Rule::UnknownValue));
    rules
}

fn of_handle(handle: &HandleParam, checks: &FunctionChecks) -> Vec<Rule> {
    let kind = KINDS[usize::from(handle.kind)];
    let ends = handle.lifecycle == Lifecycle::Ends;
    let mut rules = Vec::new();
    match handle.lifecycle {
        Lifecycle::Lent => return rules,
        Lifecycle::Begins => {
            rules.extend((!handle.null).then_some(Rule::NoHandle));
            return rules;
        }
        Lifecycle::Ends | Lifecycle::Goes => {}
    }
    rules.extend((!handle.null).then_some(Rule::Null));
    if !handle.ours {
        return rules;
    }
    rules.extend([Rule::UnknownHandle, Rule::HandleOfOtherPlugin, Rule::HandleOfOtherKind]);
    rules.push(if ends { Rule::DestroyedTwice } else { Rule::DestroyedHandle });
    if has_device(handle.kind) && (handle.of.is_some() || !checks.devices.is_empty()) {
        rules.push(Rule::HandleOfOtherDevice);
    }
    match kind {
        "Stream" if ends => rules.push(Rule::DestroyedInFlight),
        "Event" if ends => rules.push(Rule::NeverRecorded),
        _ => {}
    }
    rules
}

/// Returns true if handles of a kind belong to a device.
fn has_device(kind: u8) -> bool {
    let made = |handle: &HandleParam| {
        handle.kind == kind && matches!(handle.lifecycle, Lifecycle::Begins | Lifecycle::Lent)
    };
    CHECKS.iter().flat_map(|checks| &checks.handles).any(|handle| made(handle) && handle.of.is_some())
}

fn of_memory(part: &MemoryParam) -> Vec<Rule> {
    let is_host = part.space == Space::Host;
    let mut rules = vec![Rule::SizeOverflow];
    match part.lifecycle {
        Lifecycle::Begins => rules.push(Rule::MemoryGivenTwice),
        Lifecycle::Ends => {
            rules.extend([Rule::FreedTwice, Rule::FreedWrongly, Rule::FreedInFlight]);
            rules.extend([Rule::UnknownMemory, Rule::FreedMemory]);
            rules.push(if is_host { Rule::DeviceAsHost } else { Rule::MemoryOfOtherPlugin });
        }
        Lifecycle::Goes | Lifecycle::Lent => {
            rules.extend((!part.nullable).then_some(Rule::Null));
            if part.space == Space::Any {
                return rules;
            }
            let is_range = !matches!(part.bytes, Bytes::Unknown | Bytes::Number(0 | 1));
            rules.extend(is_range.then_some(Rule::OutsideAllocation));
            if is_host {
                rules.push(Rule::DeviceAsHost);
                return rules;
            }
            rules.extend([Rule::UnknownMemory, Rule::FreedMemory]);
            rules.extend([Rule::HostAsDevice, Rule::MemoryOfOtherPlugin]);
            rules.extend(part.of.map(|_| Rule::MemoryOfOtherDevice));
        }
    }
    rules
}

fn of_order(part: &MemoryParam, checks: &FunctionChecks) -> Option<Rule> {
    let is_tracked = checks.stream.is_none() || part.held;
    let is_used = part.lifecycle == Lifecycle::Goes && part.space != Space::Any;
    (is_tracked && is_used).then_some(Rule::Unordered)
}

fn of_effect(effect: Effect) -> &'static [Rule] {
    match effect {
        Effect::RecordEvent => &[Rule::NeverRecorded],
        Effect::DeinitDevice | Effect::Finalize => &[Rule::NeverRecorded, Rule::Leak],
        _ => &[],
    }
}

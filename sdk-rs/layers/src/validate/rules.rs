//! The catalogue of rules. Numbers are never reused.

use std::fmt;
use std::str::FromStr;

use tenon::Origin;
use tenon::device::Function;

use crate::validate::{LAYER, rules_of};

/// Consequence of a broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The call is rejected: the plugin does not see it.
    Error,
    /// The call continues.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

macro_rules! catalogue {
    ($($variant:ident = $number:literal $severity:ident, $title:literal, $help:literal;)*) => {
        /// Rules for programs that call a device.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Rule {
            $(#[doc = $title] $variant = $number,)*
        }

        impl Rule {
            /// Every rule, in the order of the numbers.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)*];

            /// Returns the rule in one short sentence.
            pub fn title(self) -> &'static str {
                match self { $(Rule::$variant => $title,)* }
            }

            /// Returns the reason for the rule, or how to correct the program.
            pub fn explanation(self) -> &'static str {
                match self { $(Rule::$variant => $help,)* }
            }

            /// Returns `Error` if a call that breaks the rule is rejected.
            pub fn severity(self) -> Severity {
                match self { $(Rule::$variant => Severity::$severity,)* }
            }
        }
    };
}

catalogue! {
    Null = 1 Error, "an argument is not null, unless null has a meaning",
        "The reference states for each parameter whether null is allowed and what it means. Memory of 0 bytes may always be null.";
    SizeOverflow = 2 Error, "a size fits into the address space",
        "An address plus a size must not exceed the end of the address space, and no object is larger than half of it. A frequent cause is a negative number, or a product that overflowed.";
    UnknownValue = 3 Error, "an enum argument has one of the values of its type",
        "The reference lists the values of each type. A frequent cause is a constant of another enum.";
    UnknownDevice = 4 Error, "a device number is valid",
        "Devices are numbered from 0 to `get_device_count` - 1.";
    UnknownRank = 5 Error, "a rank is one of its group",
        "The members of a group are numbered from 0 to the number of members - 1, which `xccl_comm_init_rank` got.";
    UnknownHandle = 10 Error, "a handle was created by the plugin",
        "No call returned this handle. A frequent cause is an uninitialised variable, because the call that creates the handle failed.";
    DestroyedHandle = 11 Error, "a handle is not used after it was destroyed",
        "The message names the call that destroyed the handle. With TENON_VALIDATE_BACKTRACE=1 it also shows the backtrace of that call.";
    DestroyedTwice = 12 Error, "a handle is destroyed once",
        "The message names the call that destroyed it first. A frequent cause is a copy of the handle with a second owner.";
    HandleOfOtherDevice = 13 Error, "a handle is used with its own device",
        "Streams, events and most other handles belong to the device that they were created for.";
    HandleOfOtherPlugin = 14 Error, "a handle is used with its own plugin",
        "Plugins do not know each other's handles: copy through host memory, and wait on the host.";
    HandleOfOtherKind = 15 Error, "a handle is of the kind that the parameter takes",
        "All handles are pointers, so a cast can hide that a stream was passed for an event.";
    UnknownMemory = 20 Error, "a device address lies in device memory",
        "The address is in no known allocation of the plugin. It is often the address of a variable or of memory from `malloc`: copy that memory to the device first.";
    HostAsDevice = 21 Error, "host memory is not passed for device memory",
        "Memory from `host_memory_allocate` belongs to the host. Pass it only where the reference says host memory, or use unified memory.";
    DeviceAsHost = 22 Error, "device memory is not passed for host memory",
        "The host cannot read an address of device memory. Use the d2d functions to copy within a device, and check the order of destination and source.";
    OutsideAllocation = 23 Error, "a range lies within one allocation",
        "The range begins inside an allocation and extends past its end. Two allocations with adjacent addresses are still two allocations.";
    MemoryOfOtherDevice = 24 Error, "memory is used with its own device",
        "Use the p2p functions, which take both devices, to copy between devices.";
    MemoryOfOtherPlugin = 25 Error, "memory is used with its own plugin",
        "A plugin cannot access memory of another plugin: copy through host memory.";
    FreedMemory = 26 Error, "memory is not used after it was freed",
        "The message names the call that freed the memory. With TENON_VALIDATE_BACKTRACE=1 it also shows the backtrace of that call.";
    FreedTwice = 27 Error, "memory is freed once",
        "The message names the call that freed it first.";
    FreedWrongly = 28 Error, "memory is freed with the arguments of its allocation",
        "A free takes the address that the allocation returned, not an address inside it, with the same size, the same device, and the function for the same kind of memory: device, host or unified.";
    OverlappingCopy = 29 Error, "source and destination of a copy do not overlap",
        "Within a device they may be equal or disjoint. The result of an overlapping copy depends on the order in which the device copies the bytes.";
    NeverRecorded = 30 Warning, "an event is recorded before a stream waits for it",
        "An event that was never recorded counts as complete, so a wait for it returns at once. The first round of a double buffer does this on purpose, and it is not reported. Two cases are reported: an event that was waited for and then destroyed without a record, and a record that covers work that was already queued, and not complete, at the time of the wait. In the second case, the wait and the record are in the wrong order.";
    FreedInFlight = 31 Warning, "memory is freed after the queued work that uses it",
        "Work that uses the memory is queued on a stream and is not known to be complete. The interface says that the device keeps the memory, but not every device does: wait for the stream, or for an event recorded after the work, before the free.";
    DestroyedInFlight = 32 Warning, "a stream is destroyed after its work is complete",
        "Work on the stream is not known to be complete. It still runs to its end, but the program can no longer wait for its results.";
    Unordered = 33 Warning, "work that uses the same memory is ordered",
        "Two streams have no order but that of events, and a synchronous call does not wait for any stream. Record an event after the first work and let the second stream wait for it, or wait on the host. The rule is broken if one of the two writes, even if the first happens to be complete. The layer sees only order that calls establish; after a callback on one of the streams, which may establish another order, nothing is reported.";
    Disagreement = 34 Error, "the members of a group call the same collectives in the same order",
        "The message names the call of another member at the same place. Counts, types, reductions and roots must be the same; a send and the receive for it must have the same count and type. The layer compares members that are in the same process, such as threads with a device each; what members of other processes call, the device finds out, if it can.";
    Leak = 40 Warning, "handles and memory are released",
        "The object was still alive when the device was deinitialised or the plugin was finalised. With TENON_VALIDATE_BACKTRACE=1 the message shows the backtrace of the call that created it.";
    MemoryGivenTwice = 50 Warning, "a plugin does not return memory that is in use",
        "This is an error in the plugin: the memory that it returned overlaps a live allocation.";
    NoHandle = 51 Warning, "a plugin that reports success returns a handle",
        "This is an error in the plugin: it reported success but wrote a null handle, and null has no meaning for this handle.";
}

impl Rule {
    /// Returns the broken rule if this layer made the error.
    pub fn of_error<S>(error: &tenon::Error<S>) -> Option<Self> {
        match &error.origin {
            Origin::Layer(refusal) if refusal.layer == LAYER => refusal.rule.as_deref()?.parse().ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "V{:03}", *self as u16)
    }
}

/// The text is not the number of a rule.
#[derive(Debug, thiserror::Error)]
#[error("there is no rule `{0}`; rules are numbered from V001 to V051")]
pub struct UnknownRule(pub String);

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let wanted = text.trim().to_ascii_uppercase();
        let found = Rule::ALL.iter().copied().find(|rule| rule.to_string() == wanted);
        found.ok_or_else(|| UnknownRule(text.to_owned()))
    }
}

/// The documentation of a rule.
#[derive(Clone, Debug, serde::Serialize)]
pub struct RuleText {
    /// Such as `V001`.
    pub id: String,
    /// Consequence of breaking it.
    pub severity: Severity,
    /// The rule in one short sentence.
    pub title: &'static str,
    /// The reason for the rule, or how to correct the program.
    pub explanation: &'static str,
    /// The functions whose calls can break it.
    pub functions: Vec<&'static str>,
}

/// Returns every rule, in the order of the numbers.
pub fn catalogue() -> impl Iterator<Item = RuleText> {
    let of_functions: Vec<(&str, Vec<Rule>)> =
        Function::ALL.into_iter().map(|function| (function.info().name, rules_of(function))).collect();
    Rule::ALL.iter().map(move |rule| RuleText {
        id: rule.to_string(),
        severity: rule.severity(),
        title: rule.title(),
        explanation: rule.explanation(),
        functions: of_functions
            .iter()
            .filter(|(_, rules)| rules.contains(rule))
            .map(|(name, _)| *name)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_can_be_read_back() {
        let mut last = 0;
        for rule in Rule::ALL.iter().copied() {
            assert!(rule as u16 > last, "{rule}");
            last = rule as u16;
            assert_eq!(rule.to_string().to_lowercase().parse::<Rule>().unwrap(), rule);
        }
        assert_eq!(format!("V{last:03}"), "V051", "the message of `UnknownRule` names the last");
    }
}

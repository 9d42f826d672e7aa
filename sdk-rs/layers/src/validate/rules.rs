//! The catalogue of rules. Numbers are never given anew.

use std::fmt;
use std::str::FromStr;

use tenon::Origin;

use super::LAYER;

/// What happens when a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The call is refused: the plugin does not see it.
    Error,
    /// The call goes on.
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
        /// The rules that a program has to keep when it calls a device.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Rule {
            $(#[doc = $title] $variant = $number,)*
        }

        impl Rule {
            /// Every rule, in the order of the numbers.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)*];

            /// The rule in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Rule::$variant => $title,)* }
            }

            /// Why there is such a rule, and what to do.
            pub fn explanation(self) -> &'static str {
                match self { $(Rule::$variant => $help,)* }
            }

            /// Whether breaking it refuses the call.
            pub fn severity(self) -> Severity {
                match self { $(Rule::$variant => Severity::$severity,)* }
            }
        }
    };
}

catalogue! {
    Null = 1 Error, "an argument is not null, unless null has a meaning",
        "The reference says of each parameter whether null is allowed and what it means. Memory of 0 bytes may always be null.";
    SizeOverflow = 2 Error, "a size fits into the address space",
        "An address plus a size must not reach past the end of the address space, and no object is larger than half of it. A frequent cause is a negative number, or a product that overflowed.";
    UnknownValue = 3 Error, "a value of an enum is one of those that it has",
        "The values are in the reference of the type. A frequent cause is a constant of another enum.";
    UnknownDevice = 4 Error, "a device is one that there is",
        "Devices go by number, from 0 to `get_device_count` less one.";
    UnknownHandle = 10 Error, "a handle is one that the plugin gave out",
        "No call has given out this handle. A frequent cause is a handle that was never written, because the call that makes it had failed.";
    DestroyedHandle = 11 Error, "a handle is not used after it was destroyed",
        "The message says which call destroyed the handle. With TENON_VALIDATE_BACKTRACE=1 it also says from where.";
    DestroyedTwice = 12 Error, "a handle is destroyed once",
        "The message says which call destroyed it first. A frequent cause is a copy of the handle with an owner of its own.";
    HandleOfOtherDevice = 13 Error, "a handle is used with the device that it belongs to",
        "Streams, events and most other handles belong to the device that they were made for.";
    HandleOfOtherPlugin = 14 Error, "a handle is used with the plugin that gave it out",
        "Two plugins know nothing of each other: copy over the host, and wait on the host.";
    HandleOfOtherKind = 15 Error, "a handle is used for what it is",
        "All handles are pointers, so a cast hides that a stream was passed for an event.";
    UnknownMemory = 20 Error, "a device address lies in memory of the device",
        "The address lies in no allocation of the plugin that is known. Often it is the address of a variable or of `malloc`: copy it to the device first.";
    HostAsDevice = 21 Error, "host memory is not passed for device memory",
        "Memory of `host_memory_allocate` belongs to the host: pass it where the reference says host memory, or use unified memory.";
    DeviceAsHost = 22 Error, "device memory is not passed for host memory",
        "The host cannot follow the address of device memory. Copy within the device with the d2d functions; check the order of destination and source.";
    OutsideAllocation = 23 Error, "a range lies within one allocation",
        "The range begins inside an allocation and runs past its end. Two allocations that happen to be neighbours are still two.";
    MemoryOfOtherDevice = 24 Error, "memory is used with the device that it belongs to",
        "Between devices, copy with the p2p functions, which take both devices.";
    MemoryOfOtherPlugin = 25 Error, "memory is used with the plugin that gave it out",
        "Two plugins cannot follow each other's addresses: copy over the host.";
    FreedMemory = 26 Error, "memory is not used after it was freed",
        "The message says which call freed the memory. With TENON_VALIDATE_BACKTRACE=1 it also says from where.";
    FreedTwice = 27 Error, "memory is freed once",
        "The message says which call freed it first.";
    FreedWrongly = 28 Error, "memory is freed as it was allocated",
        "A free takes the address that the allocation gave and not one inside it, the same size, the same device, and is of the same kind: device, host or unified.";
    OverlappingCopy = 29 Error, "source and destination of a copy do not overlap",
        "Within a device they may be equal or apart. What an overlapping copy yields depends on the order in which the device copies.";
    NeverRecorded = 30 Warning, "a wait for an event comes after its record",
        "An event that was not recorded yet counts as done, so a wait for it waits for nothing. That is right in the first round of a double buffer, and not reported. Two cases are reported: an event that was waited for and whose life ends without a record, and a record of work that was already queued, and not done, when the wait came. In the second case the wait and the record have changed places.";
    FreedInFlight = 31 Warning, "memory is freed when no queued work uses it",
        "Work that uses the memory was queued on a stream and is not known to be done. The interface says that the device keeps the memory, but not every device does: wait for the stream, or for an event behind the work, before the free.";
    DestroyedInFlight = 32 Warning, "a stream is destroyed when its work is done",
        "Work that was queued on the stream is not known to be done. It runs to its end, but who wants its result has nothing left to wait for.";
    Leak = 40 Warning, "what was made is given back",
        "Still alive when the device or the backend ended, which is the end of it. With TENON_VALIDATE_BACKTRACE=1 the message says where it was made.";
    MemoryGivenTwice = 50 Warning, "a plugin gives out memory that is not in use",
        "This is a mistake of the plugin: the memory that it gave out overlaps an allocation that is still alive.";
    NoHandle = 51 Warning, "a plugin that succeeds yields what it made",
        "This is a mistake of the plugin: it answered with success but wrote a null handle, for which null has no meaning.";
}

impl Rule {
    /// The broken rule, if the error was made by this layer.
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

/// A text that names no rule.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no rule; rules go from V001 to V051")]
pub struct UnknownRule(pub String);

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let wanted = text.trim().to_ascii_uppercase();
        let found = Rule::ALL.iter().copied().find(|rule| rule.to_string() == wanted);
        found.ok_or_else(|| UnknownRule(text.to_owned()))
    }
}

/// What the documentation says of a rule.
#[derive(Clone, Debug, serde::Serialize)]
pub struct RuleText {
    /// Such as `V001`.
    pub id: String,
    /// What happens when it is broken.
    pub severity: Severity,
    /// The rule in a few words.
    pub title: &'static str,
    /// Why there is such a rule, and what to do.
    pub explanation: &'static str,
}

/// Every rule, in the order of the numbers.
pub fn catalogue() -> impl Iterator<Item = RuleText> {
    Rule::ALL.iter().map(|rule| RuleText {
        id: rule.to_string(),
        severity: rule.severity(),
        title: rule.title(),
        explanation: rule.explanation(),
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

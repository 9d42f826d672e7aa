//! The number of devices and the memory of each, read from the environment.

use crate::error::{Error, Result};
use std::num::NonZeroUsize;

const DEVICES: &str = "TENON_CPU_DEVICES";
const MEMORY: &str = "TENON_CPU_MEMORY";
const THREADS: &str = "TENON_CPU_THREADS";

/// The default number of devices: two, so that programs can try copies between devices.
pub(crate) const DEFAULT_DEVICES: usize = 2;

const MAX_DEVICES: usize = 64;
const MAX_THREADS: usize = 1024;
const MIB: usize = 1 << 20;

/// The number of devices, their memory, and the number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Number of devices, 1 to 64.
    pub devices: usize,
    /// The memory budget of each device, in bytes.
    pub memory: usize,
    /// Number of threads that run the work of all streams, 1 to 1024.
    pub threads: usize,
}

impl Default for Config {
    /// Returns the default: two devices that share half of the machine's memory, and a thread for each core.
    fn default() -> Self {
        Self { devices: DEFAULT_DEVICES, memory: default_memory(DEFAULT_DEVICES), threads: default_threads() }
    }
}

impl Config {
    /// Reads the configuration from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `TENON_CPU_DEVICES` | number of devices, 1 to 64 | 2, or that of [`Cpu::set_default_devices`](crate::Cpu::set_default_devices) |
    /// | `TENON_CPU_MEMORY` | budget of each device: bytes, or with a unit (`512MiB`, `4GiB`, `2GB`) | half of the machine's memory, divided by the number of devices |
    /// | `TENON_CPU_THREADS` | threads that run stream work, 1 to 1024 | one for each core |
    ///
    /// # Errors
    /// [`Error::Config`] for a value that is not understood or out of range.
    pub fn from_env() -> Result<Self> {
        Self::from_env_or(DEFAULT_DEVICES)
    }

    /// Reads the environment like [`Config::from_env`], with another number of devices if `TENON_CPU_DEVICES` is not set.
    pub(crate) fn from_env_or(devices: usize) -> Result<Self> {
        Self::from_lookup(devices, |name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))
    }

    fn from_lookup(devices: usize, lookup: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let devices = match lookup(DEVICES) {
            None => devices.clamp(1, MAX_DEVICES),
            Some(value) => parse_count(DEVICES, &value, MAX_DEVICES)?,
        };
        let memory = match lookup(MEMORY) {
            None => default_memory(devices),
            Some(value) => parse_bytes(MEMORY, &value)?,
        };
        let threads = match lookup(THREADS) {
            None => default_threads(),
            Some(value) => parse_count(THREADS, &value, MAX_THREADS)?,
        };
        Ok(Self { devices, memory, threads })
    }
}

fn bad(variable: &'static str, value: &str, reason: impl Into<String>) -> Error {
    Error::Config { variable, value: value.to_owned(), reason: reason.into() }
}

fn parse_count(variable: &'static str, value: &str, most: usize) -> Result<usize> {
    let count: usize = value
        .trim()
        .parse()
        .map_err(|_| bad(variable, value, format!("expected a whole number from 1 to {most}")))?;
    if (1..=most).contains(&count) {
        Ok(count)
    } else {
        Err(bad(variable, value, format!("expected a number from 1 to {most}")))
    }
}

fn parse_bytes(variable: &'static str, value: &str) -> Result<usize> {
    match tenon::parse_bytes(value).map_err(|error| bad(variable, value, error.to_string()))? {
        0 => Err(bad(variable, value, "a device needs some memory")),
        bytes => Ok(bytes),
    }
}

/// Computes a device's share of half of the machine's memory, in bytes; the other half stays with the host program,
/// whose own tensors live in the same memory.
fn default_memory(devices: usize) -> usize {
    let share = crate::memory::physical_memory() / 2 / devices;
    (share / MIB * MIB).max(MIB)
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Config> {
        Config::from_lookup(DEFAULT_DEVICES, |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn defaults_share_half_the_machine() {
        let config = read(&[]).unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.devices, 2);
        let whole = crate::memory::physical_memory();
        assert!(config.memory * 2 <= whole / 2 && config.memory >= whole / 4 - 2 * MIB);
    }

    #[test]
    fn devices_default_may_be_another_and_the_variable_wins() {
        let one = Config::from_lookup(1, |_| None).unwrap();
        assert_eq!(one.devices, 1);
        assert!(one.memory >= read(&[]).unwrap().memory * 2, "one device has the share of two");
        let three = Config::from_lookup(1, |name| (name == DEVICES).then(|| "3".to_owned())).unwrap();
        assert_eq!(three.devices, 3);
    }

    #[test]
    fn values_with_and_without_units() {
        for (text, bytes) in [
            ("1048576", 1 << 20),
            ("64B", 64),
            ("512MiB", 512 << 20),
            ("4GiB", 4 << 30),
            (" 4 gib ", 4 << 30),
            ("16k", 16 << 10),
            ("2GB", 2_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(read(&[(MEMORY, text)]).unwrap().memory, bytes, "{text}");
        }
        let config = read(&[(DEVICES, "5"), (THREADS, "3")]).unwrap();
        assert_eq!((config.devices, config.threads), (5, 3));
    }

    #[test]
    fn bad_values_are_named() {
        for (variable, value, part) in [
            (DEVICES, "0", "from 1 to 64"),
            (DEVICES, "65", "from 1 to 64"),
            (DEVICES, "two", "whole number"),
            (DEVICES, "-1", "whole number"),
            (DEVICES, "", "whole number"),
            (MEMORY, "0", "some memory"),
            (MEMORY, "lots", "expected bytes"),
            (MEMORY, "", "expected bytes"),
            (MEMORY, "4 parsecs", "unknown unit `parsecs`"),
            (MEMORY, "1.5GiB", "unknown unit"),
            (MEMORY, "-4GiB", "expected bytes"),
            (MEMORY, "99999999TiB", "can be addressed"),
            (THREADS, "0", "from 1 to 1024"),
        ] {
            let error = read(&[(variable, value)]).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(variable) && text.contains(part), "{variable}={value}: {text}");
        }
    }
}

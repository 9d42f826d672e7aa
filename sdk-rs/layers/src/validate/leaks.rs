//! Handles and memory that are still alive at the end.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, Weak};
use std::time::Duration;
use tenon::support::Mutex;

use crate::validate::checks::functions::KINDS;
use crate::validate::checks::memory::word;
use crate::validate::lifecycle::never_recorded;
use crate::validate::objects::handles::NO_DEVICE;
use crate::validate::rules::Rule;
use crate::validate::{Validate, Violation};
use crate::{at_exit, clock};

/// Something that is still alive.
#[derive(Clone, Debug)]
pub struct Leak {
    /// The kind of handle, such as `Event`, or of memory, such as `device memory`.
    pub what: String,
    /// Its address.
    pub address: u64,
    /// In bytes, of memory.
    pub size: Option<u64>,
    /// The device that it belongs to.
    pub device: Option<i32>,
    /// The name of the plugin.
    pub plugin: Arc<str>,
    /// The function that made it.
    pub function: &'static str,
    /// For how long it has been alive.
    pub age: Duration,
    /// The backtrace of its creation, if it was recorded.
    pub place: Option<String>,
}

impl fmt::Display for Leak {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(size) => write!(formatter, "{size} bytes of {} at {:#x}", self.what, self.address)?,
            None => write!(formatter, "{} {:#x}", self.what, self.address)?,
        }
        write!(formatter, " from `{}`, {:.1?} old", self.function, self.age)
    }
}

/// The layers that report at the end of the process, with the process.
static AT_EXIT: Mutex<Vec<(u32, Weak<Validate>)>> = Mutex::new(Vec::new());

extern "C" fn report_all() {
    let process = std::process::id();
    let validates = std::mem::take(&mut *AT_EXIT.lock());
    // A forked child does not have to release the objects of its parent.
    for (_, validate) in validates.into_iter().filter(|(owner, _)| *owner == process) {
        if let Some(validate) = validate.upgrade() {
            validate.report_leaks("exit", None);
        }
    }
}

/// Disables the report at the end of the process, for programs that leave their objects to the operating system.
pub fn abandon() {
    AT_EXIT.lock().clear();
}

impl Validate {
    /// Reports what is alive when the process ends without a call to [`Validate::finish`].
    pub(crate) fn report_at_exit(self: &Arc<Self>) {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| at_exit::call(report_all));
        let mut validates = AT_EXIT.lock();
        validates.retain(|(_, validate)| validate.strong_count() > 0);
        validates.push((std::process::id(), Arc::downgrade(self)));
    }

    /// Returns the live handles and memory: memory first, each oldest first.
    pub fn leaks(&self) -> Vec<Leak> {
        self.alive(None, |_| true)
    }

    /// Reports live objects that were not reported before. Call it when the plugin is not used any more.
    ///
    /// The same happens for a device after `deinit_device`, and for all after `finalize`.
    pub fn finish(&self) -> Vec<Leak> {
        self.report_leaks("shutdown", None)
    }

    pub(super) fn report_leaks(&self, function: &'static str, device: Option<i32>) -> Vec<Leak> {
        let mut in_vain = Vec::new();
        self.plugin.each_handle(device, |one| {
            if let Some(wait) = one.known.event().and_then(|event| event.waited_in_vain()) {
                in_vain.push((one.known.device, never_recorded(one.known.address, &wait, None)));
            }
        });
        for (of, violation) in in_vain {
            // A warning, as below.
            let _ = self.report(function, Some(of), violation);
        }
        let leaks = self.alive(device, |reported| !reported.swap(true, Ordering::Relaxed));
        for leak in &leaks {
            let (message, place) = (leak.to_string(), leak.place.clone());
            let violation = Violation { rule: Rule::Leak, parameter: None, message, place };
            // A leak is a warning: there is no call to refuse.
            let _ = self.report(function, leak.device.or(device), violation);
        }
        leaks
    }

    /// Returns the live handles and memory for which `wanted` returns true. It gets the flag `reported`, and may set it.
    fn alive(&self, device: Option<i32>, wanted: impl Fn(&AtomicBool) -> bool) -> Vec<Leak> {
        let plugin = &self.plugin.name;
        // All leaks have the same time, so that their order does not depend on how long backtraces take to resolve.
        let now = clock::now();
        let known = |device: i32| (device != NO_DEVICE).then_some(device);
        let mut memory: Vec<Leak> = self
            .plugin
            .memory()
            .all(device)
            .filter(|one| wanted(&one.reported))
            .map(|one| Leak {
                what: format!("{} memory", word(one.space)),
                address: one.start,
                size: Some(one.size),
                device: known(one.device),
                plugin: plugin.clone(),
                function: one.created_by.function,
                age: one.created_by.age_at(now),
                place: one.created_by.place("made"),
            })
            .collect();
        let mut handles = Vec::new();
        self.plugin.each_handle(device, |one| {
            if wanted(&one.reported) {
                let one = &one.known;
                handles.push(Leak {
                    what: KINDS[usize::from(one.kind)].to_owned(),
                    address: one.address,
                    size: None,
                    device: known(one.device),
                    plugin: plugin.clone(),
                    function: one.created_by.function,
                    age: one.created_by.age_at(now),
                    place: one.created_by.place("made"),
                });
            }
        });
        memory.sort_by_key(|leak| std::cmp::Reverse(leak.age));
        handles.sort_by_key(|leak| std::cmp::Reverse(leak.age));
        memory.append(&mut handles);
        memory
    }
}

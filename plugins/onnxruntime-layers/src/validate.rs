//! The layer `validate`: reports what breaks a rule.

use std::collections::HashMap;
use std::ffi::c_void;

use tenon::support::Mutex;
use tenon::support::write_line;

use crate::rules::Rule;
use crate::{memory, objects, settings};

/// The reports of one rule that are shown.
const MOST: usize = 20;

/// Reports a broken rule. `function` is the one in which it was found.
pub(crate) fn report(rule: Rule, function: &str, message: &str) {
    static COUNTS: Mutex<Option<HashMap<Rule, usize>>> = Mutex::new(None);

    if !settings::validates() {
        return;
    }
    #[cfg(test)]
    tests::REPORTS.with_borrow_mut(|reports| reports.push(format!("{rule}: {message}")));
    let count = {
        let mut counts = COUNTS.lock();
        let count = counts.get_or_insert_with(HashMap::new).entry(rule).or_default();
        *count += 1;
        *count
    };
    match count {
        1 => write_line(format_args!("{rule}: {function}: {message}\n      the rule: {}", rule.title())),
        count if count < MOST => write_line(format_args!("{rule}: {function}: {message}")),
        MOST => write_line(format_args!(
            "{rule}: {function}: {message}\n      further reports of {rule} are not shown"
        )),
        _ => {}
    }
}

/// Reports what was not released when a factory is.
pub(crate) fn report_rest(factory: *mut c_void) {
    if !settings::validates() {
        return;
    }
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    // Several libraries cannot be behind the layers, and its factories are released one after the other.
    let rest = objects::alive();
    if rest.iter().any(|(address, object)| object.info().name == crate::FACTORY && *address != factory.addr())
    {
        return;
    }
    for (address, object) in rest {
        *counts.entry((object.info().name, object.made_by)).or_default() += 1;
        memory::report_rest(address, object.info().name);
    }
    for ((name, made_by), count) in counts {
        let what = if count == 1 { "one object".to_owned() } else { format!("{count} objects") };
        report(Rule::Left, "ReleaseEpFactory", &format!("{what} `{name}` of `{made_by}` was not released"));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;

    thread_local! {
        /// The reports of this thread.
        pub(crate) static REPORTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// Returns the reports of this thread since the last call.
    pub(crate) fn reports() -> Vec<String> {
        REPORTS.take()
    }
}

//! The layer that checks the calls to a device.
//!
//! The checks come from the spec: the parameters that are handles or memory, those that may be null, the functions that
//! create and destroy, the streams whose work uses memory, and the members of a group of collectives. A call that breaks a rule is rejected with
//! `INVALID_ARGUMENT` and the plugin does not see it; some rules only warn. [`Rule`] lists the rules.
//!
//! | variable | meaning |
//! |---|---|
//! | `TENON_VALIDATE_FATAL=1` | the first error ends the process with `abort` |
//! | `TENON_VALIDATE_BACKTRACE=1` | records a backtrace where each object is created and destroyed, which is slow; `RUST_BACKTRACE` does the same |
//! | `TENON_VALIDATE_IGNORE=V022,V031` | rules that are not checked |
//!
//! The layer does not see memory and handles from before it was enabled, or that the plugin returns by other functions
//! than those of its table; nor the elements of arrays of addresses, such as those of `xccl_all_to_all`.

mod call_site;
mod checks;
mod leaks;
mod lifecycle;
mod objects;
mod report;
mod rules;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenon::device::{Device, Error, Function, Layer, Outcome, Partial, Result, Status};
use tenon::reflect::Call;
use tenon::support::write_line;
use tenon::{Refusal, StatusCode};

pub(crate) use checks::collectives::communicator;
pub(crate) use checks::functions::element_size;
pub use checks::rules_of::rules_of;
pub use leaks::{Leak, abandon};
pub use report::{Report, Sink, Stderr};
pub use rules::{Rule, RuleText, Severity, UnknownRule, catalogue};

use crate::setting::{self, BadSetting};
use call_site::CallSite;
use checks::functions::{CHECKS, FunctionChecks};
use objects::handles;
use objects::registry::TrackedPlugin;
use report::Counts;

/// The name of the layer in its errors.
const LAYER: &str = "validate";

/// Options of a validation.
pub struct Options {
    /// True if the first error ends the process.
    pub fatal: bool,
    /// True to record a backtrace where each object is created and destroyed.
    pub backtraces: bool,
    /// Rules that are not checked.
    pub ignore: Vec<Rule>,
    /// The destination of reports.
    pub sink: Arc<dyn Sink>,
}

impl Default for Options {
    /// Reports go to standard error, and nothing else happens.
    fn default() -> Self {
        Self { fatal: false, backtraces: false, ignore: Vec::new(), sink: Arc::new(Stderr::default()) }
    }
}

impl Options {
    /// Returns the default, changed by the environment.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn from_env() -> std::result::Result<Self, BadSetting> {
        const IGNORE: &str = "TENON_VALIDATE_IGNORE";
        let rust = setting::text("RUST_BACKTRACE").is_some_and(|value| value != "0");
        let ignore = setting::text(IGNORE).unwrap_or_default();
        let rule = |name: &str| name.parse().map_err(|error: UnknownRule| (name.to_owned(), error));
        Ok(Self {
            fatal: setting::switch("TENON_VALIDATE_FATAL", false)?,
            backtraces: setting::switch("TENON_VALIDATE_BACKTRACE", rust)?,
            ignore: ignore
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(rule)
                .collect::<std::result::Result<_, _>>()
                .map_err(|(_, error)| BadSetting::new(IGNORE, &ignore, error.to_string()))?,
            ..Self::default()
        })
    }
}

/// The state that the validations of all plugins share.
pub struct Checker {
    options: Options,
    /// True if the order of work is checked, which costs more than the other rules.
    checks_order: bool,
    counts: Counts,
}

impl Checker {
    /// Returns a checker with options.
    pub fn new(options: Options) -> Arc<Self> {
        let checks_order = !options.ignore.contains(&Rule::Unordered);
        Arc::new(Self { options, checks_order, counts: Counts::default() })
    }

    /// Returns a validation of one plugin. `partial` says which functions it has itself.
    pub fn layer<P: Partial + ?Sized>(self: &Arc<Self>, plugin: &str, partial: &P) -> Arc<Validate> {
        Arc::new(Validate {
            checker: self.clone(),
            plugin: TrackedPlugin::register(plugin),
            can_query_streams: partial.provides(Function::QueryStream),
        })
    }

    /// Returns the number of broken rules.
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts.of(severity).load(Ordering::Relaxed)
    }
}

/// The layer that checks how one plugin is used.
///
/// A process may have several, for several plugins; each knows the objects of the others. Dropping it removes
/// the objects of the plugin.
pub struct Validate {
    checker: Arc<Checker>,
    plugin: Arc<TrackedPlugin>,
    /// True if the plugin has `query_stream`, which does not wait.
    can_query_streams: bool,
}

impl Drop for Validate {
    fn drop(&mut self) {
        self.plugin.unregister();
    }
}

/// A call with its checks.
#[derive(Clone, Copy)]
struct CallCheck<'a> {
    validate: &'a Validate,
    plugin: &'a Arc<TrackedPlugin>,
    checks: &'static FunctionChecks,
    call: &'a Call<'a>,
    next: &'a dyn Device,
}

/// A broken rule that is not reported yet.
struct Violation {
    rule: Rule,
    parameter: Option<&'static str>,
    message: String,
    place: Option<String>,
}

impl Violation {
    fn new(rule: Rule, parameter: &'static str, message: String) -> Self {
        Self { rule, parameter: Some(parameter), message, place: None }
    }

    fn with_place(self, place: Option<String>) -> Self {
        Self { place, ..self }
    }
}

impl Validate {
    fn check<'a>(&'a self, call: &'a Call<'a>, next: &'a dyn Device) -> CallCheck<'a> {
        CallCheck { validate: self, plugin: &self.plugin, checks: &CHECKS[call.index], call, next }
    }

    /// Reports a problem.
    #[cold]
    fn report(&self, function: &'static str, device: Option<i32>, violation: Violation) -> Result<()> {
        let Violation { rule, parameter, message, place } = violation;
        let options = &self.checker.options;
        if options.ignore.contains(&rule) {
            return Ok(());
        }
        let plugin = self.plugin.name.clone();
        let report = Report { rule, function, parameter, plugin, device, message, place };
        self.checker.counts.add(rule.severity());
        options.sink.report(&report);
        if rule.severity() == Severity::Warning {
            return Ok(());
        }
        if options.fatal {
            write_line(format_args!("{rule} ends the process, since validation is fatal"));
            std::process::abort();
        }
        let parameter = parameter.map(|parameter| format!("`{parameter}`: ")).unwrap_or_default();
        let message = format!("{rule}: {parameter}{}", report.message);
        let refusal = Refusal { layer: LAYER.into(), rule: Some(rule.to_string().into()), code: None };
        Err(Error::refused(Status::INVALID_ARGUMENT, message, refusal))
    }
}

impl<'a> CallCheck<'a> {
    fn argument(&self, param: usize) -> u64 {
        self.call.arguments[param]
    }

    /// Returns the device that a parameter names.
    fn device(&self, param: Option<usize>) -> i32 {
        param.map_or(handles::NO_DEVICE, |param| self.argument(param) as i32)
    }

    #[cold]
    fn report(&self, violation: Violation) -> Result<()> {
        let device = self.checks.device.map(|param| self.argument(param) as i32);
        self.validate.report(self.call.function.name, device, violation)
    }

    /// Returns the call site of this call.
    fn call_site(&self) -> CallSite {
        CallSite::new(self.call.function.name, self.validate.checker.options.backtraces)
    }
}

impl Layer for Validate {
    fn before(&self, call: &Call<'_>, next: &dyn Device) -> Result<u64> {
        let check = self.check(call, next);
        check.values()?;
        let seen = check.handles()?;
        check.memory()?;
        check.order(seen.work)?;
        check.collective(seen.member.as_ref())?;
        check.begin(&seen)
    }

    fn after(&self, call: &Call<'_>, note: u64, outcome: &Outcome<'_>, next: &dyn Device) {
        let check = self.check(call, next);
        match outcome.error {
            None if check.checks.after => check.done(note, outcome.answer),
            None => {}
            Some(_) => check.undo(note),
        }
    }
}

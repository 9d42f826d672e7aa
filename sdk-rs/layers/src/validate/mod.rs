//! The layer that checks how a device is used.
//!
//! It is driven by the spec: which parameter is a handle or memory, whether null is allowed, what makes and what ends a
//! life, and which stream must have passed before memory may go. A call that breaks a rule is refused with
//! `INVALID_ARGUMENT` and the plugin does not see it; some rules only warn. [`Rule`] is the catalogue.
//!
//! | variable | meaning |
//! |---|---|
//! | `TENON_VALIDATE_FATAL=1` | the first error ends the process with `abort` |
//! | `TENON_VALIDATE_BACKTRACE=1` | writes down from where each thing was made and destroyed, which is slow; `RUST_BACKTRACE` does the same |
//! | `TENON_VALIDATE_IGNORE=V022,V031` | rules that are not checked |
//!
//! What it cannot see: memory and handles from before the layer was there, or that the plugin gives out by other ways
//! than its table; and the elements of arrays of addresses, such as those of `xccl_all_to_all`.

mod early;
mod gone;
mod handle;
mod hash;
mod leaks;
mod life;
mod memory;
mod origin;
mod plan;
mod ranges;
mod recent;
mod registry;
mod report;
mod rules;
mod values;
mod work;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenon::device::{Device, Error, Function, Layer, Outcome, Partial, Result, Status};
use tenon::reflect::Call;
use tenon::support::write_line;
use tenon::{Refusal, StatusCode};

pub use leaks::Leak;
pub use report::{Report, Sink, Stderr};
pub use rules::{Rule, RuleText, Severity, UnknownRule, catalogue};

use crate::setting::{self, BadSetting};
use origin::Origin;
use plan::{PLANS, Plan};
use registry::Plugin;
use report::Counts;

/// The name of the layer in its errors.
const LAYER: &str = "validate";

/// What a validation does about what it finds.
pub struct Options {
    /// Whether the first error ends the process.
    pub fatal: bool,
    /// Whether to write down from where each thing was made and destroyed.
    pub backtraces: bool,
    /// Rules that are not checked.
    pub ignore: Vec<Rule>,
    /// Where reports go.
    pub sink: Arc<dyn Sink>,
}

impl Default for Options {
    /// Reports go to standard error, and nothing else happens.
    fn default() -> Self {
        Self { fatal: false, backtraces: false, ignore: Vec::new(), sink: Arc::new(Stderr::default()) }
    }
}

impl Options {
    /// The default, changed by the environment.
    ///
    /// # Errors
    /// When a variable says what is not understood.
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

/// What the validations of all plugins share.
pub struct Checker {
    options: Options,
    counts: Counts,
}

impl Checker {
    /// A checker with options.
    pub fn new(options: Options) -> Arc<Self> {
        Arc::new(Self { options, counts: Counts::default() })
    }

    /// A validation of one plugin. `partial` says which functions it has itself.
    pub fn layer<P: Partial + ?Sized>(self: &Arc<Self>, plugin: &str, partial: &P) -> Arc<Validate> {
        Arc::new(Validate {
            checker: self.clone(),
            plugin: Plugin::register(plugin),
            asks: partial.provides(Function::QueryStream),
        })
    }

    /// How many rules were broken.
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts.of(severity).load(Ordering::Relaxed)
    }
}

/// The layer that checks how one plugin is used.
///
/// A process may have several, for several plugins; each knows what the others have given out. Dropping it forgets what
/// the plugin has given out.
pub struct Validate {
    checker: Arc<Checker>,
    plugin: Arc<Plugin>,
    /// Whether the plugin says without waiting if a stream is done.
    asks: bool,
}

impl Drop for Validate {
    fn drop(&mut self) {
        self.plugin.unregister();
    }
}

/// A call, and what is to be checked in it.
#[derive(Clone, Copy)]
struct Check<'a> {
    validate: &'a Validate,
    plugin: &'a Arc<Plugin>,
    plan: &'static Plan,
    call: &'a Call<'a>,
    next: &'a dyn Device,
}

/// A broken rule, before it is reported.
struct Problem {
    rule: Rule,
    parameter: Option<&'static str>,
    message: String,
    place: Option<String>,
}

impl Problem {
    fn new(rule: Rule, parameter: &'static str, message: String) -> Self {
        Self { rule, parameter: Some(parameter), message, place: None }
    }

    fn with_place(self, place: Option<String>) -> Self {
        Self { place, ..self }
    }
}

impl Validate {
    fn check<'a>(&'a self, call: &'a Call<'a>, next: &'a dyn Device) -> Check<'a> {
        Check { validate: self, plugin: &self.plugin, plan: &PLANS[call.index], call, next }
    }

    /// Reports a problem.
    #[cold]
    fn object(&self, function: &'static str, device: Option<i32>, problem: Problem) -> Result<()> {
        let Problem { rule, parameter, message, place } = problem;
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

impl<'a> Check<'a> {
    fn argument(&self, param: usize) -> u64 {
        self.call.arguments[param]
    }

    /// The device that a parameter names.
    fn device(&self, param: Option<usize>) -> i32 {
        param.map_or(registry::NO_DEVICE, |param| self.argument(param) as i32)
    }

    #[cold]
    fn object(&self, problem: Problem) -> Result<()> {
        let device = self.plan.device.map(|param| self.argument(param) as i32);
        self.validate.object(self.call.function.name, device, problem)
    }

    /// This call as the origin of something.
    fn origin(&self) -> Origin {
        Origin::new(self.call.function.name, self.validate.checker.options.backtraces)
    }
}

impl Layer for Validate {
    fn before(&self, call: &Call<'_>, next: &dyn Device) -> Result<u64> {
        let check = self.check(call, next);
        check.values()?;
        let seen = check.handles()?;
        check.memory(seen.work)?;
        check.begin(&seen)
    }

    fn after(&self, call: &Call<'_>, note: u64, outcome: &Outcome<'_>, next: &dyn Device) {
        let check = self.check(call, next);
        if !check.plan.after {
            return;
        }
        match outcome.error {
            None => check.done(note, outcome.answer),
            Some(_) => check.undo(note),
        }
    }
}

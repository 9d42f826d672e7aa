//! Cases: a promise, its source, and the code that checks it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tenon::device::Function;

use crate::plugin_under_test::PluginUnderTest;

/// The expectation that a failed case breaks. A stricter level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Behaviour that hosts rely on: without it PaddlePaddle crashes, hangs or computes wrong results.
    Required,
    /// Behaviour that the spec documents for every device.
    Promised,
    /// Good practice beyond the spec, such as detection of stale handles.
    Good,
}

impl Level {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::Required => "required",
            Level::Promised => "promised",
            Level::Good => "good",
        }
    }
}

/// The source of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromisedBy {
    /// In the documentation of a function or a group of the spec, word by word.
    Spec(&'static str),
    /// By PaddlePaddle's calls.
    Host,
    /// None: it is good practice.
    Practice,
}

impl PromisedBy {
    /// Returns the text for people.
    pub fn text(self) -> String {
        match self {
            PromisedBy::Spec(name) => format!("spec, `{name}`"),
            PromisedBy::Host => "PaddlePaddle".to_owned(),
            PromisedBy::Practice => "good practice".to_owned(),
        }
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message, in one line.
    pub message: String,
    /// The functions whose result was wrong; empty if the case judges the observed behaviour as a whole.
    pub blamed: Vec<Function>,
    /// True if a separate test found those functions broken.
    pub certain: bool,
}

/// The reason why a case ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The promise is broken.
    Failed(Failure),
    /// The case cannot be tested on this plugin, with the reason.
    Skipped(String),
}

/// The result of a case.
pub type Verdict<T = ()> = Result<T, Stop>;

/// Ends a case: the plugin breaks the promise.
pub(crate) fn failed<T>(message: impl Into<String>) -> Verdict<T> {
    Err(Stop::Failed(Failure { message: message.into(), blamed: Vec::new(), certain: false }))
}

/// Ends a case: the result of a function breaks a promise, whether or not the case tests that function.
pub(crate) fn blame<T>(function: Function, message: impl Into<String>) -> Verdict<T> {
    Err(Stop::Failed(Failure { message: message.into(), blamed: vec![function], certain: false }))
}

/// Ends a case: it cannot be tested here.
pub(crate) fn skipped<T>(reason: impl Into<String>) -> Verdict<T> {
    Err(Stop::Skipped(reason.into()))
}

/// Fails the case, with a message as of `format!`, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return $crate::case::failed(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// The code of a case.
pub(crate) enum Body {
    /// Written by hand.
    Written(fn(&PluginUnderTest) -> Verdict),
    /// Made from the spec.
    Made(Box<dyn Fn(&PluginUnderTest) -> Verdict + Send + Sync>),
}

/// The process in which a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// With the other cases of its group, on initialised devices.
    Group,
    /// In its own process, which starts before `initialize`.
    Fresh,
    /// As `Fresh`; then the process ends by `exit`, which runs the plugin's exit handlers and destructors.
    Exit,
}

/// One promise that a plugin keeps or breaks.
pub struct Case {
    /// Its name, by group: `copy.d2d.odd-lengths`.
    pub id: Cow<'static, str>,
    /// Its level.
    pub level: Level,
    /// The functions that it is about.
    pub functions: Vec<Function>,
    /// Other functions that it needs.
    pub(crate) uses: Vec<Function>,
    /// True if fallbacks, which may wait where a device may not, cannot take part.
    pub(crate) native: bool,
    /// True if the case can run without functions that are left out.
    pub(crate) always: bool,
    /// The promise.
    pub promise: Cow<'static, str>,
    /// The source of the promise.
    pub source: PromisedBy,
    pub(crate) place: Place,
    pub(crate) body: Body,
}

impl Case {
    /// Returns the cases with which it shares a process: the first part of its name.
    pub fn group(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// Creates a case that is written by hand.
    pub(crate) fn written(id: &'static str, level: Level, body: fn(&PluginUnderTest) -> Verdict) -> Self {
        Self {
            id: id.into(),
            level,
            functions: Vec::new(),
            uses: Vec::new(),
            native: false,
            always: false,
            promise: "".into(),
            source: PromisedBy::Practice,
            place: Place::Group,
            body: Body::Written(body),
        }
    }

    pub(crate) fn of<const N: usize>(mut self, functions: [Function; N]) -> Self {
        self.functions = functions.to_vec();
        self
    }

    pub(crate) fn uses<const N: usize>(mut self, functions: [Function; N]) -> Self {
        self.uses = functions.to_vec();
        self
    }

    pub(crate) fn native(mut self) -> Self {
        self.native = true;
        self
    }

    /// Marks a case that can run without the functions that are missing.
    pub(crate) fn lenient(mut self) -> Self {
        self.always = true;
        self
    }

    pub(crate) fn fresh(mut self) -> Self {
        self.place = Place::Fresh;
        self
    }

    pub(crate) fn exit(mut self) -> Self {
        self.place = Place::Exit;
        self
    }

    /// Quotes the spec, word by word, from the entry of a function or a group.
    pub(crate) fn spec(mut self, name: &'static str, quote: &'static str) -> Self {
        (self.source, self.promise) = (PromisedBy::Spec(name), quote.into());
        self
    }

    pub(crate) fn host(mut self, promise: &'static str) -> Self {
        (self.source, self.promise) = (PromisedBy::Host, promise.into());
        self
    }

    pub(crate) fn practice(mut self, promise: &'static str) -> Self {
        (self.source, self.promise) = (PromisedBy::Practice, promise.into());
        self
    }

    pub(crate) fn run(&self, plugin: &PluginUnderTest) -> Verdict {
        match &self.body {
            Body::Written(body) => body(plugin),
            Body::Made(body) => body(plugin),
        }
    }

    /// Returns the reason why it cannot be tested, or `None` if it can.
    pub(crate) fn obstacle(&self, plugin: &PluginUnderTest) -> Option<String> {
        if self.always {
            return None;
        }
        if plugin.device_count() == 0 && self.place == Place::Group {
            return Some("the plugin has no devices".to_owned());
        }
        let needed = || self.functions.iter().chain(&self.uses).copied();
        if let Some(absent) = needed().find(|function| !plugin.answers(*function)) {
            return Some(format!("`{}` is left out", absent.name()));
        }
        if self.native
            && let Some(absent) = needed().find(|function| !plugin.is_native(*function))
        {
            return Some(format!(
                "`{}` is a fallback, which may wait where this case must not",
                absent.name()
            ));
        }
        None
    }
}

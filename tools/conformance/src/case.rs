//! What a case is: a promise, where it was made, and the code that holds a plugin to it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tenon::device::Function;

use crate::subject::Subject;

/// Who is let down when a case fails. A stricter level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What hosts rely on: without it PaddlePaddle crashes, hangs or computes wrong results.
    Required,
    /// What the spec's documentation says of every device.
    Promised,
    /// What the spec leaves open and good devices do, such as to notice stale handles.
    Good,
}

impl Level {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::Required => "required",
            Level::Promised => "promised",
            Level::Good => "good",
        }
    }
}

/// Where a promise was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the documentation of a function or a group of the spec, word by word.
    Spec(&'static str),
    /// By the way in which PaddlePaddle calls.
    Host,
    /// Nowhere: it is what good devices do.
    Practice,
}

impl Source {
    /// For people.
    pub fn text(self) -> String {
        match self {
            Source::Spec(name) => format!("spec, `{name}`"),
            Source::Host => "PaddlePaddle".to_owned(),
            Source::Practice => "good practice".to_owned(),
        }
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How it is broken, in one line.
    pub message: String,
    /// The functions whose answer was wrong; empty where the case judges what it saw.
    pub blamed: Vec<Function>,
    /// Whether those functions were tried by themselves and found broken, whatever the case did before.
    pub certain: bool,
}

/// How a case ended before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The promise is broken.
    Failed(Failure),
    /// It cannot be tried on this plugin, and why.
    Skipped(String),
}

/// What the code of a case yields.
pub type Verdict<T = ()> = Result<T, Stop>;

/// Ends a case: what the plugin does is not what was promised.
pub(crate) fn failed<T>(message: impl Into<String>) -> Verdict<T> {
    Err(Stop::Failed(Failure { message: message.into(), blamed: Vec::new(), certain: false }))
}

/// Ends a case: the answer of a function is not what was promised, whether or not the case is about that function.
pub(crate) fn blame<T>(function: Function, message: impl Into<String>) -> Verdict<T> {
    Err(Stop::Failed(Failure { message: message.into(), blamed: vec![function], certain: false }))
}

/// Ends a case: it cannot be tried here.
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
    Written(fn(&Subject) -> Verdict),
    /// Made from the spec.
    Made(Box<dyn Fn(&Subject) -> Verdict + Send + Sync>),
}

/// Where a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// With the others of its group, on devices that are initialised.
    Group,
    /// In a process of its own, from before `initialize` on.
    Fresh,
}

/// One promise that a plugin keeps or breaks.
pub struct Case {
    /// Its name, by group: `copy.d2d.odd-lengths`.
    pub id: Cow<'static, str>,
    /// Who is let down when it fails.
    pub level: Level,
    /// The functions that it speaks of.
    pub functions: Vec<Function>,
    /// What else has to be there for it to be tried.
    pub(crate) uses: Vec<Function>,
    /// Whether fallbacks, which may wait where a device may not, cannot take part.
    pub(crate) native: bool,
    /// Whether functions that are left out are no obstacle.
    pub(crate) always: bool,
    /// What was promised.
    pub promise: Cow<'static, str>,
    /// Where.
    pub source: Source,
    pub(crate) place: Place,
    pub(crate) body: Body,
}

impl Case {
    /// The cases with which it shares a process: the first part of its name.
    pub fn group(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// A case that is written by hand.
    pub(crate) fn written(id: &'static str, level: Level, body: fn(&Subject) -> Verdict) -> Self {
        Self {
            id: id.into(),
            level,
            functions: Vec::new(),
            uses: Vec::new(),
            native: false,
            always: false,
            promise: "".into(),
            source: Source::Practice,
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

    /// For a case that does without those of its functions that are left out.
    pub(crate) fn lenient(mut self) -> Self {
        self.always = true;
        self
    }

    pub(crate) fn fresh(mut self) -> Self {
        self.place = Place::Fresh;
        self
    }

    /// What the spec says, word by word, in the entry of a function or a group.
    pub(crate) fn spec(mut self, name: &'static str, quote: &'static str) -> Self {
        (self.source, self.promise) = (Source::Spec(name), quote.into());
        self
    }

    pub(crate) fn host(mut self, promise: &'static str) -> Self {
        (self.source, self.promise) = (Source::Host, promise.into());
        self
    }

    pub(crate) fn practice(mut self, promise: &'static str) -> Self {
        (self.source, self.promise) = (Source::Practice, promise.into());
        self
    }

    pub(crate) fn run(&self, subject: &Subject) -> Verdict {
        match &self.body {
            Body::Written(body) => body(subject),
            Body::Made(body) => body(subject),
        }
    }

    /// Why it cannot be tried; `None`: it can.
    pub(crate) fn obstacle(&self, subject: &Subject) -> Option<String> {
        if self.always {
            return None;
        }
        if subject.device_count() == 0 && self.place == Place::Group {
            return Some("the plugin has no devices".to_owned());
        }
        let needed = || self.functions.iter().chain(&self.uses).copied();
        if let Some(absent) = needed().find(|function| !subject.answers(*function)) {
            return Some(format!("`{}` is left out", absent.name()));
        }
        if self.native
            && let Some(absent) = needed().find(|function| !subject.is_native(*function))
        {
            return Some(format!(
                "`{}` is a fallback, which may wait where this case must not",
                absent.name()
            ));
        }
        None
    }
}

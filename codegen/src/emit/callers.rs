//! The texts for callers of the SDK's functions, in a form that each emitter can spell.

use super::text::{collapse, ended, enumerate, uncapital};
use super::words::Words;
use crate::model::{Direction, Extent, Function, Part, Prose, Role, StatusValue};
use crate::sdk::{Face, SdkStatus};

impl Face<'_> {
    /// Returns sentences about the threads and times at which a function may be called.
    pub fn threads(self, function: &Function) -> String {
        let text = "Any thread, also several at once.".to_owned();
        match self.ends(function) {
            ended if ended.is_empty() => text,
            ended => format!("{text} Nobody may use {ended} once the call has begun."),
        }
    }

    /// Returns the objects that are invalid after the function was called: `` `stream` ``, or nothing.
    pub fn ends(self, function: &Function) -> String {
        let ended = function.params.iter().filter(|param| param.role == Role::Destroys);
        let ended: Vec<String> = ended.map(|param| format!("`{}`", param.name.value)).collect();
        enumerate(&ended)
    }

    /// Returns the meaning of a status, without a full stop.
    pub fn meaning(self, status: &SdkStatus) -> String {
        status.summary.trim_end_matches('.').to_owned()
    }

    /// Describes both answers of a question, with the texts of the two statuses that it has in the table.
    pub fn answer(self, function: &Function, told: impl Fn(&Prose) -> String) -> Option<String> {
        let (yes, no) = function.question?;
        let [yes, no] = [yes, no].map(|status| {
            let when = function.returns.iter().find(|(known, _)| *known == status);
            when.map(|(_, when)| collapse(&told(when))).unwrap_or_default()
        });
        Some(match yes.is_empty() || no.is_empty() {
            true => "The answer.".to_owned(),
            false => format!("True: {yes}. False: {no}."),
        })
    }

    /// The statuses that a function answers, by their names in the spec, and when.
    pub fn cases(self, function: &Function) -> Vec<(String, Prose)> {
        let own = |status: &str, when: &str| {
            (status.to_owned(), Prose::new(vec![(Part::All, when.to_owned())], false))
        };
        if self.manages(function) {
            return vec![own("busy", "always: the library calls it by itself")];
        }
        let words = Words::new(self.spec, self.interface);
        let is_answer =
            |status: StatusValue| function.question.is_some_and(|(yes, no)| status == yes || status == no);
        let told = function.returns.iter().filter(|(status, _)| !is_answer(*status));
        let mut cases: Vec<_> =
            told.map(|(status, when)| (words.status(*status).name.value.clone(), when.clone())).collect();
        for param in &function.params {
            if self.is_device(param) && param.dir != Direction::In {
                cases.push(own("not_found", "nobody has opened that device"));
            }
            if let Some(Extent::Param(size)) = self.allocates(param) {
                let size = &function.param(*size).name.value;
                cases.push(own("out_of_memory", &format!("there are no `{size}` bytes")));
            }
        }
        cases.extend(
            self.may_be_unsupported(function).then(|| own("unsupported", "the plugin has no such function")),
        );
        cases
    }

    /// Further notes for callers, as sentences; `waits` is the one for a call that waits for the device.
    pub fn notes(self, function: &Function, words: Words, waits: &str) -> Vec<String> {
        if self.manages(function) {
            return Vec::new();
        }
        let mut notes: Vec<String> = function.blocking.then(|| waits.to_owned()).into_iter().collect();
        notes.extend(words.stream_order(function));
        if let Some(fallback) = function.fallback.as_ref().filter(|_| !self.may_be_unsupported(function)) {
            let action = uncapital(&words.fallback_action(function, &fallback.kind));
            let costs = match fallback.costs.is_empty() {
                true => String::new(),
                false => format!(" It costs: {}", ended(&fallback.costs)),
            };
            notes.push(format!("Where the plugin has none: {action}{costs}"));
        }
        for (word, release) in
            [("before", function.availability.since), ("after", function.availability.until)]
        {
            notes.extend(release.map(|release| {
                format!("Plugins for releases {word} {} of the host have none.", words.release(release))
            }));
        }
        notes
    }
}

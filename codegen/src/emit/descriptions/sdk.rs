//! Texts for callers of the SDK's functions. Each emitter spells the names in them.

use super::Describer;
use crate::model::{Direction, Extent, Function, Part, Prose, Role, StatusValue};
use crate::sdk::{SdkApi, SdkStatus};
use crate::text::{collapse, ended, enumerate, uncapital};

impl SdkApi<'_> {
    /// Returns sentences about the threads and times at which a function may be called.
    pub fn threads(self, function: &Function) -> String {
        let text = "Any thread, also several at once.".to_owned();
        match self.ends(function) {
            ended if ended.is_empty() => text,
            ended => format!("{text} After the call has begun, no thread may use {ended}."),
        }
    }

    /// Returns the objects that are invalid after the call: `` `stream` ``, or nothing.
    pub fn ends(self, function: &Function) -> String {
        let ended = function.params.iter().filter(|param| param.role == Role::Destroys);
        let ended: Vec<String> = ended.map(|param| format!("`{}`", param.name.value)).collect();
        enumerate(&ended)
    }

    /// Returns the meaning of a status, without a full stop.
    pub fn meaning(self, status: &SdkStatus) -> String {
        status.summary.trim_end_matches('.').to_owned()
    }

    /// Describes both answers of a function with a boolean result, using the texts of its two statuses in the table.
    pub fn answer(self, function: &Function, text: impl Fn(&Prose) -> String) -> Option<String> {
        let (yes, no) = function.question?;
        let [yes, no] = [yes, no].map(|status| {
            let when = function.returns.iter().find(|(known, _)| *known == status);
            when.map(|(_, when)| collapse(&text(when))).unwrap_or_default()
        });
        Some(if yes.is_empty() || no.is_empty() {
            "The answer.".to_owned()
        } else {
            format!("True: {yes}. False: {no}.")
        })
    }

    /// Returns the statuses of a function, by their names in the spec, and when each is returned.
    pub fn cases(self, function: &Function) -> Vec<(String, Prose)> {
        let own = |status: &str, when: &str| {
            (status.to_owned(), Prose::new(vec![(Part::All, when.to_owned())], false))
        };
        if self.manages(function) {
            return vec![own("busy", "always: only the library may call this function")];
        }
        let describer = Describer::new(self.spec, self.interface);
        let is_answer =
            |status: StatusValue| function.question.is_some_and(|(yes, no)| status == yes || status == no);
        let reported = function.returns.iter().filter(|(status, _)| !is_answer(*status));
        let mut cases: Vec<_> = reported
            .map(|(status, when)| (describer.status(*status).name.value.clone(), when.clone()))
            .collect();
        for param in &function.params {
            if self.is_device(param) && param.dir != Direction::In {
                cases.push(own("not_found", "that device is not open"));
            }
            if let Some(Extent::Param(size)) = self.allocates(param) {
                let size = &function.param(*size).name.value;
                cases.push(own("out_of_memory", &format!("`{size}` bytes cannot be allocated")));
            }
        }
        cases.extend(
            self.may_be_unsupported(function).then(|| own("unsupported", "the plugin lacks the function")),
        );
        cases
    }

    /// Returns further notes for callers, as sentences. `waits` is the note for a call that waits for the device.
    pub fn notes(self, function: &Function, describer: Describer, waits: &str) -> Vec<String> {
        if self.manages(function) {
            return Vec::new();
        }
        let mut notes: Vec<String> = function.blocking.then(|| waits.to_owned()).into_iter().collect();
        notes.extend(describer.stream_order(function));
        if let Some(fallback) = function.fallback.as_ref().filter(|_| !self.may_be_unsupported(function)) {
            let action = uncapital(&describer.fallback_action(function, &fallback.kind));
            let costs = if fallback.costs.is_empty() {
                String::new()
            } else {
                format!(" Cost: {}", ended(&fallback.costs))
            };
            notes.push(format!("If the plugin lacks the function: {action}{costs}"));
        }
        for (word, release) in
            [("before", function.availability.since), ("after", function.availability.until)]
        {
            notes.extend(release.map(|release| {
                format!(
                    "Plugins for releases {word} {} of the host lack the function.",
                    describer.release(release)
                )
            }));
        }
        notes
    }
}

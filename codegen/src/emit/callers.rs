//! What is said to those who call the functions of the SDK: the prose of the spec without what it says of the host.

use super::text::{enumerate, sentences};
use crate::model::{Function, Role};
use crate::sdk::{Face, SdkStatus};

impl Face<'_> {
    /// Who may call a function when, as sentences.
    pub fn threads(self, function: &Function) -> String {
        let text = "Any thread, also several at once.".to_owned();
        match self.ends(function) {
            ended if ended.is_empty() => text,
            ended => format!("{text} Nobody may use {ended} once the call has begun."),
        }
    }

    /// What nobody may use any more once the function has been called: `` `stream` ``, or nothing.
    pub fn ends(self, function: &Function) -> String {
        let ended = function.params.iter().filter(|param| param.role == Role::Destroys);
        let ended: Vec<String> = ended.map(|param| format!("`{}`", param.name.value)).collect();
        enumerate(&ended)
    }

    /// Prose without what it says of the host: who calls a function of the SDK is another one.
    ///
    /// A sentence ends before the clause that names the host.
    pub fn for_callers(self, text: &str) -> String {
        let mut kept = Vec::new();
        let mut about_host = false;
        for sentence in sentences(text) {
            // A sentence that goes on with a pronoun is about what the one before was about.
            let goes_on = sentence.starts_with("It ") || sentence.starts_with("They ");
            let clauses: Vec<&str> =
                sentence.split("; ").take_while(|clause| !self.names_host(clause)).collect();
            about_host = clauses.is_empty() || (about_host && goes_on);
            if !about_host {
                let is_whole = clauses.len() == sentence.split("; ").count();
                let stop = if is_whole || !sentence.ends_with('.') { "" } else { "." };
                kept.push(format!("{}{stop}", clauses.join("; ")));
            }
        }
        kept.join(" ")
    }

    /// What a status means, without a full stop.
    pub fn meaning(self, status: &SdkStatus) -> String {
        self.for_callers(&status.summary).trim_end_matches('.').to_owned()
    }

    fn names_host(self, text: &str) -> bool {
        !self.sdk.host.is_empty() && (text.contains(&self.sdk.host) || text.starts_with("The host "))
    }
}

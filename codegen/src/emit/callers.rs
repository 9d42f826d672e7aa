//! What is said to those who call the functions of the SDK.

use super::text::enumerate;
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

    /// What a status means, without a full stop.
    pub fn meaning(self, status: &SdkStatus) -> String {
        status.summary.trim_end_matches('.').to_owned()
    }
}

//! Diagnostics: errors in a spec, with their rules, places and remedies.

mod render;
mod rules;

pub use render::{render, render_failure, to_json};
pub use rules::Code;

use crate::source::Span;
use crate::text::quoted;

/// An error in a spec: its rule, its place and a remedy.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule that is broken.
    pub code: Code,
    /// The error, in one sentence without a full stop.
    pub message: String,
    /// The location.
    pub span: Span,
    /// The label beside the caret.
    pub label: String,
    /// Related places, with their labels.
    pub related: Vec<(Span, String)>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without a label.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Adds it to a collection.
    pub fn add_to(self, diagnostics: &mut Diagnostics) {
        diagnostics.push(self);
    }

    /// Sets the label beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a related place.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Adds the place of a key, if the spec has the key.
    pub fn related_if(self, span: Option<Span>, label: impl Into<String>) -> Self {
        match span {
            Some(span) => self.related(span, label),
            None => self,
        }
    }

    /// Sets the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Suggests the candidate that is most similar to `name`. If none is similar, lists the candidates, up to twelve.
    pub fn nearest<'a>(self, name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        let candidates: Vec<&str> = candidates.into_iter().collect();
        match nearest(name, candidates.iter().copied()) {
            Some(near) => self.label(format!("did you mean `{near}`?")),
            None if !candidates.is_empty() && candidates.len() <= 12 => {
                self.help(format!("expected one of {}", quoted(candidates).join(", ")))
            }
            None => self,
        }
    }
}

/// Returns the candidate that is most similar to `name`, if one is similar.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        // A name of one letter is similar to every other one.
        .filter(|(distance, _)| *distance <= allowed && *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A collection of diagnostics.
#[derive(Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    /// Places that do not resolve because of a reported error. Further errors there would only repeat it.
    unsound: Vec<Span>,
}

impl Diagnostics {
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.unsound.push(diagnostic.span);
        self.found.push(diagnostic);
    }

    /// Marks a place that does not resolve because of an error that is reported elsewhere.
    pub fn distrust(&mut self, span: Span) {
        self.unsound.push(span);
    }

    /// Returns true if a place resolved completely.
    pub fn trusts(&self, place: Span) -> bool {
        !self
            .unsound
            .iter()
            .any(|span| span.file == place.file && place.start <= span.start && span.end <= place.end)
    }

    /// Adds the diagnostics of another collection.
    pub fn extend(&mut self, other: Diagnostics) {
        self.found.extend(other.found);
        self.unsound.extend(other.unsound);
    }

    /// Returns true if there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the diagnostics in the order of their files and places, without duplicates.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        let mut found = self.found;
        found.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
        found.dedup_by(|a, b| a.span == b.span && a.message == b.message);
        found
    }
}

//! Colours, where there is a terminal.

use std::io::IsTerminal;

/// The use of colours.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With the colours of a terminal.
    Colours,
}

impl Style {
    /// Colours for a terminal, unless `NO_COLOR` is set.
    pub fn of(output: &impl IsTerminal) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if output.is_terminal() && wanted { Style::Colours } else { Style::Plain }
    }

    pub(super) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Colours => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

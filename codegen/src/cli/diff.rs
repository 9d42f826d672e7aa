//! `codegen diff`: what changed between two releases, and what that breaks.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use super::abi::pick_release;
use super::table::Table;
use super::{Answer, Common, DONE, Failure, Format, bold, pick_interface};
use crate::emit::changes::{Explained, Kind, changes};
use crate::text::count;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The older release
    older: String,
    /// The newer release
    newer: String,
    /// The interface; if left out, the first with a table
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
}

pub(super) fn run(common: &Common, options: &Options) -> Result<Answer, Failure> {
    let Some(loaded) = common.load()? else { return Ok(Answer::refused()) };
    let interface = pick_interface(&loaded.spec, options.interface.as_deref())?;
    let older = pick_release(interface, &options.older)?;
    let newer = pick_release(interface, &options.newer)?;
    let changes = changes(&loaded.spec, interface, older, newer);
    if common.format == Format::Json {
        let value = json!({
            "interface": interface.name.value,
            "older": options.older,
            "newer": options.newer,
            "changes": changes,
        });
        return Ok(Answer::json(&value, DONE));
    }
    let page = Page { old: &options.older, new: &options.newer, changes: &changes };
    let title = bold(&format!("{}, {} → {}", interface.title, page.old, page.new));
    let mut out = format!("{title}\n{}\n", page.verdict());
    let headings = [
        (Kind::Size, "The table"),
        (Kind::Struct, "Structs"),
        (Kind::Enum, "Enums"),
        (Kind::Reserve, "Reserves"),
        (Kind::Removed, "Functions that went"),
        (Kind::Added, "Functions that came"),
        (Kind::Signature, "Functions with other parameters"),
    ];
    headings.iter().for_each(|(kind, heading)| page.section(&mut out, *kind, heading));
    page.moves(&mut out);
    Ok(Answer::done(out))
}

struct Page<'a> {
    old: &'a str,
    new: &'a str,
    changes: &'a [Explained],
}

impl Page<'_> {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Explained> {
        self.changes.iter().filter(move |change| change.kind == kind)
    }

    fn verdict(&self) -> String {
        let Page { old, new, changes } = self;
        let plugin = changes.iter().filter(|change| change.breaks_plugin).count();
        let host = changes.iter().filter(|change| change.breaks_host).count();
        if changes.is_empty() {
            return "Nothing changed.".to_owned();
        }
        let line = |who: String, number| match number {
            0 => format!("{who} works."),
            number => format!("{who} breaks ({}), unless somebody translates.", count(number, "reason")),
        };
        format!(
            "{}\n{}",
            line(format!("A plugin built for {old} in a host of {new}"), plugin),
            line(format!("A plugin built for {new} in a host of {old}"), host)
        )
    }

    fn section(&self, out: &mut String, kind: Kind, heading: &str) {
        let mut changes = self.of(kind).peekable();
        if changes.peek().is_none() {
            return;
        }
        let _ = writeln!(out, "\n{}", bold(heading));
        for change in changes {
            let _ = writeln!(out, "  {} {}", bold(&change.name), change.what);
            self.consequence(out, self.old, change.old_plugin.as_deref(), change.breaks_plugin);
            self.consequence(out, self.new, change.new_plugin.as_deref(), change.breaks_host);
        }
    }

    fn consequence(&self, out: &mut String, built_for: &str, consequence: Option<&str>, breaks: bool) {
        if let Some(text) = consequence {
            let other = if built_for == self.old { self.new } else { self.old };
            let mark = if breaks { "breaks" } else { "works " };
            let _ = writeln!(out, "      {mark}  a {built_for} plugin in a {other} host: {}", lower(text));
        }
    }

    /// Moves are many and alike, so they are shown in a table.
    fn moves(&self, out: &mut String) {
        let mut changes = self.of(Kind::Moved).peekable();
        if changes.peek().is_none() {
            return;
        }
        let (old, new) = (self.old, self.new);
        let _ = writeln!(out, "\n{}", bold("Functions that moved"));
        let heads = [format!("a {old} plugin in a {new} host"), format!("a {new} plugin in a {old} host")];
        let mut table = Table::new(&["  name", old, new, &heads[0], &heads[1]]).right([1, 2]);
        for change in changes {
            let cell = |text: &Option<String>| {
                lower(text.as_deref().unwrap_or_default()).trim_end_matches('.').to_owned()
            };
            let [from, to] =
                change.offsets.map(|offset| offset.map_or_else(String::new, |offset| offset.to_string()));
            table.row([
                format!("  {}", change.name),
                from,
                to,
                cell(&change.old_plugin),
                cell(&change.new_plugin),
            ]);
        }
        out.push_str(&table.render());
    }
}

fn lower(text: &str) -> String {
    crate::text::uncapital(text)
}

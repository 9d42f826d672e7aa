//! Unknown names. They are kept until everything is read: a name that is wrong in many places of use is
//! more likely wrong in the one place where it is defined.

use std::collections::BTreeSet;

use super::*;
use crate::diagnostic::nearest;

/// Related places beyond these are counted, not shown.
const SHOWN: usize = 4;

/// A space of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Namespace {
    /// The types that an interface describes.
    Types(InterfaceId),
    /// The functions that an interface describes.
    Functions(InterfaceId),
    /// The values of a status.
    Statuses(TypeId),
}

/// Known and unknown names.
#[derive(Default)]
pub(super) struct References {
    resolved: BTreeSet<(Namespace, String)>,
    unresolved: Vec<Unresolved>,
}

/// A name that leads nowhere.
struct Unresolved {
    name: At<String>,
    /// The places where it was looked up.
    reach: Vec<Namespace>,
    /// The message, unless the error is in the description.
    diagnostic: Diagnostic,
}

impl References {
    pub(super) fn found(&mut self, namespace: Namespace, name: &str) {
        self.resolved.insert((namespace, name.to_owned()));
    }

    pub(super) fn missed(&mut self, name: At<String>, reach: Vec<Namespace>, diagnostic: Diagnostic) {
        self.unresolved.push(Unresolved { name, reach, diagnostic });
    }

    /// Reports every unknown name, or the definition that several of them probably mean.
    pub(super) fn report(self, trees: &Trees, diagnostics: &mut Diagnostics) {
        let mut misspelled: Vec<(At<String>, Vec<Unresolved>)> = Vec::new();
        let resolved = &self.resolved;
        for use_ in self.unresolved {
            let Some(described) = meant(trees, resolved, &use_) else {
                diagnostics.push(use_.diagnostic);
                continue;
            };
            let same = misspelled.iter_mut().find(|(known, uses)| {
                known.span == described.span && uses.iter().all(|other| other.name.value == use_.name.value)
            });
            match same {
                Some((_, uses)) => uses.push(use_),
                None => misspelled.push((described, vec![use_])),
            }
        }
        for (described, uses) in misspelled {
            report_misspelled(&described, uses, diagnostics);
        }
    }
}

/// The description that a name is close to, if nothing refers to it.
fn meant(trees: &Trees, resolved: &BTreeSet<(Namespace, String)>, use_: &Unresolved) -> Option<At<String>> {
    let described: Vec<(Namespace, At<String>)> = use_
        .reach
        .iter()
        .flat_map(|space| trees.described(*space).into_iter().map(|name| (*space, name)))
        .collect();
    let near = nearest(&use_.name.value, described.iter().map(|(_, name)| name.value.as_str()))?.to_owned();
    let (space, name) = described.into_iter().find(|(_, name)| name.value == near)?;
    (!resolved.contains(&(space, near))).then_some(name)
}

fn report_misspelled(described: &At<String>, uses: Vec<Unresolved>, diagnostics: &mut Diagnostics) {
    let count = uses.len();
    let mut uses = uses.into_iter();
    let Some(first) = uses.next() else { return };
    if count == 1 {
        diagnostics.push(first.diagnostic);
        return;
    }
    let wanted = first.name.value.clone();
    let message = format!(
        "nothing names `{}`, and {count} places name `{wanted}`, which is not there",
        described.value
    );
    let mut diagnostic = Diagnostic::new(first.diagnostic.code, described.span, message)
        .label(format!("did you mean `{wanted}`?"));
    for (index, place) in std::iter::once(first).chain(uses).enumerate() {
        // Rules would only repeat that it is unknown.
        diagnostics.distrust(place.name.span);
        if index < SHOWN {
            diagnostic = diagnostic.related(place.name.span, "named here");
        }
    }
    diagnostics.push(match count.saturating_sub(SHOWN) {
        0 => diagnostic,
        more => diagnostic.help(format!("{more} more places name it")),
    });
}

impl Trees {
    /// The names that are described in a space.
    fn described(&self, space: Namespace) -> Vec<At<String>> {
        let of = |interface: InterfaceId, key| {
            let entries = self.interfaces[interface.0].entries(key);
            entries.filter_map(|(_, node)| node.get("name").and_then(Node::at)).collect()
        };
        match space {
            Namespace::Types(id) => of(id, "types"),
            Namespace::Functions(id) => of(id, "functions"),
            Namespace::Statuses(id) => {
                let status = self.interfaces[id.interface.0].entries("types").nth(id.index);
                let values = status.and_then(|(_, node)| node.get("values"));
                let items = values.map_or(&[][..], Node::items);
                items.iter().filter_map(|node| node.get("name").and_then(Node::at)).collect()
            }
        }
    }
}

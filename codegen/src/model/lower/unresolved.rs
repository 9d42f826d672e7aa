//! Unknown names. They are reported after everything is read: if many places use an unknown name, the error is
//! probably in the one place that defines it.

use std::collections::BTreeSet;

use super::reader::Trees;
use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::model::{InterfaceId, TypeId};
use crate::source::At;
use crate::yaml::Node;

/// Most related places that are shown. The others are only counted.
const SHOWN: usize = 4;

/// A namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Namespace {
    /// The types that an interface describes.
    Types(InterfaceId),
    /// The functions that an interface describes.
    Functions(InterfaceId),
    /// The values of a status.
    Statuses(TypeId),
    /// The operators.
    Operators,
}

/// Known and unknown names.
#[derive(Default)]
pub(super) struct References {
    resolved: BTreeSet<(Namespace, String)>,
    unresolved: Vec<Unresolved>,
}

/// A name that was not found.
struct Unresolved {
    name: At<String>,
    /// The namespaces in which it was looked up.
    reach: Vec<Namespace>,
    /// The diagnostic to report, unless the definition is probably wrong.
    diagnostic: Diagnostic,
}

impl References {
    pub(super) fn found(&mut self, namespace: Namespace, name: &str) {
        self.resolved.insert((namespace, name.to_owned()));
    }

    /// Adds the name of an operator that was not found, or that of a method: `silu_dx` is one of `silu`.
    pub(super) fn missed_operator(
        &mut self,
        name: &At<String>,
        is_known: impl Fn(&str) -> bool,
        diagnostic: Diagnostic,
    ) {
        let of =
            name.value.rfind("_d").map(|end| &name.value[..end]).filter(|of| !of.is_empty() && !is_known(of));
        let value = of.unwrap_or(&name.value).to_owned();
        self.missed(At { value, span: name.span }, vec![Namespace::Operators], diagnostic);
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

/// Returns the definition whose name is close to an unknown name, if nothing refers to that definition.
fn meant(trees: &Trees, resolved: &BTreeSet<(Namespace, String)>, use_: &Unresolved) -> Option<At<String>> {
    let described: Vec<(Namespace, At<String>)> = use_
        .reach
        .iter()
        .flat_map(|space| trees.described(*space).into_iter().map(|name| (*space, name)))
        .collect();
    // Of two names that are equally near, it is the one that nothing refers to.
    let (unused, used): (Vec<_>, Vec<_>) =
        described.into_iter().partition(|(space, name)| !resolved.contains(&(*space, name.value.clone())));
    let names = unused.iter().chain(&used).map(|(_, name)| name.value.as_str());
    let near = nearest(&use_.name.value, names)?;
    unused.iter().find(|(_, name)| name.value == near).map(|(_, name)| name.clone())
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
        "`{}` is never used, but {count} places use `{wanted}`, which does not exist",
        described.value
    );
    let mut diagnostic = Diagnostic::new(first.diagnostic.code, described.span, message)
        .label(format!("did you mean `{wanted}`?"));
    for (index, place) in std::iter::once(first).chain(uses).enumerate() {
        // Rules would only report again that the name is unknown.
        diagnostics.distrust(place.name.span);
        if index < SHOWN {
            diagnostic = diagnostic.related(place.name.span, "used here");
        }
    }
    diagnostics.push(match count.saturating_sub(SHOWN) {
        0 => diagnostic,
        more => diagnostic.help(format!("{more} more places use it")),
    });
}

impl Trees {
    /// Returns the names that are defined in a namespace.
    fn described(&self, space: Namespace) -> Vec<At<String>> {
        let of = |interface: InterfaceId, key| {
            let entries = self.interfaces[interface.0].entries(key);
            entries.filter_map(|(_, node)| node.name_of("name")).collect()
        };
        match space {
            Namespace::Types(id) => of(id, "types"),
            Namespace::Functions(id) => of(id, "functions"),
            Namespace::Operators => {
                let groups = self.operators.iter().flat_map(|operators| &operators.groups);
                let entries = groups.flat_map(|group| group.items_of("operators"));
                entries.filter_map(|node| node.name_of("op")).collect()
            }
            Namespace::Statuses(id) => {
                let status = self.interfaces[id.interface.0].entries("types").nth(id.index);
                let values = status.and_then(|(_, node)| node.get("values"));
                let items = values.map_or(&[][..], Node::items);
                items.iter().filter_map(|node| node.name_of("name")).collect()
            }
        }
    }
}

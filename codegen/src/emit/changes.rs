//! Explains the consequences of each difference between two releases.

use serde::Serialize;

use crate::model::abi::{self, ChangeKind, MemberKind, TableLayout};
use crate::model::*;
use crate::text::{count, enumerate, quoted};

/// A difference with its consequences.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The kind of difference.
    pub kind: Kind,
    /// The C name of the item that changed.
    pub name: String,
    /// The change, as a clause whose subject is the name.
    pub what: String,
    /// The old and the new offset of its pointer.
    pub offsets: [Option<u64>; 2],
    /// The consequence for a plugin of the older release in a host of the newer one.
    pub old_plugin: Option<String>,
    /// The consequence for a plugin of the newer release in a host of the older one.
    pub new_plugin: Option<String>,
    /// True if a plugin of the older release breaks in a newer host without adaptation.
    pub breaks_plugin: bool,
    /// True if a plugin of the newer release breaks in an older host without adaptation.
    pub breaks_host: bool,
}

/// The kinds of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The table has another size.
    Size,
    /// A function was added.
    Added,
    /// A function was removed.
    Removed,
    /// The parameters of a function changed.
    Signature,
    /// The pointer to a function moved.
    Moved,
    /// A reserve changed.
    Reserve,
    /// A struct changed.
    Struct,
    /// An enum changed.
    Enum,
}

/// Returns every difference from `older` to `newer`: first the table, then functions, then types.
pub fn changes(spec: &Spec, interface: &Interface, older: ReleaseId, newer: ReleaseId) -> Vec<Explained> {
    let mut all = match interface.table() {
        Some(table) => of_table(interface, table, older, newer),
        None => of_symbols(interface, older, newer),
    };
    all.extend(of_types(spec, interface, older, newer));
    all.sort_by_key(|change| change.kind);
    all
}

/// The member at the offset of a pointer in the layout of the other release.
enum Place<'a> {
    Function(&'a str),
    Reserve(&'a str),
    Outside,
}

fn place<'a>(interface: &'a Interface, layout: &'a TableLayout, offset: u64) -> Place<'a> {
    let inside = |member: &&abi::Member| (member.offset..member.offset + member.size).contains(&offset);
    match layout.members.iter().find(inside).map(|member| &member.kind) {
        Some(MemberKind::Function(id)) => Place::Function(&interface.function(*id).c_name),
        Some(MemberKind::Reserved(name, _)) => Place::Reserve(name),
        Some(MemberKind::Size | MemberKind::Field(..)) | None => Place::Outside,
    }
}

fn of_table(interface: &Interface, table: &Table, older: ReleaseId, newer: ReleaseId) -> Vec<Explained> {
    let before = abi::table_layout(interface, table, Some(older));
    let after = abi::table_layout(interface, table, Some(newer));
    let [old, new] = [older, newer].map(|id| interface.releases[id.0].name.value.as_str());
    let story = Story { interface, before: &before, after: &after, old, new };
    abi::diff(interface, table, older, newer)
        .into_iter()
        .map(|change| {
            let name = change.function.map_or(&table.c_name, |id| &interface.function(id).c_name);
            let (kind, what, old_plugin, new_plugin) = match &change.kind {
                ChangeKind::Size(from, to) => story.size(*from, *to),
                ChangeKind::Added(offset) => story.added(*offset),
                ChangeKind::Removed(offset) => story.removed(*offset),
                ChangeKind::Moved(from, to) => story.moved(*from, *to),
                ChangeKind::Signature { added, removed } => {
                    let function = change.function.map(|id| interface.function(id));
                    story.signature(function, older, newer, added, removed)
                }
                ChangeKind::Reserve(reserve, from, to) => (
                    Kind::Reserve,
                    format!("`{reserve}` went from {from} to {}", count(*to as usize, "slot")),
                    None,
                    None,
                ),
            };
            Explained {
                kind,
                name: name.clone(),
                what,
                offsets: change.function.map_or([None; 2], |id| [before.offset_of(id), after.offset_of(id)]),
                old_plugin,
                new_plugin,
                breaks_plugin: change.breaks_plugin,
                breaks_host: change.breaks_host,
            }
        })
        .collect()
}

type Telling = (Kind, String, Option<String>, Option<String>);

struct Story<'a> {
    interface: &'a Interface,
    before: &'a TableLayout,
    after: &'a TableLayout,
    old: &'a str,
    new: &'a str,
}

impl Story<'_> {
    fn size(&self, from: u64, to: u64) -> Telling {
        let Story { old, new, .. } = self;
        let (verb, past) = if to > from { ("grew", to - from) } else { ("shrank", from - to) };
        let overrun = format!("It writes {past} bytes past the end of the table.");
        let leaves = format!("It does not write the last {past} bytes, which stay zero.");
        let (old_plugin, new_plugin) = if to > from { (leaves, overrun) } else { (overrun, leaves) };
        let what = format!("{verb} from {from} to {to} bytes between {old} and {new}");
        (Kind::Size, what, Some(old_plugin), Some(new_plugin))
    }

    fn added(&self, offset: u64) -> Telling {
        let [old_plugin, new_plugin] = self.one_sided(self.before, offset);
        (Kind::Added, format!("was added at offset {offset}"), Some(old_plugin), Some(new_plugin))
    }

    fn removed(&self, offset: u64) -> Telling {
        let [new_plugin, old_plugin] = self.one_sided(self.after, offset);
        (Kind::Removed, format!("was removed from offset {offset}"), Some(old_plugin), Some(new_plugin))
    }

    /// Returns the consequences of a function that only one release has, for a plugin of the release without it, whose
    /// layout is given, and for a plugin of the release with it.
    fn one_sided(&self, without: &TableLayout, offset: u64) -> [String; 2] {
        let lacking = match place(self.interface, without, offset) {
            Place::Function(other) => {
                format!("It has `{other}` at this offset, which the host calls instead.")
            }
            Place::Reserve(_) | Place::Outside => {
                "The pointer stays null, so the host does not have the function.".to_owned()
            }
        };
        let having = match place(self.interface, without, offset) {
            Place::Function(other) => format!("The host calls it as `{other}`."),
            Place::Reserve(reserve) => format!("It is in `{reserve}`, which the host does not read."),
            Place::Outside => "It is written past the end of the table.".to_owned(),
        };
        [lacking, having]
    }

    fn moved(&self, from: u64, to: u64) -> Telling {
        let lands = |layout, offset| match place(self.interface, layout, offset) {
            Place::Function(other) => format!("The host calls it as `{other}`."),
            Place::Reserve(reserve) => format!("It is in `{reserve}`, where the host does not find it."),
            Place::Outside => "It is written past the end of the table.".to_owned(),
        };
        let (old_plugin, new_plugin) = (lands(self.after, from), lands(self.before, to));
        (Kind::Moved, format!("moved from offset {from} to {to}"), Some(old_plugin), Some(new_plugin))
    }

    fn signature(
        &self,
        function: Option<&Function>,
        older: ReleaseId,
        newer: ReleaseId,
        added: &[String],
        removed: &[String],
    ) -> Telling {
        let mut parts = Vec::new();
        if !added.is_empty() {
            parts.push(format!("takes {} since {}", enumerate(&quoted(added)), self.new));
        }
        if !removed.is_empty() {
            parts.push(format!("no longer takes {}", enumerate(&quoted(removed))));
        }
        let mistaken = |passed: ReleaseId, taken: ReleaseId| {
            let function = function?;
            let names = |release| function.params_in(Some(release)).map(|param| param.name.value.as_str());
            let mut pairs = names(passed).map(Some).chain(std::iter::repeat(None)).zip(names(taken));
            let (passed, taken) = pairs.find(|(passed, taken)| *passed != Some(taken))?;
            Some(match passed {
                Some(passed) => format!("It reads the host's `{passed}` as `{taken}`."),
                None => format!("It reads `{taken}`, which the host does not pass."),
            })
        };
        (Kind::Signature, parts.join(" and "), mistaken(newer, older), mistaken(older, newer))
    }
}

fn of_symbols(interface: &Interface, older: ReleaseId, newer: ReleaseId) -> Vec<Explained> {
    let mut all = Vec::new();
    for function in &interface.functions {
        let (was, is) = (function.availability.contains(older), function.availability.contains(newer));
        let (kind, what) = match (was, is) {
            (false, true) => (Kind::Added, "came".to_owned()),
            (true, false) => (Kind::Removed, "went".to_owned()),
            (true, true) if changed(function, older, newer) => {
                (Kind::Signature, "has other parameters".to_owned())
            }
            _ => continue,
        };
        let missing = "The symbol is not found.".to_owned();
        all.push(Explained {
            kind,
            name: function.c_name.clone(),
            what,
            offsets: [None; 2],
            old_plugin: (kind == Kind::Removed).then(|| missing.clone()),
            new_plugin: (kind == Kind::Added).then_some(missing),
            breaks_plugin: kind != Kind::Added,
            breaks_host: kind != Kind::Removed,
        });
    }
    all
}

fn changed(function: &Function, older: ReleaseId, newer: ReleaseId) -> bool {
    function
        .params
        .iter()
        .any(|param| param.availability.contains(older) != param.availability.contains(newer))
}

fn of_types(spec: &Spec, interface: &Interface, older: ReleaseId, newer: ReleaseId) -> Vec<Explained> {
    let mut all = Vec::new();
    for ty in &interface.types {
        match &ty.kind {
            TypeKind::Struct { fields, .. } => all.extend(of_struct(spec, ty, fields, older, newer)),
            TypeKind::Enum { values, .. } => all.extend(of_enum(ty, values, older, newer)),
            _ => {}
        }
    }
    all
}

fn of_struct(
    spec: &Spec,
    ty: &Type,
    fields: &[Param],
    older: ReleaseId,
    newer: ReleaseId,
) -> Option<Explained> {
    let before = abi::struct_layout(spec, fields, Some(older));
    let after = abi::struct_layout(spec, fields, Some(newer));
    let offset = |layout: &abi::StructLayout, index| {
        layout.fields.iter().find(|(field, _, _)| *field == index).map(|(_, offset, _)| *offset)
    };
    let moves: Vec<String> = fields
        .iter()
        .enumerate()
        .filter_map(|(index, field)| {
            let name = &field.name.value;
            match (offset(&before, index), offset(&after, index)) {
                (None, Some(offset)) => Some(format!("`{name}` was added at offset {offset}")),
                (Some(_), None) => Some(format!("`{name}` was removed")),
                (Some(from), Some(to)) if from != to => Some(format!("`{name}` moved from {from} to {to}")),
                _ => None,
            }
        })
        .collect();
    let resized = match (before.size, after.size) {
        (from, to) if from != to => format!("changed from {from} to {to} bytes: "),
        _ => String::new(),
    };
    (!moves.is_empty()).then(|| Explained {
        kind: Kind::Struct,
        name: ty.c_name.clone(),
        what: format!("{resized}{}", enumerate(&moves)),
        offsets: [None; 2],
        old_plugin: Some("It may use the fields whose offset is the same.".to_owned()),
        new_plugin: Some("It may use the fields whose offset is the same.".to_owned()),
        breaks_plugin: false,
        breaks_host: true,
    })
}

fn of_enum(ty: &Type, values: &[EnumValue], older: ReleaseId, newer: ReleaseId) -> Option<Explained> {
    let names = |was: bool| -> Vec<String> {
        values
            .iter()
            .filter(|value| {
                value.availability.contains(older) == was && value.availability.contains(newer) != was
            })
            .map(|value| format!("`{}` ({})", value.c_name, value.value))
            .collect()
    };
    let (came, went) = (names(false), names(true));
    let mut parts = Vec::new();
    if !came.is_empty() {
        parts.push(format!("gained {}", enumerate(&came)));
    }
    if !went.is_empty() {
        parts.push(format!("lost {}", enumerate(&went)));
    }
    (!parts.is_empty()).then(|| Explained {
        kind: Kind::Enum,
        name: ty.c_name.clone(),
        what: parts.join(" and "),
        offsets: [None; 2],
        old_plugin: (!came.is_empty()).then(|| "It may receive a value that it does not know.".to_owned()),
        new_plugin: (!came.is_empty())
            .then(|| "It may return a value that the host does not know.".to_owned()),
        breaks_plugin: false,
        breaks_host: false,
    })
}

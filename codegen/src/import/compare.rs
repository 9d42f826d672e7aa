//! Compares an interface of a spec with the header that it describes.

use std::collections::BTreeSet;
use std::path::Path;

use super::clang::{ReadError, ReadOptions, Unit};
use super::draft::function_entry;
use super::header::{FunctionDecl, Header, StructDecl};
use super::read::{CXX_PRELUDE, read};
use super::table::function_of;
use super::types::KnownTypes;
use crate::emit::c::asserts::{Assertion, Claim, Condition, assertions};
use crate::model::{
    Extension, Function, FunctionId, Interface, InterfaceKind, Object, ReleaseId, Spec, Type, TypeKind,
};

/// The differences between a header and an interface.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The functions that the spec lacks.
    pub new: Vec<NewFunction>,
    /// The types that the spec lacks, by their names in C.
    pub new_types: Vec<String>,
    /// The values of enums that the spec lacks: the enum, the value and its number.
    pub new_values: Vec<(String, String, i64)>,
    /// The functions that the header lacks.
    pub gone: Vec<GoneFunction>,
    /// The enums and structs that the header lacks, by their names in C.
    pub gone_types: Vec<String>,
    /// Members and types with another offset, size or type.
    pub changed: Vec<Claim>,
    /// Pointers that point to other types than the spec says, which no compiled program notices.
    pub repointed: Vec<Claim>,
}

/// A function that the spec lacks.
#[derive(Debug)]
pub struct NewFunction {
    /// Its name in C.
    pub name: String,
    /// The struct that has it, if the interface describes several.
    pub of: Option<String>,
    /// The member before it.
    pub after: Option<String>,
    /// A draft of its entry.
    pub entry: String,
}

/// A function that the header lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneFunction {
    /// Its name in C.
    pub name: String,
    /// The struct that should have it, if the interface describes several.
    pub of: Option<String>,
}

impl Comparison {
    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        let Comparison { new, new_types, new_values, gone, gone_types, changed, repointed } = self;
        new.is_empty()
            && new_types.is_empty()
            && new_values.is_empty()
            && gone.is_empty()
            && gone_types.is_empty()
            && changed.is_empty()
            && repointed.is_empty()
    }
}

/// A template that is true for two types that programs pass in the same way: a pointer may point to anything.
const FITS: &str = r"
template <class... T> struct types {};
template <class A, class B>
struct fits : std::is_same<typename std::remove_cv<A>::type, typename std::remove_cv<B>::type> {};
template <class A, class B> struct fits<A*, B*> : std::true_type {};
template <class A, class B, std::size_t N> struct fits<A[N], B[N]> : fits<A, B> {};
template <> struct fits<types<>, types<>> : std::true_type {};
template <class A, class... As, class B, class... Bs>
struct fits<types<A, As...>, types<B, Bs...>>
    : std::integral_constant<bool, fits<A, B>::value && fits<types<As...>, types<Bs...>>::value> {};
template <class R, class... A, class S, class... B>
struct fits<R (*)(A...), S (*)(B...)> : fits<types<R, A...>, types<S, B...>> {};
";

/// Compares an interface in a release with headers, as `#include` names them. `since` is the release of new functions.
///
/// # Errors
/// If libclang is not installed or cannot read the headers.
pub fn compare(
    spec: &Spec,
    (interface, release): (&Interface, Option<ReleaseId>),
    headers: &[String],
    since: Option<&str>,
    options: &ReadOptions,
) -> Result<Comparison, ReadError> {
    let includes: String = headers.iter().map(|header| format!("#include \"{header}\"\n")).collect();
    let is_named = |file: &Path| headers.iter().any(|header| file.ends_with(header));
    let first = Path::new(headers.first().map(String::as_str).unwrap_or_default());
    let header = read(&includes, first, options, &is_named)?;
    // The assertions are in C++.
    let options = ReadOptions { cxx: true, ..options.clone() };
    let text = format!("{CXX_PRELUDE}{includes}");
    let reasons = Unit::parse(Path::new("import.cc"), &text, &options)?.errors();
    if !reasons.is_empty() {
        return Err(ReadError::Parse { header: first.to_owned(), reasons });
    }
    let there = names(&header);
    let mut comparison = Comparison::default();
    add_functions(spec, (interface, release), &header, since, &mut comparison);
    add_types(spec, &header, &mut comparison);
    add_values(interface, &header, &mut comparison);
    let gone = interface.types.iter().filter(|ty| ty.is_enum_or_struct() && ty.availability.is_in(release));
    let gone = gone.filter(|ty| !there.contains(ty.c_name.as_str()));
    comparison.gone_types = gone.map(|ty| ty.c_name.clone()).collect();
    // The compiler holds what both have to each other: offsets, sizes and whole types.
    let asserts = assertions(spec, interface, release, &|name| there.contains(name));
    let is_gone = |claim: &Claim| match claim {
        Claim::Offset(of, member) | Claim::Member(of, member) => {
            let is_it = |it: &GoneFunction| it.name == *member && it.of.as_ref().is_none_or(|it| it == of);
            comparison.gone.iter().any(is_it)
        }
        Claim::Size(_) | Claim::Other(_) => false,
    };
    let strict = failures(&text, &asserts, &options, &|assertion| assertion.to_string())?;
    if strict.is_empty() {
        return Ok(comparison);
    }
    let weak =
        failures(&format!("{text}{FITS}"), &asserts, &options, &|assertion| match &assertion.condition {
            Condition::Same(there, here) => format!("static_assert(fits<{there}, {here}>::value, \"\");"),
            Condition::True(_) => assertion.to_string(),
        })?;
    let (changed, repointed): (Vec<Claim>, Vec<Claim>) =
        strict.into_iter().filter(|claim| !is_gone(claim)).partition(|claim| weak.contains(claim));
    Ok(Comparison { changed, repointed, ..comparison })
}

/// Compiles assertions after a text, and returns what does not hold.
fn failures(
    text: &str,
    asserts: &[Assertion],
    options: &ReadOptions,
    written: &dyn Fn(&Assertion) -> String,
) -> Result<Vec<Claim>, ReadError> {
    let name = Path::new("import.cc");
    let first = text.lines().count() + 1;
    let lines: String = asserts.iter().map(|assertion| written(assertion) + "\n").collect();
    let unit = Unit::parse(name, &format!("{text}{lines}"), options)?;
    let mut found = Vec::new();
    for error in unit.located_errors() {
        let assertion = if error.file == name { error.line.checked_sub(first) } else { None };
        let claim = match assertion.and_then(|index| asserts.get(index)) {
            Some(assertion) => assertion.claim.clone(),
            None => Claim::Other(error.text),
        };
        if !found.contains(&claim) {
            found.push(claim);
        }
    }
    Ok(found)
}

/// Returns the names that a header declares.
fn names(header: &Header) -> BTreeSet<&str> {
    let Header { functions, enums, structs, callbacks, handles, aliases } = header;
    let functions = functions.iter().map(|it| it.name.as_str());
    let enums = enums.iter().map(|it| it.name.as_str());
    let structs = structs.iter().map(|it| it.name.as_str());
    let callbacks = callbacks.iter().map(|it| it.name.as_str());
    let handles = handles.iter().map(|it| it.name.as_str());
    let aliases = aliases.iter().map(|(name, _)| name.as_str());
    functions.chain(enums).chain(structs).chain(callbacks).chain(handles).chain(aliases).collect()
}

/// The functions that one struct, or a whole header, has to declare.
struct Declarer<'a> {
    /// The struct; `None`: the header.
    table: Option<&'a str>,
    /// True if the interface describes other structs too.
    is_one_of_many: bool,
    known: Vec<&'a Function>,
}

/// Returns what declares the functions of an interface in a release.
fn declarers<'a>(interface: &'a Interface, release: Option<ReleaseId>) -> Vec<Declarer<'a>> {
    // The host's header has no functions of an extension.
    let extension = interface.table().and_then(|table| table.extension.as_ref());
    let extended: Vec<FunctionId> =
        extension.into_iter().flat_map(Extension::functions).map(|function| function.value).collect();
    let known = |is_wanted: &dyn Fn(&Function) -> bool| -> Vec<&'a Function> {
        let known = interface.function_ids().filter(|(id, function)| {
            function.availability.is_in(release) && !extended.contains(id) && is_wanted(function)
        });
        known.map(|(_, function)| function).collect()
    };
    let one = |table| vec![Declarer { table, is_one_of_many: false, known: known(&|_| true) }];
    match &interface.kind {
        InterfaceKind::Table(table) => one(Some(table.c_name.as_str())),
        InterfaceKind::HostTable { c_name } => one(Some(c_name.as_str())),
        InterfaceKind::Export | InterfaceKind::Import { .. } => one(None),
        InterfaceKind::Objects => {
            let objects = interface.objects().filter(|(ty, _)| ty.availability.is_in(release));
            let declarer = |ty: &'a Type, object: &'a Object| Declarer {
                table: Some(object.inner.as_ref().map_or(&ty.c_name, |inner| &inner.c_name)),
                is_one_of_many: true,
                known: known(&|function| function.group == ty.group),
            };
            objects.map(|(ty, object)| declarer(ty, object)).collect()
        }
    }
}

fn add_functions(
    spec: &Spec,
    (interface, release): (&Interface, Option<ReleaseId>),
    header: &Header,
    since: Option<&str>,
    comparison: &mut Comparison,
) {
    let types = KnownTypes::of_spec(spec, interface, header);
    let elsewhere = names_elsewhere(spec, interface);
    let since = since.map(|since| format!("    since: \"{since}\"\n")).unwrap_or_default();
    // Of a host's table, a spec describes the functions that its plugins use.
    let is_partial = matches!(interface.kind, InterfaceKind::HostTable { .. });
    for Declarer { table, is_one_of_many, known } in declarers(interface, release) {
        let members = table.and_then(|table| header.structs.iter().find(|it| it.name == table));
        let declared: Vec<(Option<&str>, FunctionDecl)> = match members {
            Some(table) => members_of(table, header),
            None if is_one_of_many => Vec::new(),
            None => header.functions.iter().map(|function| (None, function.clone())).collect(),
        };
        let of = table.filter(|_| is_one_of_many).map(str::to_owned);
        let there: BTreeSet<&str> = declared.iter().map(|(_, function)| function.name.as_str()).collect();
        let gone = known.iter().filter(|function| !there.contains(function.c_name.as_str()));
        let gone = gone.map(|function| GoneFunction { name: function.c_name.clone(), of: of.clone() });
        comparison.gone.extend(gone);
        let is_new = |name: &str| {
            let is_known = known.iter().any(|function| function.c_name == name);
            !is_known && !is_partial && (table.is_some() || !elsewhere.contains(name))
        };
        for (before, function) in declared.iter().filter(|(_, function)| is_new(&function.name)) {
            comparison.new.push(NewFunction {
                name: function.name.clone(),
                of: of.clone(),
                after: before.map(str::to_owned),
                entry: function_entry(&types, (spec, interface), function, &since),
            });
        }
    }
}

/// Returns the symbols that other interfaces describe, and those that the spec leaves out.
fn names_elsewhere<'a>(spec: &'a Spec, interface: &'a Interface) -> BTreeSet<&'a str> {
    let mut names: BTreeSet<&str> = interface.foreign_names.iter().map(String::as_str).collect();
    for other in &spec.interfaces {
        names.extend(other.functions.iter().map(|function| function.c_name.as_str()));
        let table = other.table();
        names.extend(table.and_then(|table| table.plugin()).map(|plugin| plugin.entry.as_str()));
        names.extend(table.and_then(|table| table.owned()).map(|owned| owned.entry.as_str()));
    }
    names
}

/// Returns the functions of a table, each with the member before it.
fn members_of<'a>(table: &'a StructDecl, header: &Header) -> Vec<(Option<&'a str>, FunctionDecl)> {
    let before = std::iter::once(None).chain(table.fields.iter().map(|field| Some(field.name.as_str())));
    table
        .fields
        .iter()
        .zip(before)
        .filter_map(|(field, before)| Some((before, function_of(field, header)?)))
        .collect()
}

fn add_types(spec: &Spec, header: &Header, comparison: &mut Comparison) {
    let mut known = BTreeSet::new();
    for interface in &spec.interfaces {
        known.extend(interface.foreign_names.iter().map(String::as_str));
        known.extend(interface.table().map(|table| table.c_name.as_str()));
        if let InterfaceKind::HostTable { c_name } = &interface.kind {
            known.insert(c_name);
        }
        let args = interface.functions.iter().filter_map(|function| function.args.as_ref());
        known.extend(args.map(|args| args.c_name.as_str()));
        for ty in &interface.types {
            known.insert(&ty.c_name);
            match &ty.kind {
                TypeKind::Handle { form, const_name, object, .. } => {
                    known.extend(form.tag());
                    known.extend(const_name.as_deref());
                    let inner = object.as_ref().and_then(|object| object.inner.as_ref());
                    known.extend(inner.map(|inner| inner.c_name.as_str()));
                }
                TypeKind::Id { tag, .. } => {
                    known.insert(tag);
                }
                TypeKind::Enum { .. } | TypeKind::Struct { .. } | TypeKind::Callback { .. } => {}
            }
        }
    }
    let is_known = |name: &str| {
        let is_alias = |(left, right): &(String, String)| {
            (left == name && known.contains(right.as_str()))
                || (right == name && known.contains(left.as_str()))
        };
        known.contains(name) || header.aliases.iter().any(is_alias)
    };
    let enums = header.enums.iter().map(|it| &it.name);
    let structs = header.structs.iter().map(|it| &it.name);
    let callbacks = header.callbacks.iter().map(|it| &it.name);
    let handles = header.handles.iter().filter(|it| !it.pointer_to.as_deref().is_some_and(is_known));
    let handles = handles.map(|it| &it.name);
    let names = enums.chain(structs).chain(callbacks).chain(handles);
    comparison.new_types = names.filter(|name| !is_known(name)).cloned().collect();
}

fn add_values(interface: &Interface, header: &Header, comparison: &mut Comparison) {
    for it in &header.enums {
        let Some(known) = interface.types.iter().find(|ty| ty.c_name == it.name).map(Type::enum_values)
        else {
            continue;
        };
        for (name, value, _) in &it.values {
            let is_left_out = interface.foreign_names.contains(name);
            if !is_left_out && !known.iter().any(|known| known.c_name == *name) {
                comparison.new_values.push((it.name.clone(), name.clone(), *value));
            }
        }
    }
}

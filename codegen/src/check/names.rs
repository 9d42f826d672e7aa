//! Names: uniqueness and reserved words.

use crate::diagnostic::{Code, Diagnostic};
use crate::language::c::keyword_of;
use crate::model::{Availability, Interface, InterfaceKind, Type, TypeKind};
use crate::source::Span;

use super::Check;

/// A name, its location, and the releases that have it.
pub(super) type Named<'a> = (&'a str, Span, Availability);

/// Checks that the names of functions and types are unique in an interface.
pub(super) fn check_names_are_distinct(check: &Check) {
    let functions = &check.interface.functions;
    let always = Availability::default();
    check.report_repeats("the function", functions.iter().map(|it| (&*it.name.value, it.name.span, always)));
    let types = &check.interface.types;
    check.report_repeats("the type", types.iter().map(|it| (&*it.name.value, it.name.span, always)));
}

/// Checks that the names of values are unique in their enum.
pub(super) fn check_values_are_distinct(check: &Check, ty: &Type) {
    let names =
        ty.enum_values().iter().map(|value| (&*value.name.value, value.name.span, Availability::default()));
    check.report_repeats("the value", names);
}

/// Checks that C symbols are unique: types, enumerators and exported functions share C's global namespace, also with
/// those of the interfaces in `uses`.
pub(super) fn check_symbols_are_distinct(check: &Check) {
    let used = check.interface.uses.iter().map(|id| &check.spec.interfaces[id.0]);
    let symbols: Vec<Named> = used.chain([check.interface]).flat_map(symbols).collect();
    check.report_repeats("the C symbol", symbols);
}

/// Checks that struct tags are unique. They are a separate namespace.
pub(super) fn check_tags_are_distinct(check: &Check) {
    let tags = check.interface.types.iter().filter_map(|ty| match &ty.kind {
        TypeKind::Handle { form, .. } => Some((form.tag()?, ty.places.span("tag"), ty.availability)),
        TypeKind::Id { tag, .. } => Some((&**tag, ty.places.span("tag"), ty.availability)),
        TypeKind::Struct { anonymous: false, .. } => {
            Some((&*ty.c_name, ty.places.span("c"), ty.availability))
        }
        TypeKind::Struct { .. } | TypeKind::Enum { .. } | TypeKind::Callback { .. } => None,
    });
    check.report_repeats("the struct tag", tags.collect::<Vec<_>>());
}

/// Checks that the names of pointers and reserves are unique, because they are members of the table's struct. Checks
/// the names of blocks too.
pub(super) fn check_members_are_distinct(check: &Check) {
    let Some(table) = check.interface.table() else { return };
    let place = check.interface.places.at("table");
    let size = (&*table.size_field, place.span("size_field"), Availability::default());
    let reserves = table.blocks.iter().filter_map(|block| block.reserved.as_ref());
    let members: Vec<Named> = std::iter::once(size)
        .chain(reserves.map(|reserve| (&*reserve.name, reserve.span, Availability::default())))
        .chain(functions(check.interface))
        .collect();
    check.report_repeats("the member", members);
    let blocks = table.blocks.iter().map(|block| (&*block.name, block.span, Availability::default()));
    check.report_repeats("the block", blocks.collect::<Vec<_>>());
}

/// Checks that the headers and traits of interfaces have different names, so that none overwrites another.
pub(super) fn check_outputs_are_distinct(check: &Check) {
    let until_here = &check.spec.interfaces[..=check.id.0];
    let always = Availability::default();
    let headers = until_here.iter().map(|it| (&*it.header, it.places.span("header"), always));
    check.report_repeats("the header", headers.collect::<Vec<_>>());
    let traits = until_here.iter().map(|it| (&*it.trait_name, it.places.span("trait"), always));
    check.report_repeats("the trait", traits.collect::<Vec<_>>());
}

/// Checks that names that appear unchanged in a C header are not keywords in C or C++.
pub(super) fn check_keywords(check: &Check) {
    let names = symbols(check.interface).chain(functions(check.interface));
    let names = names.map(|(name, span, _)| (name, span)).chain(tags(check));
    for (name, span) in names {
        let Some(language) = keyword_of(name) else { continue };
        let message = format!("`{name}` is a keyword of {language}");
        check.report(Diagnostic::new(Code::Keyword, span, message).label("a header cannot declare this"));
    }
}

/// Returns the struct tags that the spec states.
fn tags<'a>(check: &Check<'a>) -> impl Iterator<Item = (&'a str, Span)> {
    check.interface.types.iter().filter_map(|ty| {
        let place = ty.places.get("tag")?;
        match &ty.kind {
            TypeKind::Handle { form, .. } => Some((form.tag()?, place.value)),
            TypeKind::Id { tag, .. } => Some((&**tag, place.value)),
            TypeKind::Enum { .. } | TypeKind::Struct { .. } | TypeKind::Callback { .. } => None,
        }
    })
}

/// Returns the names of an interface's raw types in C and in Rust: its types except enums, tags, and the table.
pub(super) fn types_of_c<'a>(check: &Check<'a>) -> impl Iterator<Item = (&'a str, Span)> {
    let types = check.interface.types.iter().filter(|ty| !matches!(ty.kind, TypeKind::Enum { .. }));
    let types = types.map(|ty| (&*ty.c_name, ty.places.span("c")));
    let place = check.interface.places.at("table").span("struct");
    let table = check.interface.table().map(|table| (&*table.c_name, place));
    let place = check.interface.places.at("extension").span("struct");
    let extension = check.interface.table().and_then(|table| table.extension.as_ref());
    let extension = extension.map(|extension| (&*extension.c_name, place));
    types.chain(tags(check)).chain(table).chain(extension)
}

impl<'a> Check<'a> {
    /// Reports each name that occurs twice, unless no release has both.
    fn report_repeats(&self, what: &str, names: impl IntoIterator<Item = Named<'a>>) {
        let mut seen: Vec<Named> = Vec::new();
        for (name, span, availability) in names.into_iter().filter(|(name, ..)| !name.is_empty()) {
            let before = seen.iter().find(|(known, _, other)| *known == name && other.overlaps(availability));
            if let Some((_, first, _)) = before
                && self.belongs_here(span)
                && !self.is_repeated(span)
            {
                let first = *first;
                self.report(
                    Diagnostic::new(Code::DuplicateName, span, format!("{what} `{name}` is defined twice"))
                        .label("defined again here")
                        .related(first, "first defined here"),
                );
            }
            seen.push((name, span, availability));
        }
    }

    /// Returns true if another rule already reported a name as repeated.
    fn is_repeated(&self, span: Span) -> bool {
        self.found.borrow().iter().any(|known| known.span == span && known.code == Code::DuplicateName)
    }

    /// Returns true if a place is in a file of this interface. Places in other files are reported for their own
    /// interface.
    fn belongs_here(&self, span: Span) -> bool {
        let mut places = vec![self.interface.places.key];
        places.extend(self.interface.functions.iter().map(|function| function.places.key));
        places.extend(self.interface.types.iter().map(|ty| ty.places.key));
        places.iter().any(|place| place.file == span.file)
    }
}

/// Returns the names that an interface adds to C's global namespace.
pub(super) fn symbols(interface: &Interface) -> impl Iterator<Item = Named<'_>> {
    let types = interface.types.iter().map(|ty| (&*ty.c_name, ty.places.span("c"), ty.availability));
    let types = types.chain(interface.types.iter().filter_map(|ty| match &ty.kind {
        TypeKind::Handle { const_name: Some(name), .. } => {
            Some((&**name, ty.places.span("c_const"), ty.availability))
        }
        _ => None,
    }));
    let values = interface
        .types
        .iter()
        .flat_map(Type::enum_values)
        .map(|value| (&*value.c_name, value.places.span("c"), value.availability));
    let exported = match &interface.kind {
        InterfaceKind::Table(_) | InterfaceKind::HostTable { .. } | InterfaceKind::Objects => None,
        InterfaceKind::Export | InterfaceKind::Import { .. } => Some(functions(interface)),
    };
    let always = Availability::default();
    let of_host = match &interface.kind {
        InterfaceKind::HostTable { c_name } => {
            Some((&**c_name, interface.places.at("host_table").span("struct"), always))
        }
        _ => None,
    };
    let inner = interface.objects().filter_map(move |(ty, object)| {
        Some((&*object.inner.as_ref()?.c_name, ty.places.at("functions").span("struct"), always))
    });
    let table = interface.table().into_iter().flat_map(move |table| {
        let place = interface.places.at("table").span("struct");
        let entry = interface.places.at("plugin").span("entry");
        let plugin = table.plugin().map(|plugin| (&*plugin.entry, entry, always));
        let owned = table.owned().map(|owned| (&*owned.entry, entry, always));
        let places = interface.places.at("extension");
        let extension = table.extension.iter().flat_map(move |extension| {
            let entry = (&*extension.entry, places.span("entry"), always);
            [(&*extension.c_name, places.span("struct"), always), entry]
        });
        std::iter::once((&*table.c_name, place, always)).chain(plugin).chain(owned).chain(extension)
    });
    let args = interface.functions.iter().filter_map(|function| {
        let args = function.args.as_ref()?;
        Some((&*args.c_name, function.places.span("args"), function.availability))
    });
    let table = table.chain(args);
    types.chain(values).chain(exported.into_iter().flatten()).chain(table).chain(of_host).chain(inner)
}

fn functions(interface: &Interface) -> impl Iterator<Item = Named<'_>> {
    let functions = interface.functions.iter();
    functions.map(|function| (&*function.c_name, function.places.span("c"), function.availability))
}

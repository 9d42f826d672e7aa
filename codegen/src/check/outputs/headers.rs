//! Headers: where they are allowed, and no cycles between them.

use crate::diagnostic::{Code, Diagnostic};
use crate::language::headers::Headers;

use crate::check::Check;

/// Checks that headers do not include each other in a cycle. The header of a group comes before those that need it; the
/// interface's own header comes last.
pub(crate) fn check_no_circle(check: &Check) {
    let headers = Headers::of(check.spec, check.interface);
    let names = headers.names();
    for (index, name) in names.iter().enumerate() {
        let others = names[..index].iter().filter(|other| headers.needs(name, other));
        for other in others.filter(|other| headers.included_by(other).contains(name)) {
            let mut groups = headers.groups(name);
            let Some(group) = groups.next() else { continue };
            let second = headers.groups(other).next().map(|group| group.header.span);
            let message = format!("`{name}` and `{other}` need each other");
            Diagnostic::new(Code::HeaderCycle, group.header.span, message)
                .label(format!("this uses a type of `{other}`"))
                .related_if(second, format!("and this uses a type of `{name}`"))
                .help(format!("move the type into a header that `{other}` includes"))
                .report(check);
        }
    }
}

/// Checks that only an export has several headers.
pub(crate) fn check_place(check: &Check) {
    let interface = check.interface;
    if check.interface.kind_name() == "export" {
        return;
    }
    let kind = interface.places.span("kind");
    let named = interface.groups.iter().filter(|group| group.header.span.file != interface.places.key.file);
    for group in named.filter(|_| check.before.trusts(kind)) {
        let message =
            format!("the {} `{}` can have only one header", interface.kind_name(), interface.name.value);
        Diagnostic::new(Code::WrongKind, group.header.span, message)
            .label("only a group of an export can have its own")
            .related(kind, "the kind")
            .report(check);
    }
}

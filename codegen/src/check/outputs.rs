//! Places of outputs: no two are one file, and none lies where something else belongs.

use crate::diagnostic::{Code, Diagnostic};
use crate::headers::Headers;
use crate::model::{Interface, Spec};
use crate::out::FOLDER;
use crate::out::path::{is_within, join, without_case};
use crate::sdk;
use crate::source::{At, Span};

/// A folder of outputs.
struct Place<'a> {
    /// The key in `outputs`.
    key: &'a str,
    path: &'a str,
    /// The path without the case of letters.
    folded: String,
    span: Span,
}

impl Place<'_> {
    /// Whether it holds nothing else.
    fn is_own(&self) -> bool {
        matches!(self.key, "reference" | "schema" | "rust")
    }
}

/// A file that is known by its name before anything is emitted.
struct File {
    path: String,
    /// The path without the case of letters.
    folded: String,
    span: Span,
    is_header: bool,
    /// Whether another rule holds its name against those of other interfaces.
    is_main_header: bool,
}

impl File {
    fn new(path: String, span: Span) -> Self {
        File { folded: without_case(&path), path, span, is_header: false, is_main_header: false }
    }
}

/// One diagnostic for each place, the first one.
struct Findings<'a> {
    found: &'a mut Vec<Diagnostic>,
}

impl Findings<'_> {
    fn push(&mut self, diagnostic: Diagnostic) {
        if !self.has(diagnostic.span) {
            self.found.push(diagnostic);
        }
    }

    fn has(&self, span: Span) -> bool {
        self.found.iter().any(|diagnostic| diagnostic.span == span)
    }
}

/// Applies the rules about `outputs` in `spec.yaml`.
pub(super) fn check(spec: &Spec, found: &mut Vec<Diagnostic>) {
    let folders = folders(spec);
    let mut found = Findings { found };
    folders.iter().for_each(|place| check_manifests(&place.folded, place.span, &mut found));
    check_folders(&folders, &mut found);
    // Where the folder of headers is wrong, each header would only repeat it.
    let is_wrong = spec.outputs.header.as_ref().is_some_and(|folder| found.has(folder.span));
    let files: Vec<File> = files(spec).into_iter().filter(|file| !(file.is_header && is_wrong)).collect();
    files.iter().for_each(|file| check_manifests(&file.folded, file.span, &mut found));
    check_read(spec, &mut found);
    check_exported(spec, &mut found);
    check_files(&folders, &files, &mut found);
    check_twice(&files, &mut found);
}

/// Folders of outputs: first those that hold nothing else.
fn folders(spec: &Spec) -> Vec<Place<'_>> {
    let outputs = &spec.outputs;
    let keys = [
        ("reference", &outputs.reference),
        ("schema", &outputs.schema),
        ("rust", &outputs.rust),
        ("header", &outputs.header),
        ("python", &outputs.python),
    ];
    let given = keys.into_iter().filter_map(|(key, folder)| Some((key, folder.as_ref()?)));
    given
        .map(|(key, folder)| Place {
            key,
            path: &folder.value,
            folded: without_case(&folder.value),
            span: folder.span,
        })
        .collect()
}

fn files(spec: &Spec) -> Vec<File> {
    let mut files = Vec::new();
    if let Some(folder) = &spec.outputs.header {
        for interface in &spec.interfaces {
            files.extend(headers(spec, interface, &folder.value));
        }
    }
    let outputs = &spec.outputs;
    let exports = outputs.exports.as_ref().map(|file| &file.to);
    let summary = outputs.summary.as_ref().map(|file| &file.to);
    let rust = outputs.rust_files.iter().chain(&outputs.rust_exports).map(|file| &file.to);
    let single = [exports, summary, outputs.rust_traits.as_ref()].into_iter().flatten();
    files.extend(single.chain(rust).map(|to| File::new(to.value.clone(), to.span)));
    files
}

/// The headers of an interface, each with the place that names it.
fn headers(spec: &Spec, interface: &Interface, folder: &str) -> Vec<File> {
    let own = interface.places.span("header");
    let mut names: Vec<(String, Span)> = Headers::of(spec, interface)
        .names()
        .iter()
        .map(|name| {
            let group = interface.groups.iter().find(|group| group.header.value == **name);
            let is_main = *name == interface.header;
            ((*name).to_owned(), group.filter(|_| !is_main).map_or(own, |group| group.header.span))
        })
        .collect();
    if interface.sdk.is_some() && interface.table().is_some() {
        let beside = interface.header.rsplit_once('/').map_or("", |(folder, _)| folder);
        let span = interface.places.span("sdk");
        names.extend(sdk::HEADERS.iter().map(|name| (join(beside, name), span)));
    }
    names.retain(|(name, _)| !name.is_empty());
    let file = |(name, span): (String, Span)| File {
        is_header: true,
        is_main_header: name == interface.header,
        ..File::new(join(folder, &name), span)
    };
    names.into_iter().map(file).collect()
}

fn check_manifests(path: &str, span: Span, found: &mut Findings) {
    if is_within(path, FOLDER) {
        let message = format!("`{FOLDER}` holds the lists of outputs, and nothing else");
        found.push(Diagnostic::new(Code::ManifestFolder, span, message).label("this lies in it"));
    }
}

fn check_folders(folders: &[Place], found: &mut Findings) {
    for (index, own) in folders.iter().enumerate().filter(|(_, place)| place.is_own()) {
        if own.path.is_empty() {
            let message = format!("`{}` needs a folder of its own", own.key);
            found.push(
                Diagnostic::new(Code::OutputOverlap, own.span, message)
                    .label("this is the output root, where the other outputs are")
                    .help(format!("name a folder, such as `{}`", own.key)),
            );
            continue;
        }
        for (other, place) in folders.iter().enumerate().filter(|(other, _)| *other != index) {
            // Of two that are the same, the second one is reported.
            let is_first = place.folded == own.folded && place.is_own() && other < index;
            if is_within(&place.folded, &own.folded) && !is_first {
                found.push(overlap(own, place.path, place.span));
            }
        }
    }
}

fn check_files(folders: &[Place], files: &[File], found: &mut Findings) {
    for file in files {
        for place in folders.iter().filter(|place| !place.path.is_empty()) {
            if place.is_own() && is_within(&file.folded, &place.folded) {
                found.push(overlap(place, &file.path, file.span));
            } else if is_within(&place.folded, &file.folded) {
                let message = format!("`{}` is a file and a folder of outputs", file.path);
                found.push(
                    Diagnostic::new(Code::OutputTwice, file.span, message)
                        .label("the file")
                        .related(place.span, "the folder"),
                );
            }
        }
    }
}

fn overlap(own: &Place, other: &str, span: Span) -> Diagnostic {
    let message = format!("`{other}` lies in `{}`, which is the folder of `{}`", own.path, own.key);
    Diagnostic::new(Code::OutputOverlap, span, message)
        .label("needs a folder of its own")
        .related(own.span, format!("the folder of `{}`", own.key))
}

fn check_twice(files: &[File], found: &mut Findings) {
    for (index, file) in files.iter().enumerate() {
        for first in &files[..index] {
            let is_known = file.is_main_header && first.is_main_header && file.path == first.path;
            let meet = is_within(&file.folded, &first.folded) || is_within(&first.folded, &file.folded);
            if is_known || !meet {
                continue;
            }
            let (path, other) = (&file.path, &first.path);
            let message = match () {
                () if path == other => format!("two outputs have the path `{path}`"),
                () if file.folded == first.folded => {
                    format!("`{other}` and `{path}` differ only in the case of letters")
                }
                () => format!("`{other}` and `{path}` cannot both be files"),
            };
            found.push(
                Diagnostic::new(Code::OutputTwice, file.span, message)
                    .label("the second one")
                    .related(first.span, "the first one"),
            );
        }
    }
}

/// The SDK has functions for an interface with `sdk` alone.
fn check_exported(spec: &Spec, found: &mut Findings) {
    for file in &spec.outputs.rust_exports {
        let interface = &spec.interfaces[file.interface.value.0];
        if interface.sdk.is_none() {
            let message = format!("the SDK has no functions for `{}`", interface.name.value);
            found.push(
                Diagnostic::new(Code::WrongKind, file.interface.span, message)
                    .label("its `interface.yaml` has no `sdk`"),
            );
        }
    }
}

fn check_read(spec: &Spec, found: &mut Findings) {
    let mut check = |to: &At<String>, read: &[(&str, &str)]| {
        for (key, path) in read {
            let path = crate::out::path::file(path);
            if path.is_ok_and(|path| without_case(&path) == without_case(&to.value)) {
                let message = format!("`{}` is also what `{key}` names", to.value);
                found.push(
                    Diagnostic::new(Code::OutputIsRead, to.span, message)
                        .label("this would overwrite a file that is written by hand"),
                );
            }
        }
    };
    if let Some(file) = &spec.outputs.summary {
        check(&file.to, &[("template", &file.template)]);
    }
    if let Some(file) = &spec.outputs.exports {
        check(&file.to, &[("from", &file.from), ("config", &file.config)]);
    }
}

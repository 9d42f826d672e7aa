//! Places of outputs: no two outputs are the same file, and none is inside a place for other files.

pub(super) mod headers;
pub(super) mod python;
pub(super) mod rust;
pub(super) mod sdk;

use crate::diagnostic::{Code, Diagnostic};
use crate::grammar::outputs;
use crate::language::headers::Headers;
use crate::model::{Interface, InterfaceKind, OutputPlace, PlaceKind, Spec};
use crate::output_path::FOLDER;
use crate::output_path::{is_within, join, without_case};
use crate::sdk::HEADERS;
use crate::source::Span;

/// A folder of outputs.
struct Folder<'a> {
    place: &'a OutputPlace,
    /// The path in lower case.
    folded: String,
}

impl Folder<'_> {
    /// Returns true if the folder may contain nothing else.
    fn is_own(&self) -> bool {
        self.place.kind == PlaceKind::OwnFolder
    }
}

/// A file whose name is known before anything is emitted.
struct File {
    path: String,
    /// The path in lower case.
    folded: String,
    span: Span,
    is_header: bool,
    /// True if another rule compares its name with those of other interfaces.
    is_main_header: bool,
}

impl File {
    fn new(path: String, span: Span) -> Self {
        File { folded: without_case(&path), path, span, is_header: false, is_main_header: false }
    }
}

/// The diagnostics, at most one for each place.
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
    folders.iter().for_each(|folder| check_manifests(&folder.folded, folder.place.path.span, &mut found));
    check_folders(&folders, &mut found);
    // If the folder of headers is wrong, each header would only repeat that error.
    let is_wrong = spec.outputs.place(&outputs::HEADER).is_some_and(|folder| found.has(folder.path.span));
    let files: Vec<File> = files(spec).into_iter().filter(|file| !(file.is_header && is_wrong)).collect();
    files.iter().for_each(|file| check_manifests(&file.folded, file.span, &mut found));
    check_read(spec, &mut found);
    check_exported(spec, &mut found);
    check_files(&folders, &files, &mut found);
    check_twice(&files, &mut found);
}

/// Returns the folders of outputs: first those that contain nothing else.
fn folders(spec: &Spec) -> Vec<Folder<'_>> {
    let places = spec.outputs.places.iter().filter(|place| place.is_folder());
    let mut folders: Vec<Folder> =
        places.map(|place| Folder { place, folded: without_case(&place.path.value) }).collect();
    folders.sort_by_key(|folder| !folder.is_own());
    folders
}

fn files(spec: &Spec) -> Vec<File> {
    let headers = spec.outputs.place(&outputs::HEADER).into_iter();
    let headers = headers.flat_map(|folder| {
        spec.interfaces.iter().flat_map(|interface| headers_of(spec, interface, &folder.path.value))
    });
    let single = spec.outputs.places.iter().filter(|place| !place.is_folder());
    headers.chain(single.map(|place| File::new(place.path.value.clone(), place.path.span))).collect()
}

/// Returns the headers of an interface, each with the place that names it.
fn headers_of(spec: &Spec, interface: &Interface, folder: &str) -> Vec<File> {
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
        names.extend(HEADERS.iter().map(|name| (join(beside, name), span)));
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
        let message = format!("`{FOLDER}` may contain only the lists of outputs");
        found.push(Diagnostic::new(Code::ManifestFolder, span, message).label("this is inside that folder"));
    }
}

fn check_folders(folders: &[Folder], found: &mut Findings) {
    for (index, own) in folders.iter().enumerate().filter(|(_, folder)| folder.is_own()) {
        let OutputPlace { key, path, .. } = own.place;
        if path.value.is_empty() {
            let message = format!("`{key}` needs a separate folder");
            found.push(
                Diagnostic::new(Code::OutputOverlap, path.span, message)
                    .label("this is the output root, which contains the other outputs")
                    .help(format!("name a folder, such as `{key}`")),
            );
            continue;
        }
        for (other, folder) in folders.iter().enumerate().filter(|(other, _)| *other != index) {
            // Reports the second of two equal paths.
            let is_first = folder.folded == own.folded && folder.is_own() && other < index;
            if is_within(&folder.folded, &own.folded) && !is_first {
                found.push(overlap(own.place, &folder.place.path.value, folder.place.path.span));
            }
        }
    }
}

fn check_files(folders: &[Folder], files: &[File], found: &mut Findings) {
    for file in files {
        for folder in folders.iter().filter(|folder| !folder.folded.is_empty()) {
            if folder.is_own() && is_within(&file.folded, &folder.folded) {
                found.push(overlap(folder.place, &file.path, file.span));
            } else if is_within(&folder.folded, &file.folded) {
                let message = format!("`{}` is both a file and a folder of outputs", file.path);
                found.push(
                    Diagnostic::new(Code::OutputTwice, file.span, message)
                        .label("the file")
                        .related(folder.place.path.span, "the folder"),
                );
            }
        }
    }
}

fn overlap(own: &OutputPlace, other: &str, span: Span) -> Diagnostic {
    let OutputPlace { key, path, .. } = own;
    let message = format!("`{other}` is inside `{}`, the folder of `{key}`", path.value);
    Diagnostic::new(Code::OutputOverlap, span, message)
        .label("needs a separate folder")
        .related(path.span, format!("the folder of `{key}`"))
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
                    .label("the second file")
                    .related(first.span, "the first file"),
            );
        }
    }
}

/// Checks that a library exports only interfaces of kind `export`, and those with `sdk`, and that it forwards only what
/// another one exports.
fn check_exported(spec: &Spec, found: &mut Findings) {
    for named in spec.outputs.places(&outputs::RUST_FORWARDERS).filter_map(|place| place.interface.as_ref()) {
        let interface = &spec.interfaces[named.value.0];
        let mut exported =
            spec.outputs.places(&outputs::RUST_EXPORTS).filter_map(|place| place.interface.as_ref());
        let is_export = matches!(interface.kind, InterfaceKind::Export);
        if !is_export || !exported.any(|exported| exported.value == named.value) {
            let message = format!("there are no functions to forward `{}` to", interface.name.value);
            found.push(
                Diagnostic::new(Code::WrongKind, named.span, message)
                    .label("it must be of kind `export`, and `rust_exports` must have it"),
            );
        }
    }
    for named in spec.outputs.places(&outputs::RUST_EXPORTS).filter_map(|place| place.interface.as_ref()) {
        let interface = &spec.interfaces[named.value.0];
        if interface.sdk.is_none() && !matches!(interface.kind, InterfaceKind::Export) {
            let message = format!("the SDK has no functions for `{}`", interface.name.value);
            found.push(
                Diagnostic::new(Code::WrongKind, named.span, message)
                    .label("its `interface.yaml` has no `sdk`"),
            );
        }
    }
}

/// Checks that no output overwrites a file that the generator reads.
fn check_read(spec: &Spec, found: &mut Findings) {
    for place in &spec.outputs.places {
        let to = &place.path;
        for (key, path) in &place.reads {
            let path = crate::output_path::file(path);
            if path.is_ok_and(|path| without_case(&path) == without_case(&to.value)) {
                let message = format!("`{}` is also the file that `{key}` names", to.value);
                found.push(
                    Diagnostic::new(Code::OutputIsRead, to.span, message)
                        .label("this would overwrite a hand-written file"),
                );
            }
        }
    }
}

//! Diagnostics about places of outputs that depend on the emitted outputs or on the disk.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic};
use crate::out::{DuplicatePath, FileMap, Obstacle, Reason};
use crate::output_path::without_case;
use crate::source::Sources;

/// Creates a diagnostic for two outputs with the same path.
pub(super) fn twice(error: &DuplicatePath) -> Diagnostic {
    let message = if error.path == error.other {
        error.to_string()
    } else {
        format!("`{}` and `{}` differ only in the case of letters", error.other, error.path)
    };
    Diagnostic::new(Code::OutputTwice, error.span, message)
        .label("the second one")
        .related(error.first, "the first one")
}

/// Creates a diagnostic for each output that would overwrite a file of the spec.
pub(super) fn over_spec(files: &FileMap, root: &Path, sources: &Sources) -> Vec<Diagnostic> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let inside = |path: &Path| {
        let path = path.canonicalize().ok()?;
        let parts = path.strip_prefix(&root).ok()?.components();
        let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        Some(without_case(&parts.join("/")))
    };
    let spec: BTreeSet<String> = sources.files().filter_map(|(_, file)| inside(&file.path)).collect();
    let over = files.origins().filter(|(output, _)| spec.contains(&without_case(&output.path)));
    over.map(|(output, span)| {
        let message = format!("the output `{}` is a file of the spec", output.path);
        Diagnostic::new(Code::OutputIsRead, span, message)
            .label("this would overwrite a file that is written by hand")
    })
    .collect()
}

/// Creates a diagnostic for each folder of outputs that is a link to somewhere else.
pub(super) fn outside(files: &FileMap, obstacles: &[Obstacle]) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let found = obstacles.iter().filter_map(|obstacle| {
        let Reason::LeadsOut { folder, to } = &obstacle.reason else { return None };
        let (_, span) = files.origins().find(|(output, _)| output.path == obstacle.path)?;
        let message = format!("`{}` lies outside of the output root", obstacle.path);
        let label = format!("`{folder}` is a link to `{}`", to.display());
        seen.insert((span, folder)).then(|| {
            Diagnostic::new(Code::OutputPlace, span, message)
                .label(label)
                .help("remove the link, or choose another folder")
        })
    });
    found.collect()
}

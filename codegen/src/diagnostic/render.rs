//! Renders diagnostics for people and for programs.

use std::fmt::Write as _;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::json;

use super::Diagnostic;
use crate::source::{FileId, Sources, Span};

/// Renders diagnostics as text, in the style of a compiler. `colour` adds the escape sequences of terminals.
pub fn render(sources: &Sources, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let here = diagnostic.span.file;
        let mut snippet = snippet(sources, here).annotation(
            AnnotationKind::Primary
                .span(diagnostic.span.start..diagnostic.span.end)
                .label(diagnostic.label.as_str()),
        );
        let mut elsewhere: Vec<FileId> = Vec::new();
        for (span, _) in &diagnostic.related {
            if span.file != here && !elsewhere.contains(&span.file) {
                elsewhere.push(span.file);
            }
        }
        snippet = annotated(snippet, here, diagnostic);
        let mut group: Group<'_> = Level::ERROR
            .primary_title(diagnostic.message.as_str())
            .id(diagnostic.code.to_string())
            .element(snippet);
        for file in elsewhere {
            group = group.element(annotated(self::snippet(sources, file), file, diagnostic));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let _ = writeln!(out, "{}\n", renderer.render(&[group]));
    }
    out
}

/// Renders the failure of a command as text, with its causes and a remedy.
pub fn render_failure(failure: &dyn std::error::Error, help: &str, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let title = failure.to_string();
    let causes = std::iter::successors(failure.source(), |cause| cause.source()).map(ToString::to_string);
    let causes = causes.map(|cause| Level::NOTE.with_name("cause").message(cause));
    let help = Level::HELP.message(help);
    let group = Group::with_title(Level::ERROR.primary_title(title)).elements(causes).element(help);
    renderer.render(&[group])
}

type Annotated<'a> = Snippet<'a, Annotation<'a>>;

fn snippet(sources: &Sources, file: FileId) -> Annotated<'_> {
    let file = sources.file(file);
    Snippet::source(file.text.as_str()).path(file.path.to_string_lossy().into_owned())
}

/// Adds the related places of a diagnostic that are in `file`.
fn annotated<'a>(snippet: Annotated<'a>, file: FileId, diagnostic: &'a Diagnostic) -> Annotated<'a> {
    let here = diagnostic.related.iter().filter(|(span, _)| span.file == file);
    snippet.annotations(
        here.map(|(span, label)| AnnotationKind::Context.span(span.start..span.end).label(label.as_str())),
    )
}

/// Returns diagnostics as a JSON array, for editors. Lines and columns begin at 1.
pub fn to_json(sources: &Sources, diagnostics: &[Diagnostic]) -> serde_json::Value {
    let place = |span: &Span| {
        let file = sources.file(span.file);
        let (line, column) = file.position(span.start);
        let (end_line, end_column) = file.position(span.end);
        json!({
            "file": file.path.to_string_lossy(),
            "line": line, "column": column, "end_line": end_line, "end_column": end_column,
        })
    };
    diagnostics
        .iter()
        .map(|diagnostic| {
            let mut object = place(&diagnostic.span);
            object["code"] = json!(diagnostic.code.to_string());
            object["severity"] = json!("error");
            object["message"] = json!(diagnostic.message);
            object["label"] = json!(diagnostic.label);
            object["help"] = json!(diagnostic.help);
            let related = diagnostic.related.iter().map(|(span, label)| {
                let mut related = place(span);
                related["label"] = json!(label);
                related
            });
            object["related"] = related.collect();
            object
        })
        .collect()
}

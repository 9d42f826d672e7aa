//! `codegen import`: drafts a spec from a C header, or compares a spec with one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::abi::pick_release;
use super::{Answer, Common, DONE, Failure, Format, REFUSED, is_spec, pick_interface};
use crate::emit::c::asserts::Claim;
use crate::import::clang::ReadOptions;
use crate::import::compare::{Comparison, NewFunction, compare};
use crate::import::draft::{Draft, draft};
use crate::import::read::read;
use crate::source::Folder;
use crate::text::count;

/// Draft a spec from a C header, or tell how a header differs from a spec
///
/// If the folder that `--spec` names has no spec, a draft is written there: functions, types, and what can be guessed of
/// lengths and directions. Each guess has a comment. If it has one, the header is compared with it.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The header; several are read as one
    #[arg(required = true, value_name = "HEADER")]
    headers: Vec<PathBuf>,
    /// A folder that `#include` searches
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// The prefix of C names that names in the spec lack; if left out, the one that all functions have
    #[arg(long)]
    prefix: Option<String>,
    /// The interface: of a draft, its name; else the one to compare, the first table if left out
    #[arg(long)]
    interface: Option<String>,
    /// The release of the spec that the header is compared with; the newest if left out
    #[arg(long, value_name = "RELEASE")]
    at: Option<String>,
    /// The release of the header, for the drafts of what is new in it
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
}

pub(super) fn run(common: &Common, options: &Options) -> Result<Answer, Failure> {
    match &common.spec {
        Some(folder) if !is_spec(&folder.join("spec.yaml")) => draft_at(folder, common.format, options),
        _ => compare_with(common, options),
    }
}

fn read_options(options: &Options) -> ReadOptions {
    ReadOptions { include: options.include.clone(), cxx: false }
}

/// Drafts a spec in a folder that has none.
fn draft_at(folder: &Path, format: Format, options: &Options) -> Result<Answer, Failure> {
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let message = format!("`{}` is neither empty nor a spec", folder.display());
        let help = "name a folder that does not exist, or one with a `spec.yaml`".to_owned();
        return Err(Failure::Unknown { message, help });
    }
    let includes: String = options
        .headers
        .iter()
        .map(|header| format!("#include \"{}\"\n", absolute(header).display()))
        .collect();
    let folders: Vec<PathBuf> = options.headers.iter().filter_map(|header| own_folder(header)).collect();
    let files: Vec<PathBuf> = options.headers.iter().map(|header| absolute(header)).collect();
    let is_own = |file: &Path| {
        let file = absolute(file);
        files.contains(&file) || folders.iter().any(|folder| file.starts_with(folder))
    };
    let first = options.headers.first().map(PathBuf::as_path).unwrap_or(Path::new("api.h"));
    let header = read(&includes, first, &read_options(options), &is_own)?;
    let stem = first.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = options.interface.clone().unwrap_or_else(|| crate::import::name_of(&stem));
    let file_name = first.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let draft = draft(&header, &name, &file_name, options.prefix.as_deref());
    for (path, text) in &draft.files {
        let path = folder.join(path);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
        written.map_err(|source| Failure::Draft { path: path.clone(), source })?;
    }
    let mistakes = crate::load(&Folder::new(folder)).err().map_or(0, |mistakes| mistakes.diagnostics.len());
    if format == Format::Json {
        let Draft { functions, types, guesses, .. } = draft;
        let value = json!({
            "folder": folder, "functions": functions, "types": types, "guesses": guesses, "mistakes": mistakes,
        });
        return Ok(Answer::json(&value, DONE));
    }
    let mut text = format!(
        "drafted {} with {}, {} and {}: look for `# guess`\n",
        folder.display(),
        count(draft.functions, "function"),
        count(draft.types, "type"),
        if draft.guesses == 1 { "1 guess".to_owned() } else { format!("{} guesses", draft.guesses) },
    );
    if mistakes == 0 {
        text.push_str("It keeps every rule.\n");
    } else {
        let left = if mistakes == 1 { "is left" } else { "are left" };
        let mistakes = count(mistakes, "mistake");
        let _ = writeln!(text, "{mistakes} {left}: codegen --spec {} --check", folder.display());
    }
    Ok(Answer::done(text))
}

/// Returns the folder of a header if it is one of its library alone, and not one of the system.
fn own_folder(header: &Path) -> Option<PathBuf> {
    let folder = absolute(header).parent()?.to_owned();
    let is_shared = ["include", "x86_64-linux-gnu", "aarch64-linux-gnu"];
    let name = folder.file_name()?.to_string_lossy().into_owned();
    (!is_shared.contains(&name.as_str())).then_some(folder)
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Compares the spec with the headers.
fn compare_with(common: &Common, options: &Options) -> Result<Answer, Failure> {
    let Some(loaded) = common.load()? else { return Ok(Answer::refused()) };
    let spec = &loaded.spec;
    let interface = pick_interface(spec, options.interface.as_deref())?;
    let release = match &options.at {
        Some(name) => Some(pick_release(interface, name)?),
        None => interface.newest(),
    };
    let headers: Vec<String> = options.headers.iter().map(|header| header.display().to_string()).collect();
    let since = options.release.as_deref();
    let comparison = compare(spec, (interface, release), &headers, since, &read_options(options))?;
    let of = match release {
        Some(release) => {
            format!("`{}` in release {}", interface.name.value, interface.releases[release.0].name.value)
        }
        None => format!("`{}`", interface.name.value),
    };
    if common.format == Format::Json {
        let code = if comparison.is_empty() { DONE } else { REFUSED };
        let release = release.map(|release| interface.releases[release.0].name.value.as_str());
        let mut value = as_json(&comparison);
        value["interface"] = json!(interface.name.value);
        value["release"] = json!(release);
        return Ok(Answer::json(&value, code));
    }
    if comparison.is_empty() {
        return Ok(Answer::done(format!("{of} is as the header declares it.\n")));
    }
    let verdict = interface.table().and_then(|table| verdict(&comparison, &table.c_name));
    Ok(Answer { text: told(&comparison, &of, verdict), code: REFUSED })
}

fn as_json(comparison: &Comparison) -> serde_json::Value {
    let Comparison { new, new_types, new_values, gone, gone_types, changed, repointed } = comparison;
    let texts = |claims: &[Claim]| claims.iter().map(Claim::to_string).collect::<Vec<_>>();
    let new: Vec<_> = new
        .iter()
        .map(|it| json!({ "name": it.name, "of": it.of, "after": it.after, "draft": it.entry }))
        .collect();
    let new_values: Vec<_> = new_values
        .iter()
        .map(|(of, name, value)| json!({ "of": of, "name": name, "value": value }))
        .collect();
    let gone: Vec<_> = gone.iter().map(|it| json!({ "name": it.name, "of": it.of })).collect();
    json!({
        "new": new,
        "new_types": new_types,
        "new_values": new_values,
        "gone": gone,
        "gone_types": gone_types,
        "changed": texts(changed),
        "repointed": texts(repointed),
    })
}

/// Returns what a changed table means for plugins that were built for the release of the spec; `None` if its layout is the
/// same.
fn verdict(comparison: &Comparison, table: &str) -> Option<&'static str> {
    let has = |is: &dyn Fn(&Claim) -> bool| comparison.changed.iter().any(is);
    if has(&|claim| matches!(claim, Claim::Offset(of, _) if of == table)) || !comparison.gone.is_empty() {
        Some(
            "one that compares the size of the table refuses this host; one that does not is loaded, and the host calls \
             wrong functions",
        )
    } else if has(&|claim| matches!(claim, Claim::Member(of, _) if of == table)) {
        Some("they are loaded, and calls of the changed functions pass wrong arguments")
    } else if has(&|claim| matches!(claim, Claim::Size(of) if of == table)) {
        Some("one that compares the size of the table refuses this host; others are loaded and work")
    } else {
        None
    }
}

fn told(comparison: &Comparison, of: &str, verdict: Option<&str>) -> String {
    let Comparison { new, new_types, new_values, gone, gone_types, changed, repointed } = comparison;
    let mut text = format!("The header differs from {of}.\n");
    let mut list = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            let _ = writeln!(text, "\n{title} ({}):", entries.len());
            entries.iter().for_each(|entry| {
                let _ = writeln!(text, "  {entry}");
            });
        }
    };
    let with = |word: &str, name: &Option<String>| match name {
        Some(name) => format!("{word} `{name}`"),
        None => String::new(),
    };
    let place = |it: &NewFunction| [with(" of", &it.of), with(", after", &it.after)].concat();
    list("New functions", new.iter().map(|it| format!("`{}`{}", it.name, place(it))).collect());
    list("New types", new_types.iter().map(|name| format!("`{name}`")).collect());
    list(
        "New values",
        new_values.iter().map(|(of, name, value)| format!("`{name}` = {value} of `{of}`")).collect(),
    );
    list(
        "Functions that the header lacks",
        gone.iter().map(|it| format!("`{}`{}", it.name, with(" of", &it.of))).collect(),
    );
    list("Types that the header lacks", gone_types.iter().map(|name| format!("`{name}`")).collect());
    list("Changed or moved", changed.iter().map(Claim::to_string).collect());
    list(
        "Pointers to other types, which no compiled program notices",
        repointed.iter().map(Claim::to_string).collect(),
    );
    if let Some(verdict) = verdict {
        let _ = writeln!(text, "\nPlugins that exist: {verdict}.");
    }
    if !new.is_empty() {
        text.push_str("\nDrafts of the new functions:\n\n");
        new.iter().for_each(|it| text.push_str(&it.entry));
    }
    text
}

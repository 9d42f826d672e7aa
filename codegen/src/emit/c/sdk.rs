//! The headers of the SDK: types, functions, and one that includes all.

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use super::builder::{Builder, TypeItem, ValueItem};
use super::doxygen::{Comments, WIDTH, tagged};
use super::header::section;
use super::names::Names;
use super::types::{Dialect, Speller};
use crate::model::*;
use crate::out::Output;
use crate::sdk::{ANSWER, CORE_HEADER, HEADERS, Handle, PLUGIN, SdkApi};
use crate::text::{collapse, count, sentence, uncapital, wrap};

/// Returns the C declaration of a function of the SDK, without the semicolon.
pub fn prototype(sdk_api: SdkApi, function: &Function) -> String {
    speller(sdk_api).sdk_prototype(sdk_api, function)
}

/// Returns the C types of the parameters of the spec in a function of the SDK.
pub fn call_types(sdk_api: SdkApi, function: &Function) -> Vec<String> {
    let speller = speller(sdk_api);
    function.params.iter().map(|param| speller.sdk_param(param)).collect()
}

fn speller(sdk_api: SdkApi) -> Speller {
    Speller::new(sdk_api.spec, sdk_api.interface, None, Dialect::Sdk)
}

/// Writes the headers, with paths relative to the folder of headers.
///
/// # Errors
/// If a template does not match its data, which is a bug in the generator.
pub fn headers(
    templates: &Environment,
    sdk_api: SdkApi,
    marker: &str,
) -> Result<Vec<Output>, minijinja::Error> {
    let ([types, functions, all], core) = (HEADERS, CORE_HEADER);
    let guard = |file: &str| sdk_api.status(&file.replace('.', "_"));
    let described = types_of(sdk_api);
    let tally = count(described.len(), "type");
    let types_header = context! {
        marker,
        guard => guard(types),
        comment => file_comment(types, "The types and statuses of the library.", TYPES),
        types => Serde(described),
    };
    let functions_header = context! {
        marker,
        guard => guard(functions),
        comment => functions_comment(sdk_api, functions),
        includes => vec![types],
        sections => sections(sdk_api),
    };
    let all_header = context! {
        marker,
        guard => guard(all),
        comment => file_comment(all, "The whole library. Include this header.", &[]),
        includes => vec![types, core, functions],
        sections => Vec::<Value>::new(),
    };
    let template = |name: &str| templates.get_template(name);
    let note = count(sdk_api.interface.functions.len(), "function");
    let functions_text = template("c/functions.h.j2")?.render(functions_header)?;
    let all_text = template("c/functions.h.j2")?.render(all_header)?;
    Ok(vec![
        Output::new(types, template("c/types.h.j2")?.render(types_header)?, tally),
        Output::new(functions, functions_text, note),
        Output::new(all, all_text, "the headers of the SDK"),
    ])
}

const TYPES: &[&str] = &[
    "The library looks its own handles up at each call: a handle that is null, closed or invalid makes the call fail, \
     and does no other harm. All others are handles of a plugin, which the library passes on unchanged.",
    "Each handle is a pointer to a distinct type, so that a compiler can tell them apart.",
];

fn file_comment(file: &str, brief: &str, paragraphs: &[&str]) -> Vec<String> {
    let mut lines = vec![format!("@file {file}"), format!("@brief {brief}")];
    for paragraph in paragraphs {
        lines.push(String::new());
        lines.extend(wrap(paragraph, WIDTH));
    }
    lines
}

fn functions_comment(sdk_api: SdkApi, file: &str) -> Vec<String> {
    let status = |name: &str| format!("`{}`", sdk_api.status(name));
    let (device, plugin) = (sdk_api.handle("device"), sdk_api.handle(PLUGIN));
    let paragraphs = [
        format!(
            "One function for each of the {} of {}. Each calls the plugin, or the fallback of a function that the plugin \
             lacks; the choice is made when the plugin is loaded.",
            count(sdk_api.interface.functions.len(), "function"),
            uncapital(&sdk_api.interface.title),
        ),
        format!(
            "A function for a device takes a `{device}`, and makes that device the current one of the calling thread; all \
             others take a `{plugin}`."
        ),
        format!(
            "Besides the listed statuses, each function returns {} for a `{device}` or a `{plugin}` that is null, closed \
             or invalid, {} for an argument that is out of range or must not be null, and {} if a layer refused the \
             call. Outputs are written only on {}. The thread's last error has the details of a failure.",
            status("invalid_handle"),
            status("invalid_argument"),
            status("refused"),
            status("success"),
        ),
        "Sizes are in bytes. The library does not take ownership of arguments.".to_owned(),
    ];
    let paragraphs: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
    file_comment(file, &sentence(&format!("{} as functions", sdk_api.interface.title)), &paragraphs)
}

/// Returns the statuses and the library's own handles, followed by the types of the spec.
fn types_of(sdk_api: SdkApi) -> Vec<TypeItem> {
    let builder = Builder {
        spec: sdk_api.spec,
        interface: sdk_api.interface,
        names: Names::new(sdk_api.spec, sdk_api.interface),
        comments: Comments::sdk(sdk_api),
        newest: Speller::new(sdk_api.spec, sdk_api.interface, sdk_api.interface.newest(), Dialect::Sdk),
        sdk_api: Some(sdk_api),
    };
    let statuses = sdk_api.statuses().into_iter().map(|status| ValueItem {
        comment: wrap(&sentence(&sdk_api.meaning(&status)), WIDTH),
        name: sdk_api.status(&status.name),
        value: status.value,
    });
    let status = TypeItem::Enum {
        form: "named",
        representation: Representation::Int.c_name(),
        comment: wrap(
            "@brief The result of a call: a status of the device or, from 16 on, of the library.",
            WIDTH,
        ),
        name: sdk_api.handle("status"),
        values: statuses.collect(),
        size: 4,
    };
    let own = [
        ("device", "An open device."),
        (PLUGIN, "A loaded plugin, or the built-in one."),
        ("buffer", "Memory of a device, with its length."),
    ];
    let own = own.map(|(name, brief)| {
        let name = sdk_api.handle(name);
        TypeItem::Plain {
            comment: vec![format!("@brief {brief}")],
            declaration: format!("typedef struct {name}_st* {name};"),
        }
    });
    let needed = sdk_api.types();
    let described = builder
        .types_in_order()
        .into_iter()
        .map(|index| &sdk_api.interface.types[index])
        .filter(|ty| needed.iter().any(|needed| std::ptr::eq(*needed, *ty)))
        .map(|ty| builder.ty(ty));
    std::iter::once(status).chain(own).chain(described).collect()
}

fn sections(sdk_api: SdkApi) -> Vec<Value> {
    let comments = Comments::sdk(sdk_api);
    let declared = |function: &Function| {
        (comments.sdk_function(sdk_api, function), format!("{};", prototype(sdk_api, function)))
    };
    let section = |(index, group): (usize, &Group)| {
        let comment = comments.finish(vec![format!("{}: {}", group.title, sentence(&group.summary))]);
        section(comment, sdk_api.interface.in_group(GroupId(index)).map(declared))
    };
    sdk_api.interface.groups.iter().enumerate().filter_map(section).collect()
}

impl Comments<'_> {
    /// Returns the comment of a function of the SDK.
    fn sdk_function(self, sdk_api: SdkApi, function: &Function) -> Vec<String> {
        let mut lines = self.described(&sentence(&function.summary), &function.doc.callers());
        lines.push(String::new());
        if sdk_api.called_with(function) == Handle::Plugin {
            lines.push(format!("@param[in] {PLUGIN} The plugin."));
        }
        lines.extend(function.params.iter().flat_map(|param| self.param(param, &function.params)));
        let answer = sdk_api.answer(function, Prose::callers);
        lines.extend(answer.iter().flat_map(|text| tagged("@param[out]", &format!("{ANSWER} {text}"))));
        lines.extend(self.sdk_result(sdk_api, function));
        for note in sdk_api.notes(function, self.describer, "The caller waits for the device.") {
            lines.extend(tagged("@note", &self.translate(&note)));
        }
        lines.push("@par Threads".to_owned());
        lines.extend(
            wrap(&sdk_api.threads(function), WIDTH - 4).into_iter().map(|line| format!("    {line}")),
        );
        let see = function.see.iter().map(|id| sdk_api.function(sdk_api.interface.function(*id)));
        let see: Vec<String> = see.collect();
        if !see.is_empty() {
            lines.extend(tagged("@see", &see.join(", ")));
        }
        self.finish(lines)
    }

    fn sdk_result(self, sdk_api: SdkApi, function: &Function) -> Vec<String> {
        let success =
            (!sdk_api.manages(function)).then(|| (sdk_api.status("success"), "on success".to_owned()));
        let mut cases: Vec<(String, String)> = success.into_iter().collect();
        for (status, when) in sdk_api.cases(function) {
            let (status, when) = (sdk_api.status(&status), collapse(&when.callers()));
            match cases.first_mut().filter(|(success, _)| *success == status) {
                _ if when.is_empty() => {}
                Some(success) => success.1 = when,
                None => cases.push((status, when)),
            }
        }
        let tagged_case =
            |(status, when): &(String, String)| tagged("@retval", &format!("{status} {}", sentence(when)));
        cases.iter().flat_map(tagged_case).collect()
    }
}

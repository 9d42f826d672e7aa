//! Drafts a spec from a header. What is guessed has a comment that says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use heck::ToSnakeCase;

use super::comment::Comment;
use super::guess::{self, Guessed, Kind, Types};
use super::header::{CType, CallbackDecl, EnumDecl, FunctionDecl, Header, ParamDecl, StructDecl};
use super::names::{Names, common_prefix};
use crate::model::{HandleForm, Interface, Spec, TypeKind};

/// A drafted spec: its files, by their paths.
#[derive(Debug)]
pub struct Draft {
    /// Paths and texts.
    pub files: Vec<(String, String)>,
    /// Number of functions.
    pub functions: usize,
    /// Number of types.
    pub types: usize,
    /// Number of guesses.
    pub guesses: usize,
}

/// The types of a header, with their names in the spec.
#[derive(Debug)]
pub struct KnownTypes {
    by_c_name: BTreeMap<String, (Kind, String)>,
    /// Tags of structs that only names of pointers lead to.
    tags: BTreeMap<String, String>,
}

impl Types for KnownTypes {
    fn kind(&self, c_name: &str) -> Option<(Kind, &str)> {
        self.by_c_name.get(c_name).map(|(kind, name)| (*kind, name.as_str()))
    }
}

impl KnownTypes {
    /// Names the types of a header.
    pub fn of(header: &Header, prefix: &str) -> Self {
        let mut names = Names::default();
        let mut known = KnownTypes { by_c_name: BTreeMap::new(), tags: BTreeMap::new() };
        let opaque = opaque_structs(header);
        let mut add = |c_name: &str, kind, known: &mut Self| {
            let name = names.pascal(c_name, prefix);
            known.by_c_name.entry(c_name.to_owned()).or_insert((kind, name));
        };
        for it in header.enums.iter().filter(|it| is_describable(it)) {
            add(&it.name, Kind::Enum, &mut known);
        }
        for it in &header.structs {
            let kind = if opaque.contains(it.name.as_str()) { Kind::Object } else { Kind::Struct };
            add(&it.name, kind, &mut known);
        }
        for it in &header.callbacks {
            add(&it.name, Kind::Callback, &mut known);
        }
        let pointed: BTreeSet<&str> =
            header.handles.iter().filter_map(|handle| handle.pointer_to.as_deref()).collect();
        for it in &header.handles {
            match &it.pointer_to {
                Some(tag) if header.is_first(it) => {
                    add(&it.name, Kind::Handle, &mut known);
                    known.tags.insert(it.name.clone(), tag.clone());
                }
                Some(_) => {}
                None if pointed.contains(it.name.as_str()) => {}
                None => add(&it.name, Kind::Object, &mut known),
            }
        }
        // Further names of a pointer to the same struct, and of other types.
        for it in header.handles.iter().filter(|it| !header.is_first(it)) {
            let same = header
                .handles
                .iter()
                .find(|first| first.pointer_to == it.pointer_to && header.is_first(first));
            let kind = if it.is_const { Kind::ConstHandle } else { Kind::Handle };
            if let Some((_, name)) = same.and_then(|same| known.by_c_name.get(&same.name).cloned()) {
                known.by_c_name.entry(it.name.clone()).or_insert((kind, name));
            }
        }
        for (alias, listed) in &header.aliases {
            if let Some(known_as) = known.by_c_name.get(listed).cloned() {
                known.by_c_name.entry(alias.clone()).or_insert(known_as);
            }
        }
        known
    }
}

impl KnownTypes {
    /// Returns true if a handle has this name, in `snake_case`.
    fn is_handle(&self, name: &str) -> bool {
        let mut handles =
            self.by_c_name.values().filter(|(kind, _)| matches!(kind, Kind::Object | Kind::Handle));
        handles.any(|(_, handle)| handle.to_snake_case() == name)
    }
}

impl KnownTypes {
    /// Names the types of a header as a spec does; those that it lacks get names of their own.
    pub fn of_spec(spec: &Spec, interface: &Interface, header: &Header) -> Self {
        let mut known = KnownTypes::of(header, &interface.prefix);
        let used = interface.uses.iter().flat_map(|id| &spec.interfaces[id.0].types);
        for ty in used.chain(&interface.types) {
            let kind = match &ty.kind {
                TypeKind::Handle { form: HandleForm::Pointee(_), .. } => Kind::Object,
                TypeKind::Handle { .. } => Kind::Handle,
                TypeKind::Id { tag, .. } => {
                    known.by_c_name.insert(tag.clone(), (Kind::Id, ty.name.value.clone()));
                    Kind::Id
                }
                TypeKind::Enum { .. } => Kind::Enum,
                TypeKind::Struct { .. } => Kind::Struct,
                TypeKind::Callback { .. } => Kind::Callback,
            };
            known.by_c_name.insert(ty.c_name.clone(), (kind, ty.name.value.clone()));
        }
        known
    }
}

/// Returns true if the spec language has room for the values of an enum.
fn is_describable(it: &EnumDecl) -> bool {
    let fits = |value: &i64| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(value);
    !it.values.is_empty() && it.values.iter().all(|(_, value, _)| fits(value))
}

/// Returns the structs whose members cannot be described: by themselves, or because they contain such a struct.
fn opaque_structs(header: &Header) -> BTreeSet<&str> {
    let mut opaque: BTreeSet<&str> = header
        .structs
        .iter()
        .filter(|it| it.is_opaque || it.fields.is_empty())
        .map(|it| it.name.as_str())
        .collect();
    loop {
        let contains = |it: &&StructDecl| {
            it.fields.iter().any(|field| match &field.ty {
                CType::Named(name) => opaque.contains(name.as_str()),
                CType::Array { element, .. } => {
                    matches!(&**element, CType::Named(name) if opaque.contains(name.as_str()))
                }
                _ => false,
            })
        };
        let more: Vec<&str> = header
            .structs
            .iter()
            .filter(|it| !opaque.contains(it.name.as_str()))
            .filter(contains)
            .map(|it| it.name.as_str())
            .collect();
        if more.is_empty() {
            return opaque;
        }
        opaque.extend(more);
    }
}

/// Drafts a spec with one interface of a name, whose header has this name.
pub fn draft(header: &Header, name: &str, header_name: &str, prefix: Option<&str>) -> Draft {
    let functions = header.functions.iter().map(|function| function.name.as_str());
    let prefix = prefix.map_or_else(|| common_prefix(functions), str::to_owned);
    let types = KnownTypes::of(header, &prefix);
    let mut writer = Writer { types: &types, prefix: &prefix, text: String::new(), guesses: 0 };
    let status = writer.status(header);
    let (interface, group) =
        (writer.interface(name, header_name, &status), writer.group(header, name, &status));
    let spec = format!(
        "project: {name}\nsummary: The functions of {header_name}.\ninterfaces: [{name}]\noutputs:\n  header: include\n"
    );
    // A type may have further names in C.
    let names: BTreeSet<&str> = types.by_c_name.values().map(|(_, name)| name.as_str()).collect();
    let files = vec![
        ("spec.yaml".to_owned(), spec),
        (format!("{name}/interface.yaml"), interface),
        (format!("{name}/functions.yaml"), group),
    ];
    Draft { files, functions: header.functions.len(), types: names.len(), guesses: writer.guesses }
}

/// Drafts the entry of one function for an interface; `keys` are added to it.
pub fn function_entry(
    types: &KnownTypes,
    (spec, interface): (&Spec, &Interface),
    function: &FunctionDecl,
    keys: &str,
) -> String {
    let prefix = interface.prefix.as_str();
    let mut writer = Writer { types, prefix, text: String::new(), guesses: 0 };
    let name = Names::default().snake(&function.name, prefix);
    let status = interface.status.map(|id| spec.ty(id));
    let status = status.map(|ty| Status { c_name: ty.c_name.clone(), name: ty.name.value.clone() });
    writer.function(function, &name, &status.unwrap_or_default(), &Lives::default(), keys);
    writer.text
}

/// The enum that functions return as their status.
#[derive(Debug, Default)]
struct Status {
    /// Its name in C; empty if the header has none.
    c_name: String,
    /// Its name in the spec.
    name: String,
}

/// Who makes and ends the objects of each type, by their names in the spec.
#[derive(Debug, Default)]
struct Lives {
    both: BTreeSet<String>,
}

struct Writer<'a> {
    types: &'a KnownTypes,
    prefix: &'a str,
    text: String,
    guesses: usize,
}

/// Returns a text in quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Picks the enum of statuses: one whose name says so, and that has success and a failure.
    fn status(&self, header: &Header) -> Status {
        let words = ["status", "error", "result", "errcode", "retcode"];
        let is_status = |it: &&EnumDecl| {
            let name = it.name.to_lowercase();
            let has = |wanted: &dyn Fn(i64) -> bool| it.values.iter().any(|(_, value, _)| wanted(*value));
            words.iter().any(|word| name.contains(word))
                && has(&|value| value == 0)
                && has(&|value| value != 0)
        };
        let found = header.enums.iter().filter(|it| is_describable(it)).find(is_status);
        let found = found.and_then(|it| Some((it, self.types.kind(&it.name)?)));
        match found {
            Some((it, (_, name))) => Status { c_name: it.name.clone(), name: name.to_owned() },
            None => Status { c_name: String::new(), name: "Status".to_owned() },
        }
    }

    fn interface(&mut self, name: &str, header_name: &str, status: &Status) -> String {
        let title = quoted(header_name);
        let guess = if status.c_name.is_empty() {
            "   # guess: the header has no enum for statuses"
        } else {
            "   # guess: by its name"
        };
        format!(
            "interface: {name}\nkind: export\ntitle: {title}\nsummary: {}\ntrait: {}\nheader: {title}\n\
             status: {}{guess}\ngroups: [functions]\n",
            quoted(&format!("The functions of {header_name}.")),
            heck::AsPascalCase(name),
            status.name,
        )
    }

    fn group(&mut self, header: &Header, name: &str, status: &Status) -> String {
        self.text = format!(
            "group: functions\ntitle: {}\nsummary: {}\n\ntypes:\n",
            quoted(name),
            quoted(&format!("Types and functions of {name}."))
        );
        if status.c_name.is_empty() {
            let c_name = name.to_uppercase();
            self.line("  # guess: the header has no enum for statuses; name those that its functions return");
            self.line(&format!("  - name: Status\n    kind: enum\n    c: {c_name}_Status"));
            self.line("    summary: \"The outcome of a call.\"\n    values:");
            self.line(&format!(
                "      - {{ name: ok, c: {c_name}_STATUS_OK, value: 0, summary: \"Success.\" }}"
            ));
            self.line(&format!(
                "      - {{ name: failed, c: {c_name}_STATUS_FAILED, value: -1, means: internal, summary: \"A failure.\" }}"
            ));
            self.guesses += 1;
        }
        for it in header.enums.iter().filter(|it| is_describable(it)) {
            self.enum_(it);
        }
        for it in &header.structs {
            match self.types.kind(&it.name) {
                Some((Kind::Struct, name)) => self.struct_(it, name),
                Some((Kind::Object, name)) => self.handle(&it.name, name, &it.comment),
                _ => {}
            }
        }
        for it in &header.callbacks {
            self.callback(it);
        }
        for it in &header.handles {
            if let Some((Kind::Object | Kind::Handle, name)) =
                self.types.kind(&it.name).filter(|_| header.is_first(it))
            {
                let name = match header.const_name(it) {
                    Some(const_name) => format!("{name}, c_const: {const_name}"),
                    None => name.to_owned(),
                };
                self.handle(&it.name, &name, &it.comment);
            }
        }
        self.line("\nfunctions:");
        let lives = self.lives(header);
        let mut names = Names::default();
        for function in &header.functions {
            let name = names.snake(&function.name, self.prefix);
            self.function(function, &name, status, &lives, "");
        }
        std::mem::take(&mut self.text)
    }

    fn enum_(&mut self, it: &EnumDecl) {
        let Some((_, name)) = self.types.kind(&it.name) else { return };
        let summary = Comment::of(&it.comment).summary(&format!("The enum {}.", it.name));
        self.line(&format!(
            "  - name: {name}\n    kind: enum\n    c: {}\n    summary: {}",
            it.name,
            quoted(&summary)
        ));
        self.line("    values:");
        let prefix = common_prefix(it.values.iter().map(|(name, ..)| name.as_str()));
        let (mut names, mut seen) = (Names::default(), BTreeSet::new());
        for (c_name, value, comment) in &it.values {
            let name = names.snake(c_name, &prefix);
            let alias = if seen.insert(*value) { "" } else { ", alias: true" };
            let summary = quoted(&Comment::of(comment).summary(&format!("The value {c_name}.")));
            self.line(&format!(
                "      - {{ name: {}, c: {c_name}, value: {value}{alias}, summary: {summary} }}",
                quoted(&name)
            ));
        }
    }

    fn struct_(&mut self, it: &StructDecl, name: &str) {
        let summary = Comment::of(&it.comment).summary(&format!("The struct {}.", it.name));
        self.line(&format!(
            "  - name: {name}\n    kind: struct\n    c: {}\n    summary: {}",
            it.name,
            quoted(&summary)
        ));
        self.line("    fields:");
        let mut names = Names::default();
        for field in &it.fields {
            let name = names.snake(&field.name, "");
            let mut guessed = guess::value(self.types, &field.ty);
            if name != field.name {
                guessed.keys.push(("c", field.name.clone()));
            }
            let doc = Comment::of(&field.comment).summary("Not described in the header.");
            self.entry("      ", &name, guessed, &doc);
        }
    }

    fn callback(&mut self, it: &CallbackDecl) {
        let Some((_, name)) = self.types.kind(&it.name) else { return };
        let summary = Comment::of(&it.comment).summary(&format!("The callback {}.", it.name));
        self.line(&format!(
            "  - name: {name}\n    kind: callback\n    c: {}\n    summary: {}",
            it.name,
            quoted(&summary)
        ));
        if !it.params.is_empty() {
            self.line("    params:");
        }
        let mut names = Names::default();
        for (index, param) in it.params.iter().enumerate() {
            let name = param_name(&mut names, param, index);
            let guessed = guess::value(self.types, &param.ty);
            self.entry("      ", &name, guessed, "Not described in the header.");
        }
        match &it.result {
            CType::Void => self.line("    result: none"),
            ty => {
                let guessed = guess::value(self.types, ty);
                let (keys, mark) = self.keys(guessed, "Not described in the header.");
                self.line(&format!("    result: {keys}{mark}"));
            }
        }
    }

    fn handle(&mut self, c_name: &str, name: &str, comment: &str) {
        let summary = quoted(&Comment::of(comment).summary(&format!("An object of the type {c_name}.")));
        let form = match self.types.tags.get(c_name).map(String::as_str) {
            None => "by: pointer".to_owned(),
            Some("") => String::new(),
            Some(tag) => format!("tag: {tag}"),
        };
        let form = if form.is_empty() { form } else { format!(" {form},") };
        self.line(&format!("  - {{ name: {name}, kind: handle, c: {c_name},{form} summary: {summary} }}"));
    }

    /// Finds the types whose objects one function makes and another one ends.
    fn lives(&self, header: &Header) -> Lives {
        let (mut made, mut ended) = (BTreeSet::new(), BTreeSet::new());
        for function in &header.functions {
            let names: Vec<String> = (0..function.params.len()).map(|index| index.to_string()).collect();
            for guessed in guess::params(self.types, function, &names) {
                let has = |key: &str| guessed.keys.iter().any(|(known, _)| *known == key);
                let Some((_, ty)) = guessed.keys.first() else { continue };
                if has("role") {
                    made.insert(ty.clone());
                }
            }
            ended.extend(self.ended(function).map(|(_, name)| name));
        }
        Lives { both: made.intersection(&ended).cloned().collect() }
    }

    /// Returns the object that a function ends: the index of its first parameter, and the name of its type.
    fn ended(&self, function: &FunctionDecl) -> Option<(usize, String)> {
        let first = function.params.first().filter(|_| guess::ends(function))?;
        let c_name = match &first.ty {
            CType::Named(name) => name,
            CType::Pointer { target, .. } => match &**target {
                CType::Named(name) => name,
                _ => return None,
            },
            _ => return None,
        };
        match self.types.kind(c_name)? {
            (Kind::Object | Kind::Handle, name) => Some((0, name.to_owned())),
            _ => None,
        }
    }

    fn function(&mut self, function: &FunctionDecl, name: &str, status: &Status, lives: &Lives, keys: &str) {
        let comment = Comment::of(&function.comment);
        self.line(&format!("  - name: {name}\n    c: {}", function.name));
        self.text.push_str(keys);
        let summary = comment.summary(&format!("The function {}", function.name));
        self.line(&format!("    summary: {}", quoted(summary.trim_end_matches('.'))));
        self.line(&format!("    doc: {}", quoted(&comment.doc("Not described in the header."))));
        let mut names = Names::default();
        let params: Vec<String> = (function.params.iter().enumerate())
            .map(|(index, param)| param_name(&mut names, param, index))
            .collect();
        if !params.is_empty() {
            self.line("    params:");
        }
        let ended = self.ended(function).filter(|(_, ty)| lives.both.contains(ty));
        let guesses = guess::params(self.types, function, &params);
        for (index, (name, mut guessed)) in params.iter().zip(guesses).enumerate() {
            // An object that no function ends is lent; memory has no other role.
            let ty = guessed.keys.first().map(|(_, ty)| ty.clone()).unwrap_or_default();
            if ty != "pointer" && !lives.both.contains(&ty) {
                for (key, value) in guessed.keys.iter_mut().filter(|(key, _)| *key == "role") {
                    (*key, *value) = ("lent", "true".to_owned());
                }
            }
            if ended.as_ref().is_some_and(|(first, _)| *first == index) {
                guessed.keys.push(("role", "destroys".to_owned()));
                guessed.guesses.push("that the object ends, by the name of the function");
            }
            // A parameter with the name of a handle is of its type.
            let is_misnamed = self.types.is_handle(name) && ty.to_snake_case() != *name;
            let name = if is_misnamed { format!("{name}_argument") } else { name.clone() };
            let doc = comment.param(&function.params[index].name).unwrap_or("Not described in the header.");
            self.entry("      ", &name, guessed, doc);
        }
        match &function.result {
            CType::Void => self.line("    result: none"),
            CType::Named(name) if !status.c_name.is_empty() && *name == status.c_name => {}
            ty => {
                let guessed = guess::value(self.types, ty);
                let doc = comment.returns().unwrap_or("Not described in the header.");
                let (keys, mark) = self.keys(guessed, doc);
                self.line(&format!("    result: {keys}{mark}"));
            }
        }
        if function.is_variadic {
            self.line("    variadic: true");
        }
    }

    /// Writes an entry on one line, with a comment for its guesses.
    fn entry(&mut self, indent: &str, name: &str, guessed: Guessed, doc: &str) {
        let (keys, mark) = self.keys(guessed, doc);
        let name = if name.len() == 1 || ["null", "true", "false"].contains(&name) {
            quoted(name)
        } else {
            name.to_owned()
        };
        self.line(&format!("{indent}{name}: {keys}{mark}"));
    }

    fn keys(&mut self, guessed: Guessed, doc: &str) -> (String, String) {
        let mut text = String::from("{ ");
        for (key, value) in &guessed.keys {
            let value = if value.contains(' ') { quoted(value) } else { value.clone() };
            let _ = write!(text, "{key}: {value}, ");
        }
        let _ = write!(text, "doc: {} }}", quoted(doc));
        self.guesses += guessed.guesses.len();
        let mark = match guessed.guesses.as_slice() {
            [] => String::new(),
            guesses => format!("   # guess: {}", guesses.join("; ")),
        };
        (text, mark)
    }
}

fn param_name(names: &mut Names, param: &ParamDecl, index: usize) -> String {
    let name = if param.name.is_empty() { format!("argument_{index}") } else { param.name.clone() };
    names.snake(&name, "")
}

//! Drafts a spec from a header. What is guessed has a comment that says so.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use heck::ToSnakeCase;

use super::comment::Comment;
use super::guess::{self, Guessed};
use super::header::{CType, CallbackDecl, EnumDecl, FunctionDecl, Header, ParamDecl, StructDecl};
use super::names::{Names, common_prefix};
use super::table::TableDecl;
use super::types::{Kind, KnownTypes, is_describable};
use crate::model::{Interface, Spec};

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

/// Drafts a spec with an interface of a name, whose header has this name. If the header has a table, the interface is that of
/// the table, and another one has the functions that the header declares.
pub fn draft(header: &Header, name: &str, header_name: &str, prefix: Option<&str>) -> Draft {
    let functions = header.functions.iter().map(|function| function.name.as_str());
    let prefix = prefix.map_or_else(|| common_prefix(functions), str::to_owned);
    let table = TableDecl::of(header);
    let mut types = KnownTypes::of(header, &prefix);
    if let Some(table) = &table {
        let of_table = types.by_c_name.get(table.name).cloned();
        types.by_c_name.retain(|_, known| Some(&*known) != of_table.as_ref());
    }
    let mut writer = Writer { types: &types, prefix: &prefix, text: String::new(), guesses: 0 };
    let status = writer.status(header);
    let entry = table.as_ref().and_then(|table| table.entry);
    let exported: Vec<&FunctionDecl> =
        header.functions.iter().filter(|function| Some(function.name.as_str()) != entry).collect();
    let mut names = vec![name.to_owned()];
    let mut files = Vec::new();
    let of_types = writer.types(header, name, &status);
    let lives = writer.lives(&exported);
    match &table {
        None => {
            files.push((format!("{name}/interface.yaml"), writer.interface(name, header_name, &status, "")));
            let functions = writer.functions(&exported, &status, &lives, "");
            files.push((format!("{name}/functions.yaml"), format!("{of_types}{functions}")));
        }
        Some(table) => {
            files.push((format!("{name}/interface.yaml"), writer.table(name, header_name, &status, table)));
            let members: Vec<&FunctionDecl> = table.functions().collect();
            let (text, prefix) = (writer.functions_of_table(&members, &status), of_types);
            files.push((format!("{name}/functions.yaml"), format!("{prefix}{text}")));
            if !exported.is_empty() {
                let other = format!("{name}_exports");
                let uses = format!("uses: [{name}]\n");
                let interface = writer.interface(&other, header_name, &status, &uses);
                files.push((format!("{other}/interface.yaml"), interface));
                let functions = writer.functions(&exported, &status, &lives, "");
                let text = format!("{}{functions}", group_head(&other));
                files.push((format!("{other}/functions.yaml"), text));
                names.push(other);
            }
        }
    }
    let spec = format!(
        "project: {name}\nsummary: The functions of {header_name}.\ninterfaces: [{}]\noutputs:\n  header: include\n",
        names.join(", ")
    );
    files.insert(0, ("spec.yaml".to_owned(), spec));
    // A type may have further names in C.
    let type_names: BTreeSet<&str> = types.by_c_name.values().map(|(_, name)| name.as_str()).collect();
    let functions = exported.len() + table.as_ref().map_or(0, |table| table.functions().count());
    Draft { files, functions, types: type_names.len(), guesses: writer.guesses }
}

/// Returns the first lines of the file of a group.
fn group_head(name: &str) -> String {
    let summary = quoted(&format!("Types and functions of {name}."));
    format!("group: functions\ntitle: {}\nsummary: {summary}\n", quoted(name))
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

    fn interface(&mut self, name: &str, header_name: &str, status: &Status, keys: &str) -> String {
        let head = self.interface_head(name, header_name, status, "export");
        format!("{head}{keys}groups: [functions]\n")
    }

    fn interface_head(&mut self, name: &str, header_name: &str, status: &Status, kind: &str) -> String {
        let title = quoted(header_name);
        let guess = if status.c_name.is_empty() {
            "   # guess: the header has no enum for statuses"
        } else {
            "   # guess: by its name"
        };
        let mut rust_name = heck::AsPascalCase(name).to_string();
        if self.types.by_c_name.values().any(|(_, ty)| *ty == rust_name) {
            rust_name.push_str("Functions");
        }
        format!(
            "interface: {name}\nkind: {kind}\ntitle: {title}\nsummary: {}\ntrait: {}\nheader: {}\nstatus: {}{guess}\n",
            quoted(&format!("The functions of {header_name}.")),
            rust_name,
            quoted(&format!("{name}.h")),
            status.name,
        )
    }

    /// Writes the interface of a table.
    fn table(&mut self, name: &str, header_name: &str, status: &Status, table: &TableDecl<'_>) -> String {
        let head = self.interface_head(name, header_name, status, "table");
        self.text = format!(
            "{head}groups: [functions]\n\ntable:\n  struct: {}\n  size_field: {}\n  blocks:\n",
            table.name, table.size_field
        );
        let mut names = Names::default();
        for (number, block) in table.blocks.iter().enumerate() {
            self.line(&format!("    - block: part_{number}"));
            if !block.fields.is_empty() {
                self.line("      fields:");
            }
            for field in &block.fields {
                self.field("        ", &mut Names::default(), field);
            }
            let slots: Vec<String> =
                block.functions.iter().map(|function| names.snake(&function.name, "")).collect();
            self.line(&format!("      slots: [{}]", slots.join(", ")));
            if let Some((name, count)) = block.reserved {
                self.line(&format!("      reserved: {{ name: {name}, count: {count} }}"));
            }
        }
        if let Some(entry) = table.entry {
            self.line(&format!("\nplugin:\n  entry: {entry}\n  owns: table\n  doc: Returns the table."));
        }
        std::mem::take(&mut self.text)
    }

    /// Writes the functions of a table.
    fn functions_of_table(&mut self, functions: &[&FunctionDecl], status: &Status) -> String {
        let keys = "    required: use   # guess: the header does not say which ones may be null\n    \
                    when_null: The host calls it all the same.\n";
        self.guesses += functions.len();
        let lives = self.lives(functions);
        let prefix = std::mem::take(&mut self.prefix);
        let text = self.functions(functions, status, &lives, keys);
        self.prefix = prefix;
        text
    }

    /// Writes the types of the header.
    fn types(&mut self, header: &Header, name: &str, status: &Status) -> String {
        self.text = format!("{}\ntypes:\n", group_head(name));
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
        std::mem::take(&mut self.text)
    }

    /// Writes functions; `keys` are added to each.
    fn functions(
        &mut self,
        functions: &[&FunctionDecl],
        status: &Status,
        lives: &Lives,
        keys: &str,
    ) -> String {
        self.line("\nfunctions:");
        let mut names = Names::default();
        for function in functions {
            let name = names.snake(&function.name, self.prefix);
            self.function(function, &name, status, lives, keys);
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
            self.field("      ", &mut names, field);
        }
    }

    fn field(&mut self, indent: &str, names: &mut Names, field: &ParamDecl) {
        let name = names.snake(&field.name, "");
        let mut guessed = guess::value(self.types, &field.ty);
        if name != field.name {
            guessed.keys.push(("c", field.name.clone()));
        }
        let doc = Comment::of(&field.comment).summary("Not described in the header.");
        self.entry(indent, &name, guessed, &doc);
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
            let name = self.told_apart(&name, guessed.ty());
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
    fn lives(&self, functions: &[&FunctionDecl]) -> Lives {
        let (mut made, mut ended) = (BTreeSet::new(), BTreeSet::new());
        for function in functions {
            let names: Vec<String> = (0..function.params.len()).map(|index| index.to_string()).collect();
            for guessed in guess::params(self.types, function, &names) {
                let has = |key: &str| guessed.keys.iter().any(|(known, _)| *known == key);
                if has("role") {
                    made.insert(guessed.ty().to_owned());
                }
            }
            ended.extend(self.ended(function).map(|(_, name)| name));
        }
        Lives { both: made.intersection(&ended).cloned().collect() }
    }

    /// Returns the object that a function ends: the index of its parameter, and the name of its type. It is the one that the
    /// name of the function contains, else the first one.
    fn ended(&self, function: &FunctionDecl) -> Option<(usize, String)> {
        if !guess::ends(function) {
            return None;
        }
        let object = |(index, param): (usize, &ParamDecl)| {
            let ty = param.ty.target().map_or(&param.ty, |(target, _)| target);
            let CType::Named(c_name) = ty else { return None };
            match self.types.kind(c_name)? {
                (Kind::Object | Kind::Handle, name) => Some((index, name.to_owned())),
                _ => None,
            }
        };
        let objects: Vec<(usize, String)> = function.params.iter().enumerate().filter_map(object).collect();
        let is_named = |(index, _): &&(usize, String)| {
            let name = &function.params[*index].name;
            !name.is_empty() && function.name.contains(name.as_str())
        };
        objects.iter().find(is_named).or_else(|| objects.first()).cloned()
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
            // An object that no function ends is lent, if it is passed by pointer; memory has no other role.
            let ty = guessed.ty().to_owned();
            if ty != "pointer" && !lives.both.contains(&ty) {
                let role = guessed.keys.iter().position(|(key, _)| *key == "role");
                match role {
                    Some(role) if self.types.is_by_pointer(&ty) => {
                        guessed.keys[role] = ("lent", "true".to_owned());
                    }
                    Some(role) => {
                        guessed.keys.remove(role);
                    }
                    None => {}
                }
            }
            if ended.as_ref().is_some_and(|(first, _)| *first == index) {
                // A function that takes a pointer to a handle reads the handle.
                for (_, value) in
                    guessed.keys.iter_mut().filter(|(key, value)| *key == "dir" && value == "out")
                {
                    "inout".clone_into(value);
                }
                guessed.keys.push(("role", "destroys".to_owned()));
                guessed.guesses.push("that the object ends, by the name of the function");
            }
            let name = self.told_apart(name, &ty);
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

    /// Returns another name for a parameter that has the name of a handle of another type.
    fn told_apart(&self, name: &str, ty: &str) -> String {
        let is_misnamed = self.types.is_handle(name) && ty.to_snake_case() != name;
        if is_misnamed { format!("{name}_argument") } else { name.to_owned() }
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

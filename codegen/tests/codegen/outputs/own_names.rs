//! A spec may use each name that the generated code uses itself.
//!
//! The names of a first spec's outputs become functions, parameters, values and types of a second one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::emit::{Inputs, emit};
use codegen::out::{FileMap, Target};

use crate::specs::{compile, load, write};
use crate::texts::Texts;
use crate::{data, tools};

const INTERFACE: &str = "interface: gadget
kind: export
title: Gadgets
summary: A library that drives gadgets.
trait: Gadget
header: gadget/gadget.h
status: GadgetStatus
prefix: gadget
groups: [core]
python: { package: gadget, conventions: acl, modules: { rt: { summary: The runtime. } } }
";

const SPEC: &str = "project: gadgets
summary: Gadgets of a workshop.
interfaces: [gadget]
outputs: { header: include, python: py }
";

const TYPES: &str = "group: core
title: Core
summary: The functions of a gadget.
types:
  - name: GadgetStatus
    kind: enum
    c: gadgetStatus
    as: int
    summary: Result of a call.
    values:
      - { name: ok, c: GADGET_OK, value: 0, summary: Success. }
      - { name: broken, c: GADGET_BROKEN, value: 3, summary: It failed. }
";

/// Returns the entry of a struct.
fn structure(name: &str) -> String {
    format!(
        "  - {{ name: {name}, kind: struct, c: gadget{name}, summary: A struct., \
         fields: {{ first: {{ type: i32, doc: A number. }} }} }}\n"
    )
}

/// Returns a function with the name, and one whose parameters have the name, in each way of passing them.
fn functions(name: &str, structure: &str) -> String {
    let function = |name: &str, params: &str, args: &str| {
        format!(
            "  - name: \"{name}\"\n    c: gadget_{name}\n    summary: Does something\n    doc: Does something.\n    \
             params: {{ {params} }}\n    python: {{ module: rt, name: \"{name}\", {args} }}\n"
        )
    };
    let number = "type: u32, doc: A number.";
    let first = function(
        name,
        &format!("in_{name}: {{ {number} }}, \"{name}\": {{ {number}, dir: out }}"),
        &format!("args: [in_{name}], returns: [\"{name}\"]"),
    );
    let params = format!(
        "\"{name}\": {{ type: string, doc: A text. }}, list_{name}: {{ {number}, count: size_{name} }}, \
         size_{name}: {{ type: size, doc: A length. }}, \
         struct_{name}: {{ type: {structure}, by: pointer, doc: A struct. }}, \
         room_{name}: {{ {number}, dir: out, count: 2 }}, made_{name}: {{ type: {structure}, dir: out, doc: A struct. }}, \
         out_{name}: {{ {number}, dir: out }}"
    );
    let args = format!(
        "args: [\"{name}\", list_{name}, struct_{name}], returns: [room_{name}, made_{name}, out_{name}]"
    );
    first + &function(&format!("take_{name}"), &params, &args)
}

/// Returns the outputs of a spec with these functions and structs.
fn outputs(names: &[String], classes: &[String], folder: &Path) -> (FileMap, Target) {
    let mut text = TYPES.to_owned();
    text.extend(classes.iter().map(|name| structure(name)));
    text.push_str("functions:\n");
    let structs = classes.iter().cycle();
    text.extend(names.iter().zip(structs).map(|(name, structure)| functions(name, structure)));
    let texts = [("spec.yaml", SPEC), ("gadget/interface.yaml", INTERFACE), ("gadget/core.yaml", &text)];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let loaded = load(&Texts(texts.into_iter().collect(), Default::default()));
    let inputs = Inputs { loaded: &loaded, folder: "spec", summary: None, exports: None, last_run: None };
    let files = emit(&inputs).expect("the outputs can be emitted");
    let target = Target::new(folder, &data("export/spec"), &loaded.spec.project, &loaded.spec.command);
    (files, target)
}

/// Writes the outputs, and returns all identifiers in them.
fn written(names: &[String], classes: &[String], folder: &Path) -> BTreeSet<String> {
    let (files, target) = outputs(names, classes, folder);
    write(&files, &target, folder);
    let outputs = ["include/gadget/gadget.h", "py/gadget/rt.py", "py/gadget/rt.pyi", "py/gadget/_structs.py"];
    let texts = outputs.map(|path| std::fs::read_to_string(folder.join(path)).expect("it was written"));
    let texts = texts.concat();
    let words = texts.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns the folder of the outputs of the second spec, and its functions.
fn second(folder: &str) -> (PathBuf, Vec<String>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let words = written(&["start".to_owned()], &["Extent".to_owned()], &folder);
    // Names that Python has without an import.
    let builtins =
        ["bytes", "dict", "float", "globals", "len", "object", "super", "tuple"].map(str::to_owned);
    let words: BTreeSet<String> = words.into_iter().chain(builtins).collect();
    let is_snake = |word: &&String| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && !word.contains(|c: char| c.is_ascii_uppercase())
            && !word.ends_with('_')
            && !["take_", "list_", "size_", "struct_", "room_", "made_", "out_", "in_"]
                .iter()
                .any(|it| word.starts_with(it))
    };
    let is_pascal = |word: &&String| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.contains(|c: char| c.is_ascii_lowercase())
            && !word.contains('_')
            && !word.starts_with("Gadget")
            // A rule refuses it, since the generated Rust has it.
            && *word != "Result"
    };
    // A keyword of Python can be a parameter, and not a function.
    let keywords = "and as assert async await break class continue def del elif else except finally for from global if \
                    import in is lambda nonlocal not or pass raise return try while with yield";
    let is_keyword = |word: &str| keywords.split(' ').any(|keyword| keyword == word);
    let names: Vec<String> =
        words.iter().filter(is_snake).filter(|word| !is_keyword(word)).cloned().collect();
    let classes: Vec<String> = words.iter().filter(is_pascal).cloned().collect();
    assert!(names.len() > 60 && classes.len() > 3, "too few names: {names:?} {classes:?}");
    written(&names, &classes, &folder);
    (folder, names)
}

#[test]
fn own_name_of_a_python_module_is_a_function_and_a_parameter() {
    let (folder, names) = second("own_names_python");
    let python = folder.join("py");
    let copy = |name: &str, to: &Path| {
        std::fs::copy(data("own_names").join(name), to).expect("the folder for tests can be written");
    };
    copy("_call.py", &python.join("gadget/_call.py"));
    let hand = python.join("gadget/_hand");
    std::fs::create_dir_all(&hand).expect("the folder for tests can be written");
    for name in ["__init__", "rt", "gadget"] {
        std::fs::write(hand.join(format!("{name}.py")), "").expect("the folder for tests can be written");
    }
    let list = folder.join("names");
    std::fs::write(&list, names.join(" ")).expect("the folder for tests can be written");
    let output = tools::output(
        Command::new("python3").arg(data("own_names/test.py")).arg(&list).env("PYTHONPATH", &python),
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "done\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn own_name_of_a_header_is_a_parameter() {
    let (folder, _) = second("own_names_c");
    let file = folder.join("program.c");
    std::fs::write(&file, "#include <gadget/gadget.h>\n").expect("the folder for tests can be written");
    for (compiler, flags) in
        [("cc", ["-std=c11", "-Wpedantic", "-Werror"]), ("c++", ["-std=c++17", "-xc++", "-Werror"])]
    {
        if let Err(said) = compile(compiler, &flags, &folder.join("include"), &file) {
            panic!("{compiler}: {said}");
        }
    }
}

//! Checks the exact diagnostics for broken specs, and that no input crashes the generator.
//!
//! Each file in `bad/` holds the files that differ from the good spec in `bad/base/`, each behind a line
//! `# file: path`; `# no file: path` removes a file, and `# file: path in latin-1` or `in utf-16` sets its
//! encoding. The `.txt` file beside it has the expected output.
//! `UPDATE_EXPECT=1` updates these files.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use codegen::diagnostic::{Code, to_json};
use codegen::source::{Files, Folder};
use codegen::{InvalidSpec, load};

use crate::random::{Shift, rounds};
use crate::texts::Texts;
use crate::{data, root};

/// Applies the files of a fixture to the base files.
fn patched(base: &Texts, fixture: &str) -> Texts {
    let mut texts = base.clone();
    let mut current = None;
    let mut encodings = Vec::new();
    for line in fixture.lines() {
        if let Some(file) = line.strip_prefix("# file: ") {
            let (path, encoding) = file.split_once(" in ").unwrap_or((file, "utf-8"));
            texts.0.insert(path.to_owned(), String::new());
            current = Some(path);
            encodings.push((path, encoding));
        } else if let Some(path) = line.strip_prefix("# no file: ") {
            texts.0.remove(path).expect("only what is there can be taken away");
            current = None;
        } else if let Some(text) = current.and_then(|path| texts.0.get_mut(path)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (path, encoding) in encodings.into_iter().filter(|(_, encoding)| *encoding != "utf-8") {
        let bytes = encoded(&texts.0[path], encoding);
        texts.1.insert(path.to_owned(), bytes);
    }
    texts
}

/// Encodes a text in another encoding than UTF-8.
fn encoded(text: &str, encoding: &str) -> Vec<u8> {
    let latin1 = |c: char| u8::try_from(c).expect("the fixture keeps to the characters of Latin-1");
    match encoding {
        "latin-1" => text.chars().map(latin1).collect(),
        "utf-16" => "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
        _ => panic!("no encoding `{encoding}`"),
    }
}

fn here() -> PathBuf {
    data("bad")
}

fn base() -> Texts {
    Texts::of_folder(&here().join("base"))
}

/// Reads the fixtures: their names without the ending, and their texts.
fn fixtures() -> Vec<(String, String)> {
    let names = Folder::new(here()).list("");
    let read = |name: String| {
        let text = Folder::new(here()).read(&name).expect("a listed file can be read");
        (name.trim_end_matches(".yaml").to_owned(), text)
    };
    names.into_iter().map(read).collect()
}

fn mistakes(files: &Texts) -> Option<Box<InvalidSpec>> {
    load(files).err()
}

#[test]
fn the_base_keeps_every_rule() {
    if let Some(mistakes) = mistakes(&base()) {
        panic!("{}", mistakes.render(false));
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let mut marked = base();
    marked.0.values_mut().for_each(|text| text.insert(0, '\u{feff}'));
    if let Some(mistakes) = mistakes(&marked) {
        panic!("{}", mistakes.render(false));
    }
    // Lines and columns are counted without it.
    let path = "kit/kit.yaml";
    let broken = marked.0[path].replace("group: kit", "grup: kit");
    marked.0.insert(path.to_owned(), broken);
    let said = mistakes(&marked).expect("the key is misspelled").render(false);
    assert!(said.contains("kit/kit.yaml:1:1\n"), "{said}");
}

#[test]
fn word_of_yaml_1_1_is_a_name() {
    for word in ["n", "y", "no", "yes", "on", "off"] {
        let mut texts = base();
        let group = format!(
            "group: kit\ntitle: The kit\nsummary: What a kit can do.\ntypes:\n  \
             - {{ name: Mode, kind: enum, c: K_Mode, summary: A mode., values: [{{ name: {word}, c: K_MODE, value: 0, summary: The mode. }}] }}\n\
             functions:\n  - name: {word}\n    c: scale\n    summary: Scales numbers\n    doc: Multiplies each number.\n    \
             params:\n      {word}: {{ type: size, doc: The number of elements. }}\n      \
             numbers: {{ type: f64, count: {word}, doc: The numbers. }}\n  \
             - name: other\n    summary: Does nothing\n    doc: Does nothing.\n    see: [{word}]\n"
        );
        texts.0.insert("kit/kit.yaml".to_owned(), group);
        if let Some(mistakes) = mistakes(&texts) {
            panic!("`{word}`: {}", mistakes.render(false));
        }
    }
}

#[test]
fn each_mistake_is_told_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let base = base();
    let mut wrong = Vec::new();
    for (name, text) in fixtures() {
        let Some(mistakes) = mistakes(&patched(&base, &text)) else {
            wrong.push(format!("{name}: no mistake was found"));
            continue;
        };
        let said = mistakes.render(false);
        let path = here().join(format!("{name}.txt"));
        if update {
            std::fs::write(&path, &said).expect("a snapshot can be written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if said != expected {
            wrong.push(format!("{name}: expected\n{expected}\nfound\n{said}"));
        }
        let code = name.split('-').next().unwrap_or_default().to_uppercase();
        if code.starts_with('E') && !said.contains(&format!("error[{code}]")) {
            wrong.push(format!("{name}: {code} was not found, but\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_has_a_fixture() {
    let snapshots: Vec<String> = fixtures()
        .iter()
        .map(|(name, _)| std::fs::read_to_string(here().join(format!("{name}.txt"))).unwrap_or_default())
        .collect();
    let is_shown = |code: &&Code| snapshots.iter().any(|text| text.contains(&format!("error[{code}]")));
    let untold: Vec<String> = Code::ALL.iter().filter(|code| !is_shown(code)).map(Code::to_string).collect();
    assert!(untold.is_empty(), "no fixture breaks {}", untold.join(", "));
}

impl Shift {
    /// Damages a text: replaces, removes or inserts a few bytes, or truncates it.
    fn damage(&mut self, text: &str) -> String {
        const BYTES: &[u8] = b"\0 \t\n#-:,{}[]'\"|>&*!%@?~0a_\xc3\xa9\xf0";
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.below(3) {
            let (place, byte) = (self.below(bytes.len()), BYTES[self.below(BYTES.len())]);
            match self.below(4) {
                0 => bytes.insert(place, byte),
                1 if !bytes.is_empty() => bytes[place] = byte,
                2 if !bytes.is_empty() => drop(bytes.remove(place)),
                _ => bytes.truncate(place),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Replaces a word of a text by another of its words, in one place.
    fn mix_up(&mut self, text: &str) -> String {
        let is_word = |word: &&str| !word.trim().is_empty();
        let words: Vec<&str> = text.split_inclusive([' ', '\n', ',']).filter(is_word).collect();
        let (from, to) = (words[self.below(words.len())], words[self.below(words.len())]);
        let places: Vec<usize> = text.match_indices(from).map(|(place, _)| place).collect();
        let place = places[self.below(places.len())];
        format!("{}{to}{}", &text[..place], &text[place + from.len()..])
    }
}

/// Loads a damaged spec and renders the diagnostics.
fn endure(files: &Texts, what: &str) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Some(mistakes) = mistakes(files) else { return };
        assert!(!mistakes.diagnostics.is_empty(), "a refusal without a reason");
        for diagnostic in &mistakes.diagnostics {
            let spans = diagnostic.related.iter().map(|(span, _)| span).chain([&diagnostic.span]);
            for span in spans {
                let text = &mistakes.sources.file(span.file).text;
                assert!(text.get(span.start..span.end).is_some(), "{span:?} is not a part of the text");
            }
        }
        mistakes.render(false);
        mistakes.render(true);
        to_json(&mistakes.sources, &mistakes.diagnostics);
    }));
    assert!(outcome.is_ok(), "{what}");
}

/// Tries a text without each line, and truncated before each line. Returns the number of attempts.
fn endure_lines(texts: &Texts, path: &str) -> usize {
    let text = &texts.0[path];
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for line in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(line);
        for (what, text) in [("without", without.concat()), ("cut before", lines[..line].concat())] {
            let mut damaged = texts.clone();
            damaged.0.insert(path.to_owned(), text);
            endure(&damaged, &format!("{path} {what} line {}", line + 1));
        }
    }
    2 * lines.len()
}

fn endure_damage(texts: &Texts, path: &str, rounds: Range<usize>, shift: &mut Shift) -> usize {
    for round in rounds.clone() {
        let text = &texts.0[path];
        let text = if round % 2 == 0 { shift.damage(text) } else { shift.mix_up(text) };
        let mut damaged = texts.clone();
        damaged.0.insert(path.to_owned(), text.clone());
        endure(&damaged, &format!("{path} as\n{text}"));
    }
    rounds.len()
}

#[test]
fn a_damaged_base_is_told() {
    let base = base();
    let mut shift = Shift(0x7e57_ab1e_0dd5_0a11);
    let mut tried = 0;
    for path in base.0.keys() {
        tried += endure_lines(&base, path);
        tried += endure_damage(&base, path, 0..100 * rounds(), &mut shift);
    }
    println!("{tried} damaged specs");
}

#[test]
fn a_damaged_fixture_is_told() {
    let base = base();
    let mut shift = Shift(0x0dd5_0a11_7e57_ab1e);
    let mut tried = 0;
    for (_, text) in fixtures() {
        let patched = patched(&base, &text);
        let changed = patched.0.keys().filter(|path| patched.0.get(*path) != base.0.get(*path));
        for path in changed.filter(|path| !patched.0[*path].trim().is_empty()) {
            tried += endure_damage(&patched, path, 0..4 * rounds(), &mut shift);
        }
    }
    println!("{tried} damaged specs");
}

#[test]
fn a_damaged_real_spec_is_told() {
    let spec = Texts::of_folder(&root().join("spec"));
    let mut shift = Shift(0x5eed_5eed_5eed_5eed);
    let mut tried = 0;
    // Reading the whole spec takes most of a second. With `ROUNDS=24`, each file is damaged.
    for (index, path) in spec.0.keys().enumerate().step_by(24_usize.div_ceil(rounds())) {
        tried += endure_damage(&spec, path, index..index + rounds(), &mut shift);
    }
    println!("{tried} damaged specs");
}

//! Shapes: the grammar of a YAML file as data, and a check of trees against it.
//!
//! The same description is used for the check, for the JSON Schema, and for the documentation.

use crate::text::{alternatives, quoted};
use heck::{ToPascalCase, ToSnakeCase};

use super::{Content, Misread, Node};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, nearest};

/// A mapping with known keys.
#[derive(Debug)]
pub struct Shape {
    /// The name in messages, with its article: "a parameter".
    pub name: &'static str,
    /// Its keys, in the recommended order.
    pub keys: &'static [Key],
}

/// A key of a [`Shape`].
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The description, for editors.
    pub doc: &'static str,
    /// The allowed values.
    pub value: Value,
    /// True if the key is required.
    pub needed: bool,
    /// An example, if the required keys of a mapping do not show the form.
    pub example: Option<&'static str>,
}

impl Key {
    /// Returns the key with an example of its value.
    pub const fn such_as(self, example: &'static str) -> Key {
        Key { example: Some(example), ..self }
    }
}

/// Returns a key that may be left out; its name and its documentation are set later.
pub(crate) const fn optional(value: Value) -> Key {
    Key { name: "", doc: "", value, needed: false, example: None }
}

/// Returns a required key; its name and its documentation are set later.
pub(crate) const fn needed(value: Value) -> Key {
    Key { needed: true, ..optional(value) }
}

/// Declares mappings: each key has its documentation, its name and its value, or is a constant that mappings share.
macro_rules! shapes {
    ($(
        $(#[doc = $about:literal])*
        $visible:vis static $shape:ident = $name:literal {
            $($(#[doc = $doc:literal])* $key:ident $(: $value:expr)?),* $(,)?
        }
    )*) => {$(
        $(#[doc = $about])*
        $visible static $shape: $crate::yaml::shape::Shape = $crate::yaml::shape::Shape {
            name: $name,
            keys: &[$(shapes!(@key $key [$($doc)*] $($value)?)),*],
        };
    )*};
    (@key $key:ident []) => { $key };
    (@key $key:ident [$($doc:literal)*] $value:expr) => {
        $crate::yaml::shape::Key {
            name: stringify!($key),
            doc: concat!($($doc),*).trim_ascii_start(),
            ..$value
        }
    };
}
pub(crate) use shapes;

/// The allowed values of a key.
#[derive(Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool,
    /// An integer.
    Integer,
    /// A floating-point number.
    Float,
    /// One line of text.
    Line,
    /// Text of any length, in Markdown.
    Prose,
    /// A `snake_case` name.
    Snake,
    /// A `PascalCase` name.
    Pascal,
    /// An identifier of C.
    Symbol,
    /// Identifiers with dots between them.
    Dotted,
    /// A release, in quotes.
    Release,
    /// A type: a primitive or a described one.
    Type,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// No value.
    Null,
    /// A mapping with known keys.
    Shape(&'static Shape),
    /// A sequence.
    List(&'static Value),
    /// A mapping from names to values.
    Map(&'static Value),
    /// A mapping from identifiers of a host to values.
    ForeignMap(&'static Value),
    /// One of several kinds.
    Any(&'static [Value]),
}

impl Shape {
    /// Returns a minimal example.
    fn example(&self) -> String {
        let needed = self.keys.iter().filter(|key| key.needed).map(|key| format!("{}: …", key.name));
        format!("{{ {} }}", needed.collect::<Vec<_>>().join(", "))
    }
}

impl Value {
    fn accepts(&self, content: &Content) -> bool {
        match self {
            Value::Bool => matches!(content, Content::Bool(_)),
            Value::Integer => matches!(content, Content::Integer(_)),
            Value::Float => matches!(content, Content::Float(_)),
            Value::Line
            | Value::Prose
            | Value::Snake
            | Value::Pascal
            | Value::Symbol
            | Value::Dotted
            | Value::Release
            | Value::Type
            | Value::Word(_) => matches!(content, Content::Text(_)),
            Value::Null => matches!(content, Content::Null),
            Value::Shape(_) | Value::Map(_) | Value::ForeignMap(_) => matches!(content, Content::Map(_)),
            Value::List(_) => matches!(content, Content::List(_)),
            Value::Any(values) => values.iter().any(|value| value.accepts(content)),
        }
    }

    /// Returns the expected form, for messages.
    pub fn expected(&self) -> String {
        match self {
            Value::Bool => "`true` or `false`".into(),
            Value::Integer => "an integer".into(),
            Value::Float => "a floating-point number".into(),
            Value::Line => "one line of text".into(),
            Value::Prose => "text".into(),
            Value::Snake => "a snake_case name".into(),
            Value::Pascal => "a PascalCase name".into(),
            Value::Symbol => "an identifier of C".into(),
            Value::Dotted => DOTTED.into(),
            Value::Release => "a release in quotes, such as \"3.1\"".into(),
            Value::Type => "a type".into(),
            Value::Word(words) => alternatives(&quoted(*words)),
            Value::Null => "nothing".into(),
            Value::Shape(shape) => shape.name.into(),
            Value::List(item) => format!("a list, each item {}", item.expected()),
            Value::Map(_) | Value::ForeignMap(_) => "a mapping from names".into(),
            Value::Any(values) => values.iter().map(Value::expected).collect::<Vec<_>>().join(", or "),
        }
    }
}

/// Checks a tree against a shape.
pub fn check(node: &Node, value: &Value, diagnostics: &mut Diagnostics) {
    check_value(node, value, None, diagnostics);
}

/// Checks the value of a key. The key's documentation becomes the help text.
fn check_value(node: &Node, value: &Value, key: Option<&Key>, diagnostics: &mut Diagnostics) {
    match value {
        Value::Any(values) => match values.iter().find(|value| value.accepts(&node.content)) {
            Some(value) => check_value(node, value, key, diagnostics),
            None => diagnostics.push(wrong(node, value, key)),
        },
        value if !value.accepts(&node.content) => diagnostics.push(wrong(node, value, key)),
        Value::Shape(shape) => check_shape(node, shape, diagnostics),
        Value::List(item) => node.items().iter().for_each(|node| check(node, item, diagnostics)),
        Value::Map(item) => {
            for (key, node) in node.entries() {
                check_name(&key.value, key.span, is_snake, "snake_case", diagnostics);
                check(node, item, diagnostics);
            }
        }
        Value::ForeignMap(item) => node.entries().iter().for_each(|(_, node)| check(node, item, diagnostics)),
        _ => check_text(node, value, key, diagnostics),
    }
}

fn check_shape(node: &Node, shape: &Shape, diagnostics: &mut Diagnostics) {
    for (name, node) in node.entries() {
        match shape.keys.iter().find(|key| key.name == name.value) {
            Some(key) => check_value(node, &key.value, Some(key), diagnostics),
            None => {
                let message = format!("{} has no key `{}`", shape.name, name.value);
                let diagnostic = Diagnostic::new(Code::UnknownKey, name.span, message);
                // `{ summary: One, two }` is a summary and a key `two` without a value.
                diagnostics.push(if node.is_null() && name.value.contains(' ') {
                    diagnostic.label("a value that contains a comma needs quotes")
                } else {
                    diagnostic.nearest(&name.value, shape.keys.iter().map(|key| key.name))
                });
            }
        }
    }
    for key in shape.keys.iter().filter(|key| key.needed && node.get(key.name).is_none()) {
        // Marks only the first entry, because a marker below many lines would not help.
        let span = node.entries().first().map_or(node.span, |(name, _)| name.span);
        Diagnostic::new(Code::MissingKey, span, format!("{} needs the key `{}`", shape.name, key.name))
            .label(format!("`{}` takes {}", key.name, key.value.expected()))
            .help(key.doc)
            .add_to(diagnostics);
    }
}

fn check_text(node: &Node, value: &Value, key: Option<&Key>, diagnostics: &mut Diagnostics) {
    let Some(text) = node.text() else { return };
    match value {
        Value::Word(words) if !words.contains(&text) => {
            let message = format!("expected {}, found `{text}`", value.expected());
            let diagnostic = Diagnostic::new(Code::UnknownWord, node.span, message);
            diagnostics.push(match nearest(text, words.iter().copied()) {
                Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
                None => with_doc(diagnostic.label("not a valid value"), key),
            });
        }
        Value::Snake => check_name(text, node.span, is_snake, "snake_case", diagnostics),
        Value::Pascal => check_name(text, node.span, is_pascal, "PascalCase", diagnostics),
        Value::Symbol => check_name(text, node.span, is_symbol, SYMBOL, diagnostics),
        Value::Dotted => {
            let is_dotted = |text: &str| text.split('.').all(is_symbol);
            check_name(text, node.span, is_dotted, DOTTED, diagnostics);
        }
        Value::Line if text.trim().contains('\n') => {
            Diagnostic::new(Code::WrongValue, node.span, "this takes one line of text")
                .label("more than one line")
                .add_to(diagnostics)
        }
        Value::Line | Value::Prose if text.trim().is_empty() => {
            Diagnostic::new(Code::WrongValue, node.span, "this text is empty")
                .label("write it or leave it out")
                .add_to(diagnostics)
        }
        _ => {}
    }
}

fn wrong(node: &Node, value: &Value, key: Option<&Key>) -> Diagnostic {
    let found = match node.content {
        Content::Bool(value) => format!("`{value}`"),
        _ => node.kind().to_owned(),
    };
    let message = format!("expected {}, found {found}", value.expected());
    let diagnostic = Diagnostic::new(Code::WrongValue, node.span, message);
    if let Some(word) = node.text().and_then(old_bool)
        && value.accepts(&Content::Bool(word))
    {
        return diagnostic.label(format!("write `{word}`; in YAML 1.2 this is text"));
    }
    match (&node.content, value) {
        (Content::Float(_) | Content::Integer(_) | Content::Misread(_), Value::Release) => {
            diagnostic.label("put it in quotes")
        }
        (Content::Null, value) if !(node.is_written() && takes_text(value)) => {
            diagnostic.label("the value is empty")
        }
        (_, Value::Word(_)) => with_doc(diagnostic.label("expected one of these words"), key),
        (Content::Null | Content::Bool(_) | Content::Float(_), value) if takes_text(value) => {
            diagnostic.label("put it in quotes, if it is meant as text")
        }
        (Content::Integer(_) | Content::Misread(_), value)
            if takes_text(value) && !value.accepts(&Content::Integer(0)) =>
        {
            diagnostic.label("put it in quotes, if it is meant as text")
        }
        (Content::Misread(misread), _) => explain(diagnostic, *misread),
        (Content::Text(_) | Content::Bool(_), Value::Shape(shape)) => {
            let example = key.and_then(|key| key.example).map_or_else(|| shape.example(), str::to_owned);
            with_doc(
                diagnostic.label(format!("such as `{example}`")),
                key.filter(|key| key.example.is_some()),
            )
        }
        (Content::Map(_) | Content::List(_), _) => diagnostic.label(format!("this is {}", node.kind())),
        _ => diagnostic,
    }
}

fn takes_text(value: &Value) -> bool {
    value.accepts(&Content::Text(String::new()))
}

/// Returns the boolean that a word is in YAML 1.1 and not in YAML 1.2.
fn old_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" => Some(true),
        "n" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn with_doc(diagnostic: Diagnostic, key: Option<&Key>) -> Diagnostic {
    match key {
        Some(key) => diagnostic.help(key.doc),
        None => diagnostic,
    }
}

/// Explains why an integer is not accepted.
fn explain(diagnostic: Diagnostic, misread: Misread) -> Diagnostic {
    match misread {
        Misread::TooLarge => {
            diagnostic.label(format!("an integer must be from {} to {}", i64::MIN, i64::MAX))
        }
        Misread::LeadingZero { octal: Some(octal), decimal: Some(decimal) } => diagnostic
            .label(format!("YAML 1.1 reads this as the octal number {octal}, YAML 1.2 as {decimal}"))
            .help(format!("write `{decimal}` or `{octal}`, without the leading zero")),
        Misread::LeadingZero { octal: None, decimal: Some(decimal) } => diagnostic
            .label("in YAML 1.1 a leading zero means an octal number, but these digits are not octal")
            .help(format!("write `{decimal}`, without the leading zero")),
        Misread::LeadingZero { decimal: None, .. } => {
            diagnostic.label("in YAML 1.1 a leading zero means an octal number")
        }
    }
}

fn check_name(
    name: &str,
    span: crate::source::Span,
    rule: fn(&str) -> bool,
    style: &str,
    diagnostics: &mut Diagnostics,
) {
    if !rule(name) {
        let right = [name.to_snake_case(), name.to_pascal_case()].into_iter().find(|right| rule(right));
        let label = match right {
            _ if style == SYMBOL => "use letters, digits and `_`, and do not begin with a digit".to_owned(),
            _ if style == DOTTED => "names with a dot between them are expected".to_owned(),
            Some(right) => format!("write `{right}`, and put the ABI's name into `c`"),
            None => "put the ABI's name into `c`".to_owned(),
        };
        let message = format!("`{name}` is not {style}");
        diagnostics.push(Diagnostic::new(Code::BadName, span, message).label(label));
    }
}

const SYMBOL: &str = "an identifier of C";
const DOTTED: &str = "a name such as `Stream.synchronize`";

fn is_symbol(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_snake(name: &str) -> bool {
    is_symbol(name) && !name.chars().any(|c| c.is_ascii_uppercase())
}

fn is_pascal(name: &str) -> bool {
    is_symbol(name) && name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains('_')
}

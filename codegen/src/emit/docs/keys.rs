//! The page with all keys of the spec language, from the grammar that files are checked against.

use minijinja::{Value as Page, context};

use super::links::anchor;
use crate::text::{alternatives, capital, quoted};
use crate::yaml::shape::{Key, Shape, Value};

/// Prepares the page.
pub fn page(grammar: &[(&str, &'static Shape)], marker: String) -> Page {
    let mut shapes = Vec::new();
    for (_, shape) in grammar {
        collect(shape, &mut shapes);
    }
    context! { marker, shapes => shapes.into_iter().map(section).collect::<Page>() }
}

/// Collects a shape and all shapes that it refers to, each once, in the order of their first use.
fn collect(shape: &'static Shape, shapes: &mut Vec<&'static Shape>) {
    if shapes.iter().any(|known| std::ptr::eq(*known, shape)) {
        return;
    }
    shapes.push(shape);
    shape.keys.iter().for_each(|key| collect_value(&key.value, shapes));
}

fn collect_value(value: &'static Value, shapes: &mut Vec<&'static Shape>) {
    match value {
        Value::Shape(shape) => collect(shape, shapes),
        Value::List(item) | Value::Map(item) | Value::ForeignMap(item) => collect_value(item, shapes),
        Value::Any(values) => values.iter().for_each(|value| collect_value(value, shapes)),
        _ => {}
    }
}

fn section(shape: &'static Shape) -> Page {
    let row = |key: &Key| {
        context! {
            name => key.name,
            anchor => format!("{}-{}", anchor(&title(shape)), key.name),
            needed => key.needed,
            value => cell(&words(&key.value)),
            doc => cell(key.doc),
        }
    };
    context! { title => title(shape), keys => shape.keys.iter().map(row).collect::<Page>() }
}

/// Returns the heading of a shape: its name without the article.
fn title(shape: &Shape) -> String {
    let articles = ["a ", "an ", "the "];
    let name = articles.iter().find_map(|article| shape.name.strip_prefix(article));
    capital(name.unwrap_or(shape.name))
}

/// Describes the values that a key accepts, in Markdown.
fn words(value: &Value) -> String {
    match value {
        Value::Word(words) => alternatives(&quoted(words.iter())),
        Value::Shape(shape) => {
            let title = title(shape);
            format!("[{}](#{})", shape.name, anchor(&title))
        }
        Value::List(item) => format!("list of: {}", words(item)),
        Value::Map(item) | Value::ForeignMap(item) => format!("name → {}", words(item)),
        Value::Any(values) => alternatives(&values.iter().map(words).collect::<Vec<_>>()),
        value => value.expected(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

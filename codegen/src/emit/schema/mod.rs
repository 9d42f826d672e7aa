//! JSON Schema of the spec language, for editors. It is generated from the grammar that files are checked against.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::emitter::{EmitError, Emitter, Job};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{OutputPlace, Ty};
use crate::out::Output;
use crate::yaml::shape::{Key, Shape, Value};

/// One schema for each kind of file.
pub struct Schemas;

impl Emitter for Schemas {
    const KIND: &'static OutputKind = &outputs::SCHEMA;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let marker = job.stamp.grammar();
        let one = |(name, shape): &(&str, &'static Shape)| {
            let text = serde_json::to_string_pretty(&schema(name, shape, &marker)).unwrap_or_default();
            Output::new(format!("{name}.schema.json"), text + "\n", format!("{} keys", shape.keys.len()))
        };
        Ok(job.grammar.iter().map(one).collect())
    }
}

/// Makes the schema of one kind of file.
fn schema(name: &str, shape: &'static Shape, marker: &str) -> Json {
    let mut shapes = BTreeMap::new();
    collect(shape, &mut shapes);
    let mut root = Map::new();
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("$comment".to_owned(), json!(marker));
    root.insert("title".to_owned(), json!(format!("Tenon spec: {name}")));
    root.extend(object(shape));
    shapes.remove(&slug(shape));
    let defs: Map<String, Json> =
        shapes.into_iter().map(|(slug, shape)| (slug, Json::Object(object(shape)))).collect();
    if !defs.is_empty() {
        root.insert("$defs".to_owned(), Json::Object(defs));
    }
    Json::Object(root)
}

/// Collects every shape that a shape refers to, by its name in `$defs`.
fn collect(shape: &'static Shape, shapes: &mut BTreeMap<String, &'static Shape>) {
    if shapes.insert(slug(shape), shape).is_none() {
        shape.keys.iter().for_each(|key| collect_value(&key.value, shapes));
    }
}

fn collect_value(value: &'static Value, shapes: &mut BTreeMap<String, &'static Shape>) {
    match value {
        Value::Shape(shape) => collect(shape, shapes),
        Value::List(item) | Value::Map(item) | Value::ForeignMap(item) => collect_value(item, shapes),
        Value::Any(values) => values.iter().for_each(|value| collect_value(value, shapes)),
        _ => {}
    }
}

/// Converts the name of a shape to that of a definition: `a table of contents` → `table_of_contents`.
fn slug(shape: &Shape) -> String {
    let name = shape.name.trim_start_matches("a ").trim_start_matches("an ").trim_start_matches("the ");
    name.replace(", ", "_").replace(' ', "_")
}

fn object(shape: &Shape) -> Map<String, Json> {
    let properties: Map<String, Json> =
        shape.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = shape.keys.iter().filter(|key| key.needed).map(|key| key.name).collect();
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), Json::Object(properties));
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object.insert("additionalProperties".to_owned(), json!(false));
    object
}

/// Describes the values of a key, with the text that editors show.
fn property(key: &Key) -> Json {
    let mut property = Map::new();
    property.insert("description".to_owned(), json!(key.doc.replace('`', "")));
    property.insert("markdownDescription".to_owned(), json!(key.doc));
    property.extend(value(&key.value));
    Json::Object(property)
}

fn value(value: &Value) -> Map<String, Json> {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let schema = match value {
        Value::Bool => json!({ "type": "boolean" }),
        Value::Integer => json!({ "type": "integer" }),
        Value::Float => json!({ "type": "number" }),
        // YAML may fold a line into several, or end it with a newline.
        Value::Line => text(r"^\s*\S[^\n]*\s*$"),
        Value::Prose => text(r"\S"),
        Value::Snake => text("^[a-z_][a-z0-9_]*$"),
        Value::Pascal => text("^[A-Z][A-Za-z0-9]*$"),
        Value::Symbol => text("^[A-Za-z_][A-Za-z0-9_]*$"),
        Value::Dotted => text("^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$"),
        Value::Release => json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)*$", "examples": ["3.1"] }),
        Value::Type => {
            let primitives: Vec<&str> = Ty::PRIMITIVES.iter().map(|(name, _)| *name).collect();
            json!({ "anyOf": [{ "enum": primitives }, { "type": "string", "pattern": "^[A-Z][A-Za-z0-9]*$" }] })
        }
        Value::Word(words) => json!({ "enum": words }),
        Value::Null => json!({ "type": "null" }),
        Value::Shape(shape) => json!({ "$ref": format!("#/$defs/{}", slug(shape)) }),
        Value::List(item) => json!({ "type": "array", "items": Json::Object(self::value(item)) }),
        Value::Map(item) => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[a-z_][a-z0-9_]*$" },
            "additionalProperties": Json::Object(self::value(item)),
        }),
        Value::ForeignMap(item) => json!({
            "type": "object",
            "additionalProperties": Json::Object(self::value(item)),
        }),
        Value::Any(values) => {
            let values: Vec<Json> = values.iter().map(|value| Json::Object(self::value(value))).collect();
            json!({ "anyOf": values })
        }
    };
    match schema {
        Json::Object(schema) => schema,
        _ => Map::new(),
    }
}

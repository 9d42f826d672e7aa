//! The JSON Schema of the spec language: it describes every key of the grammar, and its references are valid.

use codegen::grammar;
use codegen::yaml::shape::{Key, Shape, Value};
use serde_json::Value as Json;

fn schema(name: &str) -> Json {
    // The crate lies in the workspace's root.
    let path = format!("{}/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the schema is committed");
    serde_json::from_str(&text).expect("a schema is JSON")
}

/// Resolves a `$ref` to the schema that it names; returns any other node unchanged.
fn resolve<'a>(root: &'a Json, node: &'a Json) -> &'a Json {
    match node["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => root.pointer(pointer).expect("a reference leads somewhere"),
        None => node,
    }
}

/// Walks grammar and schema side by side.
fn compare(root: &Json, node: &Json, value: &'static Value, seen: &mut Vec<&'static str>) {
    let node = resolve(root, node);
    match value {
        Value::Shape(shape) => compare_shape(root, node, shape, seen),
        Value::List(item) => compare(root, &node["items"], item, seen),
        Value::Map(item) | Value::ForeignMap(item) => {
            compare(root, &node["additionalProperties"], item, seen)
        }
        Value::Any(values) => {
            let alternatives = node["anyOf"].as_array().expect("alternatives stand in a list");
            assert_eq!(alternatives.len(), values.len());
            values.iter().zip(alternatives).for_each(|(value, node)| compare(root, node, value, seen));
        }
        Value::Word(words) => assert_eq!(node["enum"].as_array().map(Vec::len), Some(words.len())),
        Value::Bool => assert_eq!(node["type"], "boolean"),
        Value::Integer => assert_eq!(node["type"], "integer"),
        Value::Float => assert_eq!(node["type"], "number"),
        Value::Null => assert_eq!(node["type"], "null"),
        Value::Type => assert!(node["anyOf"][0]["enum"].as_array().is_some_and(|names| names.len() > 10)),
        _ => assert_eq!(node["type"], "string"),
    }
}

fn compare_shape(root: &Json, node: &Json, shape: &'static Shape, seen: &mut Vec<&'static str>) {
    if seen.contains(&shape.name) {
        return;
    }
    seen.push(shape.name);
    assert_eq!(node["additionalProperties"], false, "{} lets unknown keys pass", shape.name);
    let properties = node["properties"].as_object().expect("a shape has properties");
    assert_eq!(properties.len(), shape.keys.len(), "{} has other keys", shape.name);
    for Key { name, doc, value, needed, example: _ } in shape.keys {
        let property = properties.get(*name).unwrap_or_else(|| panic!("{} lacks `{name}`", shape.name));
        assert_eq!(property["markdownDescription"], *doc);
        let required = node["required"].as_array().is_some_and(|keys| keys.iter().any(|key| key == name));
        assert_eq!(required, *needed, "`{name}` of {}", shape.name);
        compare(root, property, value, seen);
    }
}

#[test]
fn a_schema_says_what_the_grammar_says() {
    for (name, shape) in grammar::FILES {
        let root = schema(name);
        assert_eq!(root["$schema"], "https://json-schema.org/draft/2020-12/schema");
        compare_shape(&root, &root, shape, &mut Vec::new());
    }
}

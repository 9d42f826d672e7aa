//! The structs of the generated headers against offsets and types that were read from the headers of the projects.

use std::path::Path;

fn holds(header: &str, table: &str, newest: &str) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    tenon_testing::layout::holds(&include, &[header], table, newest, "OrtStatus");
}

#[test]
fn structs_of_onnx_runtime_have_its_offsets_and_types() {
    holds("ort_provider_api.h", include_str!("onnxruntime.tsv"), "1.25");
}

#[test]
fn structs_of_ggml_have_its_offsets_and_types() {
    holds("ggml_objects.h", include_str!("ggml.tsv"), "1");
}

#[test]
fn structs_of_pjrt_have_its_offsets() {
    holds("pjrt_table.h", include_str!("pjrt.tsv"), "0.33");
}

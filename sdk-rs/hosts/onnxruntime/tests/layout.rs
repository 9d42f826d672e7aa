//! The structs of the generated headers against offsets and types that were read from ONNX Runtime's own headers. No wheel
//! has them; that the layouts of newer releases begin in the same way is shown by the tests that run in these.

use std::path::Path;

#[test]
fn structs_have_the_offsets_and_types_of_onnx_runtime() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../sdk-c/include");
    let headers = ["tenon/onnxruntime_ep.h", "tenon/onnxruntime_objects.h"];
    tenon_testing::layout::holds(&include, &headers, include_str!("layouts.tsv"), "1.29", "OrtStatus");
}

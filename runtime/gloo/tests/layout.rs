//! The layout of gloo's classes: the shim's declarations against gloo's own headers.

use std::path::Path;
use std::process::Command;

/// Compiles `layout.cpp` and returns what it prints.
fn layout(defines: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("layout{}", defines.len()));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    // Fields that programs may not name are compared too.
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-fno-access-control", "-w"])
        .args(defines)
        .args(["tests/layout.cpp", "-o"])
        .arg(&program)
        .output()
        .expect("there is a C++ compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = Command::new(program).output().expect("it was just compiled");
    String::from_utf8(printed.stdout).expect("it prints numbers")
}

#[test]
fn the_declarations_of_the_shim_have_the_layout_of_the_headers() {
    if !Path::new("/usr/include/gloo/context.h").exists() {
        let test = "the_declarations_of_the_shim_have_the_layout_of_the_headers";
        assert!(
            tenon_testing::leave_out("libgloo.so.0", test),
            "there are no headers of gloo: apt-get install libgloo-dev"
        );
        return;
    }
    let ours = layout(&[]);
    assert!(ours.lines().count() > 30, "{ours}");
    assert_eq!(ours, layout(&["-DGLOO_HEADERS"]));
}

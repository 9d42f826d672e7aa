//! The command works on the checkout that it is given in, wherever it was built.

use std::fs;
use std::process::Command;

#[test]
fn a_shared_build_works_on_the_checkout_that_cargo_names() {
    // Short, so that the message stays on one line.
    let other = std::env::temp_dir().join(format!("tn{}", std::process::id()));
    fs::create_dir_all(other.join("tools/xtask")).unwrap();
    fs::write(other.join("tools/xtask/Cargo.toml"), "").unwrap();
    // The other checkout has no README, which is the first file that this command reads.
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("bare")
        .env("CARGO_MANIFEST_DIR", other.join("tools/xtask"))
        .output()
        .unwrap();
    fs::remove_dir_all(&other).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("cannot use {}", other.join("README.md").display())), "{said}");
}

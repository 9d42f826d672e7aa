//! Plugins compiled against the headers that PaddlePaddle's releases ship, seen through the library.

#[path = "common/build.rs"]
#[allow(dead_code, reason = "its plugins are others")]
mod build;
#[path = "../../sdk-rs/hosts/loader/tests/common/mod.rs"]
mod plugins;

use std::process::Command;

use tenon::device::Release;

/// Compiles a plugin for each release, with one kind of check, and has the program open all of them at once.
fn all_five(test: &str, check: &str) -> String {
    let folder = plugins::folder(&format!("releases-{test}"));
    let program = build::scratch(test).join("releases");
    build::program("releases.c", &program);
    let mut command = Command::new(program);
    command.env_remove("TENON_LAYERS").env_remove("TENON_PLUGIN_PATH");
    for release in Release::ALL {
        let library = folder.join(format!("plugin_{}.so", plugins::number(release)));
        plugins::compile(&library, release, &[check, "FILL_MOVED", "CLEAR_OWN"]);
        command.arg(library);
    }
    let said = String::from_utf8_lossy(&build::run(&mut command).stdout).into_owned();
    for release in Release::ALL {
        let line = format!("device_{} is of {}: ", plugins::number(release), release.name());
        assert!(said.contains(&line), "{said}");
    }
    assert!(said.ends_with("done\n"), "{said}");
    said
}

#[test]
fn five_plugins_with_the_check_of_the_upstream_header() {
    all_five("upstream", "CHECK_UPSTREAM");
}

#[test]
fn five_plugins_that_compare_both_sizes() {
    all_five("both", "CHECK_BOTH");
}

#[test]
fn five_plugins_that_check_nothing() {
    all_five("nothing", "CHECK_NONE");
}

//! Measures the time to load a plugin and to detect its release, and the time to open the library alone.
//!
//! Both are done in turn with the plugin of `examples/c-plugin`, which is then closed again; the figures are medians.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tenon_loader::{LoadOptions, Plugin};

const ROUNDS: usize = 501;

fn main() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace is two folders above");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libbench_load.so");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O2", "-shared", "-fPIC", "-I"])
        .arg(root.join("sdk-c/include"))
        .arg(root.join("examples/c-plugin/plugin.c"))
        .arg("-o")
        .arg(&library)
        .status()
        .expect("a C compiler is installed");
    assert!(compiled.success());
    let (mut opened, mut loaded) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        // SAFETY: the library is the example's, which runs nothing when it is opened.
        drop(unsafe { libloading::Library::new(&library) }.expect("the library opens"));
        opened.push(start.elapsed());
        let start = Instant::now();
        drop(Plugin::load(&library, &LoadOptions::default()).expect("the plugin loads"));
        loaded.push(start.elapsed());
    }
    let [opened, loaded] = [opened, loaded].map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2].as_secs_f64() * 1e6
    });
    println!("open and close the library     {opened:>8.1} µs");
    println!("load the plugin and unload it  {loaded:>8.1} µs   {:.2}x", loaded / opened);
}

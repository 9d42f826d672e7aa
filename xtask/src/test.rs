//! Every test, from the cheapest to the dearest.

use std::time::{Duration, Instant};

use clap::Args;

use crate::process::{Failure, cargo};
use crate::{docs, lint, paddle, python_sdk, sdk, side_by_side, wheel};

/// What is tested.
#[derive(Args)]
pub struct Options {
    /// The plugin in every release of PaddlePaddle and the Python SDK in every Python that is here, rather than in the
    /// newest alone
    #[arg(long)]
    all_releases: bool,
}

/// Runs every test; stops at the first part that fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut parts = Parts::default();
    parts.run("format, lints and types", lint::run)?;
    parts.run("generated files are fresh", || {
        cargo().args(["run", "--quiet", "--package", "codegen", "--", "--check"]).run()
    })?;
    parts.run("PaddlePaddle's headers", || paddle::headers().map(|_| ()))?;
    parts.run("Rust and C", || cargo().args(["test", "--workspace", "--quiet"]).run())?;
    parts.run("every interleaving of streams and events", interleavings)?;
    parts.run("the C SDK", sdk::test)?;
    parts.run("the Python SDK", || python_sdk::test(options.all_releases))?;
    parts.run("the book", docs::check)?;
    parts.run("the plugin's wheel", wheel::test)?;
    let releases = if options.all_releases { paddle::RELEASES } else { &paddle::RELEASES[..1] };
    let built = paddle::Built::new()?;
    let versions: Vec<&str> = releases.iter().map(|release| release.version).collect();
    parts.run(&format!("the plugin in PaddlePaddle {}", versions.join(", ")), || {
        side_by_side::each(releases, |release| paddle::test(release, &built))
    })?;
    parts.run("the Python SDK beside PaddlePaddle", || {
        python_sdk::test_with_paddle(&paddle::newest(&built)?)
    })?;
    parts.summary();
    Ok(())
}

/// Loom replaces the primitives of the whole crate, so it is built apart.
fn interleavings() -> Result<(), Failure> {
    cargo()
        .args(["test", "--quiet", "--release", "--package", "tenon-cpu", "--test", "loom"])
        .args(["--target-dir", "target/loom"])
        .env("RUSTFLAGS", "--cfg loom")
        .run()
}

/// The parts of the run that have passed, and how long each took.
#[derive(Default)]
struct Parts(Vec<(String, Duration)>);

impl Parts {
    fn run(&mut self, name: &str, part: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        eprintln!("── {name}");
        let start = Instant::now();
        part()?;
        self.0.push((name.to_owned(), start.elapsed()));
        Ok(())
    }

    fn summary(&self) {
        println!();
        for (name, took) in &self.0 {
            println!("{:>7.1} s  {name}", took.as_secs_f64());
        }
        // The one line that a continuous integration reads.
        println!("\n{} passed, 0 failed", self.0.len());
    }
}

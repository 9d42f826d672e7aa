//! The book: hand-written chapters and the generated reference, built by mdBook.

mod links;
mod markdown;
mod pictures;
mod remote;
pub mod sections;
mod versions;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, at};
use crate::process::{Step, cargo, step};
use crate::project;
use crate::tools::python::Venv;

/// The version of mdBook that builds the book.
const MDBOOK: &str = "0.5.4";

/// Options of `cargo xtask docs`.
#[derive(Args)]
pub struct Options {
    /// Serve the book on localhost
    #[arg(long)]
    serve: bool,
    /// Open the book in a browser
    #[arg(long, conflicts_with = "serve")]
    open: bool,
    /// Take pictures of five pages on a screen and on a phone, with Chromium, in `target/tenon/site-pictures`
    #[arg(long, conflicts_with_all = ["serve", "open"])]
    pictures: bool,
    /// Fail if a link is broken, or if a page needs the network
    #[arg(long, conflicts_with_all = ["serve", "open", "pictures"])]
    check: bool,
}

/// Builds the book, or serves it.
pub fn run(options: &Options) -> Result<(), Failure> {
    if options.check {
        return check();
    }
    let mdbook = mdbook()?;
    if options.serve {
        let site = build(&mdbook)?;
        println!("http://localhost:8000");
        step(crate::tools::system_python())
            .args(["-m", "http.server", "8000", "--directory"])
            .arg(site)
            .run()?;
        return Ok(());
    }
    // A missing browser is reported before the book is built.
    let browser = options.pictures.then(pictures::browser).transpose()?;
    let site = build(&mdbook)?;
    if let Some(browser) = browser {
        return pictures::take(browser, &versions::folder(&site));
    }
    let page = site.join("index.html");
    println!("{}", page.display());
    if options.open {
        let address = format!("file://{}", page.display());
        step(crate::tools::system_python()).args(["-m", "webbrowser", &address]).run()?;
    }
    Ok(())
}

/// Builds the book and fails if it contains broken links, or needs the network to be read.
pub fn check() -> Result<(), Failure> {
    let folder = build(&mdbook()?)?;
    let broken = links::broken(&folder)?;
    if !broken.is_empty() {
        return Err(Failure::Wrong(format!("broken links:\n{}", broken.join("\n"))));
    }
    let remote = remote::files(&versions::folder(&folder))?;
    if !remote.is_empty() {
        return Err(Failure::Wrong(format!("pages load files from the network:\n{}", remote.join("\n"))));
    }
    Ok(())
}

/// Compares the formulas of operators with their references, and their gradients with differences.
///
/// Reads the list of operators in the reference, which [`check`] generates.
pub fn formulas() -> Result<(), Failure> {
    let venv = Venv::with("formulas", &["numpy>=2", "scipy>=1.12", "pytest>=8"])?;
    venv.pytest()
        .env("TENON_OPERATORS", project::path("docs/src/reference/ops/operators.json"))
        .within(&project::path("codegen/tests/formulas"))
        .run()
}

/// Builds the book of this version into its folder in the site. Returns the site.
fn build(mdbook: &Path) -> Result<PathBuf, Failure> {
    // The generated reference is not committed, so it is generated first.
    codegen()?.read()?;
    let tenon = || step(project::target().join("debug/tenon"));
    let checks = Checks {
        cases: tenon().args(["check", "--list", "--json"]).read()?,
        rules: tenon().args(["rules", "--json"]).read()?,
    };
    let site = project::path("target/book");
    let book = versions::folder(&site);
    build_with(mdbook, &book, &checks)?.run()?;
    markdown::write(build_with(mdbook, &project::cache("book-pages"), &checks)?, &book)?;
    versions::write(&site)?;
    Ok(site)
}

/// The cases and rules of all functions, as the command `tenon` prints them in JSON.
struct Checks {
    cases: String,
    rules: String,
}

/// Creates a step that builds the book into a folder, with the checks on the pages of functions.
fn build_with(mdbook: &Path, folder: &Path, checks: &Checks) -> Result<Step, Failure> {
    let own = std::env::current_exe().map_err(at(Path::new("cargo xtask")))?;
    let command = format!("{} book-sections", own.display());
    Ok(step(mdbook)
        .arg("build")
        .arg(project::path("docs"))
        .arg("--dest-dir")
        .arg(folder)
        .env("MDBOOK_PREPROCESSOR", serde_json::json!({ "sections": { "command": command } }).to_string())
        .env(sections::CASES, &checks.cases)
        .env(sections::RULES, &checks.rules))
}

/// Builds the generator and the command together with tests of them, and creates a step that runs the generator.
///
/// For `cargo run --package codegen`, cargo would choose fewer features of common dependencies than for the tests of the
/// workspace, and build these and all that depends on them a second time.
pub fn codegen() -> Result<Step, Failure> {
    cargo()
        .args(["test", "--quiet", "--workspace", "--no-run", "--test", "codegen", "--test", "command"])
        .run()?;
    Ok(step(project::target().join("debug/codegen")))
}

/// Returns mdBook of the required version: the installed one, or one that is built in the cache.
fn mdbook() -> Result<PathBuf, Failure> {
    let root = project::cache("mdbook");
    let own = root.join("bin").join("mdbook");
    for candidate in [PathBuf::from("mdbook"), own.clone()] {
        if step(&candidate).arg("--version").read().is_ok_and(|text| text.contains(MDBOOK)) {
            return Ok(candidate);
        }
    }
    eprintln!("building mdBook {MDBOOK} (first run only)");
    cargo()
        .args(["install", "mdbook", "--version", MDBOOK, "--locked", "--quiet", "--debug"])
        .args(["--no-default-features", "--features", "search", "--root"])
        .arg(&root)
        // A debug build compiles fastest. Without any optimisation, though, each run would take seconds longer.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .run()?;
    Ok(own)
}

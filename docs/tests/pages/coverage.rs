//! Each block of code on a page is tested, or marked as a fragment.

use crate::page::{Block, blocks, pages, read};

/// Languages that need no test: what a terminal shows, what is typed there, and pictures.
const EXEMPT: [&str; 4] = ["console", "mermaid", "sh", "text"];

/// The way in which blocks are tested.
#[derive(Clone, Copy)]
enum Tested {
    /// `crates.rs` builds them as one crate, loads it, and runs the conformance cases.
    Crate,
    /// `manifests.rs` reads them.
    Manifest,
    /// The test in `file` does it, and names the page or the file that the page includes.
    By { file: &'static str, names: &'static str },
}

/// The blocks of a language, on a page or in one section of it.
struct Row {
    page: &'static str,
    section: Option<&'static str>,
    language: &'static str,
    tested: Tested,
}

impl Row {
    fn covers(&self, block: &Block) -> bool {
        self.page == block.page
            && self.language == block.language
            && self.section.is_none_or(|section| section == block.section)
    }
}

const fn row(page: &'static str, language: &'static str, tested: Tested) -> Row {
    Row { page, section: None, language, tested }
}

const fn by(file: &'static str, names: &'static str) -> Tested {
    Tested::By { file, names }
}

const USERS: &str = "sdk-c/tests/users.rs";
const GUIDE_IN_PYTHON: &str = "sdk-py/tests/test_guide.py";
const TRANSCRIPT: &str = "plugins/paddle/tests/test_transcript.py";

const ROWS: [Row; 23] = [
    row("README.md", "rust", Tested::Crate),
    row("README.md", "toml", Tested::Crate),
    row("README.md", "c", by(USERS, "README.md")),
    Row {
        section: Some("In Python"),
        ..row("README.md", "python", by(GUIDE_IN_PYTHON, "(\"README.md\", \"In Python\")"))
    },
    Row { section: Some("In PaddlePaddle"), ..row("README.md", "python", by(TRANSCRIPT, "README.md")) },
    row("docs/src/guide/acl.md", "c", by("sdk-c/tests/acl.rs", "sequence.c")),
    row("docs/src/guide/acl.md", "python", by(GUIDE_IN_PYTHON, "docs/src/guide/acl.md")),
    row("docs/src/guide/c-plugin.md", "c", by(USERS, "examples/c-plugin/plugin.c")),
    row("docs/src/guide/c-sdk.md", "c", by(USERS, "hello.c")),
    row("docs/src/guide/c-sdk.md", "json", Tested::Manifest),
    row("docs/src/guide/matrix.md", "json", by("tools/cli/tests/matrix.rs", "docs/src/guide/matrix.md")),
    row("docs/src/guide/c-sdk-install.md", "cpp", by(USERS, "vector_add.cpp")),
    row(
        "docs/src/guide/capture.md",
        "python",
        by("sdk-py/tests/test_capture.py", "docs/src/guide/capture.md"),
    ),
    row(
        "docs/src/guide/collectives.md",
        "python",
        by("sdk-py/tests/test_communicator.py", "docs/src/guide/collectives.md"),
    ),
    row("docs/src/guide/diopi.md", "c", by("plugins/diopi/tests/test_example.py", "add.c")),
    row("docs/src/guide/first-device.md", "rust", Tested::Crate),
    row("docs/src/guide/first-device.md", "toml", Tested::Crate),
    row(
        "docs/src/guide/onnxruntime.md",
        "python",
        by("plugins/onnxruntime/python/test_wheel.py", "docs/src/guide/onnxruntime.md"),
    ),
    row(
        "docs/src/guide/packaging.md",
        "python",
        by("docs/tests/pages/packaging.rs", "docs/src/guide/packaging.md"),
    ),
    row("docs/src/guide/paddle.md", "python", by(TRANSCRIPT, "docs/src/guide/paddle.md")),
    row("docs/src/guide/paddle-tutorial.md", "c", by(USERS, "examples/c-plugin/plugin.c")),
    row("docs/src/guide/paddle-tutorial.md", "python", by(TRANSCRIPT, "docs/src/guide/paddle-tutorial.md")),
    row("docs/src/guide/python.md", "python", by(GUIDE_IN_PYTHON, "docs/src/guide/python.md")),
];

/// Returns the blocks of a language that are tested in one way.
fn of(language: &str, is_this: impl Fn(Tested) -> bool) -> impl Iterator<Item = Block> {
    let rows = ROWS.iter().filter(move |row| is_this(row.tested) && row.language == language);
    rows.flat_map(|row| blocks(row.page).into_iter().filter(move |block| row.covers(block)))
        .filter(|block| !block.is_fragment)
}

/// Returns the blocks of a language that are parts of crates.
pub fn of_crates(language: &str) -> impl Iterator<Item = Block> {
    of(language, |tested| matches!(tested, Tested::Crate))
}

/// Returns the blocks that are manifests of plugins.
pub fn manifests() -> impl Iterator<Item = Block> {
    of("json", |tested| matches!(tested, Tested::Manifest))
}

#[test]
fn block_is_tested_or_marked_as_a_fragment() {
    let open: Vec<String> = pages()
        .iter()
        .flat_map(|page| blocks(page))
        .filter(|block| !block.is_fragment && !EXEMPT.contains(&&*block.language))
        .filter(|block| !ROWS.iter().any(|row| row.covers(block)))
        .map(|block| {
            let Block { page, line, language, .. } = block;
            format!(
                "{page}:{line}: no test covers this `{language}` block: add a test and its row to `ROWS`, or begin \
                 the block with ```{language},fragment"
            )
        })
        .collect();
    assert!(open.is_empty(), "\n{}", open.join("\n"));
}

#[test]
fn row_covers_a_block_and_its_test_names_it() {
    for row in &ROWS {
        let place = format!("the row {} {}", row.page, row.language);
        let is_used = blocks(row.page).iter().any(|block| !block.is_fragment && row.covers(block));
        assert!(is_used, "{place} covers no block");
        if let Tested::By { file, names } = row.tested {
            assert!(read(file).contains(names), "{place}: {file} does not name {names}");
        }
    }
}

/// A session shows what is printed, and the guide of the Python SDK is one session.
#[test]
fn python_block_of_the_guide_is_a_session_or_marked() {
    for block in blocks("docs/src/guide/python.md") {
        if block.language == "python" && !block.is_fragment {
            assert!(block.text.starts_with(">>> "), "{}:{} is no session", block.page, block.line);
        }
    }
}

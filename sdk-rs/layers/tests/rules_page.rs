//! The page of the rules is generated from the catalogue.

use std::fmt::Write as _;
use std::path::Path;

use tenon_layers::validate;

const PAGE: &str = "../../docs/src/guide/validation-rules.md";

fn page() -> String {
    let mut page = "# Validation rules\n\n\
        The layer [`validate`](layers.md) checks these rules. A call that breaks a rule of the severity **error** is \
        rejected and does not reach the plugin. A **warning** is reported, and the call continues. `tenon rules V001` \
        prints one rule; `TENON_VALIDATE_IGNORE` disables rules.\n\n"
        .to_owned();
    for rule in validate::catalogue() {
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "## {}\n\n**{}**: {}.\n\n{}\n",
            rule.id,
            if rule.severity == validate::Severity::Error { "Error" } else { "Warning" },
            rule.title,
            rule.explanation
        );
    }
    page.trim_end().to_owned() + "\n"
}

#[test]
fn the_page_is_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, page()).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "{} is stale: UPDATE_EXPECT=1 writes it", path.display());
}

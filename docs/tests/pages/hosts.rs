//! The pages of the hosts, which answer the same questions in the same order.

use crate::page::read;

const PAGES: [&str; 4] = ["paddle", "onnxruntime", "diopi", "acl"];

const HEADINGS: [&str; 8] =
    ["Install", "Use", "Your own device", "Operators", "Configuration", "Releases", "Limits", "Tests"];

#[test]
fn pages_of_hosts_have_the_same_headings() {
    for page in PAGES {
        let path = format!("docs/src/guide/{page}.md");
        let text = read(&path);
        let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "{path}");
    }
}

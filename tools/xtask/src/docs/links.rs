//! Links inside the built book.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};

/// Returns the relative links to files or anchors that do not exist, as `page: link`.
pub fn broken(folder: &Path) -> Result<Vec<String>, Failure> {
    let pages = pages(folder)?;
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for page in pages {
        let text = fs::read_to_string(&page).map_err(at(&page))?;
        texts.insert(page, text);
    }
    let anchors: BTreeMap<&Path, BTreeSet<&str>> =
        texts.iter().map(|(page, text)| (page.as_path(), values(text, " id=\"").collect())).collect();
    let mut broken = BTreeSet::new();
    for (page, text) in &texts {
        for link in values(text, "href=\"") {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = file.split('?').next().unwrap_or_default();
            if file.contains(':') {
                continue;
            }
            let target = target(folder, page, file);
            let has_anchor = || anchors.get(target.as_path()).is_none_or(|known| known.contains(anchor));
            if !target.exists() || !(anchor.is_empty() || has_anchor()) {
                let page = page.strip_prefix(folder).unwrap_or(page);
                broken.insert(format!("  {}: {link}", page.display()));
            }
        }
    }
    Ok(broken.into_iter().collect())
}

/// Returns the values of an attribute in a page.
fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns the file that a link on a page leads to; the page itself if the link has only an anchor.
fn target(folder: &Path, page: &Path, file: &str) -> PathBuf {
    if file.is_empty() {
        return page.to_owned();
    }
    let mut path = if file.starts_with('/') { folder } else { page.parent().unwrap_or(folder) }.to_owned();
    for part in file.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path
}

/// Lists the pages of the book.
pub fn pages(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut pages = Vec::new();
    collect(folder, &mut pages)?;
    Ok(pages)
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() {
            collect(&path, pages)?;
        // Relative links in the print page and the error page are relative to another folder.
        } else if path.extension().is_some_and(|extension| extension == "html")
            && !path.ends_with("404.html")
            && !path.ends_with("print.html")
        {
            pages.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_to_a_missing_file_or_anchor_is_broken() {
        let folder = std::env::temp_dir().join(format!("tenon-links-{}", std::process::id()));
        fs::create_dir_all(folder.join("guide")).unwrap();
        let page = "<h1 id=\"top\"></h1><a href=\"#top\"></a><a href=\"#gone\"></a><a href=\"guide/b.html#part\"></a>\
                    <a href=\"guide/b.html#none\"></a><a href=\"c.html\"></a><a href=\"https://a.b/c#d\"></a>";
        fs::write(folder.join("a.html"), page).unwrap();
        fs::write(folder.join("guide/b.html"), "<h2 id=\"part\"></h2><a href=\"../a.html#top\"></a>")
            .unwrap();
        let found = broken(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.unwrap(), ["  a.html: #gone", "  a.html: c.html", "  a.html: guide/b.html#none"]);
    }
}

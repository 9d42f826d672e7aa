//! Links inside the built book.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};

/// Returns the relative links to files that do not exist, as `page: link`.
pub fn broken(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut pages = Vec::new();
    collect(folder, &mut pages)?;
    let mut broken = BTreeSet::new();
    for page in &pages {
        let text = fs::read_to_string(page).map_err(at(page))?;
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let file = link.split(['#', '?']).next().unwrap_or_default();
            if file.is_empty() || file.contains(':') {
                continue;
            }
            let base = if file.starts_with('/') { folder } else { page.parent().unwrap_or(folder) };
            if !base.join(file.trim_start_matches('/')).exists() {
                let page = page.strip_prefix(folder).unwrap_or(page);
                broken.insert(format!("  {}: {link}", page.display()));
            }
        }
    }
    Ok(broken.into_iter().collect())
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

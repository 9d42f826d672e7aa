//! Files that a browser would load from the network to show a page of the book.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::links;
use crate::failure::{Failure, at};
use crate::project;

/// Elements that load the file that an attribute names. Links (`a`) load nothing until the reader follows them.
const ELEMENTS: [(&str, &str); 8] = [
    ("<audio ", "src=\""),
    ("<iframe ", "src=\""),
    ("<image ", "href=\""),
    ("<img ", "src=\""),
    ("<link ", "href=\""),
    ("<script ", "src=\""),
    ("<source ", "src=\""),
    ("<video ", "src=\""),
];

/// Returns what the pages and style sheets of a built book load from the network, as `file: address`.
pub fn files(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut found = BTreeSet::new();
    let mut read = |path: &Path, addresses: fn(&str) -> Vec<&str>| -> Result<(), Failure> {
        let text = fs::read_to_string(path).map_err(at(path))?;
        let file = path.strip_prefix(folder).unwrap_or(path).display();
        found.extend(addresses(&text).into_iter().map(|address| format!("  {file}: {address}")));
        Ok(())
    };
    for page in links::pages(folder)? {
        read(&page, of_page)?;
    }
    for part in [folder.to_owned(), folder.join("css"), folder.join("fonts")] {
        let files = if part.is_dir() { project::entries(&part)? } else { Vec::new() };
        for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "css")) {
            read(path, of_style_sheet)?;
        }
    }
    Ok(found.into_iter().collect())
}

fn of_page(text: &str) -> Vec<&str> {
    let of_element = |(element, attribute): (&str, &str)| {
        let tags = text.split(element).skip(1).filter_map(|rest| rest.split('>').next());
        tags.filter_map(|tag| tag.split(attribute).nth(1)?.split('"').next()).collect::<Vec<_>>()
    };
    ELEMENTS.into_iter().flat_map(of_element).filter(|address| is_remote(address)).collect()
}

fn of_style_sheet(text: &str) -> Vec<&str> {
    let addresses = text.split("url(").skip(1).filter_map(|rest| rest.split(')').next());
    let imports = text.split("@import").skip(1).filter_map(|rest| rest.split(';').next());
    let trimmed = addresses.chain(imports).map(|address| address.trim().trim_matches(['"', '\'']));
    trimmed.filter(|address| is_remote(address)).collect()
}

fn is_remote(address: &str) -> bool {
    ["http:", "https:", "//"].iter().any(|start| address.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_loads_what_elements_name_and_not_what_links_name() {
        let page = "<a href=\"https://a.b\">c</a><script src=\"book.js\"></script><img alt=\"d\" src=\"https://e.f/g.png\">\
                    <link rel=\"stylesheet\" href=\"//h.i/j.css\"><code>&lt;script src=\"http://k.l\"&gt;</code>";
        assert_eq!(of_page(page), ["https://e.f/g.png", "//h.i/j.css"]);
    }

    #[test]
    fn style_sheet_loads_fonts_and_imports() {
        let sheet = "@import 'https://a.b/c.css';\n@font-face { src: url(\"../fonts/d.woff2\"), url(http://e.f/g.woff2); }";
        assert_eq!(of_style_sheet(sheet), ["http://e.f/g.woff2", "https://a.b/c.css"]);
    }
}

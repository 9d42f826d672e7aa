//! The versions of the book: a folder for each, and a list for the switch on each page.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};
use crate::project;

/// The version that this checkout builds.
pub const CURRENT: &str = env!("CARGO_PKG_VERSION");

/// Returns the folder of this version.
pub fn folder(site: &Path) -> PathBuf {
    site.join(CURRENT)
}

/// Writes the first page of the site, which leads to this version, and the list of the versions in the site.
pub fn write(site: &Path) -> Result<(), Failure> {
    let put = |name: &str, text: String| {
        let file = site.join(name);
        fs::write(&file, text).map_err(at(&file))
    };
    let mut versions: Vec<String> = project::entries(site)?
        .into_iter()
        .filter(|folder| folder.join("index.html").is_file())
        .filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned()))
        .filter(|name| number(name).is_some())
        .collect();
    versions.sort_by_key(|name| std::cmp::Reverse(number(name)));
    // A script, because pages that are opened as files cannot read other files.
    put("versions.js", format!("window.tenonVersions = {};\n", serde_json::json!(versions)))?;
    put(
        "index.html",
        format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Tenon</title>\n\
             <meta http-equiv=\"refresh\" content=\"0; url={CURRENT}/index.html\">\n\
             <p><a href=\"{CURRENT}/index.html\">Tenon {CURRENT}</a></p>\n"
        ),
    )
}

/// Returns the numbers of a version such as `0.1.0`.
fn number(name: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = name.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{CURRENT, number};

    #[test]
    fn number_orders_versions() {
        assert!(number("0.10.0") > number("0.9.1"));
        assert!(number(CURRENT).is_some());
        assert_eq!((number("css"), number("1.2")), (None, None));
    }
}

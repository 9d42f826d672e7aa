//! Pictures of pages of the book, as a browser shows them on a screen and on a phone.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, at};
use crate::process::step;
use crate::project;

/// The pages: the name of the picture, and the path in the book.
const PAGES: [(&str, &str); 5] = [
    ("start", "index.html"),
    ("contract", "guide/contract.html"),
    ("performance", "guide/performance.html"),
    ("function", "reference/device/memory/async_memory_copy_h2d.html"),
    ("operator", "reference/ops/activation/silu.html"),
];

/// The sizes: a word for the name of the picture, and width and height in pixels. The narrow ones have the width of a phone,
/// and are higher than its screen, so that they show plots and tables.
const SIZES: [(&str, u32, u32); 2] = [("wide", 1120, 800), ("narrow", 390, 1500)];

/// The names of the browser.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Finds the browser.
pub fn browser() -> Result<&'static str, Failure> {
    let is_there = |name: &&str| step(name).arg("--version").read().is_ok();
    BROWSERS.into_iter().find(is_there).ok_or_else(|| Failure::Missing {
        program: BROWSERS[0].to_owned(),
        install: "pictures of the book need a browser: apt-get install chromium".to_owned(),
    })
}

/// Takes the pictures of a built book, and prints their paths.
pub fn take(browser: &str, book: &Path) -> Result<(), Failure> {
    let folder = project::cache("site-pictures");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    for (name, page) in PAGES {
        let file = book.join(page);
        // The browser would take a picture of its error page.
        fs::metadata(&file).map_err(at(&file))?;
        for (size, width, height) in SIZES {
            let picture = folder.join(format!("{name}-{size}.png"));
            step(browser)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
                .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
                .arg(format!("--user-data-dir={}", project::cache("browser").display()))
                // Without it, a picture may be taken before the last lines are drawn.
                .arg("--run-all-compositor-stages-before-draw")
                // Time for the fonts and for the menu of chapters, which a script fills.
                .arg("--virtual-time-budget=4000")
                .arg(format!("--window-size={width},{height}"))
                .arg(format!("--screenshot={}", picture.display()))
                .arg(format!("file://{}", file.display()))
                .quietly()
                .read()?;
            println!("{}", picture.display());
        }
    }
    Ok(())
}

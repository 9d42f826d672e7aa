//! Removes the names of folders from a text.

use std::env;
use std::path::Path;

/// Folders that every system has. Paths in them tell nothing about a person.
const SYSTEM: [&str; 8] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sys", "/usr"];

/// Folders that are no names.
const NAMELESS: [&str; 3] = ["", ".", ".."];

/// The folders that a text may name.
#[derive(Debug)]
pub struct Folders {
    /// Absolute folders that are known by their names, which may contain spaces: the home folder, the current folder, and
    /// those of the paths, the longest first.
    own: Vec<String>,
    /// Relative folders, the longest first. A text does not show where one begins, so these are the known ones.
    relative: Vec<String>,
}

impl Folders {
    /// Collects the folders of this process, and those of relative paths that a text may repeat: the arguments of
    /// commands, and the values of variables, which may be lists.
    pub fn new<'a>(
        paths: impl IntoIterator<Item = &'a str>,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let home = env::var("HOME").ok();
        let current = env::current_dir().ok().map(|path| path.to_string_lossy().into_owned());
        let of_path =
            |path: &str| Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned());
        let of_values = values.into_iter().flat_map(|value| value.split([':', ',', ';', '=']));
        // The value of a variable may be a folder itself.
        let of_values = of_values.filter(|part| part.contains('/')).flat_map(|part| {
            [(!has_extension(part)).then(|| part.trim_end_matches('/').to_owned()), of_path(part)]
        });
        let mut relative: Vec<String> =
            of_values.flatten().chain(paths.into_iter().filter_map(of_path)).collect();
        let absolute = relative.iter().filter(|folder| folder.starts_with('/')).cloned();
        let mut own: Vec<String> = [current, home].into_iter().flatten().chain(absolute).collect();
        own.retain(|folder| folder.len() > 1 && !is_of_system(&format!("{folder}/")));
        own.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
        relative.retain(|folder| !folder.starts_with('/') && !NAMELESS.contains(&folder.as_str()));
        relative.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
        relative.dedup();
        Folders { own, relative }
    }

    /// Returns a text without the folders of paths, except folders of the system: `…/libmy_npu.so`.
    pub fn removed_from(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.own {
            text = text.replace(folder, "/…");
        }
        let mut kept = String::with_capacity(text.len());
        let mut before = None;
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let is_start = starts_path(before);
            let path = if first == '/' && is_start { path_length(rest) } else { 0 };
            let relative = if is_start { self.relative_length(rest) } else { 0 };
            let taken = path.max(relative).max(first.len_utf8());
            let (part, after) = rest.split_at(taken);
            if path > 1 {
                kept.push_str(&shortened(part));
            } else if relative > 0 {
                kept.push('…');
            } else {
                kept.push_str(part);
            }
            before = part.chars().next_back();
            rest = after;
        }
        kept
    }

    /// Returns the text of a variable without folders: no part of a list is more than the name of a file.
    pub fn removed_from_value(&self, value: &str) -> String {
        if value.contains("://") {
            return value.to_owned();
        }
        let is_private = |part: &str| {
            let folder = part.trim_end_matches('/');
            folder.contains('/') && !has_extension(folder) && !is_of_system(folder)
        };
        let shown = |part: &str| if is_private(part) { "…".to_owned() } else { self.removed_from(part) };
        value.split(':').map(shown).collect::<Vec<_>>().join(":")
    }

    /// Returns the length of the known relative folder at the start of a text; 0 if there is none.
    fn relative_length(&self, text: &str) -> usize {
        let is_here = |folder: &&String| {
            let after = text.strip_prefix(folder.as_str()).map(|after| after.chars().next());
            after.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric() && !"-_.".contains(next)))
        };
        self.relative.iter().find(is_here).map_or(0, String::len)
    }
}

/// Returns true if a path may follow a character.
fn starts_path(before: Option<char>) -> bool {
    before.is_none_or(|before| before.is_whitespace() || "\"'`=:,;([{<|".contains(before))
}

/// Returns the length of the path at the start of a text.
fn path_length(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || "\"'`:,;)]}>|".contains(c)).unwrap_or(text.len())
}

/// Returns true for a file with a usual name, and not a folder.
fn has_extension(path: &str) -> bool {
    Path::new(path).extension().is_some()
}

fn is_of_system(path: &str) -> bool {
    let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    SYSTEM.into_iter().any(is_in)
}

fn shortened(path: &str) -> String {
    if is_of_system(path) {
        return path.to_owned();
    }
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("…/{}", name.trim_start_matches('…'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_removed_but_not_those_of_the_system() {
        let text = "load `/srv/anna/my npu/x.so` and /usr/lib/libc.so.6 from A=/data/secret:/opt/v/lib: 3/4";
        let expected = "load `…/my npu/x.so` and /usr/lib/libc.so.6 from A=…/secret:…/lib: 3/4";
        assert_eq!(Folders::new([], []).removed_from(text), expected);
    }

    #[test]
    fn home_and_the_current_folder_are_removed_with_their_spaces() {
        let current = std::env::current_dir().expect("tests run in a folder");
        let text = format!("{}/some plugin.so", current.display());
        assert_eq!(Folders::new([], []).removed_from(&text), "…/some plugin.so");
    }

    #[test]
    fn folder_of_an_argument_is_removed_with_its_spaces() {
        let folders = Folders::new(["/srv/anna jones/my npu/libnpu.so"], []);
        let text = "check /srv/anna jones/my npu/libnpu.so and /srv/anna jones/my npu/libother.so";
        assert_eq!(folders.removed_from(text), "check …/libnpu.so and …/libother.so");
    }

    #[test]
    fn relative_folders_of_arguments_and_variables_are_removed() {
        let folders = Folders::new(["client/x/libnpu.so", "./libtwo.so"], ["acme/beta:/usr/lib", "one"]);
        let text =
            "tenon check client/x/libnpu.so: `acme/beta` and acme/beta2, acme/lib.so, one, ./libtwo.so";
        let expected = "tenon check …/libnpu.so: `…` and …/beta2, …/lib.so, one, ./libtwo.so";
        assert_eq!(folders.removed_from(text), expected);
    }

    #[test]
    fn value_of_a_variable_has_no_folder() {
        let folders = Folders::new([], ["acme/beta"]);
        for (value, expected) in [
            ("acme/beta", "…"),
            ("acme/beta:/opt/acme/lib:/usr/lib/x", "…:…:/usr/lib/x"),
            ("/opt/acme/libnpu.so", "…/libnpu.so"),
            ("auto_growth", "auto_growth"),
            ("https://…@files.example", "https://…@files.example"),
        ] {
            assert_eq!(folders.removed_from_value(value), expected, "{value}");
        }
    }
}

//! Removes the names of folders from a text.

/// Folders that every system has. Paths in them tell nothing about a person.
const SYSTEM: [&str; 8] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sys", "/usr"];

/// Returns a text without the folders of absolute paths, except folders of the system: `…/libmy_npu.so`.
///
/// The home folder and the current folder are removed first, since their names may contain spaces.
pub fn without_folders(text: &str) -> String {
    let home = std::env::var("HOME").ok();
    let current = std::env::current_dir().ok().map(|path| path.to_string_lossy().into_owned());
    let mut text = text.to_owned();
    for folder in [current, home].into_iter().flatten().filter(|folder| folder.len() > 1) {
        text = text.replace(&folder, "/…");
    }
    let mut kept = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let length = if first == '/' && starts_path(before) { path_length(rest) } else { 0 };
        let taken = if length > 1 { length } else { first.len_utf8() };
        let (part, after) = rest.split_at(taken);
        kept.push_str(&if length > 1 { shortened(part) } else { part.to_owned() });
        before = part.chars().next_back();
        rest = after;
    }
    kept
}

/// Returns true if a path may follow a character.
fn starts_path(before: Option<char>) -> bool {
    before.is_none_or(|before| before.is_whitespace() || "\"'`=:,;([{<|".contains(before))
}

/// Returns the length of the path at the start of a text.
fn path_length(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || "\"'`:,;)]}>|".contains(c)).unwrap_or(text.len())
}

fn shortened(path: &str) -> String {
    let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    if SYSTEM.into_iter().any(is_in) {
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
        assert_eq!(without_folders(text), expected);
    }

    #[test]
    fn home_and_the_current_folder_are_removed_with_their_spaces() {
        let current = std::env::current_dir().expect("tests run in a folder");
        let text = format!("{}/some plugin.so", current.display());
        assert_eq!(without_folders(&text), "…/some plugin.so");
    }
}

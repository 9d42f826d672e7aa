//! Paths of outputs: relative to the output root, with `/` between the parts, and never out of it.

/// The folder of the lists of outputs, below the output root.
pub const FOLDER: &str = ".codegen";

/// The reason for which a path names no place inside the output root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It begins at the root of a file system.
    #[error("it is absolute")]
    Absolute,
    /// It begins with a drive of Windows, such as `C:`.
    #[error("it begins with a drive")]
    Drive,
    /// It has a `\`, which separates folders on Windows alone.
    #[error("it has a `\\`")]
    Backslash,
    /// Its `..` go further up than its folders go down.
    #[error("it leads out of it")]
    Outside,
    /// It is the root itself, but a file is expected.
    #[error("it names no file")]
    NoFile,
}

/// Returns a folder in its shortest form: no `.`, no `..`, no `/` that is not between two parts. The root itself is
/// empty.
///
/// # Errors
/// If the path names no place inside the root.
pub fn folder(path: &str) -> Result<String, PathError> {
    if path.contains('\\') {
        return Err(PathError::Backslash);
    }
    if path.starts_with('/') {
        return Err(PathError::Absolute);
    }
    if path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() {
        return Err(PathError::Drive);
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or(PathError::Outside)?),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Returns a file in its shortest form.
///
/// # Errors
/// If the path names no file inside the root.
pub fn file(path: &str) -> Result<String, PathError> {
    let short = folder(path)?;
    if short.is_empty() || path.ends_with('/') || path.ends_with("/.") || path.ends_with("..") {
        Err(PathError::NoFile)
    } else {
        Ok(short)
    }
}

/// Returns a path below a folder, both in their shortest form.
pub fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// Returns true if a path is a folder or is in it. Both must be in their shortest form.
pub fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the same for paths that are one file if the file system ignores case.
pub fn without_case(path: &str) -> String {
    if path.bytes().any(|byte| !byte.is_ascii() || byte.is_ascii_uppercase()) {
        path.to_lowercase()
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_in_its_shortest_form() {
        for (path, short) in [
            ("include", "include"),
            ("./include//tenon/", "include/tenon"),
            ("a/../b/./c", "b/c"),
            (".", ""),
            ("a/..", ""),
            ("...", "..."),
            ("..a", "..a"),
        ] {
            assert_eq!(folder(path).as_deref(), Ok(short), "{path}");
        }
    }

    #[test]
    fn path_out_of_the_root_is_refused() {
        for (path, error) in [
            ("../x", PathError::Outside),
            ("a/../../x", PathError::Outside),
            ("/x", PathError::Absolute),
            ("//server/x", PathError::Absolute),
            ("C:/x", PathError::Drive),
            ("c:x", PathError::Drive),
            ("a\\b", PathError::Backslash),
        ] {
            assert_eq!(folder(path), Err(error), "{path}");
        }
    }

    #[test]
    fn file_has_a_name() {
        assert_eq!(file("./a//b.h").as_deref(), Ok("a/b.h"));
        for path in [".", "a/..", "a/", "a/."] {
            assert_eq!(file(path), Err(PathError::NoFile), "{path}");
        }
    }

    #[test]
    fn folder_holds_itself_and_what_lies_below() {
        assert!(is_within("a/b", "a") && is_within("a", "a") && is_within("a", ""));
        assert!(!is_within("ab", "a") && !is_within("a", "a/b"));
    }
}

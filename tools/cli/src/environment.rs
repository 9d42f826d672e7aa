//! Environment variables in outputs that users send to others: values that may be secrets are left out.

use std::env;

/// Stands in place of a value.
const LEFT_OUT: &str = "(left out)";

/// Parts of the names of variables with secrets.
const SECRETS: [&str; 6] = ["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// Parts of the names of variables with addresses of machines.
const ADDRESSES: [&str; 7] = ["ADDR", "ENDPOINT", "HOST", "MASTER", "PROXY", "URI", "URL"];

/// Shorter secrets are not searched in a text: they are parts of words.
const SHORTEST: usize = 6;

/// Returns the value of a variable without secrets and addresses.
pub fn shown(name: &str, value: &str) -> String {
    let has = |parts: &[&str]| parts.iter().any(|part| name.to_ascii_uppercase().contains(part));
    if (has(&SECRETS) || has(&ADDRESSES) && !is_plain(value)) && !value.is_empty() {
        LEFT_OUT.to_owned()
    } else {
        without_users(value)
    }
}

/// Replaces the secrets that variables of this process have, wherever a text repeats them.
pub fn without_secrets(text: &str) -> String {
    let mut text = without_users(text);
    for (name, value) in env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if value.len() >= SHORTEST && !is_plain(&value) && shown(&name, &value) == LEFT_OUT {
            text = text.replace(&*value, LEFT_OUT);
        }
    }
    text
}

/// Returns true for numbers and switches, which tell nothing about a machine.
fn is_plain(value: &str) -> bool {
    value.parse::<f64>().is_ok() || matches!(&*value.to_ascii_lowercase(), "true" | "false" | "on" | "off")
}

/// Removes the user and the password of URLs: `https://…@host`.
fn without_users(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        kept.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/\"'`<>?#".contains(c)).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(at) => {
                kept.push('…');
                &after[at..]
            }
            None => after,
        };
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_addresses_are_left_out() {
        for (name, value, expected) in [
            ("TENON_TOKEN", "hunter2", LEFT_OUT),
            ("FLAGS_api_key", "12345678", LEFT_OUT),
            ("PADDLE_PASSWORD", "x", LEFT_OUT),
            ("PADDLE_TRAINER_ENDPOINTS", "10.1.2.3:6170", LEFT_OUT),
            ("FLAGS_host_trace_level", "1", "1"),
            ("FLAGS_allocator_strategy", "auto_growth", "auto_growth"),
            ("PADDLE_TOKEN", "", ""),
            ("TENON_INDEX", "https://anna:hunter2@files.example/x?y", "https://…@files.example/x?y"),
            ("TENON_INDEX", "a http://t@h b ftp://h/p@q", "a http://…@h b ftp://h/p@q"),
        ] {
            assert_eq!(shown(name, value), expected, "{name}={value}");
        }
    }
}

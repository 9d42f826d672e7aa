//! Excerpts from the output of a plugin whose process has ended.

/// Number of bytes that are shown.
const SHOWN: usize = 2048;

/// Returns the part with the reason why a process ended, its lines indented, each after a line break: the last panic,
/// without the lines of its backtrace, or the last lines.
pub(crate) fn excerpt(printed: &str) -> String {
    let lines: Vec<&str> = printed.trim().lines().collect();
    // A panic that may not unwind is followed by another, which says that.
    let tells = |index: &usize| {
        lines[*index].contains("panicked at")
            && !lines.get(index + 1).is_some_and(|next| next.contains("in a function that cannot unwind"))
    };
    let shown: Vec<&str> = match (0..lines.len()).rev().find(tells) {
        Some(panic) => first_bytes(without_backtraces(&lines[panic..])),
        None => last_bytes(&lines),
    };
    shown.iter().map(|line| format!("\n  {line}")).collect()
}

/// Returns the function that the dynamic linker did not find when it was called, which ends the process.
pub(crate) fn missing_symbol(printed: &str) -> Option<String> {
    let line = printed.lines().rev().find(|line| line.contains("symbol lookup error"))?;
    let (_, symbol) = line.split_once("undefined symbol: ")?;
    Some(symbol.split([' ', ',']).next().unwrap_or_default().to_owned())
}

fn without_backtraces<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let is_frame = |line: &str| {
        let line = line.trim_start();
        let number = line.split_once(": ").map(|(number, _)| number);
        line.starts_with("at ") || number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut kept = Vec::new();
    let mut in_backtrace = false;
    for line in lines {
        if *line == "stack backtrace:" {
            in_backtrace = true;
            kept.push("(its backtrace is left out)");
        } else if !(in_backtrace && is_frame(line)) {
            in_backtrace = false;
            kept.push(*line);
        }
    }
    kept
}

fn first_bytes(mut lines: Vec<&str>) -> Vec<&str> {
    let fit = fitting(lines.iter());
    lines.truncate(fit.max(1));
    lines
}

fn last_bytes<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let fit = fitting(lines.iter().rev());
    lines[lines.len() - fit..].to_vec()
}

/// Returns the number of lines that are shown.
fn fitting<'a>(lines: impl Iterator<Item = &'a &'a str>) -> usize {
    let mut bytes = 0;
    lines
        .take_while(|line| {
            bytes += line.len() + 1;
            bytes <= SHOWN
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_with_a_long_backtrace_is_shown_by_its_words() {
        let frames: String = (0..500)
            .map(|frame| format!("  {frame}: a::function\n        at src/lib.rs:{frame}\n"))
            .collect();
        let printed = format!(
            "hello\nthread 'main' panicked at src/lib.rs:7:5:\nthe fan is stuck\nstack backtrace:\n{frames}\
             note: some details are omitted\n\
             thread 'main' panicked at library/core/src/panicking.rs:1:2:\npanic in a function that cannot unwind\n\
             stack backtrace:\n{frames}thread caused non-unwinding panic. aborting.\n"
        );
        let shown = excerpt(&printed);
        assert!(
            shown.starts_with("\n  thread 'main' panicked at src/lib.rs:7:5:\n  the fan is stuck\n"),
            "{shown}"
        );
        assert!(shown.ends_with("aborting.") && !shown.contains("a::function"), "{shown}");
    }

    #[test]
    fn prints_without_a_panic_are_shown_from_their_end() {
        let printed: String = (0..1000).map(|line| format!("line {line}\n")).collect();
        let shown = excerpt(&printed);
        assert!(shown.ends_with("\n  line 999") && shown.len() < 2 * SHOWN, "{shown}");
        assert_eq!(excerpt(""), "");
    }

    #[test]
    fn a_symbol_that_the_linker_misses_is_read() {
        let printed = "x\n/usr/bin/tenon: symbol lookup error: /tmp/npu.so: undefined symbol: PD_Register\n";
        assert_eq!(missing_symbol(printed).as_deref(), Some("PD_Register"));
        assert_eq!(missing_symbol("all is well"), None);
    }
}

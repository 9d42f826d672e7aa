//! Lists of declarations for macros. Formatters leave the arguments of a macro as they are, so a list is a foreign block
//! with the attribute `#[__list(name)]` until it is printed: then it is a call of the macro `name` with the block.
//!
//! No name of a spec begins with `__`, so such an attribute is always a marker.

/// The maximum width of a line with a declaration, unless it has parts.
const WIDTH: usize = 110;

/// The margin of a declaration.
const MARGIN: &str = "        ";

/// Returns the name of the macro if a line is the marker of a list.
pub fn marker(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("#[__list(")?.strip_suffix(")]")
}

/// Returns the lines of a list, given those of the formatted block.
pub fn lines<'a>(name: &str, block: &mut impl Iterator<Item = &'a str>) -> Vec<String> {
    let head = block.next().unwrap_or_default();
    let mut lines = vec![format!("{name}! {{"), format!("    {head}")];
    let mut declaration = Vec::new();
    for line in block.take_while(|line| *line != "}") {
        declaration.push(line);
        if line.ends_with(';') {
            let whole = joined(&declaration);
            if whole.len() <= WIDTH {
                lines.push(whole);
            } else {
                lines.extend(declaration.iter().map(|line| format!("    {line}")));
            }
            declaration.clear();
        }
    }
    lines.extend(["    }".to_owned(), "}".to_owned()]);
    lines
}

/// Returns a declaration in one line.
fn joined(lines: &[&str]) -> String {
    let mut whole = MARGIN.to_owned();
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with(')') {
            whole.truncate(whole.trim_end_matches(',').len());
        } else if !whole.ends_with(['(', ' ']) {
            whole.push(' ');
        }
        whole.push_str(line);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::{lines, marker};

    #[test]
    fn declarations_are_lines_of_a_macro_call() {
        let long = format!("        second: {},", "T".repeat(100));
        let block = [
            "unsafe extern \"C\" {",
            "    fn none();",
            "    fn two(",
            "        a: i32,",
            "        b: u8,",
            "    ) -> S;",
        ];
        let block = block.into_iter().chain([
            "    fn wide(",
            "        first: i32,",
            &long,
            "    );",
            "}",
            "fn next() {}",
        ]);
        let mut block = block;
        assert_eq!(marker("#[__list(forward)]"), Some("forward"));
        let printed = lines("forward", &mut block);
        let [head @ .., first, second, last, close, end] = &*printed else { panic!("{printed:?}") };
        assert_eq!(
            head[..4],
            [
                "forward! {",
                "    unsafe extern \"C\" {",
                "        fn none();",
                "        fn two(a: i32, b: u8) -> S;"
            ]
        );
        assert_eq!([first, second, last], ["            first: i32,", &format!("    {long}"), "        );"]);
        assert_eq!([&**close, &**end], ["    }", "}"]);
        assert_eq!(block.next(), Some("fn next() {}"));
    }
}

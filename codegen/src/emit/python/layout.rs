//! Lines of Python as `ruff format` leaves them.

/// Columns of a line of code, as `sdk-py/pyproject.toml` says it.
pub const WIDTH: usize = 120;

/// Columns of a line of prose, which `help()` shows with a margin of its own.
pub const PROSE: usize = 100;

/// A call, a definition, or anything else with items between brackets: on one line, else with the items on a line of
/// their own, else with a line for each.
pub fn bracketed(margin: usize, head: &str, items: &[String], tail: &str) -> Vec<String> {
    let indent = " ".repeat(margin);
    let line = format!("{indent}{head}{}{tail}", items.join(", "));
    if line.chars().count() <= WIDTH || items.is_empty() {
        return vec![line];
    }
    let inner = format!("{indent}    {}", items.join(", "));
    let mut lines = vec![format!("{indent}{head}")];
    if inner.chars().count() <= WIDTH {
        lines.push(inner);
    } else {
        lines.extend(exploded(margin + 4, items));
    }
    lines.push(format!("{indent}{tail}"));
    lines
}

/// A list, a tuple or a line of imports: on one line, else with a line for each item.
pub fn listed(margin: usize, head: &str, items: &[String], tail: &str) -> Vec<String> {
    let indent = " ".repeat(margin);
    let line = format!("{indent}{head}{}{tail}", items.join(", "));
    if line.chars().count() <= WIDTH {
        return vec![line];
    }
    let mut lines = vec![format!("{indent}{head}")];
    lines.extend(exploded(margin + 4, items));
    lines.push(format!("{indent}{tail}"));
    lines
}

fn exploded(margin: usize, items: &[String]) -> impl Iterator<Item = String> {
    let indent = " ".repeat(margin);
    items.iter().map(move |item| format!("{indent}{item},"))
}

/// What a function returns: one value, or several as a tuple.
pub fn returned(margin: usize, values: &[String]) -> Vec<String> {
    let line = format!("{}return {}", " ".repeat(margin), values.join(", "));
    if line.chars().count() <= WIDTH { vec![line] } else { listed(margin, "return (", values, ")") }
}

/// Names that take what is in a tuple: on one line, else with the tuple or the names on lines of their own.
pub fn assigned(margin: usize, names: &[String], tuple: &str) -> Vec<String> {
    let indent = " ".repeat(margin);
    let targets = match names {
        [one] => format!("({one},)"),
        names => names.join(", "),
    };
    let line = format!("{indent}{targets} = {tuple}");
    let open = format!("{indent}{targets} = (");
    if line.chars().count() <= WIDTH {
        vec![line]
    } else if open.chars().count() <= WIDTH {
        vec![open, format!("{indent}    {tuple}"), format!("{indent})")]
    } else {
        listed(margin, "(", names, &format!(") = {tuple}"))
    }
}

/// The identifiers in a piece of code.
pub fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("parameter_{index:02}")).collect()
    }

    #[test]
    fn names_that_take_a_tuple_are_broken_last() {
        assert_eq!(assigned(0, &items(1), "args"), ["(parameter_00,) = args"]);
        assert_eq!(assigned(0, &items(2), "args"), ["parameter_00, parameter_01 = args"]);
        let mut names = items(8);
        names.push("end".to_owned());
        assert_eq!(assigned(0, &names, "args")[1..], ["    args", ")"]);
        assert_eq!(assigned(0, &items(9), "args").len(), 11);
    }

    #[test]
    fn what_fits_is_on_one_line() {
        assert_eq!(bracketed(4, "f(", &items(2), ")"), ["    f(parameter_00, parameter_01)"]);
    }

    #[test]
    fn items_move_to_a_line_of_their_own_and_then_to_a_line_each() {
        let lines = bracketed(0, "a_function_with_a_long_name(", &items(7), ")");
        assert_eq!(lines.len(), 3);
        let lines = bracketed(0, "f(", &items(9), ")");
        assert_eq!((lines.len(), lines[1].as_str()), (11, "    parameter_00,"));
    }
}

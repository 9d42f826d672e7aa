use super::*;

const NAMES: [(&str, Variable, Ty); 4] = [
    ("x", Variable::Input(0), Ty::Number),
    ("y", Variable::Input(1), Ty::Number),
    ("alpha", Variable::Attribute(0), Ty::Number),
    ("flag", Variable::Attribute(1), Ty::Truth),
];

fn parsed(text: &str, elements: Elements) -> Result<Expr, Mistake> {
    let names: Vec<Name> =
        NAMES.map(|(text, variable, ty)| Name { text: text.to_owned(), variable, ty }).into();
    parse(text, Scope { names: &names, elements })
}

/// Formats an expression with all brackets written.
fn shown(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Number(value) => value.to_string(),
        ExprKind::Constant(constant) => format!("{constant:?}").to_lowercase(),
        ExprKind::Truth(value) => value.to_string(),
        ExprKind::Variable(variable) => {
            NAMES.iter().find(|name| name.1 == *variable).map_or_else(String::new, |name| name.0.to_owned())
        }
        ExprKind::Negate(inner) => format!("(-{})", shown(inner)),
        ExprKind::Not(inner) => format!("(not {})", shown(inner)),
        ExprKind::Binary(operator, left, right) => format!("({} {operator:?} {})", shown(left), shown(right)),
        ExprKind::Call(function, arguments) => {
            format!("{}({})", function.name, arguments.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Choice { condition, then, otherwise } => {
            format!("({} if {} else {})", shown(then), shown(condition), shown(otherwise))
        }
    }
}

#[test]
fn operators_bind_as_in_python() {
    for (text, wanted) in [
        ("x + y * 2 - 1", "((x Add (y Multiply 2)) Subtract 1)"),
        ("-x * y", "((-x) Multiply y)"),
        ("- -x", "(-(-x))"),
        ("(x + y) * 2", "((x Add y) Multiply 2)"),
        ("x / y / 2", "((x Divide y) Divide 2)"),
        ("x if x > 0 else alpha * x", "(x if (x Greater 0) else (alpha Multiply x))"),
        ("1 if x > 0 else -1 if x < 0 else 0", "(1 if (x Greater 0) else ((-1) if (x Less 0) else 0))"),
        ("x == 0 or not flag and y >= 1e-3", "((x Equal 0) Or ((not flag) And (y GreaterEqual 0.001)))"),
        ("max(x, exp(-y)) + pi", "(max(x, exp((-y))) Add pi)"),
    ] {
        assert_eq!(parsed(text, Elements::Floats).map(|expr| shown(&expr)), Ok(wanted.to_owned()), "{text}");
    }
}

#[test]
fn mistakes_have_a_place_and_a_message() {
    for (text, elements, place, message) in [
        ("", Elements::Floats, "", "the expression ends too early"),
        ("x +", Elements::Floats, "", "the expression ends too early"),
        ("x y", Elements::Floats, "y", "an operator is missing before this"),
        ("x + )", Elements::Floats, ")", "a value is expected here, and `)` is found"),
        ("x ** 2", Elements::Floats, "**", "powers are written as `pow(x, y)` or `square(x)`"),
        ("x $ 2", Elements::Floats, "$", "`$` has no meaning in an expression"),
        ("1.2.3", Elements::Floats, "1.2.3", "`1.2.3` is not a number"),
        ("x < y < 2", Elements::Floats, "< 2", "comparisons do not chain: write `a < b and b < c`"),
        ("(x + y", Elements::Floats, "", "`)` is expected here"),
        ("max(x)", Elements::Floats, "max(x)", "`max` takes 2 arguments, not 1"),
        ("x if y > 0", Elements::Floats, "", "`else` is expected after the condition: `a if c else b`"),
        ("alfa * x", Elements::Floats, "alfa", "there is no `alfa` here"),
        ("expp(x)", Elements::Floats, "expp", "there is no function `expp`"),
        ("x + (y > 0)", Elements::Floats, "(y > 0)", "the right operand is a number, not a truth value"),
        ("x if y else 0", Elements::Floats, "y", "a condition is a truth value, not a number"),
        ("x / y", Elements::Both, "/", "`/` divides floating-point numbers"),
        ("exp(x)", Elements::Both, "exp", "`exp` is not defined for integers and floating-point numbers"),
        (
            "bit_and(x, y)",
            Elements::Both,
            "bit_and",
            "`bit_and` is not defined for integers and floating-point numbers",
        ),
        ("x + 0.5", Elements::Integers, "0.5", "a fraction is not an integer"),
        ("x + inf", Elements::Both, "inf", "`inf` is not an integer"),
    ] {
        let mistake = parsed(text, elements).expect_err(text);
        assert_eq!(mistake.message, message, "{text}");
        let found = &text[mistake.range.clone()];
        assert!(place.starts_with(found) || found == place, "{text}: {found}");
    }
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    assert_eq!(parsed("alpa", Elements::Floats).expect_err("unknown").label, "did you mean `alpha`?");
    assert_eq!(parsed("sqr(x)", Elements::Floats).expect_err("unknown").label, "did you mean `sqrt`?");
    assert_eq!(
        parsed("exp + x", Elements::Floats).expect_err("no call").label,
        "this function needs its arguments in brackets"
    );
}

#[test]
fn depth_is_bounded() {
    let deep = format!("{}x{}", "(".repeat(1_000), ")".repeat(1_000));
    let mistake = parsed(&deep, Elements::Floats).expect_err("too deep");
    assert_eq!(mistake.message, "the expression is nested more than 64 deep");
    let deep = "-".repeat(1_000);
    assert!(parsed(&deep, Elements::Floats).is_err());
    assert!(parsed(&vec!["x"; 1_000].join(" + "), Elements::Floats).is_ok());
    let mistake = parsed(&vec!["x"; 2_000].join(" + "), Elements::Floats).expect_err("too long");
    assert_eq!(mistake.message, "an expression has at most 4096 bytes");
}

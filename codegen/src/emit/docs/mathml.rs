//! Formulas as MathML, which browsers render without a script.

use crate::formula::{Binary, Constant, Expr, ExprKind, Variable};

/// The precedence of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Choice,
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Negation,
    Product,
    Atom,
}

/// The names of variables.
type Names<'a> = &'a dyn Fn(Variable) -> String;

/// Formats an equation on a separate line: `name = expr`.
pub fn equation(name: &str, expr: &Expr, names: Names<'_>) -> String {
    let Drawn { text, .. } = draw(names, expr);
    format!("<math display=\"block\">{}<mo>=</mo>{text}</math>", identifier(name))
}

/// A formatted part of a formula, with its precedence.
struct Drawn {
    text: String,
    tightness: Tightness,
}

impl Drawn {
    fn atom(text: String) -> Self {
        Drawn { text, tightness: Tightness::Atom }
    }

    /// Returns the text, in parentheses if its precedence is lower than its place needs.
    fn within(self, place: Tightness) -> String {
        if self.tightness < place { fenced("(", &self.text, ")") } else { self.text }
    }
}

fn draw(names: Names<'_>, expr: &Expr) -> Drawn {
    let part = |expr: &Expr| draw(names, expr);
    match &expr.kind {
        ExprKind::Number(number) => Drawn::atom(format!("<mn>{number}</mn>")),
        ExprKind::Constant(constant) => Drawn::atom(symbol(*constant).to_owned()),
        ExprKind::Truth(truth) => Drawn::atom(word(if *truth { "true" } else { "false" })),
        ExprKind::Variable(variable) => Drawn::atom(identifier(&names(*variable))),
        ExprKind::Negate(inner) => Drawn {
            text: format!("<mo>−</mo>{}", part(inner).within(Tightness::Product)),
            tightness: Tightness::Negation,
        },
        ExprKind::Not(inner) => Drawn {
            text: format!("{}{}", operation("not"), part(inner).within(Tightness::Not)),
            tightness: Tightness::Not,
        },
        ExprKind::Binary(Binary::Divide, above, below) => {
            Drawn::atom(fraction(&part(above).text, &part(below).text))
        }
        ExprKind::Binary(operation, left, right) => binary(*operation, part(left), part(right)),
        ExprKind::Call(function, arguments) => {
            Drawn::atom(call(function.name, arguments.iter().map(part).collect()))
        }
        ExprKind::Choice { condition, then, otherwise } => Drawn {
            text: format!(
                "<mrow><mo>{{</mo><mtable columnalign=\"left left\"><mtr><mtd>{}</mtd><mtd>{}{}</mtd></mtr>\
                 <mtr><mtd>{}</mtd><mtd>{}</mtd></mtr></mtable></mrow>",
                part(then).text,
                operation("if"),
                part(condition).text,
                part(otherwise).text,
                operation("otherwise"),
            ),
            tightness: Tightness::Choice,
        },
    }
}

fn binary(operation: Binary, left: Drawn, right: Drawn) -> Drawn {
    let (sign, tightness) = match operation {
        Binary::Or => (self::operation("or"), Tightness::Or),
        Binary::And => (self::operation("and"), Tightness::And),
        Binary::Equal => (operator("="), Tightness::Comparison),
        Binary::NotEqual => (operator("≠"), Tightness::Comparison),
        Binary::Less => (operator("&lt;"), Tightness::Comparison),
        Binary::LessEqual => (operator("≤"), Tightness::Comparison),
        Binary::Greater => (operator("&gt;"), Tightness::Comparison),
        Binary::GreaterEqual => (operator("≥"), Tightness::Comparison),
        Binary::Add => (operator("+"), Tightness::Sum),
        Binary::Subtract => (operator("−"), Tightness::Sum),
        Binary::Multiply | Binary::Divide => (operator("·"), Tightness::Product),
    };
    let (before, after) = match tightness {
        // `a - (b - c)`
        Tightness::Sum => (Tightness::Sum, Tightness::Product),
        // `-a * b`
        Tightness::Product => (Tightness::Negation, Tightness::Product),
        other => (other, other),
    };
    Drawn { text: format!("{}{sign}{}", left.within(before), right.within(after)), tightness }
}

/// Formats a call of a function of the language, with the usual notation if there is one.
fn call(name: &str, arguments: Vec<Drawn>) -> String {
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    let list = texts.join("<mo>,</mo>");
    let apply = |drawn: &str| format!("{drawn}{}", fenced("(", &list, ")"));
    match (name, &*texts) {
        ("exp", [x]) => power("<mi>e</mi>", x),
        ("expm1", [x]) => fenced("(", &format!("{}<mo>−</mo><mn>1</mn>", power("<mi>e</mi>", x)), ")"),
        ("sqrt", [x]) => format!("<msqrt>{x}</msqrt>"),
        ("cbrt", [x]) => format!("<mroot>{}<mn>3</mn></mroot>", row(x)),
        ("recip", [x]) => fraction("<mn>1</mn>", x),
        ("rsqrt", [x]) => fraction("<mn>1</mn>", &format!("<msqrt>{x}</msqrt>")),
        ("square", [_]) => power(&base(arguments), "<mn>2</mn>"),
        ("pow", [_, exponent]) => {
            let exponent = (*exponent).to_owned();
            power(&base(arguments), &exponent)
        }
        ("abs", [x]) => fenced("|", x, "|"),
        ("floor", [x]) => fenced("⌊", x, "⌋"),
        ("ceil", [x]) => fenced("⌈", x, "⌉"),
        ("floor_div", [x, y]) => fenced("⌊", &fraction(x, y), "⌋"),
        ("log", [_]) => apply("<mi>ln</mi>"),
        ("log1p", [x]) => format!("<mi>ln</mi>{}", fenced("(", &format!("<mn>1</mn><mo>+</mo>{x}"), ")")),
        ("log2", [_]) => apply("<msub><mi>log</mi><mn>2</mn></msub>"),
        ("log10", [_]) => apply("<msub><mi>log</mi><mn>10</mn></msub>"),
        ("sigmoid", [_]) => apply("<mi>σ</mi>"),
        ("lgamma", [_]) => {
            format!("<mi>ln</mi>{}", fenced("|", &apply("<mi mathvariant=\"normal\">Γ</mi>"), "|"))
        }
        ("digamma", [_]) => apply("<mi>ψ</mi>"),
        _ => apply(&identifier(name)),
    }
}

/// Returns the first argument, as the base of a power.
fn base(arguments: Vec<Drawn>) -> String {
    arguments.into_iter().next().map(|base| base.within(Tightness::Atom)).unwrap_or_default()
}

fn power(base: &str, exponent: &str) -> String {
    format!("<msup>{}{}</msup>", row(base), row(exponent))
}

fn symbol(constant: Constant) -> &'static str {
    match constant {
        Constant::Pi => "<mi>π</mi>",
        Constant::E => "<mi>e</mi>",
        Constant::Inf => "<mi>∞</mi>",
        Constant::Nan => "<mi>NaN</mi>",
    }
}

fn identifier(name: &str) -> String {
    format!("<mi>{name}</mi>")
}

fn operator(sign: &str) -> String {
    format!("<mo>{sign}</mo>")
}

fn word(text: &str) -> String {
    format!("<mtext>{text}</mtext>")
}

/// Formats a word between two operands.
fn operation(text: &str) -> String {
    word(&format!("&nbsp;{text}&nbsp;"))
}

fn fraction(above: &str, below: &str) -> String {
    format!("<mfrac>{}{}</mfrac>", row(above), row(below))
}

fn row(text: &str) -> String {
    format!("<mrow>{text}</mrow>")
}

fn fenced(open: &str, text: &str, close: &str) -> String {
    format!("<mrow><mo>{open}</mo>{text}<mo>{close}</mo></mrow>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Elements, Name, Scope, Ty, parse};

    /// Returns the formula without tags: fractions as `above/below`, powers as `base^exponent`.
    fn drawn(text: &str) -> String {
        let names = ["x", "y"];
        let scope: Vec<Name> = names
            .iter()
            .enumerate()
            .map(|(index, name)| Name {
                text: (*name).to_owned(),
                variable: Variable::Input(index),
                ty: Ty::Number,
            })
            .collect();
        let expr = parse(text, Scope { names: &scope, elements: Elements::Floats }).expect("a formula");
        let text = equation("out", &expr, &|variable| match variable {
            Variable::Input(index) => names[index].to_owned(),
            _ => unreachable!("only inputs are in scope"),
        });
        let mut plain = String::new();
        for piece in text.split('<').skip(1) {
            let (tag, content) = piece.split_once('>').expect("a tag");
            plain.push_str(content);
            match tag {
                "mfrac" | "msup" | "mtd" => plain.push('['),
                "/mfrac" | "/msup" | "/mtd" => plain.push(']'),
                _ => {}
            }
        }
        plain.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">")
    }

    #[test]
    fn equation_adds_only_necessary_parentheses() {
        assert_eq!(drawn("x - (y - 1)"), "out=x−(y−1)");
        assert_eq!(drawn("(x - y) - 1"), "out=x−y−1");
        assert_eq!(drawn("x * (y + 1)"), "out=x·(y+1)");
        assert_eq!(drawn("-(x + y) * 2"), "out=−(x+y)·2");
        assert_eq!(drawn("x * -y"), "out=x·(−y)");
        assert_eq!(drawn("square(x + y)"), "out=[(x+y)2]");
        assert_eq!(drawn("(x + 1) / (y - 1)"), "out=[x+1y−1]");
    }

    #[test]
    fn equation_uses_the_usual_notation() {
        assert_eq!(drawn("exp(-x)"), "out=[e−x]");
        assert_eq!(drawn("abs(x) + floor(y)"), "out=|x|+⌊y⌋");
        assert_eq!(drawn("atan2(x, y)"), "out=atan2(x,y)");
        assert_eq!(drawn("pi if x > 0 else nan"), "out={[π][ if x>0][NaN][ otherwise ]");
    }
}

//! Reads expressions by recursive descent, with names and types resolved on the way.

use crate::text::quoted;
use std::ops::Range;

use super::lexer::{Token, syntax, words};
use super::{
    Binary, Constant, Elements, Expr, ExprKind, FUNCTIONS, Function, Mistake, MistakeKind, Scope, Ty,
};
use crate::diagnostic::nearest;

/// The maximum nesting of brackets and signs, which bounds the parser's stack.
const DEPTH: usize = 64;
/// A long sum is as deep as it has terms once it is read.
const LENGTH: usize = 4096;

/// Reads an expression.
///
/// # Errors
/// The first mistake in the text.
pub fn parse(text: &str, scope: Scope) -> Result<Expr, Mistake> {
    if text.len() > LENGTH {
        return Err(syntax(0..text.len(), format!("an expression has at most {LENGTH} bytes")));
    }
    let mut parser = Parser { words: words(text)?, next: 0, scope, depth: 0 };
    let expr = parser.choice()?;
    match parser.peek() {
        Token::End => Ok(expr),
        Token::Symbol(symbol) => {
            Err(syntax(parser.range(), format!("`{symbol}` is not expected after an expression")))
        }
        _ => Err(syntax(parser.range(), "an operator is missing before this")),
    }
}

struct Parser<'a> {
    words: Vec<(Token<'a>, Range<usize>)>,
    next: usize,
    scope: Scope<'a>,
    depth: usize,
}

/// The comparisons, which do not chain.
const COMPARISONS: [(&str, Binary); 6] = [
    ("==", Binary::Equal),
    ("!=", Binary::NotEqual),
    ("<", Binary::Less),
    ("<=", Binary::LessEqual),
    (">", Binary::Greater),
    (">=", Binary::GreaterEqual),
];

/// The words that are not names.
const KEYWORDS: [&str; 5] = ["if", "else", "and", "or", "not"];

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.words[self.next].0
    }

    fn range(&self) -> Range<usize> {
        self.words[self.next].1.clone()
    }

    /// Moves on; the last word stays where it is.
    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.words.len() - 1);
    }

    /// Takes a symbol or a keyword if it comes next.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = match self.peek() {
            Token::Symbol(symbol) => *symbol == word,
            Token::Name(name) => *name == word && KEYWORDS.contains(name),
            _ => false,
        };
        if is_next {
            self.advance();
        }
        is_next
    }

    fn expect(&mut self, word: &str, place: &str) -> Result<(), Mistake> {
        if self.takes(word) {
            Ok(())
        } else {
            Err(syntax(self.range(), format!("`{word}` is expected {place}")))
        }
    }

    fn choice(&mut self) -> Result<Expr, Mistake> {
        let then = self.disjunction()?;
        if !self.takes("if") {
            return Ok(then);
        }
        let condition = self.disjunction()?;
        expect_type(&condition, Ty::Truth, "a condition")?;
        self.expect("else", "after the condition: `a if c else b`")?;
        let otherwise = self.choice()?;
        expect_type(&otherwise, then.ty, "the other choice")?;
        let range = then.range.start..otherwise.range.end;
        let ty = then.ty;
        let [condition, then, otherwise] = [condition, then, otherwise].map(Box::new);
        Ok(Expr { kind: ExprKind::Choice { condition, then, otherwise }, ty, range })
    }

    fn disjunction(&mut self) -> Result<Expr, Mistake> {
        let mut left = self.conjunction()?;
        while self.takes("or") {
            let right = self.conjunction()?;
            left = binary(Binary::Or, left, right, Ty::Truth, Ty::Truth)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr, Mistake> {
        let mut left = self.negation()?;
        while self.takes("and") {
            let right = self.negation()?;
            left = binary(Binary::And, left, right, Ty::Truth, Ty::Truth)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expr, Mistake> {
        let start = self.range().start;
        if !self.takes("not") {
            return self.comparison();
        }
        let inner = self.nested(Self::negation)?;
        expect_type(&inner, Ty::Truth, "the operand of `not`")?;
        let range = start..inner.range.end;
        Ok(Expr { kind: ExprKind::Not(Box::new(inner)), ty: Ty::Truth, range })
    }

    fn comparison(&mut self) -> Result<Expr, Mistake> {
        let left = self.sum()?;
        let Some(operator) = self.comparison_sign() else { return Ok(left) };
        let right = self.sum()?;
        let compared = binary(operator, left, right, Ty::Number, Ty::Truth)?;
        let range = self.range();
        match self.comparison_sign() {
            None => Ok(compared),
            Some(_) => Err(syntax(range, "comparisons do not chain: write `a < b and b < c`")),
        }
    }

    fn comparison_sign(&mut self) -> Option<Binary> {
        COMPARISONS.into_iter().find(|(symbol, _)| self.takes(symbol)).map(|(_, operator)| operator)
    }

    fn sum(&mut self) -> Result<Expr, Mistake> {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.takes("+") => Binary::Add,
                () if self.takes("-") => Binary::Subtract,
                () => return Ok(left),
            };
            let right = self.product()?;
            left = binary(operator, left, right, Ty::Number, Ty::Number)?;
        }
    }

    fn product(&mut self) -> Result<Expr, Mistake> {
        let mut left = self.sign()?;
        loop {
            let range = self.range();
            let operator = match () {
                () if self.takes("*") => Binary::Multiply,
                () if self.takes("/") => Binary::Divide,
                () if self.takes("%") => {
                    return Err(syntax(
                        range,
                        "remainders are written as `floor_mod(x, y)` or `trunc_mod(x, y)`",
                    ));
                }
                () => return Ok(left),
            };
            if operator == Binary::Divide && self.scope.elements != Elements::Floats {
                return Err(Mistake {
                    kind: MistakeKind::Type,
                    range,
                    message: "`/` divides floating-point numbers".to_owned(),
                    label: format!(
                        "the elements are {}; there are `floor_div` and `trunc_div`",
                        self.scope.elements.shown()
                    ),
                });
            }
            let right = self.sign()?;
            left = binary(operator, left, right, Ty::Number, Ty::Number)?;
        }
    }

    fn sign(&mut self) -> Result<Expr, Mistake> {
        let start = self.range().start;
        if !self.takes("-") {
            return self.atom();
        }
        let inner = self.nested(Self::sign)?;
        expect_type(&inner, Ty::Number, "the operand of `-`")?;
        let range = start..inner.range.end;
        Ok(Expr { kind: ExprKind::Negate(Box::new(inner)), ty: Ty::Number, range })
    }

    fn atom(&mut self) -> Result<Expr, Mistake> {
        let range = self.range();
        match self.peek().clone() {
            Token::Number(value) => {
                self.advance();
                self.number(value, range)
            }
            Token::Name(name) if !KEYWORDS.contains(&name) => {
                self.advance();
                if self.takes("(") { self.call(name, range) } else { self.name(name, range) }
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.nested(Self::choice)?;
                let end = self.range().end;
                self.expect(")", "here")?;
                Ok(Expr { range: range.start..end, ..inner })
            }
            Token::End => Err(syntax(range, "the expression ends too early")),
            Token::Symbol(symbol) => {
                Err(syntax(range, format!("a value is expected here, and `{symbol}` is found")))
            }
            Token::Name(word) => {
                Err(syntax(range, format!("a value is expected here, and `{word}` is found")))
            }
        }
    }

    /// Parses one nesting level deeper.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Expr, Mistake>) -> Result<Expr, Mistake> {
        if self.depth == DEPTH {
            return Err(syntax(self.range(), format!("the expression is nested more than {DEPTH} deep")));
        }
        self.depth += 1;
        let inner = read(self);
        self.depth -= 1;
        inner
    }

    fn number(&self, value: f64, range: Range<usize>) -> Result<Expr, Mistake> {
        if value.fract() != 0.0 && self.scope.elements != Elements::Floats {
            return Err(self.not_of_integers(&range, "a fraction"));
        }
        Ok(Expr { kind: ExprKind::Number(value), ty: Ty::Number, range })
    }

    fn not_of_integers(&self, range: &Range<usize>, what: &str) -> Mistake {
        Mistake {
            kind: MistakeKind::Type,
            range: range.clone(),
            message: format!("{what} is not an integer"),
            label: format!("the elements are {}", self.scope.elements.shown()),
        }
    }

    fn name(&self, text: &str, range: Range<usize>) -> Result<Expr, Mistake> {
        if let Some(name) = self.scope.names.iter().find(|name| name.text == text) {
            return Ok(Expr { kind: ExprKind::Variable(name.variable), ty: name.ty, range });
        }
        if let Some((_, constant)) = Constant::ALL.into_iter().find(|(name, _)| *name == text) {
            if self.scope.elements != Elements::Floats {
                return Err(self.not_of_integers(&range, &format!("`{text}`")));
            }
            return Ok(Expr { kind: ExprKind::Constant(constant), ty: Ty::Number, range });
        }
        if let "true" | "false" = text {
            return Ok(Expr { kind: ExprKind::Truth(text == "true"), ty: Ty::Truth, range });
        }
        let is_function = FUNCTIONS.iter().any(|function| function.name == text);
        let label = if is_function {
            "this function needs its arguments in brackets".to_owned()
        } else {
            self.suggestion(text)
        };
        Err(Mistake { kind: MistakeKind::Name, range, message: format!("there is no `{text}` here"), label })
    }

    fn suggestion(&self, text: &str) -> String {
        let known = self.scope.names.iter().map(|name| name.text.as_str());
        match nearest(text, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => match quoted(known).as_slice() {
                [] => String::new(),
                [one] => format!("there is {one}"),
                known => format!("there are {}", known.join(", ")),
            },
        }
    }

    /// Reads the arguments of a call, whose bracket has been taken.
    fn call(&mut self, name: &str, range: Range<usize>) -> Result<Expr, Mistake> {
        let function = self.function(name, &range)?;
        let mut arguments = Vec::new();
        loop {
            let argument = self.nested(Self::choice)?;
            expect_type(&argument, Ty::Number, &format!("an argument of `{name}`"))?;
            arguments.push(argument);
            if !self.takes(",") {
                break;
            }
        }
        let end = self.range().end;
        self.expect(")", "after the arguments")?;
        let range = range.start..end;
        if arguments.len() != function.arity {
            let message = format!("`{name}` takes {} arguments, not {}", function.arity, arguments.len());
            return Err(syntax(range, message));
        }
        Ok(Expr { kind: ExprKind::Call(function, arguments), ty: function.result, range })
    }

    fn function(&self, name: &str, range: &Range<usize>) -> Result<&'static Function, Mistake> {
        let mistake = |kind, message, label| Mistake { kind, range: range.clone(), message, label };
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
            let near = nearest(name, FUNCTIONS.iter().map(|function| function.name));
            let label = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
            return Err(mistake(MistakeKind::Name, format!("there is no function `{name}`"), label));
        };
        if !self.scope.elements.has(function.domain) {
            let message = format!("`{name}` is not defined for {}", self.scope.elements.shown());
            let label = "`types` of the operator decides which functions there are".to_owned();
            return Err(mistake(MistakeKind::Type, message, label));
        }
        Ok(function)
    }
}

fn binary(operator: Binary, left: Expr, right: Expr, operands: Ty, result: Ty) -> Result<Expr, Mistake> {
    expect_type(&left, operands, "the left operand")?;
    expect_type(&right, operands, "the right operand")?;
    let range = left.range.start..right.range.end;
    Ok(Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), ty: result, range })
}

fn expect_type(expr: &Expr, ty: Ty, place: &str) -> Result<(), Mistake> {
    if expr.ty == ty {
        return Ok(());
    }
    Err(Mistake {
        kind: MistakeKind::Type,
        range: expr.range.clone(),
        message: format!("{place} is {}, not {}", ty.shown(), expr.ty.shown()),
        label: match ty {
            Ty::Truth => "such as `x > 0`".to_owned(),
            Ty::Number => "such as `1 if x > 0 else 0`".to_owned(),
        },
    })
}

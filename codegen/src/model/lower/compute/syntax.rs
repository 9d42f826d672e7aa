//! The text of a step as a tree of words.

use std::ops::Range;

/// A step as it is written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) targets: Vec<WrittenTarget>,
    pub(super) call: WrittenCall,
}

/// A target: `out`, or `mean like x`.
#[derive(Debug)]
pub(super) struct WrittenTarget {
    pub(super) name: Word,
    pub(super) like: Option<Word>,
}

/// A call with its arguments.
#[derive(Debug)]
pub(super) struct WrittenCall {
    pub(super) callee: Word,
    pub(super) arguments: Vec<WrittenValue>,
    pub(super) attributes: Vec<(Word, WrittenValue)>,
}

/// A value.
#[derive(Debug)]
pub(super) enum WrittenValue {
    Name(Word),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<WrittenValue>),
    Call(WrittenCall),
}

/// A name and its place in the text.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) range: Range<usize>,
}

/// A mistake in the text.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) range: Range<usize>,
    pub(super) message: String,
}

/// The maximum nesting of calls and lists, which bounds the parser's stack.
const DEPTH: usize = 32;

/// Reads a step.
pub(super) fn parse(text: &str) -> Result<Written, Mistake> {
    let mut parser = Parser { text, next: 0, depth: 0 };
    let mut targets = Vec::new();
    let first = parser.name("a tensor or a function")?;
    // A step without targets is a call.
    let call = if parser.peek() == Some('(') {
        parser.call(first)?
    } else {
        targets.push(parser.target(first)?);
        while parser.takes(',') {
            let name = parser.name("a tensor")?;
            targets.push(parser.target(name)?);
        }
        parser.expect('=', "after the tensors that the step writes")?;
        let callee = parser.name("a function")?;
        parser.call(callee)?
    };
    match parser.peek() {
        None => Ok(Written { targets, call }),
        Some(_) => Err(parser.mistake("nothing is expected after the call")),
    }
}

struct Parser<'a> {
    text: &'a str,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    /// Skips spaces and returns the next character, without consuming it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.next..];
        self.next += rest.len() - rest.trim_start().len();
        self.text[self.next..].chars().next()
    }

    fn mistake(&mut self, message: impl Into<String>) -> Mistake {
        let len = self.peek().map_or(0, char::len_utf8);
        Mistake { range: self.next..self.next + len, message: message.into() }
    }

    fn takes(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(symbol);
        if is_next {
            self.next += symbol.len_utf8();
        }
        is_next
    }

    fn expect(&mut self, symbol: char, place: &str) -> Result<(), Mistake> {
        if self.takes(symbol) { Ok(()) } else { Err(self.mistake(format!("`{symbol}` is expected {place}"))) }
    }

    /// Takes the characters that belong to a word.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> Word {
        let rest = &self.text[self.next..];
        let len = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let range = self.next..self.next + len;
        self.next = range.end;
        Word { text: rest[..len].to_owned(), range }
    }

    fn name(&mut self, expected: &str) -> Result<Word, Mistake> {
        match self.peek() {
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                Ok(self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':'))
            }
            _ => Err(self.mistake(format!("{expected} is expected here"))),
        }
    }

    fn target(&mut self, name: Word) -> Result<WrittenTarget, Mistake> {
        self.peek();
        let is_like = self.text[self.next..].starts_with("like ");
        if !is_like {
            return Ok(WrittenTarget { name, like: None });
        }
        self.next += "like".len();
        Ok(WrittenTarget { name, like: Some(self.name("a tensor")?) })
    }

    fn call(&mut self, callee: Word) -> Result<WrittenCall, Mistake> {
        self.expect('(', "after the name of a function")?;
        self.deeper(|parser| {
            let mut call = WrittenCall { callee, arguments: Vec::new(), attributes: Vec::new() };
            while !parser.takes(')') {
                match parser.value()? {
                    WrittenValue::Name(name) if parser.takes('=') => {
                        let value = parser.value()?;
                        call.attributes.push((name, value));
                    }
                    value => call.arguments.push(value),
                }
                if !parser.takes(',') {
                    parser.expect(')', "after the arguments")?;
                    break;
                }
            }
            Ok(call)
        })
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Mistake>) -> Result<T, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.mistake(format!("calls are nested more than {DEPTH} times")));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn value(&mut self) -> Result<WrittenValue, Mistake> {
        match self.peek() {
            Some('[') => {
                self.next += 1;
                self.deeper(|parser| {
                    let mut values = Vec::new();
                    while !parser.takes(']') {
                        values.push(parser.value()?);
                        if !parser.takes(',') {
                            parser.expect(']', "after the elements")?;
                            break;
                        }
                    }
                    Ok(WrittenValue::List(values))
                })
            }
            Some('\'') => {
                self.next += 1;
                let text = self.word(|c| c != '\'');
                self.expect('\'', "at the end of a string")?;
                Ok(WrittenValue::Text(text.text))
            }
            Some(first) if first.is_ascii_digit() || first == '-' || first == '.' => self.number(),
            _ => {
                let name = self.name("a value")?;
                match self.peek() {
                    Some('(') => Ok(WrittenValue::Call(self.call(name)?)),
                    _ => Ok(WrittenValue::Name(name)),
                }
            }
        }
    }

    fn number(&mut self) -> Result<WrittenValue, Mistake> {
        let word = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        let integer = word.text.parse().map(WrittenValue::Integer);
        integer
            .or_else(|_| word.text.parse().map(WrittenValue::Number))
            .map_err(|_| Mistake { message: format!("`{}` is not a number", word.text), range: word.range })
    }
}

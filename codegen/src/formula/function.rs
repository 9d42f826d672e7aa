//! The functions of the expression language.

use super::Ty;

/// The elements that a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// All numbers.
    Numbers,
    /// Floating-point numbers.
    Floats,
    /// Integers.
    Integers,
}

/// A function of the language. Its arguments are numbers.
#[derive(Debug)]
pub struct Function {
    /// Its name in a formula, which is also the name of the method in the Rust of `tenon-kernels`.
    pub name: &'static str,
    /// The number of its arguments.
    pub arity: usize,
    /// The elements that it takes.
    pub domain: Domain,
    /// The type of its value.
    pub result: Ty,
}

const fn of(name: &'static str, arity: usize, domain: Domain) -> Function {
    Function { name, arity, domain, result: Ty::Number }
}

const fn test(name: &'static str) -> Function {
    Function { name, arity: 1, domain: Domain::Numbers, result: Ty::Truth }
}

/// Every function, by domain.
pub static FUNCTIONS: &[Function] = &[
    of("abs", 1, Domain::Numbers),
    of("sign", 1, Domain::Numbers),
    of("square", 1, Domain::Numbers),
    of("min", 2, Domain::Numbers),
    of("max", 2, Domain::Numbers),
    of("pow", 2, Domain::Numbers),
    of("clamp", 3, Domain::Numbers),
    of("floor_div", 2, Domain::Numbers),
    of("floor_mod", 2, Domain::Numbers),
    of("trunc_div", 2, Domain::Numbers),
    of("trunc_mod", 2, Domain::Numbers),
    test("is_nan"),
    test("is_inf"),
    test("is_finite"),
    of("bit_and", 2, Domain::Integers),
    of("bit_or", 2, Domain::Integers),
    of("bit_xor", 2, Domain::Integers),
    of("bit_not", 1, Domain::Integers),
    of("shift_left", 2, Domain::Integers),
    of("shift_right", 2, Domain::Integers),
    of("exp", 1, Domain::Floats),
    of("expm1", 1, Domain::Floats),
    of("log", 1, Domain::Floats),
    of("log1p", 1, Domain::Floats),
    of("log2", 1, Domain::Floats),
    of("log10", 1, Domain::Floats),
    of("sqrt", 1, Domain::Floats),
    of("rsqrt", 1, Domain::Floats),
    of("cbrt", 1, Domain::Floats),
    of("recip", 1, Domain::Floats),
    of("sin", 1, Domain::Floats),
    of("cos", 1, Domain::Floats),
    of("tan", 1, Domain::Floats),
    of("asin", 1, Domain::Floats),
    of("acos", 1, Domain::Floats),
    of("atan", 1, Domain::Floats),
    of("sinh", 1, Domain::Floats),
    of("cosh", 1, Domain::Floats),
    of("tanh", 1, Domain::Floats),
    of("asinh", 1, Domain::Floats),
    of("acosh", 1, Domain::Floats),
    of("atanh", 1, Domain::Floats),
    of("atan2", 2, Domain::Floats),
    of("hypot", 2, Domain::Floats),
    of("erf", 1, Domain::Floats),
    of("erfc", 1, Domain::Floats),
    of("lgamma", 1, Domain::Floats),
    of("digamma", 1, Domain::Floats),
    of("sigmoid", 1, Domain::Floats),
    of("softplus", 1, Domain::Floats),
    of("floor", 1, Domain::Floats),
    of("ceil", 1, Domain::Floats),
    of("trunc", 1, Domain::Floats),
    of("round", 1, Domain::Floats),
    of("fmod", 2, Domain::Floats),
    of("copysign", 2, Domain::Floats),
];

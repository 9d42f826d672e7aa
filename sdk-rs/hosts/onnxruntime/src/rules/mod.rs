//! What nodes compute: functions that read the attributes of a node, and return what computes it.
//!
//! Formulas and rules are those of the operators' documentation at onnx.ai.

pub(crate) mod convolution;
pub(crate) mod creation;
pub(crate) mod elementwise;
pub(crate) mod fused;
pub(crate) mod images;
pub(crate) mod indexing;
pub(crate) mod normalization;
pub(crate) mod products;
pub(crate) mod reduction;
pub(crate) mod shapes;
mod steps;

pub(crate) use elementwise::{convert, elementwise, fold, predicate};

/// What computes nodes that are one elementwise method with one input.
macro_rules! unary {
    ($method:ident) => {
        (&[stringify!($method)], |_| {
            $crate::rules::elementwise(|operators, launch, out, [x]| operators.$method(launch, out, x))
        })
    };
}
pub(crate) use unary;

/// What computes nodes that are one elementwise method with two inputs.
macro_rules! binary {
    ($method:ident) => {
        (&[stringify!($method)], |_| {
            $crate::rules::elementwise(|operators, launch, out, [a, b]| operators.$method(launch, out, a, b))
        })
    };
}
pub(crate) use binary;

/// What computes nodes that combine any number of inputs by one method.
macro_rules! variadic {
    ($method:ident) => {
        (&[stringify!($method), "copy"], |_| {
            $crate::rules::fold(|operators, launch, out, a, b| operators.$method(launch, out, a, b))
        })
    };
}
pub(crate) use variadic;

/// What computes nodes that are one elementwise method with numbers as attributes, each with its default.
macro_rules! with_numbers {
    ($method:ident($($name:literal = $default:expr),+)) => {
        (&[stringify!($method)], |info| {
            let numbers = [$(info.float($name).unwrap_or($default)),+];
            $crate::rules::elementwise(move |operators, launch, out, [x]| {
                $crate::rules::with_numbers!(@ operators.$method(launch, out, x) numbers; $($name),+)
            })
        })
    };
    (@ $operators:ident.$method:ident($launch:ident, $out:ident, $x:ident) $numbers:ident; $one:literal) => {
        $operators.$method($launch, $out, $x, $numbers[0])
    };
    (@ $operators:ident.$method:ident($launch:ident, $out:ident, $x:ident) $numbers:ident; $one:literal, $other:literal) => {
        $operators.$method($launch, $out, $x, $numbers[0], $numbers[1])
    };
}
pub(crate) use with_numbers;

/// A rule with the methods that it calls.
macro_rules! rule {
    ($path:path: $($method:ident)*) => {
        (&[$(stringify!($method)),*], $path)
    };
}
pub(crate) use rule;

//! Nodes that compute each element of their output from one element of each input.

use super::Node;
use crate::nodes::types::{ALL, BOOL, FLOATS, INTEGERS, NUMBERS, UINT8, UNSIGNED, VALUES};
use crate::rules::{binary, convert, elementwise as rules, predicate, rule, unary, variadic, with_numbers};

/// What computes nodes that compare two inputs.
macro_rules! compare {
    ($method:ident) => {
        (&[stringify!($method)], |_| {
            predicate(|operators, launch, out, a, b| operators.$method(launch, out, a, b))
        })
    };
}

pub(super) static NODES: &[Node] = &[
    Node::new("Abs", 6, &[("T", NUMBERS)], unary!(abs)).in_place(),
    Node::new("Neg", 6, &[("T", NUMBERS)], unary!(negative)).in_place(),
    Node::new("Sign", 9, &[("T", NUMBERS)], unary!(sign)).in_place(),
    Node::new("Reciprocal", 6, &[("T", FLOATS)], unary!(reciprocal)).in_place(),
    Node::new("Sqrt", 6, &[("T", FLOATS)], unary!(sqrt)).in_place(),
    Node::new("Exp", 6, &[("T", FLOATS)], unary!(exp)).in_place(),
    Node::new("Log", 6, &[("T", FLOATS)], unary!(log)).in_place(),
    Node::new("Erf", 9, &[("T", FLOATS)], unary!(erf)).in_place(),
    Node::new("Floor", 6, &[("T", FLOATS)], unary!(floor)).in_place(),
    Node::new("Ceil", 6, &[("T", FLOATS)], unary!(ceil)).in_place(),
    Node::new("Round", 11, &[("T", FLOATS)], rule!(rules::round: round)).in_place(),
    Node::new("Sin", 7, &[("T", FLOATS)], unary!(sin)).in_place(),
    Node::new("Cos", 7, &[("T", FLOATS)], unary!(cos)).in_place(),
    Node::new("Tan", 7, &[("T", FLOATS)], unary!(tan)).in_place(),
    Node::new("Asin", 7, &[("T", FLOATS)], unary!(asin)).in_place(),
    Node::new("Acos", 7, &[("T", FLOATS)], unary!(acos)).in_place(),
    Node::new("Atan", 7, &[("T", FLOATS)], unary!(atan)).in_place(),
    Node::new("Sinh", 9, &[("T", FLOATS)], unary!(sinh)).in_place(),
    Node::new("Cosh", 9, &[("T", FLOATS)], unary!(cosh)).in_place(),
    Node::new("Asinh", 9, &[("T", FLOATS)], unary!(asinh)).in_place(),
    Node::new("Acosh", 9, &[("T", FLOATS)], unary!(acosh)).in_place(),
    Node::new("Atanh", 9, &[("T", FLOATS)], unary!(atanh)).in_place(),
    Node::new("Relu", 6, &[("T", NUMBERS)], unary!(relu)).in_place(),
    Node::new("Sigmoid", 6, &[("T", FLOATS)], unary!(sigmoid)).in_place(),
    Node::new("Tanh", 6, &[("T", FLOATS)], unary!(tanh)).in_place(),
    Node::new("Softsign", 1, &[("T", FLOATS)], unary!(softsign)).in_place(),
    Node::new("Softplus", 1, &[("T", FLOATS)], rule!(rules::softplus: softplus)).in_place(),
    Node::new("HardSwish", 14, &[("T", FLOATS)], unary!(hard_swish)).in_place(),
    Node::new("Mish", 18, &[("T", FLOATS)], unary!(mish)).in_place(),
    Node::new("Swish", 24, &[("T", FLOATS)], rule!(rules::swish: swish)).in_place(),
    Node::new("Gelu", 20, &[("T", FLOATS)], rule!(rules::gelu: gelu)).in_place(),
    Node::new("Selu", 6, &[("T", FLOATS)], rule!(rules::selu: selu)).in_place(),
    Node::new("ThresholdedRelu", 10, &[("T", FLOATS)], rule!(rules::thresholded_relu: thresholded_relu))
        .in_place(),
    Node::new("LeakyRelu", 6, &[("T", FLOATS)], with_numbers!(leaky_relu("alpha" = 0.01))).in_place(),
    Node::new("Elu", 6, &[("T", FLOATS)], with_numbers!(elu("alpha" = 1.0))).in_place(),
    Node::new("Celu", 12, &[("T", FLOATS)], with_numbers!(celu("alpha" = 1.0))).in_place(),
    Node::new("HardSigmoid", 6, &[("T", FLOATS)], with_numbers!(hard_sigmoid("alpha" = 0.2, "beta" = 0.5)))
        .in_place(),
    Node::new("Shrink", 9, &[("T", NUMBERS)], rule!(rules::shrink: greater_than less_than add select copy)),
    Node::new("PRelu", 7, &[("T", FLOATS)], rule!(rules::prelu: prelu)),
    Node::new("Clip", 6, &[("T", FLOATS)], rule!(rules::clip_by_attributes: clip)).until(10).in_place(),
    Node::new("Clip", 11, &[("T", NUMBERS)], rule!(rules::clip: maximum minimum copy)),
    Node::new("Add", 7, &[("T", NUMBERS.and(UNSIGNED))], binary!(add)).in_place(),
    Node::new("Sub", 7, &[("T", NUMBERS.and(UNSIGNED))], binary!(subtract)).in_place(),
    Node::new("Mul", 7, &[("T", NUMBERS.and(UNSIGNED))], binary!(multiply)).in_place(),
    Node::new("Div", 7, &[("T", NUMBERS)], rule!(rules::divide: divide trunc_divide)).in_place(),
    Node::new("Mod", 10, &[("T", NUMBERS)], rule!(rules::modulus: fmod remainder)).in_place(),
    Node::new("Pow", 7, &[("T", NUMBERS)], rule!(rules::power: elementwise_pow cast)).until(11),
    Node::new("Pow", 12, &[("T", NUMBERS), ("T1", NUMBERS)], rule!(rules::power: elementwise_pow cast)),
    Node::new("Max", 6, &[("T", NUMBERS)], variadic!(maximum)),
    Node::new("Min", 6, &[("T", NUMBERS)], variadic!(minimum)),
    Node::new("Sum", 6, &[("T", FLOATS)], variadic!(add)),
    Node::new("Mean", 6, &[("T", FLOATS)], rule!(rules::mean: add div_scale copy)),
    Node::new("And", 7, &[("T", BOOL)], binary!(logical_and)),
    Node::new("Or", 7, &[("T", BOOL)], binary!(logical_or)),
    Node::new("Xor", 7, &[("T", BOOL)], binary!(logical_xor)),
    Node::new("Not", 1, &[("T", BOOL)], unary!(logical_not)),
    Node::new("BitwiseAnd", 18, &[("T", INTEGERS.and(UNSIGNED))], binary!(bitwise_and)),
    Node::new("BitwiseOr", 18, &[("T", INTEGERS.and(UNSIGNED))], binary!(bitwise_or)),
    Node::new("BitwiseXor", 18, &[("T", INTEGERS.and(UNSIGNED))], binary!(bitwise_xor)),
    Node::new("BitwiseNot", 18, &[("T", INTEGERS.and(UNSIGNED))], unary!(bitwise_not)),
    Node::new(
        "BitShift",
        11,
        &[("T", UINT8.and(UNSIGNED))],
        rule!(rules::bit_shift: bitwise_left_shift bitwise_right_shift_logical),
    ),
    Node::new("Equal", 7, &[("T", VALUES.and(UNSIGNED))], compare!(equal)),
    Node::new("Less", 7, &[("T", NUMBERS)], compare!(less_than)),
    Node::new("LessOrEqual", 12, &[("T", NUMBERS)], compare!(less_equal)),
    Node::new("Greater", 7, &[("T", NUMBERS)], compare!(greater_than)),
    Node::new("GreaterOrEqual", 12, &[("T", NUMBERS)], compare!(greater_equal)),
    Node::new("IsNaN", 9, &[("T1", FLOATS)], unary!(is_nan)),
    Node::new("IsInf", 10, &[("T1", FLOATS)], rule!(rules::is_inf: is_inf equal copy)),
    Node::new(
        "Where",
        9,
        &[("T", VALUES.and(UNSIGNED))],
        (&["select"], |_| {
            rules::elementwise(|operators, launch, out, [condition, a, b]| {
                operators.select(launch, out, condition, a, b)
            })
        }),
    ),
    Node::new("Cast", 6, &[("T1", VALUES), ("T2", VALUES)], (&["cast"], convert)),
    Node::new("CastLike", 15, &[("T1", VALUES), ("T2", VALUES)], (&["cast"], convert)),
    Node::new("Identity", 1, &[("T", ALL)], rule!(rules::identity: copy)).until(13).in_place(),
    Node::new("Identity", 14, &[("V", ALL)], rule!(rules::identity: copy)).in_place(),
    Node::new("Dropout", 7, &[("T", FLOATS)], rule!(rules::identity: copy)).until(11),
    Node::new("Dropout", 12, &[("T", FLOATS), ("T1", FLOATS)], rule!(rules::identity: copy)),
];

//! Plans: what methods are composed of, as data.

use tenon::device::DataType;

/// What a method is composed of.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) method: &'static str,
    /// True if the steps compute a gradient of the common shape of all inputs, which is then summed over the dimensions
    /// along which the operand was repeated.
    pub(crate) is_gradient: bool,
    /// The optional tensors that no step uses: the plan does not work if they are there.
    pub(crate) refuses: &'static [&'static str],
    /// The methods that it calls, for elements of its own type.
    pub(crate) parts: &'static [&'static str],
    /// The methods that it calls for booleans.
    pub(crate) tests: &'static [&'static str],
    pub(crate) steps: &'static [Step],
}

/// A step of a plan. It is left out if its output is not there.
#[derive(Debug)]
pub(crate) enum Step {
    /// Gives a value a name.
    Let(&'static str, Value),
    /// Writes a value to an output, and repeats it along dimensions that it does not have.
    Write(&'static str, Value),
    /// Calls a method with targets, operands and attributes.
    Run(&'static [Target], &'static str, &'static [Value], &'static [Value]),
}

/// What becomes of an output of a method.
#[derive(Debug)]
pub(crate) enum Target {
    /// It is an output of the plan.
    Output(&'static str),
    /// It is a tensor with a name, the shape of another value, and a type.
    Like(&'static str, Value, Type),
    /// The method does not compute it.
    #[allow(dead_code, reason = "a spec may have no such target in its plans")]
    Unwanted,
}

/// The type of the elements of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// The type for which the plan runs.
    Own,
    /// A certain type.
    #[allow(dead_code, reason = "a spec may have no such output in its plans")]
    Fixed(DataType),
}

/// A value in a step.
#[derive(Debug)]
pub(crate) enum Value {
    /// A parameter of the method, or the result of an earlier step.
    Name(&'static str),
    Number(f64),
    Integer(i64),
    Truth(bool),
    #[allow(dead_code, reason = "a spec may have no text in its plans")]
    Text(&'static str),
    /// No tensor.
    #[allow(dead_code, reason = "a spec may have no such value in its plans")]
    Absent,
    List(&'static [Value]),
    /// The result of an elementwise method, with its operands and attributes.
    Call(&'static str, &'static [Value], &'static [Value]),
    /// As [`Value::Call`], with booleans as the result.
    Test(&'static str, &'static [Value], &'static [Value]),
    /// The result of a rule.
    Rule(&'static str, &'static [Value]),
    /// Arithmetic on attributes.
    Math(&'static str, &'static [Value]),
    /// The second value if the first one is true, otherwise the third one.
    If(&'static Value, &'static Value, &'static Value),
}

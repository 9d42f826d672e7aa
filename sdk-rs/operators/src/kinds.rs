//! The types of the kinds of parameters in the list of methods.

/// The type of a parameter of a method.
#[doc(hidden)]
#[macro_export]
macro_rules! operator_parameter {
    (output) => { &mut $crate::TensorMut<'_> };
    (optional_output) => { Option<&mut $crate::TensorMut<'_>> };
    (outputs) => { &mut [Option<$crate::TensorMut<'_>>] };
    (input) => { &$crate::TensorRef<'_> };
    (optional_input) => { Option<&$crate::TensorRef<'_>> };
    (inputs) => { &[$crate::TensorRef<'_>] };
    (optional_inputs) => { Option<&[$crate::TensorRef<'_>]> };
    (boolean) => { bool };
    (integer) => { i64 };
    (number) => { f64 };
    (integers) => { &[i64] };
    (numbers) => { &[f64] };
    (text) => { &str };
    (texts) => { &[&str] };
}

/// The result of a method.
#[doc(hidden)]
#[macro_export]
macro_rules! operator_result {
    (shape) => { $crate::tenon::device::Result<Vec<usize>> };
    ($computes:ident) => { $crate::tenon::device::Result<()> };
}

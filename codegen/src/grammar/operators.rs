//! The grammar of operators.

use super::{DOC, SUMMARY};
use crate::yaml::shape::Value::{self, *};
use crate::yaml::shape::{needed, optional, shapes};

shapes! {
    /// `operators.yaml`.
    pub static OPERATORS = "a list of operators" {
        /// Name of the list; also of its folder.
        operators: needed(Snake),
        /// Heading in the docs.
        title: needed(Line),
        SUMMARY,
        DOC,
        /// Files, in the order of the docs.
        groups: needed(List(&Snake)),
    }

    /// A group file of operators.
    pub static OPERATOR_GROUP = "a group of operators" {
        /// Name of the group; also of its file.
        group: needed(Snake),
        /// Heading in the docs.
        title: needed(Line),
        SUMMARY,
        DOC,
        /// Operators, in the order of the docs.
        operators: needed(List(&Shape(&OPERATOR))),
    }

    static OPERATOR = "an operator" {
        /// Its name, which is unique.
        op: needed(Snake),
        SUMMARY,
        DOC,
        /// The types of elements that the inputs may have.
        types: needed(List(&Word(&["float", "integer", "bool", "complex"]))),
        /// Name of each input → its meaning.
        inputs: needed(Map(&Any(&[Prose, Shape(&INPUT)]))),
        /// Values that are the same for all elements; formulas take numbers and truth values. Or the operator before it, in
        /// the same group, that has the same ones; the same goes for each attribute.
        attributes: optional(Any(&[Snake, Map(&Any(&[Snake, Shape(&ATTRIBUTE)]))])),
        /// Name of each output → its meaning; a formula has one output.
        outputs: needed(Map(&Any(&[Prose, Shape(&OUTPUT)]))),
        /// Named parts of the formula and the gradients; a part may use earlier parts.
        where: optional(Map(&FORMULA)),
        /// An element of the output, from the elements of the inputs. With `reduced` inputs it may use `count`, the number
        /// of elements that were reduced to one.
        formula: optional(FORMULA),
        /// Instead of a formula: an element of the output, from all elements of the input along the dimensions that the
        /// attributes `axis`, `keep_dim` and `reduce_all` name. Without these attributes, all elements are reduced.
        reduction: optional(Shape(&REDUCTION)),
        /// Instead of a formula: the function of `runtime/kernels` that computes the outputs, such as
        /// `softmax::softmax`. It takes the outputs, the inputs and the attributes.
        kernel: optional(Line),
        /// Steps such as `out = divide(e, total)` that compute the outputs by other operators, for devices
        /// without this one. The function of a formula needs none.
        sequence: optional(Any(&[Line, List(&Line)])),
        /// True if the kernel also takes a seed and an offset, both `i64`, after the attributes. They come
        /// from the host's generator.
        random: optional(Bool),
        /// Input → an element of its gradient. `dy` is an element of the gradient of an output `y`. The
        /// gradient of a kernel is an operator of its own.
        gradient: optional(Map(&FORMULA)),
        /// The same computation in Python with `numpy` and `scipy.special` as `special`, in another way, for
        /// tests. Required for a formula and a reduction. In that of a reduction, the input is an array of the elements
        /// that are reduced to one.
        reference: optional(Line),
        /// Input → the least and the largest number that tests pass.
        domain: optional(Map(&INTERVAL)),
        /// An expression that is zero where the gradient does not exist.
        kinks: optional(FORMULA),
    }
}

const NUMBER: Value = Any(&[Integer, Float]);
/// An expression, which may be a number or a truth value alone.
const FORMULA: Value = Any(&[Bool, NUMBER, Line]);
const INTERVAL: Value = List(&NUMBER);

shapes! {
    static REDUCTION = "a reduction" {
        /// The value of an element; default: the input itself.
        element: optional(FORMULA),
        /// The result for no elements. For integers, an infinity stands for the extreme value of their type.
        start: needed(FORMULA),
        /// Combines two results, `left` and `right`. Apart from rounding, the order of the elements must not matter.
        step: needed(FORMULA),
        /// An element of the output, from the `result` and the `count` of elements; default: the result.
        finish: optional(FORMULA),
        /// True if there must be at least one element.
        nonempty: optional(Bool),
    }

    static INPUT = "an input" {
        /// Its meaning.
        doc: needed(Prose),
        /// True if it may be absent.
        optional: optional(Bool),
        /// True if it is any number of tensors.
        list: optional(Bool),
        /// True if its elements decide about the shape of an output, such as those of a mask. The functions
        /// of shapes get these elements, and only the types and shapes of the other inputs.
        decides_shape: optional(Bool),
        /// True if its elements are real, or may be, where those of other inputs are complex.
        real: optional(Bool),
        /// True if it has the shape of a reduction's result: the formula takes each of its elements for all elements that
        /// were reduced to it. The attributes `axis`, `keep_dim` and `reduce_all` name the dimensions; without them the
        /// input has one element.
        reduced: optional(Bool),
    }

    static ATTRIBUTE = "an attribute" {
        /// The type of its value.
        type: needed(Word(&["f64", "bool", "i64", "integers", "numbers", "text", "texts"])),
        /// Its value if a caller passes none.
        default: optional(Any(&[Bool, Integer, Float, Line, List(&NUMBER)])),
        /// Its effect.
        doc: needed(Prose),
    }

    static OUTPUT = "an output" {
        /// Its meaning.
        doc: needed(Prose),
        /// The type of its elements; default: that of the first input. `any`: the caller chooses it.
        type: optional(Word(&["bool", "i32", "i64", "f32", "any"])),
        /// The input with the same type of elements.
        like: optional(Snake),
        /// The function of `runtime/kernels` that computes its shape from the inputs and the attributes, if
        /// hosts do not.
        shape: optional(Line),
        /// The input with the same shape, if an operator with a kernel has one.
        shape_of: optional(Snake),
        /// The input whose memory hosts pass for the output too: they call the operator in place.
        in_place: optional(Snake),
        /// The input with the same type of elements; `f32` if that type is narrower.
        wide: optional(Snake),
        /// The input, real or complex, whose type has the parts of its complex elements.
        complex_of: optional(Snake),
        /// The input, real or complex, whose type has parts of the type of its real elements.
        real_of: optional(Snake),
        /// True if it may be absent.
        optional: optional(Bool),
        /// True if it is any number of tensors.
        list: optional(Bool),
    }
}

//! The list of all emitters.

use super::emitter::{Emitter, Registered, key_of};
use super::{c, docs, json, python, rust, schema};
use crate::source::shape::{Key, Value, optional};

macro_rules! register {
    ($($emitter:ty),* $(,)?) => {
        /// Every emitter, in the order in which they run.
        pub static EMITTERS: &[Registered] = &[$(Registered::of::<$emitter>()),*];

        /// The keys of `outputs`.
        pub(crate) static KEYS: &[Key] = &[
            $(key_of::<$emitter>(),)*
            Key {
                name: "uncommitted",
                doc: "Outputs that are not committed: `--check` skips them.",
                ..optional(Value::List(&Value::Word(&[$(<$emitter as Emitter>::KEY),*])))
            },
        ];
    };
}

register! {
    c::Headers,
    c::OperatorTable,
    docs::Reference,
    schema::Schemas,
    rust::Modules,
    rust::Exports,
    rust::Forwarders,
    rust::Traits,
    rust::Formulas,
    rust::OperatorTraits,
    rust::OperatorCalls,
    rust::OperatorTableCalls,
    rust::OperatorCompositions,
    rust::OperatorsByName,
    rust::Kernels,
    rust::Computations,
    python::Packages,
    python::OperatorFunctions,
    python::OperatorCases,
    docs::Contents,
    c::HandWritten,
    json::Description,
}

//! Emitters: write the outputs of a spec. Each kind of output is one folder, which implements [`Emitter`] and is
//! registered in [`EMITTERS`].
//!
//! An emitter prepares data with all names and decisions, and a template or `quote!` lays it out. [`emit()`] runs the
//! emitters that the spec asks for. Their prose comes from [`words`], so that the header, the reference and the
//! command use the same texts.

pub mod c;
mod callers;
pub mod changes;
pub mod docs;
mod emitter;
mod json;
pub mod python;
mod run;
pub mod rust;
pub mod schema;
mod stamp;
pub mod words;

pub use emitter::{Emitter, Inputs, Job, Registered, Takes};
pub use run::{EmitError, emit, emit_committed};
pub use stamp::{Stamp, marker};

use crate::grammar::optional;
use crate::source::shape::{Key, Value};

macro_rules! register {
    ($($emitter:ty),* $(,)?) => {
        /// Every emitter, in the order in which they run.
        pub static EMITTERS: &[Registered] = &[$(Registered::of::<$emitter>()),*];

        /// The keys of `outputs`.
        pub(crate) static KEYS: &[Key] = &[
            $(emitter::key_of::<$emitter>(),)*
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
    rust::Kernels,
    rust::Computations,
    python::Packages,
    docs::Contents,
    c::HandWritten,
    json::Description,
}

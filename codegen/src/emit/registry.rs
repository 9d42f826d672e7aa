//! The list of all emitters.

use super::emitter::Registered;
use super::{c, docs, json, python, rust, schema};

/// Every emitter, in the order of [`KINDS`](crate::grammar::outputs::KINDS).
pub static EMITTERS: &[Registered] = &[
    Registered::of::<c::Headers>(),
    Registered::of::<c::OperatorArguments>(),
    Registered::of::<docs::Reference>(),
    Registered::of::<schema::Schemas>(),
    Registered::of::<rust::Modules>(),
    Registered::of::<rust::Exports>(),
    Registered::of::<rust::Forwarders>(),
    Registered::of::<rust::Traits>(),
    Registered::of::<rust::Formulas>(),
    Registered::of::<rust::OperatorAttributes>(),
    Registered::of::<rust::OperatorTraits>(),
    Registered::of::<rust::OperatorList>(),
    Registered::of::<rust::OperatorPlans>(),
    Registered::of::<rust::Kernels>(),
    Registered::of::<rust::Nodes>(),
    Registered::of::<rust::Computations>(),
    Registered::of::<python::Packages>(),
    Registered::of::<python::OperatorFunctions>(),
    Registered::of::<python::OperatorCases>(),
    Registered::of::<docs::Contents>(),
    Registered::of::<c::HandWritten>(),
    Registered::of::<json::Description>(),
];

#[cfg(test)]
mod tests {
    use super::EMITTERS;
    use crate::grammar::outputs::KINDS;

    #[test]
    fn each_kind_of_output_has_an_emitter() {
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.key).collect();
        let emitters: Vec<&str> = EMITTERS.iter().map(|emitter| emitter.kind.key).collect();
        assert_eq!(kinds, emitters);
    }
}

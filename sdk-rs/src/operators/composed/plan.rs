//! Which methods of a device are composed.

use std::collections::{HashMap, HashSet};

use super::super::Operators;
use super::super::compositions::{COMPOSITIONS, Composition};
use crate::device::DataType;

/// The types of elements for which methods are composed. Intermediate results of narrower types would be rounded, while
/// a method of the device computes in float32 and rounds once.
const TYPES: [DataType; 2] = [DataType::FLOAT32, DataType::FLOAT64];

/// The methods that a device lacks, and that are composed of those that it has.
#[derive(Debug)]
pub struct Compositions(HashSet<(&'static str, DataType)>);

impl Compositions {
    /// Finds the compositions for a device.
    pub fn of(own: &dyn Operators) -> Self {
        let known = COMPOSITIONS.iter().map(|composition| (composition.method, composition)).collect();
        let mut search = Search { own, known, outcomes: HashMap::new() };
        let mut composed = HashSet::new();
        for ty in TYPES {
            let methods = COMPOSITIONS.iter().map(|composition| composition.method);
            composed.extend(methods.filter(|method| search.composes(method, ty)).map(|method| (method, ty)));
        }
        Self(composed)
    }

    /// Returns true if a method is composed for elements of a type.
    #[must_use]
    pub fn has(&self, method: &str, ty: DataType) -> bool {
        self.0.contains(&(method, ty))
    }

    /// Returns true if nothing is composed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The search for methods that can be composed. The spec has no circles.
struct Search<'a> {
    own: &'a dyn Operators,
    known: HashMap<&'static str, &'static Composition>,
    outcomes: HashMap<(&'static str, DataType), bool>,
}

impl Search<'_> {
    fn has(&mut self, method: &'static str, ty: DataType) -> bool {
        self.own.provides(method, ty) || (TYPES.contains(&ty) && self.composes(method, ty))
    }

    /// Returns true if the device lacks a method and has all parts of it.
    fn composes(&mut self, method: &'static str, ty: DataType) -> bool {
        if self.own.provides(method, ty) {
            return false;
        }
        if let Some(outcome) = self.outcomes.get(&(method, ty)) {
            return *outcome;
        }
        let outcome = self.known.get(method).copied().is_some_and(|composition| {
            composition.parts.iter().all(|part| self.has(part, ty))
                && composition.tests.iter().all(|part| self.has(part, DataType::BOOL))
        });
        self.outcomes.insert((method, ty), outcome);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Result;
    use crate::operators::{Launch, TensorMut, TensorRef};

    struct Npu;

    #[tenon::operators]
    impl Operators for Npu {
        #[data_types(FLOAT32, FLOAT16)]
        fn multiply(
            &self,
            _: Launch,
            _: &mut TensorMut<'_>,
            _: &TensorRef<'_>,
            _: &TensorRef<'_>,
        ) -> Result<()> {
            Ok(())
        }

        fn sigmoid(&self, _: Launch, _: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn methods_are_composed_for_types_that_all_parts_accept() {
        let compositions = Compositions::of(&Npu);
        assert!(compositions.has("silu", DataType::FLOAT32));
        assert!(!compositions.has("silu", DataType::FLOAT64), "`multiply` does not accept it");
        assert!(!compositions.has("silu", DataType::FLOAT16), "it would be rounded twice");
        assert!(!compositions.has("multiply", DataType::FLOAT32), "the device has it");
        assert!(!compositions.has("gelu", DataType::FLOAT32), "the device lacks `erf`");
    }
}

//! Which methods of a device are composed.

use std::collections::HashMap;

use super::plan::Plan;
use crate::Operators;
use crate::plans::PLANS;
use tenon::device::DataType;

/// The types of elements for which methods are composed. Intermediate results of narrower types would be rounded, while
/// a method of the device computes in float32 and rounds once.
const TYPES: [DataType; 2] = [DataType::FLOAT32, DataType::FLOAT64];

/// The methods that a device lacks, and that are composed of those that it has.
#[derive(Debug)]
pub struct Compositions(HashMap<(&'static str, DataType), &'static Plan>);

impl Compositions {
    /// Finds the compositions for a device.
    pub fn of(own: &dyn Operators) -> Self {
        let known = PLANS.iter().map(|plan| (plan.method, plan)).collect();
        let mut search = Search { own, known, outcomes: HashMap::new() };
        let mut composed = HashMap::new();
        for ty in TYPES {
            let plans = PLANS.iter().filter(|plan| search.composes(plan.method, ty));
            composed.extend(plans.map(|plan| ((plan.method, ty), plan)));
        }
        Self(composed)
    }

    /// Returns true if a method is composed for elements of a type.
    #[must_use]
    pub fn has(&self, method: &str, ty: DataType) -> bool {
        self.plan(method, ty).is_some()
    }

    /// Returns the plan of a method that is composed.
    pub(super) fn plan(&self, method: &str, ty: DataType) -> Option<&'static Plan> {
        self.0.get(&(method, ty)).copied()
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
    known: HashMap<&'static str, &'static Plan>,
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
        let outcome = self.known.get(method).copied().is_some_and(|plan| {
            plan.parts.iter().all(|part| self.has(part, ty))
                && plan.tests.iter().all(|part| self.has(part, DataType::BOOL))
        });
        self.outcomes.insert((method, ty), outcome);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Step, Value};
    use super::*;
    use crate::by_name::find;
    use crate::{Launch, TensorMut, TensorRef};
    use tenon::device::Result;

    struct Npu;

    #[tenon_operators::operators]
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
    fn plans_name_methods_with_all_their_parameters() {
        for plan in PLANS {
            let method = find(plan.method).unwrap_or_else(|| panic!("there is no method `{}`", plan.method));
            for name in plan.refuses {
                assert!(method.parameters.contains(name), "{} {name}", plan.method);
            }
            for step in plan.steps {
                match step {
                    Step::Let(_, value) | Step::Write(_, value) => check(plan, value),
                    Step::Run(targets, called, operands, attributes) => {
                        complete(plan, called, targets.len() + operands.len() + attributes.len());
                        operands.iter().chain(*attributes).for_each(|value| check(plan, value));
                    }
                }
            }
        }
    }

    /// Checks that a call is one of the parts, and has as many arguments as the method.
    fn complete(plan: &Plan, called: &str, count: usize) {
        assert!(plan.parts.contains(&called) || plan.tests.contains(&called), "{} {called}", plan.method);
        assert_eq!(find(called).unwrap().parameters.len(), count, "{called} in {}", plan.method);
    }

    fn check(plan: &Plan, value: &Value) {
        match value {
            Value::Call(called, operands, attributes) | Value::Test(called, operands, attributes) => {
                complete(plan, called, 1 + operands.len() + attributes.len());
                operands.iter().chain(*attributes).for_each(|value| check(plan, value));
            }
            Value::If(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|value| check(plan, value));
            }
            Value::Rule(_, values) | Value::Math(_, values) | Value::List(values) => {
                values.iter().for_each(|value| check(plan, value));
            }
            _ => {}
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

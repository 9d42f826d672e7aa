//! A method that can be called by its name.

use super::Arguments;
use crate::device::{Error, Result};
use crate::operators::{Launch, Operators};

type Compute = fn(&dyn Operators, Launch, &mut Arguments<'_>) -> Result<()>;
type ComputeShape = fn(&dyn Operators, Launch, &mut Arguments<'_>) -> Result<Vec<usize>>;

/// A method, and the number of its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) count: usize,
    work: Work,
}

#[derive(Clone, Copy)]
enum Work {
    Elements(Compute),
    Shape(ComputeShape),
}

impl Entry {
    /// A method that computes elements.
    pub(crate) fn elements(count: usize, compute: Compute) -> Option<Self> {
        Some(Self { count, work: Work::Elements(compute) })
    }

    /// A method that computes a shape.
    pub(crate) fn shape(count: usize, compute: ComputeShape) -> Option<Self> {
        Some(Self { count, work: Work::Shape(compute) })
    }

    /// Calls the method. Returns the shape, if it computes one.
    pub(crate) fn call(
        self,
        operators: &dyn Operators,
        launch: Launch,
        mut arguments: Arguments<'_>,
    ) -> Result<Option<Vec<usize>>> {
        if arguments.len() != self.count {
            let message = format!("the method takes {} arguments, not {}", self.count, arguments.len());
            return Err(Error::invalid(message));
        }
        match self.work {
            Work::Elements(compute) => compute(operators, launch, &mut arguments).map(|()| None),
            Work::Shape(compute) => compute(operators, launch, &mut arguments).map(Some),
        }
    }
}

//! A method that can be called by its name.

use super::Arguments;
use crate::{Launch, Operators};
use tenon::device::{Error, Result, Status};

/// A method.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The names of its parameters in the order of a call.
    pub(crate) parameters: &'static [&'static str],
    pub(crate) work: Work,
}

/// What a method computes.
#[derive(Debug)]
pub(crate) enum Work {
    Elements(fn(&dyn Operators, Launch, &mut Arguments<'_>) -> Result<()>),
    Shape(fn(&dyn Operators, Launch, &mut Arguments<'_>) -> Result<Vec<usize>>),
}

impl Entry {
    /// Calls the method. Returns the shape, if it computes one.
    pub(crate) fn call(
        &self,
        operators: &dyn Operators,
        launch: Launch,
        mut arguments: Arguments<'_>,
    ) -> Result<Option<Vec<usize>>> {
        let (taken, passed) = (self.parameters.len(), arguments.len());
        if passed > taken {
            let message = format!("the method takes {taken} arguments, not {passed}");
            return Err(Error::new(Status::FAILED, message));
        }
        match self.work {
            Work::Elements(compute) => compute(operators, launch, &mut arguments).map(|()| None),
            Work::Shape(compute) => compute(operators, launch, &mut arguments).map(Some),
        }
    }
}

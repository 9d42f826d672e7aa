//! Reads the arguments of a call.

use std::{slice, str};

use super::{Argument, Kind, Tensor, Text};
use crate::{Layout, TensorMut, TensorRef};
use tenon::DevicePtr;
use tenon::device::{Error, Result};

/// The arguments of a call that a method has not taken yet.
#[derive(Debug)]
pub struct Arguments<'a> {
    rest: slice::Iter<'a, Argument>,
    position: usize,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments of a call.
    ///
    /// # Safety
    /// The values of each argument are there, as many as it says and of the type that it says. The memory of the tensors is
    /// as [`TensorRef::new`] promises, and outputs are writable.
    pub unsafe fn new(arguments: &'a [Argument]) -> Self {
        Self { rest: arguments.iter(), position: 0 }
    }

    /// Returns the number of arguments that are left.
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Returns true if the caller passes no further arguments.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.len() == 0
    }

    fn next(&mut self) -> Result<&'a Argument> {
        self.position += 1;
        self.rest.next().ok_or_else(|| Error::invalid("the method takes more arguments"))
    }

    fn refuse(&self, wanted: &str) -> Error {
        Error::invalid(format!("argument {} must be {wanted}", self.position))
    }

    /// Returns the values of an argument; `None` if they are of another kind.
    fn values<T>(&self, argument: &'a Argument, kind: Kind) -> Option<&'a [T]> {
        if argument.kind != kind {
            return None;
        }
        if argument.count == 0 {
            return Some(&[]);
        }
        let first = argument.values.cast::<T>();
        if first.is_null() || !first.is_aligned() {
            return None;
        }
        // SAFETY: not null and aligned; the values are there by the promise to `new`.
        Some(unsafe { slice::from_raw_parts(first, argument.count) })
    }

    fn list<T>(&mut self, kind: Kind, wanted: &str) -> Result<&'a [T]> {
        let argument = self.next()?;
        self.values(argument, kind).ok_or_else(|| self.refuse(wanted))
    }

    fn one<T: Copy + 'a>(&mut self, kind: Kind, wanted: &str) -> Result<T> {
        match self.list(kind, wanted)? {
            [value] => Ok(*value),
            _ => Err(self.refuse(wanted)),
        }
    }

    fn tensors(&mut self) -> Result<Option<&'a [*const Tensor]>> {
        let argument = self.next()?;
        if argument.kind == Kind::ABSENT {
            return Ok(None);
        }
        self.values(argument, Kind::TENSORS).map(Some).ok_or_else(|| self.refuse("a tensor"))
    }

    fn tensor(&mut self) -> Result<Option<&'a Tensor>> {
        match self.tensors()? {
            None => Ok(None),
            Some([tensor]) => self.pointed(*tensor).map(Some),
            Some(_) => Err(self.refuse("one tensor")),
        }
    }

    fn pointed(&self, tensor: *const Tensor) -> Result<&'a Tensor> {
        if tensor.is_null() || !tensor.is_aligned() {
            return Err(self.refuse("a tensor"));
        }
        // SAFETY: not null and aligned; the tensor is there by the promise to `new`.
        Ok(unsafe { &*tensor })
    }

    pub(super) fn output(&mut self) -> Result<TensorMut<'a>> {
        self.optional_output()?.ok_or_else(|| self.refuse("a tensor"))
    }

    pub(super) fn optional_output(&mut self) -> Result<Option<TensorMut<'a>>> {
        self.tensor()?.map(output).transpose()
    }

    pub(super) fn outputs(&mut self) -> Result<Vec<Option<TensorMut<'a>>>> {
        let tensors = self.tensors()?.ok_or_else(|| self.refuse("a list of tensors"))?;
        let tensor = |pointer: &*const Tensor| {
            if pointer.is_null() { Ok(None) } else { output(self.pointed(*pointer)?).map(Some) }
        };
        tensors.iter().map(tensor).collect()
    }

    pub(super) fn input(&mut self) -> Result<TensorRef<'a>> {
        self.optional_input()?.ok_or_else(|| self.refuse("a tensor"))
    }

    pub(super) fn optional_input(&mut self) -> Result<Option<TensorRef<'a>>> {
        self.tensor()?.map(input).transpose()
    }

    pub(super) fn inputs(&mut self) -> Result<Vec<TensorRef<'a>>> {
        self.optional_inputs()?.ok_or_else(|| self.refuse("a list of tensors"))
    }

    pub(super) fn optional_inputs(&mut self) -> Result<Option<Vec<TensorRef<'a>>>> {
        let Some(tensors) = self.tensors()? else { return Ok(None) };
        tensors.iter().map(|tensor| input(self.pointed(*tensor)?)).collect::<Result<_>>().map(Some)
    }

    pub(super) fn boolean(&mut self) -> Result<bool> {
        Ok(self.integer()? != 0)
    }

    pub(super) fn integer(&mut self) -> Result<i64> {
        self.one(Kind::INTEGERS, "an integer")
    }

    pub(super) fn number(&mut self) -> Result<f64> {
        self.one(Kind::NUMBERS, "a number")
    }

    pub(super) fn integers(&mut self) -> Result<&'a [i64]> {
        self.list(Kind::INTEGERS, "a list of integers")
    }

    pub(super) fn numbers(&mut self) -> Result<&'a [f64]> {
        self.list(Kind::NUMBERS, "a list of numbers")
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        let bytes = self.list(Kind::TEXT, "a text")?;
        self.checked(bytes)
    }

    pub(super) fn texts(&mut self) -> Result<Vec<&'a str>> {
        let texts = self.list::<Text>(Kind::TEXTS, "a list of texts")?;
        let bytes = |text: &Text| match text.count {
            0 => Ok::<&[u8], Error>(&[]),
            _ if text.first.is_null() => Err(self.refuse("a list of texts")),
            // SAFETY: not null; the bytes are there by the promise to `new`.
            count => Ok(unsafe { slice::from_raw_parts(text.first.cast(), count) }),
        };
        texts.iter().map(|text| self.checked(bytes(text)?)).collect()
    }

    fn checked(&self, bytes: &'a [u8]) -> Result<&'a str> {
        str::from_utf8(bytes).map_err(|_| self.refuse("a text in UTF-8"))
    }
}

/// Returns the lengths and the strides of a tensor.
fn layout(tensor: &Tensor) -> Result<Layout<'_>> {
    fn list<'l, T>(first: *const T, count: usize) -> Result<&'l [T]> {
        match count {
            0 => Ok(&[]),
            _ if first.is_null() || !first.is_aligned() => Err(Error::invalid("a tensor has no shape")),
            // SAFETY: not null and aligned; a tensor has as many values as dimensions by the promise to `Arguments::new`.
            _ => Ok(unsafe { slice::from_raw_parts(first, count) }),
        }
    }
    Layout::new(list(tensor.dims, tensor.rank)?, list(tensor.strides, tensor.rank)?)
}

fn input(tensor: &Tensor) -> Result<TensorRef<'_>> {
    // SAFETY: the promise to `Arguments::new`.
    unsafe { TensorRef::new(DevicePtr::from_ptr(tensor.data), tensor.data_type, layout(tensor)?) }
}

fn output(tensor: &Tensor) -> Result<TensorMut<'_>> {
    // SAFETY: the promise to `Arguments::new`.
    unsafe { TensorMut::new(DevicePtr::from_ptr(tensor.data), tensor.data_type, layout(tensor)?) }
}

//! The arguments of a method as those of a call by its name.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use super::{Argument, Kind, Tensor, Text};
use crate::{TensorMut, TensorRef};
use tenon::DevicePtr;
use tenon::device::DataType;

/// The arguments of a call, put together from values that live for `'v`.
#[derive(Debug, Default)]
pub struct Packed<'v> {
    arguments: Vec<Argument>,
    /// The number of arguments that a callee with an older spec needs.
    needed: usize,
    tensors: Vec<Box<[Tensor]>>,
    pointers: Vec<Box<[*const Tensor]>>,
    texts: Vec<Box<[Text]>>,
    words: Vec<Box<[u64]>>,
    values: PhantomData<&'v ()>,
}

/// A value that is an argument of a call.
pub trait Pack<'v> {
    /// Appends the argument.
    fn pack(self, packed: &mut Packed<'v>);
}

impl<'v> Packed<'v> {
    /// Appends an argument.
    pub fn push(&mut self, value: impl Pack<'v>) {
        value.pack(self);
        self.needed = self.arguments.len();
    }

    /// Appends an attribute with a default. A callee that does not know the attribute does what its default says, so the
    /// last attributes are left out if they have their defaults.
    pub fn push_with_default<T: Pack<'v> + PartialEq + Copy>(&mut self, value: T, default: T) {
        if value == default { value.pack(self) } else { self.push(value) }
    }

    /// Returns the arguments, which live as long as `self`.
    #[must_use]
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments[..self.needed]
    }

    fn append<T>(&mut self, kind: Kind, count: usize, first: *const T) {
        self.arguments.push(Argument { kind, count, values: first.cast::<c_void>() });
    }

    /// Appends an integer or a number.
    fn word(&mut self, kind: Kind, bits: u64) {
        let word: Box<[u64]> = Box::new([bits]);
        self.append(kind, 1, word.as_ptr());
        self.words.push(word);
    }

    fn absent(&mut self) {
        self.append(Kind::ABSENT, 0, ptr::null::<c_void>());
    }

    /// Appends a list of tensors, where `None` is an output that the caller does not want.
    fn tensors(&mut self, list: impl Iterator<Item = Option<Tensor>> + Clone) {
        let tensors: Box<[Tensor]> = list.clone().flatten().collect();
        let mut rest = tensors.iter();
        let next =
            |tensor: Option<Tensor>| tensor.and_then(|_| rest.next()).map_or(ptr::null(), ptr::from_ref);
        let pointers: Box<[*const Tensor]> = list.map(next).collect();
        self.append(Kind::TENSORS, pointers.len(), pointers.as_ptr());
        self.tensors.push(tensors);
        self.pointers.push(pointers);
    }
}

fn tensor(first: DevicePtr, data_type: DataType, dims: &[usize], strides: &[isize]) -> Tensor {
    Tensor {
        data: first.as_ptr(),
        data_type,
        rank: dims.len(),
        dims: dims.as_ptr(),
        strides: strides.as_ptr(),
    }
}

fn input(view: &TensorRef<'_>) -> Tensor {
    tensor(view.first(), view.data_type(), view.dims(), view.strides())
}

fn output(view: &TensorMut<'_>) -> Tensor {
    tensor(view.first(), view.data_type(), view.dims(), view.strides())
}

impl<'v> Pack<'v> for &'v TensorRef<'_> {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.tensors([Some(input(self))].into_iter());
    }
}

impl<'v> Pack<'v> for &'v [TensorRef<'_>] {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.tensors(self.iter().map(|view| Some(input(view))));
    }
}

impl<'v> Pack<'v> for &'v mut TensorMut<'_> {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.tensors([Some(output(self))].into_iter());
    }
}

impl<'v> Pack<'v> for &'v mut [Option<TensorMut<'_>>] {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.tensors(self.iter().map(|view| view.as_ref().map(output)));
    }
}

impl<'v, T: Pack<'v>> Pack<'v> for Option<T> {
    fn pack(self, packed: &mut Packed<'v>) {
        match self {
            Some(value) => value.pack(packed),
            None => packed.absent(),
        }
    }
}

impl<'v> Pack<'v> for bool {
    fn pack(self, packed: &mut Packed<'v>) {
        i64::from(self).pack(packed);
    }
}

impl<'v> Pack<'v> for i64 {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.word(Kind::INTEGERS, self.cast_unsigned());
    }
}

impl<'v> Pack<'v> for f64 {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.word(Kind::NUMBERS, self.to_bits());
    }
}

impl<'v> Pack<'v> for &'v [i64] {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.append(Kind::INTEGERS, self.len(), self.as_ptr());
    }
}

impl<'v> Pack<'v> for &'v [f64] {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.append(Kind::NUMBERS, self.len(), self.as_ptr());
    }
}

impl<'v> Pack<'v> for &'v str {
    fn pack(self, packed: &mut Packed<'v>) {
        packed.append(Kind::TEXT, self.len(), self.as_ptr());
    }
}

impl<'v> Pack<'v> for &'v [&'v str] {
    fn pack(self, packed: &mut Packed<'v>) {
        let texts: Box<[Text]> =
            self.iter().map(|text| Text { first: text.as_ptr().cast(), count: text.len() }).collect();
        packed.append(Kind::TEXTS, texts.len(), texts.as_ptr());
        packed.texts.push(texts);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use crate::Layout;

    fn tensor(address: usize) -> TensorRef<'static> {
        let layout = Layout::new(&[2, 3], &[-3, 1]).unwrap();
        // SAFETY: nothing uses the memory.
        unsafe { TensorRef::new(DevicePtr::from_addr(address), DataType::FLOAT32, layout) }.unwrap()
    }

    /// Reads the arguments of a call.
    fn read<'p>(packed: &'p Packed<'_>) -> Arguments<'p> {
        // SAFETY: the values of `packed` are there.
        unsafe { Arguments::new(packed.arguments()) }
    }

    #[test]
    fn values_arrive_as_they_were() {
        let (x, list) = (tensor(64), [tensor(128), tensor(192)]);
        let mut outputs = [Some(tensor(256)), None].map(|it| it.map(writable));
        let mut packed = Packed::default();
        packed.push(&mut outputs[..]);
        packed.push(&x);
        packed.push(Some(&list[..]));
        packed.push(None::<&TensorRef<'_>>);
        packed.push(true);
        packed.push(-7);
        packed.push(0.5);
        packed.push(&[1_i64, -1][..]);
        packed.push(&[0.25][..]);
        packed.push("max");
        packed.push(&["", "l2_decay"][..]);
        let mut read = read(&packed);
        let outputs = read.outputs().unwrap();
        let addresses: Vec<_> = outputs.iter().map(|it| it.as_ref().map(|it| it.first().addr())).collect();
        assert_eq!(addresses, [Some(256), None]);
        let seen = read.input().unwrap();
        assert_eq!((seen.first().addr(), seen.dims(), seen.strides()), (64, &[2, 3][..], &[-3, 1][..]));
        let seen = read.optional_inputs().unwrap().unwrap();
        assert_eq!(seen.iter().map(|it| it.first().addr()).collect::<Vec<_>>(), [128, 192]);
        assert!(read.optional_input().unwrap().is_none());
        assert!(read.boolean().unwrap());
        assert_eq!((read.integer().unwrap(), read.number().unwrap()), (-7, 0.5));
        assert_eq!((read.integers().unwrap(), read.numbers().unwrap()), (&[1, -1][..], &[0.25][..]));
        assert_eq!((read.text().unwrap(), read.texts().unwrap()), ("max", vec!["", "l2_decay"]));
        assert!(read.is_empty());
    }

    #[test]
    fn last_attributes_with_their_defaults_are_left_out() {
        let count = |values: [f64; 3]| {
            let mut packed = Packed::default();
            values.into_iter().for_each(|value| packed.push_with_default(value, 0.01));
            packed.arguments().len()
        };
        assert_eq!([[0.01; 3], [0.01, 0.5, 0.01], [0.5; 3]].map(count), [0, 2, 3]);
    }

    fn writable(view: TensorRef<'static>) -> TensorMut<'static> {
        let layout = Layout::new(view.dims(), view.strides()).unwrap();
        // SAFETY: nothing uses the memory.
        unsafe { TensorMut::new(view.first(), view.data_type(), layout) }.unwrap()
    }
}

//! Copies of arguments, for calls that run later.

use std::ffi::c_void;
use std::{ptr, slice};

use tenon_operators::by_name::{Argument, Kind, Tensor, Text};

/// The arguments of a call, with all that they point to except the elements of tensors.
pub(super) struct Owned(Vec<Value>);

/// The values of an argument.
enum Value {
    Absent,
    Tensors(Vec<OwnedTensor>),
    Texts(Vec<Box<[u8]>>),
    /// Integers, numbers, or a text, as the bits of as many words as they need.
    Words {
        kind: Kind,
        count: usize,
        words: Vec<u64>,
    },
}

struct OwnedTensor {
    /// None for a null pointer. Its dimensions and strides are those below.
    tensor: Option<Tensor>,
    dims: Box<[usize]>,
    strides: Box<[isize]>,
}

// SAFETY: the addresses in tensors are those of device memory, which any thread may use in the order of the stream.
unsafe impl Send for OwnedTensor {}

impl Owned {
    /// Copies arguments.
    ///
    /// # Safety
    /// The values are there, as many as each argument says and of the type that it says.
    pub(super) unsafe fn copy(arguments: &[Argument]) -> Self {
        // SAFETY: the caller's promise.
        Self(arguments.iter().map(|argument| unsafe { Value::copy(argument) }).collect())
    }

    /// Returns the arguments, which point to these copies.
    pub(super) fn lend(&self) -> Lent {
        let mut lent = Lent::default();
        for value in &self.0 {
            let (kind, count, values) = match value {
                Value::Absent => (Kind::ABSENT, 0, ptr::null()),
                Value::Words { kind, count, words } => (*kind, *count, words.as_ptr().cast::<c_void>()),
                Value::Tensors(tensors) => (Kind::TENSORS, tensors.len(), lent.list(tensors)),
                Value::Texts(texts) => (Kind::TEXTS, texts.len(), lent.texts(texts)),
            };
            lent.arguments.push(Argument { kind, count, values });
        }
        lent
    }
}

/// Arguments that point to an [`Owned`].
#[derive(Default)]
pub(super) struct Lent {
    arguments: Vec<Argument>,
    tensors: Vec<Box<[Tensor]>>,
    pointers: Vec<Box<[*const Tensor]>>,
    texts: Vec<Box<[Text]>>,
}

impl Lent {
    fn list(&mut self, owned: &[OwnedTensor]) -> *const c_void {
        let described = |owned: &OwnedTensor| {
            let (dims, strides) = (owned.dims.as_ptr(), owned.strides.as_ptr());
            owned.tensor.map(|tensor| Tensor { dims, strides, ..tensor })
        };
        let tensors: Box<[Tensor]> = owned.iter().filter_map(described).collect();
        let mut rest = tensors.iter();
        let pointer = |owned: &OwnedTensor| match owned.tensor {
            Some(_) => rest.next().map_or(ptr::null(), ptr::from_ref),
            None => ptr::null(),
        };
        let pointers: Box<[*const Tensor]> = owned.iter().map(pointer).collect();
        let first = pointers.as_ptr().cast();
        self.tensors.push(tensors);
        self.pointers.push(pointers);
        first
    }

    fn texts(&mut self, owned: &[Box<[u8]>]) -> *const c_void {
        let texts = owned.iter().map(|bytes| Text { first: bytes.as_ptr().cast(), count: bytes.len() });
        let texts: Box<[Text]> = texts.collect();
        let first = texts.as_ptr().cast();
        self.texts.push(texts);
        first
    }
}

impl std::ops::Deref for Lent {
    type Target = [Argument];

    fn deref(&self) -> &[Argument] {
        &self.arguments
    }
}

impl Value {
    /// # Safety
    /// As for [`Owned::copy`].
    unsafe fn copy(argument: &Argument) -> Self {
        let Argument { kind, count, values } = *argument;
        let bytes = match kind {
            Kind::INTEGERS | Kind::NUMBERS => count * size_of::<u64>(),
            Kind::TEXT => count,
            Kind::TENSORS => {
                // SAFETY: the caller's promise.
                let pointers = unsafe { list(values.cast::<*const Tensor>(), count) };
                // SAFETY: null or a tensor by the caller's promise.
                let tensors = pointers.iter().map(|tensor| unsafe { OwnedTensor::copy(*tensor) });
                return Self::Tensors(tensors.collect());
            }
            Kind::TEXTS => {
                // SAFETY: the caller's promise.
                let texts = unsafe { list(values.cast::<Text>(), count) };
                // SAFETY: as many bytes as the text says by the caller's promise.
                let copy = |text: &Text| unsafe { list(text.first.cast::<u8>(), text.count) }.into();
                return Self::Texts(texts.iter().map(copy).collect());
            }
            _ => return Self::Absent,
        };
        let mut words = vec![0_u64; bytes.div_ceil(size_of::<u64>())];
        if bytes > 0 {
            // SAFETY: the values have as many bytes by the caller's promise, and the words have room for them.
            unsafe { words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(values.cast(), bytes) };
        }
        Self::Words { kind, count, words }
    }
}

impl OwnedTensor {
    /// # Safety
    /// `tensor` is null or points to a tensor with its dimensions and strides.
    unsafe fn copy(tensor: *const Tensor) -> Self {
        // SAFETY: the caller's promise.
        let Some(tensor) = (unsafe { tensor.as_ref() }) else {
            return Self { tensor: None, dims: Box::default(), strides: Box::default() };
        };
        // SAFETY: as many as dimensions by the caller's promise.
        let (dims, strides) = unsafe { (list(tensor.dims, tensor.rank), list(tensor.strides, tensor.rank)) };
        Self { tensor: Some(*tensor), dims: dims.into(), strides: strides.into() }
    }
}

/// # Safety
/// There are `count` values at `first`, which may be null if there are none.
unsafe fn list<'l, T>(first: *const T, count: usize) -> &'l [T] {
    match count {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { slice::from_raw_parts(first, count) },
    }
}

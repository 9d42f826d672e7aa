//! Tensors for tests, read and written the slow and obvious way.
use std::cell::RefCell;
use std::rc::Rc;

use tenon_kernels::{Bool, Complex, DType, FromNumber, Number, View, ViewMut, bf16, f16};

/// The types with an order: all but the complex ones.
pub const REAL: [DType; 10] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::Bf16,
    DType::F32,
    DType::F64,
];

/// Memory that tensors share. Words, so that it is aligned.
pub type Memory = Rc<RefCell<Vec<u64>>>;

pub fn memory(bytes: usize) -> Memory {
    Rc::new(RefCell::new(vec![0; bytes.div_ceil(8)]))
}

#[derive(Clone, Debug)]
pub struct Tensor {
    pub memory: Memory,
    pub dtype: DType,
    pub dims: Vec<usize>,
    pub strides: Vec<isize>,
    /// The offset of the first element, in elements.
    pub first: usize,
}

impl Tensor {
    /// Creates a tensor without gaps in memory of its own.
    pub fn new(dtype: DType, dims: &[usize], values: impl IntoIterator<Item = Number>) -> Self {
        let memory = memory(dims.iter().product::<usize>() * dtype.size());
        let tensor = Self { memory, dtype, dims: dims.to_vec(), strides: row_major(dims), first: 0 };
        tensor.indices().into_iter().zip(values).for_each(|(index, value)| tensor.set(&index, value));
        tensor
    }

    pub fn view(&self) -> View<'_> {
        let first = self.memory.borrow().as_ptr().cast::<u8>().wrapping_add(self.first * self.dtype.size());
        // SAFETY: the tests keep layouts inside of the memory, and nothing else accesses it during an
        // operator.
        unsafe { View::from_raw(first, self.dtype, &self.dims, &self.strides) }.unwrap()
    }

    pub fn view_mut(&self) -> ViewMut<'_> {
        let mut memory = self.memory.borrow_mut();
        let first = memory.as_mut_ptr().cast::<u8>().wrapping_add(self.first * self.dtype.size());
        // SAFETY: as above.
        unsafe { ViewMut::from_raw(first, self.dtype, &self.dims, &self.strides) }.unwrap()
    }

    /// Returns all indices in row-major order.
    pub fn indices(&self) -> Vec<Vec<usize>> {
        self.dims.iter().fold(vec![vec![]], |indices, &dim| {
            indices
                .into_iter()
                .flat_map(|index| (0..dim).map(move |last| [&index[..], &[last]].concat()))
                .collect()
        })
    }

    /// Returns the position of the first byte of an element.
    ///
    /// Leading indices that the tensor has no dimension for are dropped, those of dimensions of length one are zero:
    /// NumPy's broadcasting.
    fn at(&self, index: &[usize]) -> usize {
        let index = &index[index.len() - self.dims.len()..];
        let mut at = self.first as isize;
        for ((&index, &dim), &stride) in index.iter().zip(&self.dims).zip(&self.strides) {
            at += if dim == 1 { 0 } else { index as isize * stride };
        }
        usize::try_from(at).unwrap() * self.dtype.size()
    }

    pub fn get(&self, index: &[usize]) -> Number {
        let memory = self.memory.borrow();
        let bytes = &bytemuck::cast_slice::<u64, u8>(&memory)[self.at(index)..][..self.dtype.size()];
        let integer = |value: i64| Number::Integer(value);
        match self.dtype {
            DType::Bool => integer((bytes[0] != 0).into()),
            DType::U8 => integer(bytes[0].into()),
            DType::I8 => integer((bytes[0] as i8).into()),
            DType::I16 => integer(i16::from_ne_bytes(bytes.try_into().unwrap()).into()),
            DType::I32 => integer(i32::from_ne_bytes(bytes.try_into().unwrap()).into()),
            DType::I64 => integer(i64::from_ne_bytes(bytes.try_into().unwrap())),
            DType::F16 => Number::Real(f16::from_ne_bytes(bytes.try_into().unwrap()).to_f64()),
            DType::Bf16 => Number::Real(bf16::from_ne_bytes(bytes.try_into().unwrap()).to_f64()),
            DType::F32 => Number::Real(f32::from_ne_bytes(bytes.try_into().unwrap()).into()),
            DType::F64 => Number::Real(f64::from_ne_bytes(bytes.try_into().unwrap())),
            DType::Complex64 => {
                let [re, im] =
                    [&bytes[..4], &bytes[4..]].map(|part| f32::from_ne_bytes(part.try_into().unwrap()));
                Number::Complex(Complex::new(re.into(), im.into()))
            }
            DType::Complex128 => {
                let [re, im] =
                    [&bytes[..8], &bytes[8..]].map(|part| f64::from_ne_bytes(part.try_into().unwrap()));
                Number::Complex(Complex::new(re, im))
            }
        }
    }

    pub fn set(&self, index: &[usize], value: Number) {
        fn bytes<T: FromNumber>(value: Number) -> Vec<u8> {
            bytemuck::bytes_of(&T::from_number(value)).to_vec()
        }
        let bytes = match self.dtype {
            DType::Bool => bytes::<Bool>(value),
            DType::U8 => bytes::<u8>(value),
            DType::I8 => bytes::<i8>(value),
            DType::I16 => bytes::<i16>(value),
            DType::I32 => bytes::<i32>(value),
            DType::I64 => bytes::<i64>(value),
            DType::F16 => bytes::<f16>(value),
            DType::Bf16 => bytes::<bf16>(value),
            DType::F32 => bytes::<f32>(value),
            DType::F64 => bytes::<f64>(value),
            DType::Complex64 => bytes::<Complex<f32>>(value),
            DType::Complex128 => bytes::<Complex<f64>>(value),
        };
        let at = self.at(index);
        let mut memory = self.memory.borrow_mut();
        bytemuck::cast_slice_mut::<u64, u8>(&mut memory)[at..][..bytes.len()].copy_from_slice(&bytes);
    }

    pub fn values(&self) -> Vec<Number> {
        self.indices().iter().map(|index| self.get(index)).collect()
    }

    /// Returns the same layout in a copy of the memory.
    pub fn detached(&self) -> Self {
        Self { memory: Rc::new(RefCell::new(self.memory.borrow().clone())), ..self.clone() }
    }
}

pub fn row_major(dims: &[usize]) -> Vec<isize> {
    (0..dims.len()).map(|n| dims[n + 1..].iter().product::<usize>() as isize).collect()
}

/// Returns true if a value is a float for the choice of the type that is computed in.
pub fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
}

/// A generator of the numbers that choose cases: the same in every run.
pub struct Random(pub u64);

impl Random {
    /// Draws a number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Draws a shape of up to four dimensions, at times with a zero.
    pub fn dims(&mut self) -> Vec<usize> {
        let mut dims: Vec<usize> = (0..self.below(5)).map(|_| 1 + self.below(4)).collect();
        if let Some(dim) = dims.last_mut()
            && self.one_in(4)
        {
            *dim = 200 + self.below(600);
            let last = dims.len() - 1;
            dims[..last].iter_mut().for_each(|dim| *dim = 1 + *dim % 2);
        }
        if !dims.is_empty() && self.one_in(16) {
            let zero = self.below(dims.len());
            dims[zero] = 0;
        }
        dims
    }

    /// Draws a shape that is broadcast to another.
    pub fn narrower(&mut self, dims: &[usize]) -> Vec<usize> {
        let mut dims = dims.to_vec();
        while !dims.is_empty() && self.one_in(4) {
            dims.remove(0);
        }
        dims.iter_mut().for_each(|dim| *dim = if self.one_in(5) { 1 } else { *dim });
        dims
    }

    /// Strides in which no two elements have the same place, of any order and direction, at times with gaps.
    pub fn strides(&mut self, dims: &[usize]) -> Vec<isize> {
        let mut order: Vec<usize> = (0..dims.len()).rev().collect();
        if self.one_in(2) {
            (0..dims.len()).for_each(|n| order.swap(n, self.below(dims.len())));
        }
        let (mut strides, mut next) = (vec![0; dims.len()], 1);
        for n in order {
            next *= if self.one_in(6) { 2 } else { 1 };
            strides[n] = if self.one_in(6) { -next } else { next };
            next *= dims[n].max(1) as isize;
        }
        strides
    }

    /// Creates a tensor somewhere in a memory, or in one of its own.
    pub fn tensor(
        &mut self,
        shared: Option<&Memory>,
        dtype: DType,
        dims: &[usize],
        strides: Vec<isize>,
    ) -> Tensor {
        let reach = |back: bool| -> usize {
            let steps = dims.iter().zip(&strides).filter(|&(_, &stride)| (stride < 0) == back);
            steps.map(|(&dim, &stride)| dim.saturating_sub(1) * stride.unsigned_abs()).sum()
        };
        let (before, extent) = (reach(true), reach(true) + reach(false) + 1);
        let room = if self.one_in(2) { 8 } else { 600 };
        let first = before + self.below(room);
        let memory = shared.map_or_else(|| memory((first - before + extent) * dtype.size()), Memory::clone);
        Tensor { memory, dtype, dims: dims.to_vec(), strides, first }
    }
}

//! Tensors in any layout, and what kernels are compared with.

use tenon_kernels::{DType, FromNumber, Number, View, ViewMut, bf16, f16};

pub const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::Bf16];

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

    /// Draws a number from -2 to 2 that all floats have exactly.
    pub fn number(&mut self) -> f64 {
        self.below(129) as f64 / 32.0 - 2.0
    }

    pub fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Creates a tensor of random numbers in a random layout.
    pub fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let values = self.numbers(dims.iter().product());
        self.tensor_of(dtype, dims, &values)
    }

    /// Creates a tensor in a random layout: row-major half of the time, else of any order and direction, at times with
    /// gaps.
    pub fn tensor_of(&mut self, dtype: DType, dims: &[usize], values: &[f64]) -> Tensor {
        let plain = self.one_in(2);
        let mut order: Vec<usize> = (0..dims.len()).rev().collect();
        if !plain {
            (0..dims.len()).for_each(|n| order.swap(n, self.below(dims.len())));
        }
        let (mut strides, mut next, mut first) = (vec![0; dims.len()], 1, 0);
        for n in order {
            next *= if !plain && self.one_in(4) { 2 } else { 1 };
            let backwards = !plain && self.one_in(4);
            strides[n] = if backwards { -next } else { next };
            first += if backwards { next as usize * dims[n].saturating_sub(1) } else { 0 };
            next *= dims[n].max(1) as isize;
        }
        let words = (next as usize * dtype.size()).div_ceil(8).max(1);
        let mut tensor =
            Tensor { memory: vec![u64::MAX / 3; words], dtype, dims: dims.to_vec(), strides, first };
        assert_eq!(values.len(), dims.iter().product::<usize>());
        for (number, &value) in values.iter().enumerate() {
            tensor.set(number, value);
        }
        tensor
    }
}

#[derive(Clone, Debug)]
pub struct Tensor {
    /// Words, so that it is aligned.
    memory: Vec<u64>,
    dtype: DType,
    dims: Vec<usize>,
    strides: Vec<isize>,
    first: usize,
}

impl Tensor {
    pub fn view(&self) -> View<'_> {
        let first = self.memory.as_ptr().cast::<u8>().wrapping_add(self.first * self.dtype.size());
        // SAFETY: the layout was made for the memory, which is borrowed as long.
        unsafe { View::from_raw(first, self.dtype, &self.dims, &self.strides) }.unwrap()
    }

    pub fn view_mut(&mut self) -> ViewMut<'_> {
        let first = self.memory.as_mut_ptr().cast::<u8>().wrapping_add(self.first * self.dtype.size());
        // SAFETY: as above.
        unsafe { ViewMut::from_raw(first, self.dtype, &self.dims, &self.strides) }.unwrap()
    }

    /// Returns the tensor as output and as input: kernels in place.
    pub fn both(&mut self) -> (ViewMut<'_>, View<'_>) {
        let first = self.memory.as_mut_ptr().cast::<u8>().wrapping_add(self.first * self.dtype.size());
        // SAFETY: as above; both views are given to one operator only.
        let input = unsafe { View::from_raw(first, self.dtype, &self.dims, &self.strides) }.unwrap();
        (self.view_mut(), input)
    }

    /// Returns the position in memory of an element in bytes, by its number in row-major order.
    fn at(&self, mut number: usize) -> usize {
        let mut at = self.first as isize;
        for (&dim, &stride) in self.dims.iter().zip(&self.strides).rev() {
            at += (number % dim) as isize * stride;
            number /= dim;
        }
        usize::try_from(at).unwrap() * self.dtype.size()
    }

    fn set(&mut self, number: usize, value: f64) {
        fn bytes<T: FromNumber>(value: f64) -> Vec<u8> {
            bytemuck::bytes_of(&T::from_number(Number::Real(value))).to_vec()
        }
        let bytes = match self.dtype {
            DType::F16 => bytes::<f16>(value),
            DType::Bf16 => bytes::<bf16>(value),
            DType::F32 => bytes::<f32>(value),
            DType::F64 => bytes::<f64>(value),
            DType::U8 => bytes::<u8>(value),
            DType::I32 => bytes::<i32>(value),
            DType::I64 => bytes::<i64>(value),
            dtype => unimplemented!("{dtype}"),
        };
        let at = self.at(number);
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.memory)[at..][..bytes.len()].copy_from_slice(&bytes);
    }

    /// Returns the elements in row-major order.
    pub fn values(&self) -> Vec<f64> {
        let memory: &[u8] = bytemuck::cast_slice(&self.memory);
        let count = self.dims.iter().product();
        let elements = (0..count).map(|number| &memory[self.at(number)..][..self.dtype.size()]);
        elements
            .map(|bytes| match self.dtype {
                DType::F16 => f16::from_ne_bytes(bytes.try_into().unwrap()).to_f64(),
                DType::Bf16 => bf16::from_ne_bytes(bytes.try_into().unwrap()).to_f64(),
                DType::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()).into(),
                DType::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()),
                DType::U8 => bytes[0].into(),
                DType::I32 => i32::from_ne_bytes(bytes.try_into().unwrap()).into(),
                DType::I64 => i64::from_ne_bytes(bytes.try_into().unwrap()) as f64,
                dtype => unimplemented!("{dtype}"),
            })
            .collect()
    }

    /// Compares all elements with what they should be, as exactly as the type can have them after a sum of some
    /// products.
    #[track_caller]
    pub fn assert_close(&self, wanted: &[f64], what: impl std::fmt::Debug) {
        let tolerance = match self.dtype {
            DType::F16 => 4e-3,
            DType::Bf16 => 3e-2,
            DType::F32 => 2e-5,
            DType::F64 => 1e-6,
            _ => 0.0,
        };
        let values = self.values();
        assert_eq!(values.len(), wanted.len());
        for (number, (&ours, &wanted)) in values.iter().zip(wanted).enumerate() {
            let near = ours == wanted
                || (ours.is_nan() && wanted.is_nan())
                || (ours - wanted).abs() <= tolerance * (1.0 + wanted.abs());
            assert!(
                near,
                "element {number} is {ours}, not {wanted}: {what:?}, {} {:?}",
                self.dtype, self.dims
            );
        }
    }
}

/// Computes the gradient of `sum(forward(inputs) * dout)` by one of the inputs, by central differences.
pub fn gradient(
    inputs: &[Vec<f64>],
    which: usize,
    dout: &[f64],
    forward: impl Fn(&[Vec<f64>]) -> Vec<f64>,
) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let (count, mut inputs) = (inputs[which].len(), inputs.to_vec());
    let mut loss = |number: usize, by: f64| -> f64 {
        let value = inputs[which][number];
        inputs[which][number] = value + by;
        let out = forward(&inputs);
        inputs[which][number] = value;
        out.iter().zip(dout).map(|(out, dout)| out * dout).sum()
    };
    (0..count).map(|number| (loss(number, STEP) - loss(number, -STEP)) / (2.0 * STEP)).collect()
}

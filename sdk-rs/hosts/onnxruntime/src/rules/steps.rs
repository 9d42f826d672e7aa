//! Steps that many rules have in common: each computes a tensor of its own.

use tenon::device::{DataType, Error, Result};
use tenon_operators::{Launch, Operators, TensorMut, TensorRef, broadcast};

use crate::kernel::Call;

impl Call<'_> {
    /// Computes an elementwise method of one tensor.
    pub(crate) fn unary(
        &self,
        x: &TensorRef<'_>,
        work: impl FnOnce(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>) -> Result<()>,
    ) -> Result<TensorRef<'_>> {
        let mut out = self.temporary(x.data_type(), x.dims())?;
        self.run(|operators, launch| work(operators, launch, &mut out, x))?;
        Ok(out.into_input())
    }

    /// Computes an elementwise method of two tensors, which are broadcast.
    pub(crate) fn binary(
        &self,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
        work: impl FnOnce(
            &dyn Operators,
            Launch,
            &mut TensorMut<'_>,
            &TensorRef<'_>,
            &TensorRef<'_>,
        ) -> Result<()>,
    ) -> Result<TensorRef<'_>> {
        let mut out = self.temporary(a.data_type(), &broadcast(a.dims(), b.dims())?)?;
        self.run(|operators, launch| work(operators, launch, &mut out, a, b))?;
        Ok(out.into_input())
    }

    /// Compares two tensors, which are broadcast.
    pub(crate) fn compare(
        &self,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
        work: impl FnOnce(
            &dyn Operators,
            Launch,
            &mut TensorMut<'_>,
            &TensorRef<'_>,
            &TensorRef<'_>,
        ) -> Result<()>,
    ) -> Result<TensorRef<'_>> {
        let mut out = self.temporary(DataType::BOOL, &broadcast(a.dims(), b.dims())?)?;
        self.run(|operators, launch| work(operators, launch, &mut out, a, b))?;
        Ok(out.into_input())
    }

    /// Converts a tensor to another type.
    pub(crate) fn cast<'t>(&'t self, x: &TensorRef<'t>, ty: DataType) -> Result<TensorRef<'t>> {
        if x.data_type() == ty {
            return Ok(x.clone());
        }
        let mut out = self.temporary(ty, x.dims())?;
        self.run(|operators, launch| operators.cast(launch, &mut out, x))?;
        Ok(out.into_input())
    }

    /// Copies a view to an output of the same shape.
    pub(crate) fn write(&self, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        // The host may have given the output the memory of the input.
        if out.is_same(x) || out.is_empty() {
            return Ok(());
        }
        self.run(|operators, launch| operators.copy(launch, out, x))
    }

    /// Returns a tensor whose elements are one after the other.
    pub(crate) fn contiguous<'t>(&'t self, x: &TensorRef<'t>) -> Result<TensorRef<'t>> {
        if x.is_contiguous() {
            return Ok(x.clone());
        }
        let mut out = self.temporary(x.data_type(), x.dims())?;
        self.write(&mut out, x)?;
        Ok(out.into_input())
    }

    /// Makes a tensor with a value, which has memory for one element.
    pub(crate) fn filled(&self, ty: DataType, dims: &[usize], value: f64) -> Result<TensorRef<'_>> {
        self.upload(ty, &[], &encoded(ty, value)?)?.expanded(dims)
    }
}

/// Returns the bytes of a number as an element of a type.
fn encoded(ty: DataType, value: f64) -> Result<Vec<u8>> {
    Ok(match ty {
        DataType::FLOAT32 => (value as f32).to_ne_bytes().to_vec(),
        DataType::FLOAT64 => value.to_ne_bytes().to_vec(),
        DataType::FLOAT16 => half::f16::from_f64(value).to_ne_bytes().to_vec(),
        DataType::BFLOAT16 => half::bf16::from_f64(value).to_ne_bytes().to_vec(),
        DataType::BOOL => vec![u8::from(value != 0.0)],
        DataType::UINT8 => vec![value as u8],
        DataType::INT8 => (value as i8).to_ne_bytes().to_vec(),
        DataType::INT16 => (value as i16).to_ne_bytes().to_vec(),
        DataType::INT32 => (value as i32).to_ne_bytes().to_vec(),
        DataType::INT64 => (value as i64).to_ne_bytes().to_vec(),
        DataType::COMPLEX64 => [(value as f32).to_ne_bytes(), 0_f32.to_ne_bytes()].concat(),
        DataType::COMPLEX128 => [value.to_ne_bytes(), 0_f64.to_ne_bytes()].concat(),
        other => return Err(Error::unsupported(&format!("constants of the type {other:?}"))),
    })
}

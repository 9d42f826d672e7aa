//! Tensors that a kernel makes of constants once, such as weights in another order.

use tenon::DevicePtr;
use tenon::device::{DataType, Result};
use tenon_operators::{Constant, TensorMut, TensorRef};

use super::Call;
use crate::library::Memory;
use crate::session::{DeviceState, Owner};

/// A tensor that stays as long as the kernel.
pub(super) struct Kept {
    block: DevicePtr,
    ty: DataType,
    dims: Vec<usize>,
    constant: Constant,
}

impl Kept {
    /// Frees the memory of tensors that nothing uses any more.
    pub(super) fn free(tensors: Vec<Self>, device: &DeviceState) {
        tensors.into_iter().for_each(|kept| device.pool.free(kept.block));
    }

    fn view(&self) -> Result<TensorRef<'_>> {
        // SAFETY: the block stays allocated as long as this value, and has room for the elements.
        let view = unsafe { TensorRef::contiguous(self.block, self.ty, &self.dims) }?;
        Ok(view.of_constant(&self.constant))
    }
}

impl<'c> Call<'c> {
    /// Returns tensors that a function makes of some inputs. If all of these are constants of the model, or absent, the
    /// function is called once for the kernel, and otherwise in each call.
    pub(crate) fn kept<'t>(
        &'t self,
        inputs: &[usize],
        make: impl FnOnce() -> Result<Vec<TensorRef<'t>>>,
    ) -> Result<Vec<TensorRef<'t>>> {
        if let Some(kept) = self.node.kept.get() {
            return kept.iter().map(Kept::view).collect();
        }
        let made = make()?;
        for index in inputs {
            let is_constant = self.node.inputs.get(*index).is_none_or(Option::is_some);
            if !is_constant && self.optional(*index)?.is_some() {
                return Ok(made);
            }
        }
        let mut kept = Vec::with_capacity(made.len());
        for tensor in &made {
            match self.keep(tensor) {
                Ok(copy) => kept.push(copy),
                Err(error) => {
                    Kept::free(kept, self.device);
                    return Err(error);
                }
            }
        }
        // Other streams read them from now on.
        if let Err(error) = self.synchronize() {
            Kept::free(kept, self.device);
            return Err(error);
        }
        if let Err(second) = self.node.kept.set(kept) {
            // Another thread was faster.
            Kept::free(second, self.device);
        }
        self.node.kept.get().into_iter().flatten().map(Kept::view).collect()
    }

    /// Copies a tensor to memory that stays.
    fn keep(&self, tensor: &TensorRef<'_>) -> Result<Kept> {
        let owner = match self.device.library.memory {
            Memory::OfTheHost => Owner::Nobody,
            Memory::OfTheDevice => Owner::Anyone,
        };
        let (ty, dims) = (tensor.data_type(), tensor.dims().to_vec());
        let block = self.device.pool.allocate(tensor.len() * ty.size().unwrap_or(0), owner)?;
        // SAFETY: the block has room for the elements, and nothing else uses it.
        let copied = unsafe { TensorMut::contiguous(block, ty, &dims) };
        match copied.and_then(|mut copy| self.write(&mut copy, tensor)) {
            Ok(()) => Ok(Kept { block, ty, dims, constant: Constant::new() }),
            Err(error) => {
                self.device.pool.free(block);
                Err(error)
            }
        }
    }
}

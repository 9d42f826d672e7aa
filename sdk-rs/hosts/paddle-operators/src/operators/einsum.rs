//! Sums of products in Einstein's notation.
//!
//! The gradient gets the tensors of `inner_cache` and no operands. PaddlePaddle sets no shape for them. It may compute
//! the sums on its CPU and the gradient here: a compiled program does, if the operands come straight from the host. So
//! the copies have the order of dimensions of PaddlePaddle's CPU kernel (`PerformContraction` in
//! `einsum_kernel_impl.h`), which stores operands as it multiplies them.

use tenon_operators::TensorRef;

use crate::error::Result;
use crate::kernel::{Any, Call, FLOATS, Output, Registry, Run, Tensor, kernel, layout, outputs};

/// Registers `einsum` and its gradient.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<Einsum<'static>>(&["einsum", "expand"], &[FLOATS])?;
    registry.add_any::<EinsumGrad<'static>>(&["einsum_grad"], &[FLOATS])
}

kernel! {
    /// Sums products, and copies the operands for the gradient: a program may change them before it.
    struct Einsum<'c> = c"einsum" {
        inputs: { operands: Vec<Tensor<'c>> },
        attributes: { equation: &'c str },
        outputs: {
            out: Output<'c>,
            inner_cache: Vec<Option<Output<'c>>>,
            xshape: Vec<Option<Output<'c>>>,
        },
    }
}

impl Run<Any> for Einsum<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let operands = self.operands.into_iter().map(Tensor::view).collect::<Result<Vec<_>>>()?;
        for (index, (saved, operand)) in self.inner_cache.into_iter().zip(&operands).enumerate() {
            let Some(saved) = saved else { continue };
            let operand = &permuted(operand, &stored_order(self.equation, index, operand.dims().len()))?;
            saved.reshape(operand.dims())?;
            let mut saved = saved.view(outputs::like(operand))?;
            call.run(&mut |device, launch| device.expand(launch, &mut saved, operand))?;
        }
        let mut out = self.out.view(outputs::like_first(operands.iter())?)?;
        call.run(&mut |device, launch| device.einsum(launch, &mut out, &operands, self.equation))
    }
}

kernel! {
    /// Computes the gradients from the copies of the operands. `xshape` has no elements.
    struct EinsumGrad<'c> = c"einsum_grad" {
        inputs: { xshape: Vec<Tensor<'c>>, inner_cache: Vec<Tensor<'c>>, dout: Tensor<'c> },
        attributes: { equation: &'c str },
        outputs: { gradients: Vec<Option<Output<'c>>> },
    }
}

impl Run<Any> for EinsumGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let saved = self.inner_cache.into_iter().map(Tensor::view).collect::<Result<Vec<_>>>()?;
        let mut operands = Vec::new();
        for (index, saved) in saved.iter().enumerate() {
            let order = stored_order(self.equation, index, saved.dims().len());
            let place = |axis| order.iter().position(|&from| from == axis);
            operands.push(permuted(saved, &(0..order.len()).filter_map(place).collect::<Vec<_>>())?);
        }
        let dout = self.dout.view()?;
        let ty = outputs::like_first(operands.iter())?;
        let mut gradients = outputs::views(self.gradients, |_| Ok(ty))?;
        call.run(&mut |device, launch| {
            device.einsum_grad(launch, &mut gradients, &operands, &dout, self.equation)
        })
    }
}

/// Returns which dimension of an operand is each dimension of its copy: first those that all tensors have, then those of
/// the output or the sum over both operands (the second operand has its own last), then those over which it alone is
/// summed. Dimensions of one kind are in the order of the equation.
///
/// Equations with `...` do not get here: PaddlePaddle replaces the dots by labels.
fn stored_order(equation: &str, index: usize, rank: usize) -> Vec<usize> {
    let compact: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, out) = compact.split_once("->").unwrap_or((&compact, ""));
    let terms: Vec<&str> = left.split(',').collect();
    let own: Vec<char> = terms.get(index).copied().unwrap_or_default().chars().collect();
    let mut order: Vec<usize> = (0..rank).collect();
    if own.len() != rank || terms.len() > 2 {
        return order;
    }
    let is_shared =
        |label| terms.iter().enumerate().any(|(other, term)| other != index && term.contains(label));
    order.sort_by_key(|&axis| {
        let label = own[axis];
        let kind = match (is_shared(label), out.contains(label)) {
            (true, true) => 0,
            (false, true) if index == 0 => 1,
            (true, false) => 2,
            (false, true) => 3,
            (false, false) => 4,
        };
        (kind, left.find(label))
    });
    order
}

/// Returns a tensor with its dimensions in another order.
fn permuted<'v>(tensor: &TensorRef<'v>, axes: &[usize]) -> Result<TensorRef<'v>> {
    let dims: Vec<usize> = axes.iter().map(|&axis| tensor.dims()[axis]).collect();
    let strides: Vec<isize> = axes.iter().map(|&axis| tensor.strides()[axis]).collect();
    let layout = layout(&dims, &strides)?;
    // SAFETY: its elements are those of the tensor.
    Ok(unsafe { TensorRef::new(tensor.first(), tensor.data_type(), layout) }?)
}

#[cfg(test)]
mod tests {
    use super::stored_order;

    #[test]
    fn copies_have_the_order_of_the_products_of_matrices() {
        assert_eq!(stored_order("bhqd,bhkd->bhqk", 0, 4), [0, 1, 2, 3]);
        assert_eq!(stored_order("bhqd,bhkd->bhqk", 1, 4), [0, 1, 3, 2]);
        assert_eq!(stored_order("jik,jk->i", 0, 3), [1, 0, 2]);
        assert_eq!(stored_order("fgab,abge->gaeb", 0, 4), [1, 2, 3, 0]);
        assert_eq!(stored_order("ij->j", 0, 2), [1, 0]);
        assert_eq!(stored_order("ij,jk,kl->il", 2, 2), [0, 1]);
        assert_eq!(stored_order("ij,jk->ik", 2, 0), []);
    }
}

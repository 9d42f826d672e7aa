//! Chooses between oneDNN and the kernels of `tenon-kernels`.

use std::fmt;
use std::sync::OnceLock;

use crate::onednn::{BadVariable, Library, Unusable, few_for};
use tenon::device::Plugin as _;
use tenon_cpu::Cpu;
use tenon_kernels::DType;
use tenon_kernels::provider::{self, Factor, Geometry, Operand, Pass, Provider, Target};

/// The implementation of convolutions and matrix products.
#[derive(Clone, Copy, Debug)]
pub enum Computing {
    /// oneDNN, where it is faster, or wherever it is supported.
    OneDnn(&'static Library),
    /// The kernels of `tenon-kernels`, because oneDNN cannot be used.
    Kernels(&'static Unusable),
}

/// Lets operators use oneDNN where it is faster, if the library is available. Applies to all later calls.
///
/// # Errors
/// If the environment variable that names the library has an invalid value. Operators then compute without it.
pub fn use_onednn() -> Result<Computing, &'static BadVariable> {
    match Library::get() {
        Ok(library) => {
            static PROVIDER: OnceLock<OneDnn> = OnceLock::new();
            provider::set(PROVIDER.get_or_init(|| OneDnn(library)));
            Ok(Computing::OneDnn(library))
        }
        Err(Unusable::Variable(bad)) => Err(bad),
        Err(reason) => Ok(Computing::Kernels(reason)),
    }
}

impl fmt::Display for Computing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneDnn(library) => write!(formatter, "operators use {library}"),
            Self::Kernels(reason) => write!(formatter, "operators do not use oneDNN: {reason}"),
        }
    }
}

/// Decides which implementation computes an operation, unless oneDNN is forced. The guide to the CPU device
/// has the measurements behind it.
struct OneDnn(&'static Library);

impl Provider for OneDnn {
    fn convolve(
        &self,
        pass: Pass,
        dtype: DType,
        geometry: &Geometry,
        result: &mut [u8],
        operands: [Operand<'_>; 2],
        bias: Option<&[u8]>,
    ) -> bool {
        (self.0.is_forced() || is_faster(pass, dtype, geometry))
            && noted(few_for(geometry.multiplications(), || {
                self.0.convolve(pass, dtype, geometry, result, operands, bias)
            }))
    }

    fn multiply(
        &self,
        dtype: DType,
        out: Target<'_>,
        shape: [usize; 3],
        factors: [Factor<'_>; 2],
        is_added: bool,
    ) -> bool {
        let least = if dtype == DType::F32 { PRODUCT } else { HALF_PRODUCT };
        let count = shape.iter().product::<usize>();
        (self.0.is_forced() || count >= least)
            && noted(few_for(count, || self.0.multiply(dtype, out, shape, factors, is_added)))
    }
}

/// Names oneDNN in the trace of the device if it has computed. Returns whether it has.
fn noted(has_computed: bool) -> bool {
    if has_computed {
        Cpu::instance().profiler_set_library("oneDNN");
    }
    has_computed
}

/// The minimum number of image elements for which a pointwise convolution is computed as a matrix product.
const PRODUCT_ELEMENTS: usize = 16;

/// The minimum number of channels for which oneDNN is fast at the gradient of an image.
const GRADIENT_CHANNELS: usize = 4;

/// The minimum number of multiplications for which a call for an `f32` product pays off.
const PRODUCT: usize = 1 << 16;

/// The minimum number of multiplications for which generating code for a half-precision product pays off.
const HALF_PRODUCT: usize = 1 << 17;

/// Returns true if oneDNN computes a convolution faster than the kernel does with oneDNN's matrix products.
fn is_faster(pass: Pass, dtype: DType, geometry: &Geometry) -> bool {
    if dtype == DType::F32 && geometry.is_pointwise() {
        return geometry.large.iter().product::<usize>() < PRODUCT_ELEMENTS;
    }
    pass != Pass::Large || geometry.groups > 1 || geometry.large_channels >= GRADIENT_CHANNELS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(channels: usize, side: usize, kernel: usize) -> Geometry {
        Geometry {
            batch: 4,
            groups: 1,
            large_channels: channels,
            small_channels: 8,
            large: [1, side, side],
            small: [1, side, side],
            kernel: [1, kernel, kernel],
            strides: [1; 3],
            paddings: [[0; 2], [kernel / 2; 2], [kernel / 2; 2]],
            dilations: [1; 3],
        }
    }

    #[test]
    fn pointwise_convolution_of_small_images_is_faster() {
        for pass in [Pass::Small, Pass::Large, Pass::Kernels] {
            assert!(is_faster(pass, DType::F32, &geometry(64, 2, 1)));
            assert!(!is_faster(pass, DType::F32, &geometry(64, 8, 1)));
            assert!(is_faster(pass, DType::Bf16, &geometry(64, 8, 1)));
        }
    }

    #[test]
    fn gradient_of_an_image_with_few_channels_is_not_faster() {
        for (channels, groups, expected) in [(1, 1, false), (3, 1, false), (4, 1, true), (1, 32, true)] {
            let geometry = Geometry { groups, ..geometry(channels, 28, 3) };
            let found =
                [Pass::Small, Pass::Large, Pass::Kernels].map(|pass| is_faster(pass, DType::F32, &geometry));
            assert_eq!(found, [true, expected, true], "{channels} channels, {groups} groups");
        }
    }
}

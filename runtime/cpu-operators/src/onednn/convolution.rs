//! Convolutions and their gradients.

use tenon_kernels::DType;
use tenon_kernels::provider::{Geometry, Operand, Pass};

use crate::onednn::api::{AlgKind, MemoryDesc, PropKind, Query, Result};
use crate::onednn::cache::Planned;
use crate::onednn::library::Library;
use crate::onednn::object::{Context, Description, Layout};
use crate::onednn::plan::{Plan, Tensor, role};

/// The maximum number of dimensions of a tensor.
const MOST: usize = 12;

pub(crate) struct Convolutions;

impl Library {
    /// Computes one tensor of a convolution from the other two, as [`Provider::convolve`] does. Returns false
    /// if the library does not support it, or only with plain loops. `bias` is that of a forward pass.
    ///
    /// # Panics
    /// If the tensors have different sizes than the geometry requires.
    ///
    /// [`Provider::convolve`]: tenon_kernels::provider::Provider::convolve
    pub fn convolve(
        &self,
        pass: Pass,
        dtype: DType,
        geometry: &Geometry,
        result: &mut [u8],
        operands: [Operand<'_>; 2],
        bias: Option<&[u8]>,
    ) -> bool {
        let shape = Shape(geometry);
        let [large, small, kernels] =
            [shape.large(), shape.small(), shape.kernels()].map(|dims| bytes(&dims, dtype));
        let expected = match pass {
            Pass::Small => [small, large, kernels],
            Pass::Large => [large, small, kernels],
            Pass::Kernels => [kernels, large, small],
        };
        let [left, right] = operands;
        assert_eq!(
            [result.len(), left.elements.len(), right.elements.len()],
            expected,
            "tensors of {geometry:?}"
        );
        if let Some(bias) = bias {
            assert_eq!(bias.len(), bytes(&shape.channels(), dtype), "the bias of {geometry:?}");
        }
        if expected.contains(&0) || bias.is_some() && pass != Pass::Small {
            return false;
        }
        let Some(plan) = self.convolutions.plan(&self.context, (pass, dtype, *geometry, bias.is_some()))
        else {
            return false;
        };
        let result = result.as_mut_ptr().cast();
        // SAFETY: the sizes were checked, and the borrows are live and do not overlap.
        let done = unsafe {
            match bias {
                None => plan.execute(result, &[left, right]),
                Some(bias) => plan.execute(result, &[left, right, Operand::new(bias)]),
            }
        };
        done.is_ok()
    }
}

fn bytes(dims: &[i64], dtype: DType) -> usize {
    dims.iter().product::<i64>() as usize * dtype.size()
}

/// The dimensions of the tensors.
struct Shape<'a>(&'a Geometry);

impl Shape<'_> {
    fn large(&self) -> Vec<i64> {
        self.image(self.0.large_channels, self.0.large)
    }

    fn small(&self) -> Vec<i64> {
        self.image(self.0.small_channels, self.0.small)
    }

    /// Returns the shape of a bias.
    fn channels(&self) -> [i64; 1] {
        [(self.0.groups * self.0.small_channels) as i64]
    }

    fn kernels(&self) -> Vec<i64> {
        let Geometry { groups, small_channels, large_channels, kernel, .. } = *self.0;
        let mut dims = if groups == 1 { vec![] } else { vec![groups as i64] };
        dims.extend([small_channels as i64, large_channels as i64]);
        dims.extend(self.spatial(|n| kernel[n] as i64));
        dims
    }

    fn image(&self, channels: usize, size: [usize; 3]) -> Vec<i64> {
        let mut dims = vec![self.0.batch as i64, (self.0.groups * channels) as i64];
        dims.extend(self.spatial(|n| size[n] as i64));
        dims
    }

    /// Returns one number for each dimension of the images.
    ///
    /// A depth of one is omitted, because the library computes two-dimensional images faster.
    fn spatial(&self, of: impl Fn(usize) -> i64) -> Vec<i64> {
        let Geometry { large, small, kernel, paddings, .. } = self.0;
        let is_flat = [large[0], small[0], kernel[0]] == [1; 3] && paddings[0] == [0; 2];
        (usize::from(is_flat)..3).map(of).collect()
    }

    /// Returns numbers for a function that reads one for each dimension of the images.
    fn list(&self, of: impl Fn(usize) -> i64) -> [i64; MOST] {
        let mut list = [0; MOST];
        list.iter_mut().zip(self.spatial(of)).for_each(|(entry, number)| *entry = number);
        list
    }
}

impl Planned for Convolutions {
    /// True at the end if there is a bias.
    type Key = (Pass, DType, Geometry, bool);

    fn plan(context: &Context, (pass, dtype, geometry, has_bias): &Self::Key) -> Result<Option<Plan>> {
        let forward = describe(context, *dtype, geometry, *has_bias, None)?;
        let description = match pass {
            Pass::Small => forward,
            _ => describe(context, *dtype, geometry, false, Some((*pass, &forward)))?,
        };
        if description.is_reference() {
            return Ok(None);
        }
        let shape = Shape(geometry);
        let tensor = |role, chosen, dims: Vec<i64>| -> Result<Tensor> {
            Ok(Tensor { role, chosen: Some(chosen), given: plain(context, *dtype, &dims)? })
        };
        let large = |by, chosen| tensor(by + role::SRC, chosen, shape.large());
        let small = |by, chosen| tensor(by + role::DST, chosen, shape.small());
        let kernels = |by, chosen| tensor(by + role::WEIGHTS, chosen, shape.kernels());
        let gradient = role::GRADIENT;
        let (result, mut operands) = match pass {
            Pass::Small => {
                (small(0, Query::DST_MD)?, vec![large(0, Query::SRC_MD)?, kernels(0, Query::WEIGHTS_MD)?])
            }
            Pass::Large => (
                large(gradient, Query::DIFF_SRC_MD)?,
                vec![small(gradient, Query::DIFF_DST_MD)?, kernels(0, Query::WEIGHTS_MD)?],
            ),
            Pass::Kernels => (
                kernels(gradient, Query::DIFF_WEIGHTS_MD)?,
                vec![large(0, Query::SRC_MD)?, small(gradient, Query::DIFF_DST_MD)?],
            ),
        };
        if *has_bias {
            let given = plain(context, *dtype, &shape.channels())?;
            operands.push(Tensor { role: role::BIAS, chosen: None, given });
        }
        Plan::new(context, &description, result, operands).map(Some)
    }
}

/// Describes a forward convolution, or a gradient with the forward convolution as a hint.
fn describe(
    context: &Context,
    dtype: DType,
    geometry: &Geometry,
    has_bias: bool,
    gradient: Option<(Pass, &Description)>,
) -> Result<Description> {
    let shape = Shape(geometry);
    let any = |dims: Vec<i64>| context.any(dtype, &dims);
    let (large, kernels, small) = (any(shape.large())?, any(shape.kernels())?, any(shape.small())?);
    let (src, weights, dst) = (large.handle(), kernels.handle(), small.handle());
    let strides = shape.list(|n| geometry.strides[n] as i64);
    let dilations = shape.list(|n| geometry.dilations[n] as i64 - 1);
    let [before, after] = [0, 1].map(|side| shape.list(|n| geometry.paddings[n][side] as i64));
    let [strides, dilations, before, after] =
        [&strides, &dilations, &before, &after].map(|list| list.as_ptr());
    let (api, engine, direct, attributes) =
        (&context.api, context.engine, AlgKind::CONVOLUTION_DIRECT, context.attributes);
    let bias = has_bias.then(|| plain(context, dtype, &shape.channels())).transpose()?;
    let bias = bias.as_ref().map_or(MemoryDesc::NULL, Layout::handle);
    // SAFETY: the descriptors are live, and the lists have at least as many numbers as the function reads.
    let handle = unsafe {
        match gradient {
            None => api.convolution_forward_primitive_desc_create(
                engine,
                PropKind::FORWARD_TRAINING,
                direct,
                src,
                weights,
                bias,
                dst,
                strides,
                dilations,
                before,
                after,
                attributes,
            ),
            Some((Pass::Kernels, hint)) => api.convolution_backward_weights_primitive_desc_create(
                engine,
                direct,
                src,
                weights,
                bias,
                dst,
                strides,
                dilations,
                before,
                after,
                hint.handle(),
                attributes,
            ),
            Some((_, hint)) => api.convolution_backward_data_primitive_desc_create(
                engine,
                direct,
                src,
                weights,
                dst,
                strides,
                dilations,
                before,
                after,
                hint.handle(),
                attributes,
            ),
        }
    }?;
    // SAFETY: the descriptor is new.
    Ok(unsafe { Description::new(*context, handle) })
}

/// Creates the layout of a contiguous tensor.
pub(crate) fn plain(context: &Context, dtype: DType, dims: &[i64]) -> Result<Layout> {
    let mut strides = vec![1; dims.len()];
    for n in (1..dims.len()).rev() {
        strides[n - 1] = strides[n] * dims[n];
    }
    context.strided(dtype, dims, &strides)
}

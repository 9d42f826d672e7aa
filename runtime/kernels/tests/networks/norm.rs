use tenon_kernels::attributes::{BatchNormAttributes, BatchNormGradAttributes, GroupNormAttributes};
use tenon_kernels::norm::{
    batch_norm, batch_norm_grad, group_norm, group_norm_grad, instance_norm, instance_norm_grad, layer_norm,
    layer_norm_grad, rms_norm, rms_norm_grad,
};
use tenon_kernels::{DType, Error, Result, View, ViewMut};

use crate::support::{FLOATS, Random, Tensor, gradient};

const EPSILON: f64 = 0.25;

/// For each element the set that it is normalised in, and its parameter.
struct Places {
    sets: Vec<usize>,
    parameters: Vec<usize>,
}

impl Places {
    fn new(dims: &[usize], place: impl Fn(&[usize]) -> (usize, usize)) -> Self {
        let index = |mut number: usize| -> Vec<usize> {
            let mut index = vec![0; dims.len()];
            for (index, &dim) in index.iter_mut().zip(dims).rev() {
                *index = number % dim;
                number /= dim;
            }
            index
        };
        let (sets, parameters) = (0..dims.iter().product()).map(|n| place(&index(n))).unzip();
        Self { sets, parameters }
    }

    fn count(numbers: &[usize]) -> usize {
        numbers.iter().max().map_or(0, |max| max + 1)
    }

    fn statistics(&self, x: &[f64], centred: bool) -> [Vec<f64>; 2] {
        let sums = |term: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![(0.0, 0.0); Self::count(&self.sets)];
            for (&set, &x) in self.sets.iter().zip(x) {
                sums[set] = (sums[set].0 + term(set, x), sums[set].1 + 1.0);
            }
            sums.into_iter().map(|(sum, count)| sum / count).collect::<Vec<f64>>()
        };
        let mean = sums(&|_, x| if centred { x } else { 0.0 });
        let variance = sums(&|set, x| (x - mean[set]).powi(2));
        [mean, variance]
    }

    /// Normalizes `x`; `x`, `scale` and `bias` are the inputs.
    fn normalize(&self, inputs: &[Vec<f64>], [mean, variance]: &[Vec<f64>; 2]) -> Vec<f64> {
        let [x, scale, bias] = inputs else { unreachable!() };
        let places = x.iter().zip(self.sets.iter().zip(&self.parameters));
        let y = |(x, (&set, &parameter)): (&f64, (&usize, &usize))| {
            (x - mean[set]) / (variance[set] + EPSILON).sqrt() * scale[parameter] + bias[parameter]
        };
        places.map(y).collect()
    }
}

/// The operators of one form: outputs are the result, the mean and the second statistic.
type Forward<'f> =
    &'f dyn Fn(&mut ViewMut<'_>, [&mut ViewMut<'_>; 2], &View<'_>, [Option<&View<'_>>; 2]) -> Result<()>;
/// Outputs are the gradients; inputs `x`, the scale, both statistics and `dout`.
type Backward<'f> =
    &'f dyn Fn([Option<&mut ViewMut<'_>>; 3], &View<'_>, Option<&View<'_>>, [&View<'_>; 3]) -> Result<()>;

fn check(
    name: &str,
    dims: &[usize],
    places: &Places,
    (centred, reciprocal): (bool, bool),
    forward: Forward<'_>,
    backward: Backward<'_>,
) {
    let mut random = Random(dims.len() as u64);
    for (dtype, with) in FLOATS.into_iter().flat_map(|dtype| [true, false].map(|with| (dtype, with))) {
        let (sets, parameters) = (Places::count(&places.sets), Places::count(&places.parameters));
        let statistic = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let x = random.tensor(dtype, dims);
        let [scale, bias] = [0; 2].map(|_| random.tensor(dtype, &[parameters]));
        let neutral = |value: f64| vec![value; parameters];
        let inputs = if with {
            [x.values(), scale.values(), bias.values()]
        } else {
            [x.values(), neutral(1.0), neutral(0.0)]
        };
        let wanted = |inputs: &[Vec<f64>]| places.normalize(inputs, &places.statistics(&inputs[0], centred));
        let mut out = random.tensor(dtype, dims);
        let [mut mean, mut second] = [0; 2].map(|_| random.tensor(statistic, &[sets]));
        let views = [scale.view(), bias.view()];
        let given = [&views[0], &views[1]].map(|view| with.then_some(view));
        let (mut mean_view, mut second_view) = (mean.view_mut(), second.view_mut());
        forward(&mut out.view_mut(), [&mut mean_view, &mut second_view], &x.view(), given).unwrap();
        out.assert_close(&wanted(&inputs), name);
        let [means, variances] = places.statistics(&inputs[0], centred);
        if centred {
            mean.assert_close(&means, name);
        }
        let seconds = variances.iter().map(|v| if reciprocal { (v + EPSILON).sqrt().recip() } else { *v });
        second.assert_close(&seconds.collect::<Vec<_>>(), name);

        let dout = random.tensor(dtype, dims);
        let mut grads: [Tensor; 3] =
            [dims, &[parameters], &[parameters]].map(|dims| random.tensor(DType::F64, dims));
        let [dx, dscale, dbias] = grads.each_mut().map(Tensor::view_mut);
        let (mut dx, mut dscale, mut dbias) = (dx, dscale, dbias);
        let statistics = [&mean.view(), &second.view(), &dout.view()];
        let outs = [Some(&mut dx), Some(&mut dscale), Some(&mut dbias)];
        backward(outs, &x.view(), given[0], statistics).unwrap();
        for (which, grad) in grads.iter().enumerate() {
            let wanted = gradient(&inputs, which, &dout.values(), wanted);
            let rounded = random.tensor_of(DType::F32, &[wanted.len()], &grad.values());
            rounded.assert_close(&wanted, (name, which));
        }
    }
}

#[test]
fn layer_norm_and_its_gradient_equal_a_loop() {
    for (dims, axis) in [(&[5, 7][..], 1), (&[2, 18], 1), (&[2, 3, 4], 1), (&[6], 0)] {
        let (inner, rank) = (dims[axis..].iter().product::<usize>(), dims.len());
        let flat =
            |index: &[usize]| index.iter().zip(dims).fold(0, |number, (&index, &dim)| number * dim + index);
        let places = Places::new(dims, |index| (flat(index) / inner, flat(index) % inner));
        check(
            "layer_norm",
            dims,
            &places,
            (true, false),
            &|out, [mean, variance], x, [scale, bias]| {
                let axis = axis as i64 - rank as i64;
                layer_norm(out, Some(mean), Some(variance), x, scale, bias, EPSILON, axis)
            },
            &|[dx, dscale, dbias], x, scale, [mean, variance, dout]| {
                layer_norm_grad(dx, dscale, dbias, x, scale, mean, variance, dout, EPSILON, axis as i64)
            },
        );
        check(
            "rms_norm",
            dims,
            &places,
            (false, true),
            &|out, [_, reciprocal], x, [scale, bias]| {
                rms_norm(out, Some(reciprocal), x, scale, bias, EPSILON, axis as i64)
            },
            &|[dx, dscale, dbias], x, scale, [_, reciprocal, dout]| {
                rms_norm_grad(dx, dscale, dbias, x, scale, reciprocal, dout, axis as i64)
            },
        );
    }
}

#[test]
fn norms_of_channels_and_their_gradients_equal_a_loop() {
    for (dims, layout, groups) in [
        (&[2, 6, 3, 2][..], "NCHW", 3),
        (&[2, 3, 2, 6], "NHWC", 2),
        (&[3, 4, 5], "NCHW", 4),
        (&[3, 4, 5], "NCHW", 1),
        (&[2, 5, 4], "NHWC", 4),
    ] {
        let axis = if layout == "NCHW" { 1 } else { dims.len() - 1 };
        let own = dims[axis] / groups;
        let places = Places::new(dims, |index| (index[0] * groups + index[axis] / own, index[axis]));
        check(
            "group_norm",
            dims,
            &places,
            (true, false),
            &|out, [mean, variance], x, [scale, bias]| {
                let groups = groups as i64;
                group_norm(
                    out,
                    Some(mean),
                    Some(variance),
                    x,
                    scale,
                    bias,
                    &GroupNormAttributes { epsilon: EPSILON, groups, data_layout: layout },
                )
            },
            &|[dx, dscale, dbias], x, scale, [mean, variance, dout]| {
                let groups = groups as i64;
                group_norm_grad(
                    dx,
                    dscale,
                    dbias,
                    x,
                    scale,
                    mean,
                    variance,
                    dout,
                    &GroupNormAttributes { epsilon: EPSILON, groups, data_layout: layout },
                )
            },
        );
        let places = Places::new(dims, |index| (index[axis], index[axis]));
        let (zeros, ones) = (vec![0.0; dims[axis]], vec![1.0; dims[axis]]);
        let running = [zeros, ones].map(|values| Random(1).tensor_of(DType::F64, &[dims[axis]], &values));
        check(
            "batch_norm",
            dims,
            &places,
            (true, true),
            &|out, [mean, variance], x, [scale, bias]| {
                let [running_mean, running_variance] = [running[0].view(), running[1].view()];
                let outs = [Some(mean), Some(variance)];
                let [mean, variance] = outs;
                batch_norm(
                    out,
                    None,
                    None,
                    mean,
                    variance,
                    x,
                    &running_mean,
                    &running_variance,
                    scale,
                    bias,
                    &BatchNormAttributes {
                        momentum: 0.9,
                        epsilon: EPSILON,
                        data_layout: layout,
                        use_running_statistics: false,
                    },
                )
            },
            &|[dx, dscale, dbias], x, scale, [mean, variance, dout]| {
                batch_norm_grad(
                    dx,
                    dscale,
                    dbias,
                    x,
                    scale,
                    mean,
                    variance,
                    dout,
                    &BatchNormGradAttributes {
                        data_layout: layout,
                        is_test: false,
                        use_global_stats: false,
                        trainable_statistics: false,
                    },
                )
            },
        );
        if layout == "NCHW" {
            let places = Places::new(dims, |index| (index[0] * dims[1] + index[1], index[1]));
            check(
                "instance_norm",
                dims,
                &places,
                (true, true),
                &|out, [mean, variance], x, [scale, bias]| {
                    instance_norm(out, Some(mean), Some(variance), x, scale, bias, EPSILON)
                },
                &|[dx, dscale, dbias], x, scale, [mean, variance, dout]| {
                    instance_norm_grad(dx, dscale, dbias, x, scale, mean, variance, dout)
                },
            );
        }
    }
}

#[test]
fn batch_norm_tracks_statistics_or_uses_them() {
    let mut random = Random(1);
    let dims = [3, 2, 4];
    let places = Places::new(&dims, |index| (index[1], index[1]));
    let x = random.tensor(DType::F32, &dims);
    let (mut mean, mut variance) =
        (random.tensor(DType::F32, &[2]), random.tensor_of(DType::F32, &[2], &[2.0, 0.5]));
    let (old_mean, old_variance) = (mean.values(), variance.values());
    let mut out = random.tensor(DType::F32, &dims);
    for global in [true, false] {
        let (mut mean_out, mean_in) = mean.both();
        let (mut variance_out, variance_in) = variance.both();
        let mut out = out.view_mut();
        let running = (Some(&mut mean_out), Some(&mut variance_out));
        batch_norm(
            &mut out,
            running.0,
            running.1,
            None,
            None,
            &x.view(),
            &mean_in,
            &variance_in,
            None,
            None,
            &BatchNormAttributes {
                momentum: 0.75,
                epsilon: EPSILON,
                data_layout: "NCHW",
                use_running_statistics: global,
            },
        )
        .unwrap();
        if global {
            mean.assert_close(&old_mean, "unchanged");
            variance.assert_close(&old_variance, "unchanged");
        }
    }
    let mixed = |old: &[f64], new: &[f64]| -> Vec<f64> {
        old.iter().zip(new).map(|(old, new)| old * 0.75 + new * 0.25).collect()
    };
    let statistics = places.statistics(&x.values(), true);
    mean.assert_close(&mixed(&old_mean, &statistics[0]), "mean");
    variance.assert_close(&mixed(&old_variance, &statistics[1]), "variance");

    // With fixed statistics the operator is linear.
    let fixed = [vec![0.5, -1.0], vec![2.0, 0.5]];
    let [fixed_mean, fixed_variance] = fixed.each_ref().map(|v| random.tensor_of(DType::F64, &[2], v));
    let mut reciprocal = random.tensor(DType::F64, &[2]);
    let mut saved = reciprocal.view_mut();
    batch_norm(
        &mut out.view_mut(),
        None,
        None,
        None,
        Some(&mut saved),
        &x.view(),
        &fixed_mean.view(),
        &fixed_variance.view(),
        None,
        None,
        &BatchNormAttributes {
            momentum: 0.75,
            epsilon: EPSILON,
            data_layout: "NCHW",
            use_running_statistics: true,
        },
    )
    .unwrap();
    let inputs = [x.values(), vec![1.0; 2], vec![0.0; 2]];
    out.assert_close(&places.normalize(&inputs, &fixed), "fixed");
    let (mut dx, dout) = (random.tensor(DType::F32, &dims), random.tensor(DType::F32, &dims));
    let mut view = dx.view_mut();
    let statistics = (fixed_mean.view(), reciprocal.view());
    batch_norm_grad(
        Some(&mut view),
        None,
        None,
        &x.view(),
        None,
        &statistics.0,
        &statistics.1,
        &dout.view(),
        &BatchNormGradAttributes {
            data_layout: "NCHW",
            is_test: false,
            use_global_stats: true,
            trainable_statistics: false,
        },
    )
    .unwrap();
    dx.assert_close(
        &gradient(&inputs, 0, &dout.values(), |inputs| places.normalize(inputs, &fixed)),
        "fixed",
    );
}

#[test]
fn empty_tensors_and_wrong_arguments() {
    let mut random = Random(2);
    let empty = random.tensor(DType::F32, &[0, 4]);
    let mut out = random.tensor(DType::F32, &[0, 4]);
    layer_norm(&mut out.view_mut(), None, None, &empty.view(), None, None, EPSILON, 1).unwrap();
    let x = random.tensor(DType::F32, &[2, 4]);
    let mut out = random.tensor(DType::F32, &[2, 4]);
    let scale = random.tensor(DType::F32, &[3]);
    let refused =
        layer_norm(&mut out.view_mut(), None, None, &x.view(), Some(&scale.view()), None, EPSILON, 1);
    assert_eq!(refused, Err(Error::Length { what: "scale", expected: 4, actual: 3 }));
    for (groups, layout) in [(3, "NCHW"), (0, "NCHW"), (2, "CHWN")] {
        let mut out = out.view_mut();
        let refused = group_norm(
            &mut out,
            None,
            None,
            &x.view(),
            None,
            None,
            &GroupNormAttributes { epsilon: EPSILON, groups, data_layout: layout },
        );
        assert!(matches!(refused, Err(Error::Attribute { .. })), "{refused:?}");
    }
    let refused = layer_norm(&mut out.view_mut(), None, None, &x.view(), None, None, EPSILON, 3);
    assert_eq!(refused, Err(Error::Axis { axis: 3, rank: 2 }));
}

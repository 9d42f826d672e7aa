use tenon_kernels::attributes::{ConvAttributes, ConvTransposeAttributes};
use tenon_kernels::conv::{conv, conv_bias, conv_grad, conv_transpose, conv_transpose_grad, shape};
use tenon_kernels::{DType, Error, View};

use crate::support::{FLOATS, Random, gradient};

/// A convolution with one to three spatial dimensions.
#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    groups: usize,
    /// The channels of a group, in and out.
    channels: [usize; 2],
    image: Vec<usize>,
    kernel: Vec<usize>,
    strides: Vec<i64>,
    paddings: Vec<i64>,
    algorithm: &'static str,
    dilations: Vec<i64>,
    last: bool,
}

/// Returns all indices below limits, in row-major order.
pub fn indices(limits: &[usize]) -> Vec<Vec<usize>> {
    limits.iter().fold(vec![vec![]], |indices, &limit| {
        indices.iter().flat_map(|index| (0..limit).map(|n| [&index[..], &[n]].concat())).collect()
    })
}

pub fn flat(dims: &[usize], index: &[usize]) -> usize {
    dims.iter().zip(index).fold(0, |number, (dim, index)| number * dim + index)
}

impl Case {
    fn format(&self) -> &'static str {
        match (self.image.len(), self.last) {
            (1, false) => "NCL",
            (1, true) => "NLC",
            (2, false) => "NCHW",
            (2, true) => "NHWC",
            (_, false) => "NCDHW",
            (_, true) => "NDHWC",
        }
    }

    fn dilation(&self, n: usize) -> usize {
        if self.algorithm == "SAME" { 1 } else { self.dilations[n] as usize }
    }

    /// Computes the padding before a dimension and the length of the result.
    fn along(&self, n: usize) -> (usize, usize) {
        let (len, kernel, stride) = (self.image[n], self.kernel[n], self.strides[n] as usize);
        let span = (kernel - 1) * self.dilation(n) + 1;
        let rank = self.image.len();
        let [before, behind] = match self.algorithm {
            "VALID" => [0, 0],
            "SAME" => {
                let total = ((len.div_ceil(stride) - 1) * stride + kernel).saturating_sub(len);
                [total / 2, total - total / 2]
            }
            _ if self.paddings.len() == rank => [self.paddings[n] as usize; 2],
            _ => [self.paddings[2 * n] as usize, self.paddings[2 * n + 1] as usize],
        };
        (before, (len + before + behind - span) / stride + 1)
    }

    fn shape(&self, channels: usize, space: &[usize]) -> Vec<usize> {
        let channels = [channels * self.groups];
        if !self.last {
            [&[self.batch], &channels[..], space].concat()
        } else {
            [&[self.batch], space, &channels].concat()
        }
    }

    fn filter(&self) -> Vec<usize> {
        [&[self.channels[1] * self.groups, self.channels[0]], &self.kernel[..]].concat()
    }

    fn result(&self) -> Vec<usize> {
        (0..self.image.len()).map(|n| self.along(n).1).collect()
    }

    /// Calls `visit` with the elements of image, filter and result that belong together.
    fn each(&self, result: &[usize], mut visit: impl FnMut(usize, usize, usize)) {
        let (x, out) = (self.shape(self.channels[0], &self.image), self.shape(self.channels[1], result));
        let at = |dims: &[usize], sample: usize, channel: usize, space: &[usize]| {
            if !self.last {
                flat(dims, &[&[sample, channel], space].concat())
            } else {
                flat(dims, &[&[sample], space, &[channel]].concat())
            }
        };
        let loops =
            [&[self.batch, self.groups, self.channels[0], self.channels[1]], &self.kernel[..], result];
        let rank = self.image.len();
        for index in indices(&loops.concat()) {
            let (kernel, window) = (&index[4..4 + rank], &index[4 + rank..]);
            let place = |n: usize| {
                let place = window[n] * self.strides[n] as usize + kernel[n] * self.dilation(n);
                place.checked_sub(self.along(n).0).filter(|&place| place < self.image[n])
            };
            let Some(seen) = (0..rank).map(place).collect::<Option<Vec<usize>>>() else { continue };
            let [sample, group, from, to] = index[..4] else { unreachable!() };
            let (from_channel, to_channel) = (group * self.channels[0] + from, group * self.channels[1] + to);
            let filter = flat(&self.filter(), &[&[to_channel, from], kernel].concat());
            visit(at(&x, sample, from_channel, &seen), filter, at(&out, sample, to_channel, window));
        }
    }

    fn forward(&self, inputs: &[Vec<f64>]) -> Vec<f64> {
        let result = self.result();
        let mut out = vec![0.0; self.shape(self.channels[1], &result).iter().product()];
        self.each(&result, |x, filter, at| out[at] += inputs[0][x] * inputs[1][filter]);
        out
    }

    /// Computes the gradient by the image, of a result of any size.
    fn transposed(&self, inputs: &[Vec<f64>], result: &[usize]) -> Vec<f64> {
        let mut image = vec![0.0; self.shape(self.channels[0], &self.image).iter().product()];
        self.each(result, |x, filter, at| image[x] += inputs[0][at] * inputs[1][filter]);
        image
    }
}

fn cases() -> Vec<Case> {
    let case = Case {
        batch: 2,
        groups: 1,
        channels: [3, 4],
        image: vec![5, 6],
        kernel: vec![3, 3],
        strides: vec![1, 1],
        paddings: vec![1, 1],
        algorithm: "EXPLICIT",
        dilations: vec![1, 1],
        last: false,
    };
    let wide = vec![4, 7];
    let cases = [
        case.clone(),
        Case { strides: vec![2, 3], paddings: vec![0, 2], ..case.clone() },
        Case { paddings: vec![0, 1, 2, 3], dilations: vec![2, 1], groups: 2, ..case.clone() },
        Case { algorithm: "SAME", strides: vec![2, 2], dilations: vec![2, 2], ..case.clone() },
        Case { algorithm: "VALID", kernel: vec![2, 4], ..case.clone() },
        Case { kernel: vec![1, 1], paddings: vec![0, 0], ..case.clone() },
        Case { kernel: vec![1, 1], paddings: vec![0, 0], strides: vec![2, 2], groups: 2, ..case.clone() },
        Case { channels: [1, 1], groups: 5, ..case.clone() },
        // Many channels: windows are columns, those of several samples together, or some lines of one.
        Case { batch: 3, channels: [2, 17], groups: 2, ..case.clone() },
        Case { channels: [1, 18], image: vec![17, 16], ..case.clone() },
        Case { channels: [2, 17], kernel: vec![1, 1], paddings: vec![0, 0], ..case.clone() },
        Case { channels: [1, 2], groups: 3, strides: vec![2, 1], image: wide.clone(), ..case.clone() },
        Case {
            channels: [1, 1],
            groups: 2,
            image: vec![7, 29],
            paddings: vec![2, 3],
            strides: vec![2, 2],
            dilations: vec![2, 3],
            ..case.clone()
        },
        Case {
            channels: [1, 1],
            groups: 2,
            image: vec![6, 23],
            kernel: vec![2, 4],
            paddings: vec![1, 0, 5, 2],
            dilations: vec![3, 2],
            ..case.clone()
        },
        Case {
            channels: [1, 2],
            groups: 2,
            image: vec![3, 4, 11],
            kernel: vec![2, 1, 3],
            paddings: vec![1, 0, 6],
            strides: vec![1, 3, 4],
            dilations: vec![2, 1, 1],
            ..case.clone()
        },
        Case { kernel: vec![5, 1], paddings: vec![4, 3], dilations: vec![1, 3], image: wide, ..case.clone() },
        Case {
            image: vec![9],
            kernel: vec![4],
            strides: vec![2],
            paddings: vec![3, 1],
            dilations: vec![2],
            ..case.clone()
        },
        Case {
            image: vec![3, 4, 3],
            kernel: vec![2, 2, 3],
            strides: vec![1, 2, 1],
            paddings: vec![1, 0, 1],
            dilations: vec![1, 2, 1],
            channels: [2, 1],
            ..case
        },
    ];
    cases.iter().flat_map(|case| [false, true].map(|last| Case { last, ..case.clone() })).collect()
}

#[test]
fn convolutions_and_their_gradients_equal_a_loop() {
    let mut random = Random(1);
    for (case, dtype) in cases().into_iter().zip(FLOATS.into_iter().cycle()) {
        let (x_dims, out_dims) =
            (case.shape(case.channels[0], &case.image), case.shape(case.channels[1], &case.result()));
        let (x, filter) = (random.tensor(dtype, &x_dims), random.tensor(dtype, &case.filter()));
        let inputs = [x.values(), filter.values()];
        let (mut out, dout) = (random.tensor(dtype, &out_dims), random.tensor(dtype, &out_dims));
        let (views, groups) = ((x.view(), filter.view(), dout.view()), case.groups as i64);
        let Case { strides, paddings, algorithm, dilations, .. } = &case;
        let mut out_view = out.view_mut();
        let with = ConvAttributes {
            strides,
            paddings,
            padding_algorithm: algorithm,
            dilations,
            groups,
            data_format: case.format(),
        };
        conv(&mut out_view, &views.0, &views.1, &with).unwrap();
        let mut wanted = case.forward(&inputs);
        out.assert_close(&wanted, &case);
        let channel_axis = if case.last { out_dims.len() - 1 } else { 1 };
        let bias = random.tensor(dtype, &out_dims[channel_axis..=channel_axis]);
        let (after, biases) = (out_dims[channel_axis + 1..].iter().product::<usize>(), bias.values());
        for (place, value) in wanted.iter_mut().enumerate() {
            *value += biases[place / after % biases.len()];
        }
        conv_bias(&mut out.view_mut(), &views.0, &views.1, &bias.view(), &with).unwrap();
        out.assert_close(&wanted, &case);
        let [image, kernel] = [&views.0, &views.1].map(View::meta);
        let dims = shape(image, kernel, &with);
        assert_eq!(dims.unwrap(), out_dims, "{case:?}");
        let [mut dx, mut dfilter] = [&x_dims, &case.filter()].map(|dims| random.tensor(dtype, dims));
        let (mut dx_view, mut dfilter_view) = (dx.view_mut(), dfilter.view_mut());
        conv_grad(Some(&mut dx_view), Some(&mut dfilter_view), &views.0, &views.1, &views.2, &with).unwrap();
        let wanted = [0, 1].map(|which| {
            // Linear in each input: the gradient is the sum of the products that an element is a factor of.
            let mut gradient = vec![0.0; inputs[which].len()];
            let dout = dout.values();
            case.each(&case.result(), |x, filter, at| {
                gradient[[x, filter][which]] += dout[at] * inputs[1 - which][[filter, x][which]];
            });
            gradient
        });
        dx.assert_close(&wanted[0], ("dx", &case));
        dfilter.assert_close(&wanted[1], ("dfilter", &case));
    }
}

#[test]
fn transposed_convolutions_and_their_gradients_equal_a_loop() {
    let mut random = Random(2);
    // "SAME" pads by the size of the smaller image there.
    let cases = cases().into_iter().filter(|case| case.algorithm != "SAME");
    for (case, dtype) in cases.zip(FLOATS.into_iter().cycle()) {
        let (large, small) =
            (case.shape(case.channels[0], &case.image), case.shape(case.channels[1], &case.result()));
        let (x, filter) = (random.tensor(dtype, &small), random.tensor(dtype, &case.filter()));
        let inputs = [x.values(), filter.values()];
        let (mut out, dout) = (random.tensor(dtype, &large), random.tensor(dtype, &large));
        let (views, groups) = ((x.view(), filter.view(), dout.view()), case.groups as i64);
        let Case { strides, paddings, algorithm, dilations, .. } = &case;
        let mut out_view = out.view_mut();
        conv_transpose(
            &mut out_view,
            &views.0,
            &views.1,
            &ConvTransposeAttributes {
                strides,
                paddings,
                padding_algorithm: algorithm,
                dilations,
                groups,
                data_format: case.format(),
            },
        )
        .unwrap();
        out.assert_close(&case.transposed(&inputs, &case.result()), &case);
        let [mut dx, mut dfilter] = [&small, &case.filter()].map(|dims| random.tensor(dtype, dims));
        let (mut dx_view, mut dfilter_view) = (dx.view_mut(), dfilter.view_mut());
        conv_transpose_grad(
            Some(&mut dx_view),
            Some(&mut dfilter_view),
            &views.0,
            &views.1,
            &views.2,
            &ConvTransposeAttributes {
                strides,
                paddings,
                padding_algorithm: algorithm,
                dilations,
                groups,
                data_format: case.format(),
            },
        )
        .unwrap();
        dx.assert_close(&case.forward(&[dout.values(), inputs[1].clone()]), ("dx", &case));
        let mut wanted = vec![0.0; inputs[1].len()];
        let dout = dout.values();
        case.each(&case.result(), |image, filter, at| wanted[filter] += dout[image] * inputs[0][at]);
        dfilter.assert_close(&wanted, ("dfilter", &case));
    }
}

#[test]
fn gradients_equal_finite_differences() {
    let mut random = Random(3);
    let case = Case { batch: 1, channels: [2, 1], image: vec![4, 3], ..cases().swap_remove(4) };
    let inputs = [
        random.numbers(case.shape(case.channels[0], &case.image).iter().product()),
        random.numbers(case.filter().iter().product()),
    ];
    let dout = random.numbers(case.forward(&inputs).len());
    let dims = [case.shape(case.channels[0], &case.image), case.filter()];
    let x = random.tensor_of(DType::F64, &dims[0], &inputs[0]);
    let filter = random.tensor_of(DType::F64, &dims[1], &inputs[1]);
    let dout_tensor = random.tensor_of(DType::F64, &case.shape(case.channels[1], &case.result()), &dout);
    let mut dx = random.tensor(DType::F64, &dims[0]);
    let (mut dx_view, views) = (dx.view_mut(), (x.view(), filter.view(), dout_tensor.view()));
    conv_grad(
        Some(&mut dx_view),
        None,
        &views.0,
        &views.1,
        &views.2,
        &ConvAttributes {
            strides: &case.strides,
            paddings: &case.paddings,
            padding_algorithm: case.algorithm,
            dilations: &case.dilations,
            groups: case.groups as i64,
            data_format: case.format(),
        },
    )
    .unwrap();
    dx.assert_close(&gradient(&inputs, 0, &dout, |inputs| case.forward(inputs)), &case);
}

#[test]
fn images_larger_than_a_block_equal_a_loop() {
    let mut random = Random(4);
    let case = Case {
        batch: 1,
        channels: [32, 17],
        image: vec![26, 40],
        algorithm: "SAME",
        ..cases().swap_remove(0)
    };
    let x = random.tensor(DType::F32, &[1, 32, 26, 40]);
    let filter = random.tensor(DType::F32, &[17, 32, 3, 3]);
    let mut out = random.tensor(DType::F32, &[1, 17, 26, 40]);
    let (x_view, filter_view) = (x.view(), filter.view());
    let mut view = out.view_mut();
    conv(
        &mut view,
        &x_view,
        &filter_view,
        &ConvAttributes {
            strides: &[1, 1],
            paddings: &[0, 0],
            padding_algorithm: "SAME",
            dilations: &[1, 1],
            groups: 1,
            data_format: "NCHW",
        },
    )
    .unwrap();
    let wanted = case.forward(&[x.values(), filter.values()]);
    let near = |(ours, wanted): (f64, &f64)| (ours - wanted).abs() < 1e-3;
    assert!(out.values().into_iter().zip(&wanted).all(near));
}

#[test]
fn empty_tensors_are_convolved() {
    let mut random = Random(7);
    let with = ConvAttributes {
        strides: &[3, 3],
        paddings: &[0, 0],
        padding_algorithm: "EXPLICIT",
        dilations: &[1, 1],
        groups: 1,
        data_format: "NCHW",
    };
    for channels in [1, 17] {
        for [x_dims, filter_dims, out_dims] in [
            // No window fits, no images, no channels of the images, no channels of the result.
            [[1, 1, 4, 4], [channels, 1, 5, 5], [1, channels, 0, 0]],
            [[0, 1, 4, 4], [channels, 1, 3, 3], [0, channels, 1, 1]],
            [[2, 0, 4, 4], [channels, 0, 3, 3], [2, channels, 1, 1]],
            [[2, 1, 4, 4], [0, 1, 3, 3], [2, 0, 1, 1]],
        ] {
            let [x, filter] = [x_dims, filter_dims].map(|dims| random.tensor(DType::F32, &dims));
            let bias = random.tensor(DType::F32, &[filter_dims[0]]);
            let mut out = random.tensor(DType::F32, &out_dims);
            let (x_view, filter_view, bias_view) = (x.view(), filter.view(), bias.view());
            conv_bias(&mut out.view_mut(), &x_view, &filter_view, &bias_view, &with).unwrap();
            if !out.values().is_empty() {
                assert_eq!(out.values(), bias.values().repeat(2), "{out_dims:?}");
            }
            conv(&mut out.view_mut(), &x_view, &filter_view, &with).unwrap();
            assert!(out.values().iter().all(|value| *value == 0.0), "{out_dims:?}");
        }
    }
}

#[test]
fn a_transposed_convolution_reaches_further_by_less_than_a_stride() {
    let mut random = Random(5);
    let (x, filter) = (random.tensor(DType::F32, &[1, 1, 3]), random.tensor(DType::F32, &[1, 1, 2]));
    for (len, fits) in [(4, false), (5, false), (6, true), (7, true), (8, false)] {
        let mut out = random.tensor(DType::F32, &[1, 1, len]);
        let (x, filter, mut view) = (x.view(), filter.view(), out.view_mut());
        let result = conv_transpose(
            &mut view,
            &x,
            &filter,
            &ConvTransposeAttributes {
                strides: &[2],
                paddings: &[0],
                padding_algorithm: "EXPLICIT",
                dilations: &[1],
                groups: 1,
                data_format: "NCHW",
            },
        );
        assert_eq!(result.is_ok(), fits, "{len}: {result:?}");
        if len == 7 {
            assert_eq!(out.values()[6], 0.0);
        }
    }
}

#[test]
fn arguments_are_checked() {
    let mut random = Random(6);
    let (x, filter) = (random.tensor(DType::F32, &[1, 4, 5, 5]), random.tensor(DType::F32, &[2, 4, 3, 3]));
    let mut out = random.tensor(DType::F32, &[1, 2, 3, 3]);
    let mut check = |strides: &[i64], paddings: &[i64], algorithm: &str, groups: i64, format: &str| {
        let (x, filter, mut view) = (x.view(), filter.view(), out.view_mut());
        conv(
            &mut view,
            &x,
            &filter,
            &ConvAttributes {
                strides,
                paddings,
                padding_algorithm: algorithm,
                dilations: &[1, 1],
                groups,
                data_format: format,
            },
        )
    };
    assert_eq!(check(&[1, 1], &[0, 0], "EXPLICIT", 1, "NCHW"), Ok(()));
    for (strides, paddings, algorithm, groups, format) in [
        (&[0, 1][..], &[0, 0][..], "EXPLICIT", 1, "NCHW"),
        (&[1], &[0, 0], "EXPLICIT", 1, "NCHW"),
        (&[1, 1], &[0, 0, 0], "EXPLICIT", 1, "NCHW"),
        (&[1, 1], &[-1, 0], "EXPLICIT", 1, "NCHW"),
        (&[1, 1], &[0, 0], "FULL", 1, "NCHW"),
        (&[1, 1], &[0, 0], "EXPLICIT", 0, "NCHW"),
        (&[1, 1], &[0, 0], "EXPLICIT", 3, "NCHW"),
        (&[1, 1], &[0, 0], "EXPLICIT", 1, "CHWN"),
    ] {
        let result = check(strides, paddings, algorithm, groups, format);
        assert!(matches!(result, Err(Error::Attribute { .. })), "{result:?}");
    }
    assert!(matches!(check(&[1, 1], &[1, 1], "EXPLICIT", 1, "NCHW"), Err(Error::Shape { .. })));
    assert!(matches!(check(&[1, 1], &[0, 0], "EXPLICIT", 2, "NCHW"), Err(Error::Shape { .. })));
}

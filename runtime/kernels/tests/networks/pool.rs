use tenon_kernels::attributes::{MaxPoolWithIndexAttributes, PoolAttributes};
use tenon_kernels::pool::{max_pool_with_index, max_pool_with_index_grad, pool, pool_grad};
use tenon_kernels::{DType, Error, View, ViewMut};

use crate::conv::{flat, indices};
use crate::support::{FLOATS, Random, gradient};

#[derive(Clone, Debug)]
struct Case {
    image: Vec<usize>,
    kernel: Vec<i64>,
    strides: Vec<i64>,
    paddings: Vec<i64>,
    ceil: bool,
    exclusive: bool,
    adaptive: bool,
    global: bool,
    algorithm: &'static str,
    last: bool,
    largest: bool,
}

impl Case {
    fn format(&self) -> &'static str {
        let formats = [["NCL", "NLC"], ["NCHW", "NHWC"], ["NCDHW", "NDHWC"]];
        formats[self.image.len() - 1][usize::from(self.last)]
    }

    fn kind(&self) -> &'static str {
        if self.largest { "max" } else { "avg" }
    }

    /// Returns for each window of a dimension its elements, and how many it has with padding.
    fn windows(&self, n: usize) -> Vec<(Vec<usize>, usize)> {
        let len = self.image[n];
        let cells = |cells: Vec<usize>| (cells.clone(), cells.len());
        if self.global {
            return vec![cells((0..len).collect())];
        }
        let (kernel, stride) = (self.kernel[n] as usize, self.strides[n] as usize);
        if self.adaptive {
            // Windows that contain a part of the image's share.
            let touches = |window: usize, at: usize| {
                at * kernel < (window + 1) * len && (at + 1) * kernel > window * len
            };
            let window = |window| cells((0..len).filter(|&at| touches(window, at)).collect());
            return (0..kernel).map(window).collect();
        }
        let (before, behind) = match self.algorithm {
            "VALID" => (0, 0),
            "SAME" => {
                let total = ((len.div_ceil(stride) - 1) * stride + kernel).saturating_sub(len);
                (total / 2, total - total / 2)
            }
            _ => (self.paddings[n] as usize, self.paddings[n] as usize),
        };
        let mut windows = Vec::new();
        let mut start = 0;
        while start + kernel <= len + before + behind
            || (self.ceil && start + kernel < len + before + behind + stride)
        {
            let all = start..(start + kernel).min(len + before + before);
            let seen = all.clone().filter(|&at| at >= before && at < before + len);
            windows.push((seen.map(|at| at - before).collect(), all.len()));
            start += stride;
        }
        windows
    }

    fn shape(&self, space: &[usize]) -> Vec<usize> {
        if self.last { [&[1], space, &[2]].concat() } else { [&[1, 2], space].concat() }
    }

    fn result(&self) -> Vec<usize> {
        (0..self.image.len()).map(|n| self.windows(n).len()).collect()
    }

    fn forward(&self, x: &[f64]) -> Vec<f64> {
        let (dims, result) = (self.shape(&self.image), self.shape(&self.result()));
        let windows: Vec<_> = (0..self.image.len()).map(|n| self.windows(n)).collect();
        let mut out = Vec::new();
        for index in indices(&result) {
            let space = if self.last { &index[1..index.len() - 1] } else { &index[2..] };
            let channel = if self.last { index[index.len() - 1] } else { index[1] };
            let own: Vec<_> = space.iter().zip(&windows).map(|(&n, windows)| &windows[n]).collect();
            let counts: Vec<usize> = own.iter().map(|window| window.0.len()).collect();
            let elements = indices(&counts).into_iter().map(|cell| {
                let place: Vec<usize> = cell.iter().zip(&own).map(|(&n, window)| window.0[n]).collect();
                let at = if self.last {
                    [&[index[0]], &place[..], &[channel]].concat()
                } else {
                    [&[index[0], channel], &place[..]].concat()
                };
                x[flat(&dims, &at)]
            });
            out.push(if self.largest {
                elements.fold(f64::MIN, f64::max)
            } else {
                let all = own.iter().map(|window| if self.exclusive { window.0.len() } else { window.1 });
                elements.sum::<f64>() / all.product::<usize>() as f64
            });
        }
        out
    }
}

fn cases() -> Vec<Case> {
    let case = Case {
        image: vec![5, 4],
        kernel: vec![2, 2],
        strides: vec![2, 2],
        paddings: vec![0, 0],
        ceil: false,
        exclusive: true,
        adaptive: false,
        global: false,
        algorithm: "EXPLICIT",
        last: false,
        largest: false,
    };
    let padded = Case { kernel: vec![3, 2], strides: vec![2, 1], paddings: vec![1, 1], ..case.clone() };
    let cases = [
        case.clone(),
        Case { image: vec![6, 8], ..case.clone() },
        Case {
            image: vec![2, 4, 6],
            kernel: vec![1, 2, 2],
            strides: vec![1, 2, 2],
            paddings: vec![0; 3],
            ..case.clone()
        },
        // One window of two elements in each dimension, and of three with padding.
        Case {
            image: vec![2, 2],
            kernel: vec![3, 3],
            paddings: vec![1, 1],
            exclusive: false,
            ..case.clone()
        },
        padded.clone(),
        Case { exclusive: false, ..padded.clone() },
        Case { exclusive: false, ceil: true, image: vec![6, 4], ..padded.clone() },
        Case { algorithm: "SAME", strides: vec![2, 2], ..padded.clone() },
        Case { algorithm: "VALID", ..padded },
        Case { adaptive: true, kernel: vec![3, 3], ..case.clone() },
        Case { global: true, ..case.clone() },
        Case { image: vec![7], kernel: vec![3], strides: vec![2], paddings: vec![1], ..case.clone() },
        Case {
            image: vec![3, 2, 4],
            kernel: vec![2, 2, 3],
            strides: vec![1; 3],
            paddings: vec![0, 1, 1],
            ..case
        },
    ];
    let with = |case: &Case, last, largest| Case { last, largest, ..case.clone() };
    cases
        .iter()
        .flat_map(|case| [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| with(case, a == 1, b == 1)))
        .collect()
}

/// Numbers of which no two are equal, so that the largest has a gradient.
fn distinct(random: &mut Random, count: usize) -> Vec<f64> {
    let mut numbers: Vec<f64> = (0..count).map(|n| n as f64 - 100.0).collect();
    (0..count).for_each(|n| numbers.swap(n, random.below(count)));
    numbers
}

#[test]
fn pooling_and_its_gradient_equal_a_loop() {
    let mut random = Random(1);
    for (case, dtype) in cases().into_iter().zip(FLOATS.into_iter().cycle()) {
        let (dims, result) = (case.shape(&case.image), case.shape(&case.result()));
        let values = distinct(&mut random, dims.iter().product());
        let x = random.tensor_of(dtype, &dims, &values);
        let (mut out, mut dx) = (random.tensor(dtype, &result), random.tensor(dtype, &dims));
        let dout = random.tensor(dtype, &result);
        let Case { kernel, strides, paddings, ceil, exclusive, adaptive, global, algorithm, .. } = &case;
        let (mut out_view, views) = (out.view_mut(), (x.view(), dout.view()));
        pool(
            &mut out_view,
            &views.0,
            &PoolAttributes {
                kernel_size: kernel,
                strides,
                paddings,
                ceil_mode: *ceil,
                exclusive: *exclusive,
                data_format: case.format(),
                pooling_type: case.kind(),
                global_pooling: *global,
                adaptive: *adaptive,
                padding_algorithm: algorithm,
            },
        )
        .unwrap();
        out.assert_close(&case.forward(&values), &case);
        let mut dx_view = dx.view_mut();
        pool_grad(
            &mut dx_view,
            &views.0,
            &views.1,
            &PoolAttributes {
                kernel_size: kernel,
                strides,
                paddings,
                ceil_mode: *ceil,
                exclusive: *exclusive,
                data_format: case.format(),
                pooling_type: case.kind(),
                global_pooling: *global,
                adaptive: *adaptive,
                padding_algorithm: algorithm,
            },
        )
        .unwrap();
        let wanted = gradient(&[values], 0, &dout.values(), |inputs| case.forward(&inputs[0]));
        dx.assert_close(&wanted, ("gradient", &case));
    }
}

#[test]
fn indices_of_the_largest_lead_back_to_them() {
    let mut random = Random(2);
    let cases = cases().into_iter().filter(|case| case.largest && !case.last && case.algorithm == "EXPLICIT");
    for (case, dtype) in cases.zip(FLOATS.into_iter().cycle()) {
        let (dims, result) = (case.shape(&case.image), case.shape(&case.result()));
        let values = distinct(&mut random, dims.iter().product());
        let x = random.tensor_of(dtype, &dims, &values);
        let (mut out, mut mask) = (random.tensor(dtype, &result), random.tensor(DType::I32, &result));
        let Case { kernel, strides, paddings, ceil, adaptive, global, .. } = &case;
        let (mut out_view, mut mask_view) = (out.view_mut(), mask.view_mut());
        max_pool_with_index(
            &mut out_view,
            &mut mask_view,
            &x.view(),
            &MaxPoolWithIndexAttributes {
                kernel_size: kernel,
                strides,
                paddings,
                global_pooling: *global,
                adaptive: *adaptive,
                ceil_mode: *ceil,
            },
        )
        .unwrap();
        out.assert_close(&case.forward(&values), &case);
        let (len, count) = (case.image.iter().product::<usize>(), case.result().iter().product::<usize>());
        for (number, (out, mask)) in out.values().into_iter().zip(mask.values()).enumerate() {
            assert_eq!(values[number / count * len + mask as usize], out, "{case:?}");
        }
        let (mut dx, dout) = (random.tensor(dtype, &dims), random.tensor(dtype, &result));
        max_pool_with_index_grad(&mut dx.view_mut(), &mask.view(), &dout.view()).unwrap();
        let wanted = gradient(&[values], 0, &dout.values(), |inputs| case.forward(&inputs[0]));
        dx.assert_close(&wanted, ("gradient", &case));
    }
}

#[test]
fn the_first_of_equal_elements_has_the_gradient_and_nan_is_the_largest() {
    let mut random = Random(3);
    let low = f64::NEG_INFINITY;
    for (values, wanted, out_wanted) in [
        ([1.0; 3], [1.0, 0.0, 0.0], 1.0),
        ([2.0, f64::NAN, 3.0], [0.0, 1.0, 0.0], f64::NAN),
        ([low; 3], [1.0, 0.0, 0.0], low),
    ] {
        let x = random.tensor_of(DType::F32, &[1, 1, 3], &values);
        let (mut out, mut dx) =
            (random.tensor(DType::F32, &[1, 1, 1]), random.tensor(DType::F32, &[1, 1, 3]));
        let dout = random.tensor_of(DType::F32, &[1, 1, 1], &[1.0]);
        let (mut out_view, views) = (out.view_mut(), (x.view(), dout.view()));
        pool(
            &mut out_view,
            &views.0,
            &PoolAttributes {
                kernel_size: &[3],
                strides: &[1],
                paddings: &[0],
                ceil_mode: false,
                exclusive: true,
                data_format: "NCL",
                pooling_type: "max",
                global_pooling: false,
                adaptive: false,
                padding_algorithm: "EXPLICIT",
            },
        )
        .unwrap();
        out.assert_close(&[out_wanted], values);
        let mut dx_view = dx.view_mut();
        let (x, dout) = views;
        pool_grad(
            &mut dx_view,
            &x,
            &dout,
            &PoolAttributes {
                kernel_size: &[3],
                strides: &[1],
                paddings: &[0],
                ceil_mode: false,
                exclusive: true,
                data_format: "NCL",
                pooling_type: "max",
                global_pooling: false,
                adaptive: false,
                padding_algorithm: "EXPLICIT",
            },
        )
        .unwrap();
        assert_eq!(dx.values(), wanted);
    }
}

/// Computes the gradient of the largest elements of windows of two by two elements.
fn gradient_of_squares(dx: &mut ViewMut<'_>, x: &View<'_>, dout: &View<'_>) {
    let (kernel, paddings) = ([2, 2], [0, 0]);
    pool_grad(
        dx,
        x,
        dout,
        &PoolAttributes {
            kernel_size: &kernel,
            strides: &kernel,
            paddings: &paddings,
            ceil_mode: false,
            exclusive: true,
            data_format: "NCHW",
            pooling_type: "max",
            global_pooling: false,
            adaptive: false,
            padding_algorithm: "EXPLICIT",
        },
    )
    .unwrap();
}

#[test]
fn gradients_of_many_images_and_of_wide_ones_go_to_the_largest() {
    let mut random = Random(7);
    for [images, height, width] in [[130, 4, 6], [130, 5, 6], [3, 2, 131], [1, 5, 300]] {
        let x: Vec<f32> =
            distinct(&mut random, images * height * width).into_iter().map(|x| x as f32).collect();
        let (rows, columns) = (height / 2, width / 2);
        let dout: Vec<f32> = (1..=images * rows * columns).map(|n| n as f32).collect();
        let mut wanted = vec![0.0_f32; x.len()];
        for (number, &dout) in dout.iter().enumerate() {
            let (image, row, column) = (number / (rows * columns), number / columns % rows, number % columns);
            let first = (image * height + 2 * row) * width + 2 * column;
            let window = [first, first + 1, first + width, first + width + 1];
            let largest = window.into_iter().max_by(|&a, &b| x[a].total_cmp(&x[b]));
            wanted[largest.expect("four elements")] += dout;
        }
        let mut dx = vec![f32::NAN; x.len()];
        gradient_of_squares(
            &mut ViewMut::of_slice(&mut dx, &[1, images, height, width]).unwrap(),
            &View::of_slice(&x, &[1, images, height, width]).unwrap(),
            &View::of_slice(&dout, &[1, images, rows, columns]).unwrap(),
        );
        assert_eq!(dx, wanted, "{images} images of {height} by {width}");
    }
}

#[test]
fn squares_with_equal_elements_and_nan_have_the_gradients_of_their_indices() {
    let mut random = Random(8);
    let (dims, result) = ([2, 3, 6, 10], [2, 3, 3, 5]);
    let values = [f64::NEG_INFINITY, 0.0, 1.0, f64::NAN];
    let x: Vec<f64> = (0..360).map(|_| values[random.below(values.len())]).collect();
    let x = random.tensor_of(DType::F32, &dims, &x);
    let dout = random.tensor(DType::F32, &result);
    let (mut out, mut mask) = (random.tensor(DType::F32, &result), random.tensor(DType::I32, &result));
    let (kernel, paddings) = ([2, 2], [0, 0]);
    let (mut out_view, mut mask_view) = (out.view_mut(), mask.view_mut());
    max_pool_with_index(
        &mut out_view,
        &mut mask_view,
        &x.view(),
        &MaxPoolWithIndexAttributes {
            kernel_size: &kernel,
            strides: &kernel,
            paddings: &paddings,
            global_pooling: false,
            adaptive: false,
            ceil_mode: false,
        },
    )
    .unwrap();
    let [mut wanted, mut dx] = [(); 2].map(|()| random.tensor(DType::F32, &dims));
    max_pool_with_index_grad(&mut wanted.view_mut(), &mask.view(), &dout.view()).unwrap();
    gradient_of_squares(&mut dx.view_mut(), &x.view(), &dout.view());
    assert_eq!(dx.values(), wanted.values());
}

#[test]
fn a_mask_outside_of_the_image_is_an_error() {
    let mut random = Random(4);
    let (mut dx, dout) = (random.tensor(DType::F32, &[1, 1, 3]), random.tensor(DType::F32, &[1, 1, 1]));
    for index in [3, -1] {
        let mask = random.tensor_of(DType::I32, &[1, 1, 1], &[index as f64]);
        let result = max_pool_with_index_grad(&mut dx.view_mut(), &mask.view(), &dout.view());
        assert_eq!(result, Err(Error::Index { index, len: 3 }));
    }
}

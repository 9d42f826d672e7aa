//! Samples and boxes in images, held against sums over the pixels of images without an end.

use crate::gradient::{assert_close, check, empty, numbers, spaced};
use crate::tensor::{Random, Tensor};
use tenon_kernels::attributes::{GridSampleAttributes, RoiAlignAttributes};
use tenon_kernels::{DType, Error, Number, vision};

const MODES: [&str; 3] = ["nearest", "bilinear", "bicubic"];
const PADDINGS: [&str; 3] = ["zeros", "border", "reflection"];

#[derive(Clone, Copy, Debug)]
struct Sampling {
    mode: &'static str,
    padding: &'static str,
    corners: bool,
}

impl Sampling {
    /// Returns the pixel of the image that is at an index of the image without an end, `None` for a zero.
    fn pixel(self, index: i64, len: i64) -> Option<usize> {
        let inside = match self.padding {
            "zeros" => return (0..len).contains(&index).then_some(index as usize),
            "border" => index.clamp(0, len - 1),
            _ if self.corners && len == 1 => 0,
            _ if self.corners => {
                let place = index.rem_euclid(2 * (len - 1));
                place.min(2 * (len - 1) - place)
            }
            _ => {
                let place = index.rem_euclid(2 * len);
                place.min(2 * len - 1 - place)
            }
        };
        Some(inside as usize)
    }

    /// Returns the weight of a pixel at a distance.
    fn weight(self, position: f64, index: i64) -> f64 {
        let distance = (position - index as f64).abs();
        let a = -0.75;
        match self.mode {
            "nearest" => f64::from(u8::from(position.round_ties_even() as i64 == index)),
            "bilinear" => (1.0 - distance).max(0.0),
            _ if distance <= 1.0 => (a + 2.0) * distance.powi(3) - (a + 3.0) * distance.powi(2) + 1.0,
            _ if distance < 2.0 => a * (distance.powi(3) - 5.0 * distance.powi(2) + 8.0 * distance - 4.0),
            _ => 0.0,
        }
    }

    /// Returns the pixels of a dimension, with their weights for a coordinate.
    fn pixels(self, coordinate: f64, len: usize) -> Vec<(usize, f64)> {
        let size = len as f64;
        let position = if self.corners {
            (coordinate + 1.0) / 2.0 * (size - 1.0)
        } else {
            (coordinate + 1.0) / 2.0 * size - 0.5
        };
        let near = position.floor() as i64;
        (near - 2..near + 4)
            .filter_map(|index| Some((self.pixel(index, len as i64)?, self.weight(position, index))))
            .collect()
    }

    fn sample(self, x: &Tensor, image: usize, channel: usize, point: &[f64]) -> f64 {
        let mut places = vec![(vec![image, channel], 1.0)];
        for (&coordinate, &len) in point.iter().rev().zip(&x.dims[2..]) {
            let pixels = self.pixels(coordinate, len);
            places = places
                .iter()
                .flat_map(|(place, weight)| {
                    pixels
                        .iter()
                        .map(move |&(index, factor)| ([&place[..], &[index]].concat(), weight * factor))
                })
                .collect();
        }
        places.iter().map(|(place, weight)| weight * x.get(place).to_f64()).sum()
    }
}

/// Runs a function on images, points, and all ways to sample them.
fn samplings(random: &mut Random, mut run: impl FnMut(&mut Random, &Tensor, &Tensor, Sampling)) {
    for case in 0..54 {
        let sampling =
            Sampling { mode: MODES[case % 3], padding: PADDINGS[case / 3 % 3], corners: case / 9 % 2 == 0 };
        let space = if sampling.mode == "bicubic" { 2 } else { 2 + random.below(2) };
        let mut size = |count: usize| (0..count).map(|_| 1 + random.below(4)).collect::<Vec<_>>();
        let (size, points) = (size(space), size(space));
        let x = spaced(random, &[&[2, 2], &size[..]].concat());
        let grid = empty(random, DType::F64, &[&[2], &points[..], &[space]].concat());
        for index in grid.indices() {
            // No multiple of half a pixel, where samples have no gradient.
            let coordinate = random.below(4001) as f64 / 1000.0 - 2.000_37;
            grid.set(&index, Number::Real(coordinate));
        }
        run(random, &x, &grid, sampling);
    }
}

fn sampled(x: &Tensor, grid: &Tensor, Sampling { mode, padding, corners }: Sampling) -> Tensor {
    let points = &grid.dims[1..grid.dims.len() - 1];
    let out = Tensor::new(DType::F64, &[&x.dims[..2], points].concat(), []);
    vision::grid_sample(
        &mut out.view_mut(),
        &x.view(),
        &grid.view(),
        &GridSampleAttributes { mode, padding_mode: padding, align_corners: corners },
    )
    .unwrap();
    out
}

#[test]
fn samples_are_those_of_images_without_an_end() {
    samplings(&mut Random(1), |_, x, grid, sampling| {
        let out = sampled(x, grid, sampling);
        let wanted = out.indices().into_iter().map(|index| {
            let point = (0..grid.dims.len() - 2)
                .map(|n| grid.get(&[&index[..1], &index[2..], &[n]].concat()).to_f64())
                .collect::<Vec<_>>();
            sampling.sample(x, index[0], index[1], &point)
        });
        assert_close(&numbers(&out), &wanted.collect::<Vec<_>>(), 1e-12, sampling);
    });
}

#[test]
fn gradients_of_samples_are_differences() {
    samplings(&mut Random(2), |random, x, grid, sampling| {
        let Sampling { mode, padding, corners } = sampling;
        let backward = |dx: Option<&Tensor>, dgrid: Option<&Tensor>, dout: &Tensor| {
            let (mut dx, mut dgrid) = (dx.map(Tensor::view_mut), dgrid.map(Tensor::view_mut));
            let [x, grid, dout] = [x, grid, dout].map(Tensor::view);
            vision::grid_sample_grad(
                dx.as_mut(),
                dgrid.as_mut(),
                &x,
                &grid,
                &dout,
                &GridSampleAttributes { mode, padding_mode: padding, align_corners: corners },
            )
            .unwrap();
        };
        check(
            random,
            x,
            || sampled(x, grid, sampling),
            |dx, _, dout| backward(Some(dx), None, dout),
            sampling,
        );
        check(
            random,
            grid,
            || sampled(x, grid, sampling),
            |dgrid, _, dout| backward(None, Some(dgrid), dout),
            sampling,
        );
    });
}

/// Regions of two images, with the number of regions of each.
fn regions() -> [(Tensor, Option<Tensor>); 2] {
    let corners = [[0.3, 0.2, 2.7, 3.1], [-2.0, -1.3, 1.9, 0.4], [1.2, 1.1, 9.0, 8.3]];
    let real = |value: f64| Number::Real(value);
    let whole = corners.iter().enumerate().flat_map(|(n, row)| [&[(n / 2) as f64], &row[..]].concat());
    let counts = [2, 1].map(Number::Integer);
    [
        (Tensor::new(DType::F64, &[3, 5], whole.map(real)), None),
        (
            Tensor::new(DType::F64, &[3, 4], corners.into_iter().flatten().map(real)),
            Some(Tensor::new(DType::I32, &[2], counts)),
        ),
    ]
}

#[test]
fn gradient_of_cells_is_differences_and_both_forms_of_regions_are_the_same() {
    let mut random = Random(3);
    for case in 0..24 {
        let (ratio, aligned) = ([-1, 1, 3][case % 3], case % 2 == 0);
        let x = spaced(&mut random, &[2, 2, 4, 3]);
        let outs = regions().map(|(boxes, counts)| {
            let counts = counts.as_ref().map(Tensor::view);
            let pool = || {
                let out = Tensor::new(DType::F64, &[3, 2, 2, 3], []);
                vision::roi_align(
                    &mut out.view_mut(),
                    &x.view(),
                    &boxes.view(),
                    counts.as_ref(),
                    &RoiAlignAttributes {
                        pooled_height: 2,
                        pooled_width: 3,
                        spatial_scale: 0.8,
                        sampling_ratio: ratio,
                        aligned,
                    },
                )
                .unwrap();
                out
            };
            let backward = |dx: &Tensor, _: &Tensor, dout: &Tensor| {
                vision::roi_align_grad(
                    &mut dx.view_mut(),
                    &boxes.view(),
                    counts.as_ref(),
                    &dout.view(),
                    &RoiAlignAttributes {
                        pooled_height: 2,
                        pooled_width: 3,
                        spatial_scale: 0.8,
                        sampling_ratio: ratio,
                        aligned,
                    },
                )
                .unwrap();
            };
            check(&mut random, &x, pool, backward, (ratio, aligned));
            numbers(&pool())
        });
        assert_eq!(outs[0], outs[1]);
        assert!(outs[0].iter().any(|&value| value != 0.0));
    }
}

#[test]
fn samples_more_than_a_pixel_outside_are_zero() {
    let x = Tensor::new(DType::F64, &[1, 1, 3, 3], (0..9).map(|_| Number::Real(1.0)));
    // Samples at -1.5, -0.5, 0.5 and 1.5.
    let boxes = Tensor::new(DType::F64, &[1, 5], [0.0, -2.0, -2.0, 2.0, 2.0].map(Number::Real));
    let out = Tensor::new(DType::F64, &[1, 1, 4, 4], []);
    vision::roi_align(
        &mut out.view_mut(),
        &x.view(),
        &boxes.view(),
        None,
        &RoiAlignAttributes {
            pooled_height: 4,
            pooled_width: 4,
            spatial_scale: 1.0,
            sampling_ratio: 1,
            aligned: true,
        },
    )
    .unwrap();
    let shifted = numbers(&out);
    vision::roi_align(
        &mut out.view_mut(),
        &x.view(),
        &boxes.view(),
        None,
        &RoiAlignAttributes {
            pooled_height: 4,
            pooled_width: 4,
            spatial_scale: 1.0,
            sampling_ratio: 1,
            aligned: false,
        },
    )
    .unwrap();
    for (n, (value, shifted)) in numbers(&out).into_iter().zip(shifted).enumerate() {
        let inside = |least: usize| f64::from(u8::from(n / 4 >= least && n % 4 >= least));
        // Half a pixel less puts the second sample at -1, which is not more than a pixel outside.
        assert_eq!((value, shifted), (inside(1), inside(1)), "{n}");
    }
}

#[test]
fn numbers_of_regions_that_do_not_match_are_refused() {
    let [_, (boxes, _)] = regions();
    let x = Tensor::new(DType::F64, &[2, 1, 3, 3], []);
    for counts in [[2, 2], [1, 1], [-1, 4], [i64::MAX, 1]] {
        let counts = Tensor::new(DType::I64, &[2], counts.map(Number::Integer));
        let out = Tensor::new(DType::F64, &[3, 1, 1, 1], []);
        let result = vision::roi_align(
            &mut out.view_mut(),
            &x.view(),
            &boxes.view(),
            Some(&counts.view()),
            &RoiAlignAttributes {
                pooled_height: 1,
                pooled_width: 1,
                spatial_scale: 1.0,
                sampling_ratio: 1,
                aligned: true,
            },
        );
        assert!(matches!(result, Err(Error::Length { .. })), "{result:?}");
    }
}

#[test]
fn boxes_without_scores_are_tried_in_their_order() {
    let corners = [[0, 0, 4, 4], [0, 0, 4, 2], [4, 4, 6, 6], [0, 0, 0, 0], [0, 0, 0, 0]];
    let boxes = Tensor::new(DType::F32, &[5, 4], corners.into_iter().flatten().map(Number::Integer));
    let selected = |scores: Option<[i64; 5]>, threshold| {
        let scores = scores.map(|scores| Tensor::new(DType::F32, &[5], scores.map(Number::Integer)));
        let scores = scores.as_ref().map(Tensor::view);
        let dims = vision::nms_shape(&boxes.view(), scores.as_ref(), threshold).unwrap();
        let out = Tensor::new(DType::I64, &dims, []);
        vision::nms(&mut out.view_mut(), &boxes.view(), scores.as_ref(), threshold).unwrap();
        numbers(&out)
    };
    // Empty boxes overlap nothing. The first two have half of their union in common.
    assert_eq!(selected(None, 0.49), [0.0, 2.0, 3.0, 4.0]);
    assert_eq!(selected(None, 0.5), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(selected(Some([0, 1, 2, 0, 3]), 0.49), [4.0, 2.0, 1.0, 3.0]);
}

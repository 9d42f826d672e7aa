//! oneDNN against the kernels of `tenon-kernels`. Without the library, the tests check that it is reported as absent.
//!
//! The variable `TENON_DNNL` names the library, as in programs; `cargo xtask test` sets it to that of PaddlePaddle.

use cpu_operators::onednn::{Library, Unusable};
use tenon_kernels::attributes::ConvAttributes;
use tenon_kernels::provider::{Factor, Geometry, Operand, Pass, Target};
use tenon_kernels::{Copies, DType, View, ViewMut, bf16, conv, matmul};

/// Returns the library, or `None` if there is none.
fn library() -> Option<&'static Library> {
    match Library::get() {
        Ok(library) => Some(library),
        Err(Unusable::Absent | Unusable::Off) => None,
        Err(reason) => panic!("{reason}"),
    }
}

/// Generates reproducible numbers from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn assert_close(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance * expected.abs().max(1.0),
            "{what}: {found} in place of {expected} at {index}"
        );
    }
}

struct Case {
    geometry: Geometry,
    large: Vec<f32>,
    small: Vec<f32>,
    kernels: Vec<f32>,
}

impl Case {
    fn new(geometry: Geometry) -> Self {
        let [large, small] =
            [(geometry.large_channels, geometry.large), (geometry.small_channels, geometry.small)].map(
                |(channels, size)| {
                    geometry.batch * geometry.groups * channels * size.iter().product::<usize>()
                },
            );
        let kernels = geometry.groups
            * geometry.small_channels
            * geometry.large_channels
            * geometry.kernel.iter().product::<usize>();
        Self { geometry, large: numbers(large, 1), small: numbers(small, 2), kernels: numbers(kernels, 3) }
    }

    fn tensors(&self, pass: Pass) -> [&[f32]; 3] {
        match pass {
            Pass::Small => [&self.small, &self.large, &self.kernels],
            Pass::Large => [&self.large, &self.small, &self.kernels],
            Pass::Kernels => [&self.kernels, &self.large, &self.small],
        }
    }

    fn by_kernel(&self, pass: Pass) -> Vec<f32> {
        let g = &self.geometry;
        let dims = |channels: usize, size: [usize; 3]| [&[g.batch, g.groups * channels][..], &size].concat();
        let [large, small] = [dims(g.large_channels, g.large), dims(g.small_channels, g.small)];
        let kernels = [&[g.groups * g.small_channels, g.large_channels][..], &g.kernel].concat();
        let [strides, dilations] = [g.strides, g.dilations].map(|list| list.map(|number| number as i64));
        let paddings = g.paddings.as_flattened().iter().map(|&padding| padding as i64).collect::<Vec<_>>();
        let mut out = vec![f32::NAN; self.tensors(pass)[0].len()];
        let view = |data, dims: &Vec<usize>| View::of_slice(data, dims).unwrap();
        let (x, w, y) = (view(&self.large, &large), view(&self.kernels, &kernels), view(&self.small, &small));
        let groups = g.groups as i64;
        let result = match pass {
            Pass::Small => {
                let mut out = ViewMut::of_slice(&mut out, &small).unwrap();
                conv::conv(
                    &mut out,
                    &x,
                    &w,
                    &ConvAttributes {
                        strides: &strides,
                        paddings: &paddings,
                        padding_algorithm: "EXPLICIT",
                        dilations: &dilations,
                        groups,
                        data_format: "NCDHW",
                    },
                )
            }
            Pass::Large => {
                let mut dx = ViewMut::of_slice(&mut out, &large).unwrap();
                let dx = Some(&mut dx);
                conv::conv_grad(
                    dx,
                    None,
                    &x,
                    &w,
                    &y,
                    &ConvAttributes {
                        strides: &strides,
                        paddings: &paddings,
                        padding_algorithm: "EXPLICIT",
                        dilations: &dilations,
                        groups,
                        data_format: "NCDHW",
                    },
                )
            }
            Pass::Kernels => {
                let mut dw = ViewMut::of_slice(&mut out, &kernels).unwrap();
                let dw = Some(&mut dw);
                conv::conv_grad(
                    None,
                    dw,
                    &x,
                    &w,
                    &y,
                    &ConvAttributes {
                        strides: &strides,
                        paddings: &paddings,
                        padding_algorithm: "EXPLICIT",
                        dilations: &dilations,
                        groups,
                        data_format: "NCDHW",
                    },
                )
            }
        };
        result.unwrap();
        out
    }

    fn by_library(&self, library: &Library, pass: Pass) -> Option<Vec<f32>> {
        let [result, operands @ ..] = self.tensors(pass);
        let mut out = vec![f32::NAN; result.len()];
        let operands = operands.map(|operand| Operand::new(bytemuck::cast_slice(operand)));
        let bytes = bytemuck::cast_slice_mut(&mut out);
        library.convolve(pass, DType::F32, &self.geometry, bytes, operands, None).then_some(out)
    }

    /// Computes the result in `bfloat16`, of operands that are rounded to it.
    fn by_library_in_bf16(&self, library: &Library, pass: Pass) -> Option<Vec<f32>> {
        let rounded = |numbers: &[f32]| numbers.iter().copied().map(bf16::from_f32).collect::<Vec<_>>();
        let [result, left, right] = self.tensors(pass).map(rounded);
        let mut out = vec![bf16::NAN; result.len()];
        let operands = [&left, &right].map(|operand| Operand::new(bytemuck::cast_slice(operand)));
        let bytes = bytemuck::cast_slice_mut(&mut out);
        let done = library.convolve(pass, DType::Bf16, &self.geometry, bytes, operands, None);
        done.then(|| out.into_iter().map(f32::from).collect())
    }
}

/// Describes a convolution of square images, with channels per group.
fn flat(
    channels: [usize; 2],
    size: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    groups: usize,
) -> Geometry {
    let side = (size + 2 * padding - kernel) / stride + 1;
    Geometry {
        batch: 2,
        groups,
        large_channels: channels[0],
        small_channels: channels[1],
        large: [1, size, size],
        small: [1, side, side],
        kernel: [1, kernel, kernel],
        strides: [1, stride, stride],
        paddings: [[0; 2], [padding; 2], [padding; 2]],
        dilations: [1; 3],
    }
}

fn geometries() -> Vec<Geometry> {
    let dilated = flat([8, 4], 11, 3, 1, 0, 1);
    let uneven = flat([4, 8], 9, 3, 2, 1, 1);
    let solid = flat([4, 4], 6, 3, 1, 1, 1);
    vec![
        flat([1, 6], 28, 5, 1, 2, 1),
        flat([3, 8], 15, 7, 2, 3, 1),
        flat([6, 16], 14, 5, 1, 0, 1),
        flat([16, 32], 8, 3, 1, 1, 1),
        flat([16, 8], 8, 1, 2, 0, 1),
        flat([4, 4], 8, 3, 1, 1, 3),
        flat([1, 1], 10, 3, 2, 1, 20),
        Geometry { small: [1, 7, 7], dilations: [1, 2, 2], ..dilated },
        Geometry { small: [1, 5, 4], paddings: [[0; 2], [1, 1], [0, 0]], ..uneven },
        Geometry { large: [5, 6, 6], small: [5, 6, 6], kernel: [3; 3], paddings: [[1; 2]; 3], ..solid },
    ]
}

#[test]
fn convolutions_are_those_of_the_kernels() {
    let Some(library) = library() else { return };
    for geometry in geometries() {
        let case = Case::new(geometry);
        for pass in [Pass::Small, Pass::Large, Pass::Kernels] {
            let found = case.by_library(library, pass);
            let found = found.unwrap_or_else(|| panic!("{pass:?} of {geometry:?} is not computed"));
            assert_close(&found, &case.by_kernel(pass), 1e-4, &format!("{pass:?} of {geometry:?}"));
        }
    }
}

#[test]
fn bias_is_added_to_each_channel() {
    let Some(library) = library() else { return };
    for geometry in geometries() {
        let case = Case::new(geometry);
        let channels = geometry.groups * geometry.small_channels;
        let bias: Vec<f32> = (0..channels).map(|channel| channel as f32 * 10.0).collect();
        let mut found = vec![f32::NAN; case.small.len()];
        let operands =
            [&case.large, &case.kernels].map(|operand| Operand::new(bytemuck::cast_slice(operand)));
        let (bytes, bias_bytes) = (bytemuck::cast_slice_mut(&mut found), bytemuck::cast_slice(&bias));
        assert!(library.convolve(Pass::Small, DType::F32, &geometry, bytes, operands, Some(bias_bytes)));
        let mut expected = case.by_kernel(Pass::Small);
        let in_channel = expected.len() / (geometry.batch * channels);
        for (channel, bias) in expected.chunks_exact_mut(in_channel).zip(bias.iter().cycle()) {
            channel.iter_mut().for_each(|element| *element += bias);
        }
        assert_close(&found, &expected, 1e-4, &format!("{geometry:?}"));
    }
}

#[test]
fn convolutions_in_half_precision_are_those_of_the_kernels() {
    let Some(library) = library() else { return };
    for geometry in geometries() {
        let case = Case::new(geometry);
        for pass in [Pass::Small, Pass::Large, Pass::Kernels] {
            // Not every CPU has the instructions.
            let Some(found) = case.by_library_in_bf16(library, pass) else { continue };
            assert_close(&found, &case.by_kernel(pass), 0.1, &format!("{pass:?} of {geometry:?}"));
        }
    }
}

#[test]
fn convolution_from_several_threads_is_the_same() {
    let Some(library) = library() else { return };
    let case = Case::new(flat([16, 32], 12, 3, 1, 1, 1));
    let expected = case.by_kernel(Pass::Small);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let found = case.by_library(library, Pass::Small).unwrap();
                    assert_close(&found, &expected, 1e-4, "a thread");
                }
            });
        }
    });
}

#[test]
fn filter_that_never_changes_is_reordered_once() {
    let Some(library) = library() else { return };
    let mut case = Case::new(flat([16, 32], 12, 3, 1, 1, 1));
    let copies = Copies::default();
    let compute = |case: &Case| {
        let mut out = vec![f32::NAN; case.small.len()];
        let large = Operand::new(bytemuck::cast_slice(&case.large));
        let kernels = Operand { elements: bytemuck::cast_slice(&case.kernels), copies: Some(&copies) };
        let bytes = bytemuck::cast_slice_mut(&mut out);
        assert!(library.convolve(Pass::Small, DType::F32, &case.geometry, bytes, [large, kernels], None));
        out
    };
    let expected = case.by_kernel(Pass::Small);
    assert_close(&compute(&case), &expected, 1e-4, "the first call");
    // The library would notice the change if it read the filter again.
    case.kernels.fill(0.0);
    assert_close(&compute(&case), &expected, 1e-4, "the second call");
}

#[test]
fn impossible_convolution_is_left_to_the_caller() {
    let Some(library) = library() else { return };
    let wrong = Geometry { small: [1, 9, 9], ..flat([4, 4], 8, 3, 1, 1, 1) };
    assert_eq!(Case::new(wrong).by_library(library, Pass::Small), None);
}

#[test]
fn products_are_those_of_the_kernels() {
    let Some(library) = library() else { return };
    for [rows, inner, columns] in [[1, 1, 1], [5, 7, 3], [1, 9, 4], [8, 1, 6], [4, 6, 1], [64, 48, 96]] {
        for flags in 0..16 {
            let [flip_left, flip_right, flip_out, add] = [1, 2, 4, 8].map(|bit| flags & bit != 0);
            let (left, right) = (numbers(rows * inner, 4), numbers(inner * columns, 5));
            let strides = |flip, rows, columns| if flip { [1, rows] } else { [columns, 1] };
            let factors = [
                Factor { elements: bytemuck::cast_slice(&left), strides: strides(flip_left, rows, inner) },
                Factor {
                    elements: bytemuck::cast_slice(&right),
                    strides: strides(flip_right, inner, columns),
                },
            ];
            let before = if add { 0.5 } else { f32::NAN };
            let mut found = vec![before; rows * columns];
            let out_strides = strides(flip_out, rows, columns);
            let elements = bytemuck::cast_slice_mut(&mut found);
            let out = Target::new(elements, DType::F32, [rows, columns], out_strides);
            assert!(library.multiply(DType::F32, out, [rows, inner, columns], factors, add));

            let dims = |flip, rows, columns| if flip { [columns, rows] } else { [rows, columns] };
            let mut expected = vec![0.0_f32; rows * columns];
            matmul::matmul(
                &mut ViewMut::of_slice(&mut expected, &[rows, columns]).unwrap(),
                &View::of_slice(&left, &dims(flip_left, rows, inner)).unwrap(),
                &View::of_slice(&right, &dims(flip_right, inner, columns)).unwrap(),
                flip_left,
                flip_right,
            )
            .unwrap();
            let expected: Vec<f32> = (0..rows * columns)
                .map(|n| if flip_out { (n % rows) * columns + n / rows } else { n })
                .map(|n| expected[n] + if add { 0.5 } else { 0.0 })
                .collect();
            assert_close(&found, &expected, 1e-5, &format!("{rows} {inner} {columns} {flags:04b}"));
        }
    }
}

#[test]
fn products_in_half_precision_are_those_of_the_kernels() {
    let Some(library) = library() else { return };
    let [rows, inner, columns] = [24, 40, 16];
    let rounded = |seed| numbers(1024, seed).into_iter().map(bf16::from_f32).collect::<Vec<_>>();
    let (left, right) = (rounded(7), rounded(8));
    for flags in 0..8 {
        let [flip_left, flip_right, flip_out] = [1, 2, 4].map(|bit| flags & bit != 0);
        let strides = |flip, rows, columns| if flip { [1, rows] } else { [columns, 1] };
        let strides = [
            strides(flip_left, rows, inner),
            strides(flip_right, inner, columns),
            strides(flip_out, rows, columns),
        ];
        let factors = [(&left, strides[0]), (&right, strides[1])];
        let factors =
            factors.map(|(elements, strides)| Factor { elements: bytemuck::cast_slice(elements), strides });
        let mut found = vec![bf16::NAN; rows * columns];
        let elements = bytemuck::cast_slice_mut(&mut found);
        let out = Target::new(elements, DType::Bf16, [rows, columns], strides[2]);
        // Not every CPU has the instructions.
        if !library.multiply(DType::Bf16, out, [rows, inner, columns], factors, false) {
            continue;
        }
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let at = |number: usize, row: usize, column: usize| {
                row * strides[number][0] + column * strides[number][1]
            };
            let products =
                (0..inner).map(|n| f32::from(left[at(0, row, n)]) * f32::from(right[at(1, n, column)]));
            let expected = products.sum::<f32>();
            let found = f32::from(found[at(2, row, column)]);
            assert!(
                (found - expected).abs() <= 0.01 * expected.abs().max(1.0),
                "{found} in place of {expected}"
            );
        }
    }
}

#[test]
fn matrix_that_is_neither_row_major_nor_column_major_is_left_to_the_caller() {
    let Some(library) = library() else { return };
    let elements = numbers(64, 6);
    let [spread, plain] =
        [[16, 2], [4, 1]].map(|strides| Factor { elements: bytemuck::cast_slice(&elements), strides });
    let mut out = [0.0_f32; 16];
    let product = Target::new(bytemuck::cast_slice_mut(&mut out), DType::F32, [4, 4], [4, 1]);
    assert!(!library.multiply(DType::F32, product, [4, 4, 4], [spread, plain], false));
    assert_eq!(out, [0.0; 16]);
}

//! Kernels of each kind, with one thread and with more.

use tenon_kernels::attributes::{ConvAttributes, GroupNormAttributes};
use tenon_kernels::formulas::{activation, arithmetic};
use tenon_kernels::{Result, View, ViewMut, conv, matmul, norm, rnn, shape, softmax};

use crate::{numbers, with_threads};

/// Computes an output of a shape from inputs of some shapes, and compares the results of some numbers of threads.
fn expect_same(
    what: &str,
    out: &[usize],
    inputs: &[&[usize]],
    compute: impl Fn(&mut ViewMut<'_>, &[View<'_>]) -> Result<()>,
) {
    let elements: Vec<Vec<f32>> =
        inputs.iter().zip(1..).map(|(dims, seed)| numbers(dims.iter().product(), seed)).collect();
    let views: Vec<_> =
        elements.iter().zip(inputs).map(|(elements, dims)| View::of_slice(elements, dims).unwrap()).collect();
    let run = |count: usize| {
        let mut result = vec![f32::NAN; out.iter().product()];
        let mut view = ViewMut::of_slice(&mut result, out).unwrap();
        let (done, parts) = with_threads(count, || compute(&mut view, &views));
        done.unwrap();
        (result.into_iter().map(f32::to_bits).collect::<Vec<_>>(), parts)
    };
    let (expected, parts) = run(1);
    assert_eq!(parts, 0, "{what}: one thread is enough");
    for count in [2, 3, 7] {
        let (found, parts) = run(count);
        assert!(parts > 1, "{what}: {count} threads have no work");
        assert!(found == expected, "{what}: {count} threads have another result");
    }
}

#[test]
fn products() {
    let shapes: [[usize; 4]; 8] = [
        [1, 130, 300, 517],
        [1, 517, 300, 130],
        [1, 4, 700, 1111],
        [1, 1111, 700, 4],
        [1, 1, 2000, 1999],
        [1, 70, 400, 70],
        [2, 100, 100, 300],
        [9, 100, 100, 70],
    ];
    for [batch, rows, inner, columns] in shapes {
        for turned in 0..4 {
            let turned = [turned & 1 == 1, turned & 2 == 2];
            let dims = |[rows, columns]: [usize; 2], turned| {
                if turned { [batch, columns, rows] } else { [batch, rows, columns] }
            };
            let inputs = [dims([rows, inner], turned[0]), dims([inner, columns], turned[1])];
            let what = format!("{batch} {rows} {inner} {columns} {turned:?}");
            expect_same(&what, &[batch, rows, columns], &[&inputs[0], &inputs[1]], |out, inputs| {
                matmul::matmul(out, &inputs[0], &inputs[1], turned[0], turned[1])
            });
        }
    }
}

#[test]
fn convolutions() {
    // Samples, groups, channels of both images in a group, size of both images, size of the kernels, stride.
    let cases: [[usize; 8]; 10] = [
        [16, 1, 256, 256, 2, 2, 3, 1],
        [1, 1, 24, 33, 40, 40, 3, 1],
        [1, 1, 32, 48, 80, 40, 3, 2],
        [5, 1, 40, 50, 9, 9, 3, 1],
        [5, 2, 40, 50, 9, 9, 3, 1],
        [1, 1, 64, 96, 40, 40, 1, 1],
        [3, 2, 64, 40, 40, 40, 1, 1],
        [7, 1, 3, 6, 64, 64, 5, 1],
        [2, 48, 1, 1, 50, 50, 3, 1],
        [1, 1, 256, 256, 7, 7, 3, 1],
    ];
    // Images and batches of any size, with as many channels as are worth several threads.
    let mut any = numbers(6 * 25, 9).into_iter().map(|number| ((number + 1.0) * 500.0) as usize);
    let random = std::iter::from_fn(|| {
        let mut up_to = |most: usize| Some(1 + any.next()? % most);
        let (batch, groups, side, kernel) = (up_to(17)?, up_to(3)?, up_to(14)?, 2 * up_to(2)? - 1);
        let (large, small) = (8 * up_to(20)?, 17 + up_to(120)?);
        let operations = batch * groups * large * small * side * side * kernel * kernel;
        let more = (1_usize << 21).div_ceil(operations).max(1);
        Some([batch, groups, large * more, small, side, side, kernel, 1])
    });
    for [batch, groups, large, small, from, to, kernel, stride] in cases.into_iter().chain(random) {
        let x = [batch, groups * large, from, from];
        let filter = [groups * small, large, kernel, kernel];
        let (stride, padding) = ([stride as i64; 2], [kernel as i64 / 2; 2]);
        let with = ConvAttributes {
            strides: &stride,
            paddings: &padding,
            dilations: &[1, 1],
            groups: groups as i64,
            data_format: "NCHW",
            padding_algorithm: "EXPLICIT",
        };
        let what = format!("{x:?} {filter:?} {stride:?}");
        let out = [batch, groups * small, to, to];
        let bias = [groups * small];
        expect_same(&what, &out, &[&x, &filter], |out, inputs| {
            conv::conv(out, &inputs[0], &inputs[1], &with)
        });
        expect_same(&what, &out, &[&x, &filter, &bias], |out, inputs| {
            conv::conv_bias(out, &inputs[0], &inputs[1], &inputs[2], &with)
        });
    }
}

#[test]
fn elementwise_operators() {
    let dims = [7, 311, 97];
    expect_same("the same shape", &dims, &[&dims, &dims], |out, inputs| {
        arithmetic::add(out, &inputs[0], &inputs[1])
    });
    expect_same("planes", &dims, &[&dims, &dims[1..]], |out, inputs| {
        arithmetic::multiply(out, &inputs[0], &inputs[1])
    });
    expect_same("rows", &dims, &[&dims, &dims[2..]], |out, inputs| {
        activation::prelu(out, &inputs[0], &inputs[1])
    });
}

#[test]
fn lines() {
    for axis in 1..3 {
        expect_same(&format!("softmax along {axis}"), &[29, 83, 61], &[&[29, 83, 61]], |out, inputs| {
            softmax::softmax(out, &inputs[0], axis)
        });
    }
    let dims = [37, 41, 97];
    for axis in 1..3 {
        let of_one = &dims[axis..];
        expect_same(&format!("layer_norm from {axis}"), &dims, &[&dims, of_one, of_one], |out, inputs| {
            let [x, scale, bias] = inputs else { panic!("three inputs") };
            norm::layer_norm(out, None, None, x, Some(scale), Some(bias), 1e-5, axis as i64)
        });
    }
    let (dims, channels) = ([11, 32, 23, 29], [32]);
    expect_same("group_norm", &dims, &[&dims, &channels, &channels], |out, inputs| {
        let [x, scale, bias] = inputs else { panic!("three inputs") };
        let with = GroupNormAttributes { epsilon: 1e-5, groups: 8, data_layout: "NCHW" };
        norm::group_norm(out, None, None, x, Some(scale), Some(bias), &with)
    });
}

#[test]
fn copies() {
    for perm in [[0, 2, 1], [2, 1, 0], [1, 0, 2]] {
        let dims = [31, 83, 97];
        let out = perm.map(|axis| dims[axis as usize]);
        expect_same(&format!("transpose by {perm:?}"), &out, &[&dims], |out, inputs| {
            shape::transpose(out, &inputs[0], &perm)
        });
    }
    expect_same("expand", &[67, 61, 59], &[&[67, 1, 59]], |out, inputs| shape::expand(out, &inputs[0]));
    for axis in 1..3 {
        let (mut out, mut second) = ([30, 80, 90], [30, 80, 90]);
        second[axis] = 7;
        out[axis] += 7;
        expect_same(&format!("concat along {axis}"), &out, &[&[30, 80, 90], &second], |out, inputs| {
            shape::concat(out, inputs, axis as i64)
        });
    }
}

#[test]
fn recurrent_networks() {
    for (mode, gates) in [("LSTM", 4), ("GRU", 3)] {
        let (time, batch, hidden) = (9, 12, 48);
        let weights: Vec<Vec<usize>> = [vec![gates * hidden, hidden], vec![gates * hidden, 2 * hidden]]
            .into_iter()
            .flat_map(|input| {
                let of_state = vec![gates * hidden, hidden];
                [input.clone(), of_state.clone(), input, of_state]
            })
            .chain(std::iter::repeat_n(vec![gates * hidden], 8))
            .collect();
        let mut inputs: Vec<&[usize]> = vec![&[9, 12, 48], &[4, 12, 48], &[4, 12, 48]];
        inputs.extend(weights.iter().map(|dims| &dims[..]));
        expect_same(mode, &[time, batch, 2 * hidden], &inputs, |out, inputs| {
            let states = if mode == "LSTM" { &inputs[1..3] } else { &inputs[1..2] };
            let mut memory: Vec<Vec<f32>> = states.iter().map(|state| vec![0.0; state.len()]).collect();
            let mut state: Vec<_> = memory
                .iter_mut()
                .map(|memory| ViewMut::of_slice(memory, &[4, batch, hidden]).map(Some))
                .collect::<Result<_>>()?;
            let mut reserve = [0.0_f32; 0];
            rnn::rnn(
                &mut ViewMut::of_slice(&mut reserve, &[0])?,
                out,
                &mut state,
                &inputs[0],
                states,
                &inputs[3..],
                None,
                None,
                0.0,
                true,
                hidden as i64,
                2,
                mode,
                true,
            )
        });
    }
}

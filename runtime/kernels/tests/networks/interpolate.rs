use tenon_kernels::interpolate::{interpolate, interpolate_grad};
use tenon_kernels::{DType, Error};

use crate::conv::{flat, indices};
use crate::support::{FLOATS, Random};

#[derive(Clone, Debug)]
struct Case {
    from: Vec<usize>,
    to: Vec<usize>,
    method: &'static str,
    scale: Vec<f64>,
    corners: bool,
    mode: i64,
    last: bool,
}

/// Computes the weight of the cubic kernel at a distance (Keys, 1981).
fn cubic(distance: f64) -> f64 {
    let (x, a) = (distance.abs(), -0.75);
    if x <= 1.0 {
        (a + 2.0) * x.powi(3) - (a + 3.0) * x.powi(2) + 1.0
    } else if x < 2.0 {
        a * x.powi(3) - 5.0 * a * x.powi(2) + 8.0 * a * x - 4.0 * a
    } else {
        0.0
    }
}

impl Case {
    fn format(&self) -> &'static str {
        let formats = [["NCL", "NLC"], ["NCHW", "NHWC"], ["NCDHW", "NDHWC"]];
        formats[self.from.len() - 1][usize::from(self.last)]
    }

    fn shape(&self, space: &[usize]) -> Vec<usize> {
        if self.last { [&[2], space, &[2]].concat() } else { [&[2, 2], space].concat() }
    }

    /// Returns the weight of an element of the image for one of the result, along a dimension.
    fn weight(&self, n: usize, to: usize, from: usize) -> f64 {
        let (len, count) = (self.from[n] as f64, self.to[n] as f64);
        let ratio = match self.scale.get(n) {
            _ if self.corners => {
                if count > 1.0 {
                    (len - 1.0) / (count - 1.0)
                } else {
                    0.0
                }
            }
            Some(scale) => 1.0 / scale,
            None => len / count,
        };
        let (left, centre) = (ratio * to as f64, ratio * (to as f64 + 0.5) - 0.5);
        let last = len - 1.0;
        let is = |place: f64| if place.clamp(0.0, last) == from as f64 { 1.0 } else { 0.0 };
        match self.method {
            "nearest" if self.corners => is((left + 0.5).floor()),
            "nearest" => is(left.floor()),
            "bicubic" => {
                let at = if self.corners { left } else { centre };
                (-1..3).map(|n| at.floor() + f64::from(n)).map(|place| is(place) * cubic(at - place)).sum()
            }
            _ => {
                let at = if self.corners || self.mode == 1 { left } else { centre.max(0.0) };
                is(at.floor()) * (1.0 - at.fract()) + is(at.floor() + 1.0) * at.fract()
            }
        }
    }

    /// Calls `visit` with each pair of elements of the image and the result, and how much the first counts for the second.
    fn each(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let (dims, result) = (self.shape(&self.from), self.shape(&self.to));
        let rank = self.from.len();
        let at = |dims: &[usize], sample: usize, channel: usize, space: &[usize]| {
            if self.last {
                flat(dims, &[&[sample], space, &[channel]].concat())
            } else {
                flat(dims, &[&[sample, channel], space].concat())
            }
        };
        for (to, from) in
            indices(&self.to).iter().flat_map(|to| indices(&self.from).into_iter().map(move |f| (to, f)))
        {
            let weight: f64 = (0..rank).map(|n| self.weight(n, to[n], from[n])).product();
            if weight != 0.0 {
                for (sample, channel) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    visit(at(&dims, sample, channel, &from), at(&result, sample, channel, to), weight);
                }
            }
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (from, to, methods) in [
        (&[4][..], &[7][..], &["linear", "nearest"][..]),
        (&[3, 4], &[5, 2], &["bilinear", "nearest", "bicubic"]),
        (&[4, 3], &[8, 6], &["bilinear", "nearest", "bicubic"]),
        (&[2, 1], &[1, 3], &["bilinear", "nearest", "bicubic"]),
        (&[2, 3, 2], &[3, 2, 4], &["trilinear", "nearest"]),
    ] {
        for (number, &method) in (0..6).flat_map(|number| methods.iter().map(move |method| (number, method)))
        {
            let (corners, mode, last) = (number % 3 == 0, number % 2, number >= 3);
            let exact = from.iter().zip(to).all(|(from, to)| to % from == 0);
            let scale = if exact && number > 0 {
                from.iter().zip(to).map(|(&from, &to)| to as f64 / from as f64).collect()
            } else {
                vec![]
            };
            cases.push(Case { from: from.to_vec(), to: to.to_vec(), method, scale, corners, mode, last });
        }
    }
    cases
}

#[test]
fn all_methods_and_their_gradients_equal_a_loop() {
    let mut random = Random(1);
    for (case, dtype) in cases().into_iter().zip(FLOATS.into_iter().cycle()) {
        let (dims, result) = (case.shape(&case.from), case.shape(&case.to));
        let (x, dout) = (random.tensor(dtype, &dims), random.tensor(dtype, &result));
        let (mut out, mut dx) = (random.tensor(dtype, &result), random.tensor(dtype, &dims));
        let Case { method, scale, corners, mode, .. } = &case;
        interpolate(&mut out.view_mut(), &x.view(), case.format(), method, scale, *corners, *mode).unwrap();
        let (values, douts) = (x.values(), dout.values());
        let (mut wanted, mut gradient) = (vec![0.0; douts.len()], vec![0.0; values.len()]);
        case.each(|from, to, weight| {
            wanted[to] += weight * values[from];
            // Linear: the weights are the gradient.
            gradient[from] += weight * douts[to];
        });
        out.assert_close(&wanted, &case);
        interpolate_grad(&mut dx.view_mut(), &dout.view(), case.format(), method, scale, *corners, *mode)
            .unwrap();
        dx.assert_close(&gradient, ("gradient", &case));
    }
}

#[test]
fn arguments_are_checked() {
    let mut random = Random(2);
    let x = random.tensor(DType::F32, &[1, 1, 4]);
    let mut out = random.tensor(DType::F32, &[1, 1, 8]);
    for (method, scale) in [("cubic", &[][..]), ("linear", &[2.0, 2.0])] {
        let result = interpolate(&mut out.view_mut(), &x.view(), "NCL", method, scale, false, 0);
        assert!(matches!(result, Err(Error::Attribute { .. })), "{result:?}");
    }
    let empty = random.tensor(DType::F32, &[1, 1, 0]);
    let result = interpolate(&mut out.view_mut(), &empty.view(), "NCL", "linear", &[], false, 0);
    assert_eq!(result, Err(Error::Empty));
    let mut other = random.tensor(DType::F32, &[1, 2, 8]);
    let result = interpolate(&mut other.view_mut(), &x.view(), "NCL", "linear", &[], false, 0);
    assert!(matches!(result, Err(Error::Shape { .. })));
}

//! Pooling of points by groups.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, integers};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// The combination of the features of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Sum,
    Mean,
    Max,
}

impl Method {
    fn new(name: &str) -> Result<Self> {
        match name {
            "sum" => Ok(Self::Sum),
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => Err(Error::Attribute { name: "method", value: name.to_owned() }),
        }
    }
}

/// Computes the sum, the mean or the maximum of the features of each group of points, `[groups, features]`.
///
/// `indices` is the group of each point, -1 for none. The features of a group without points are 0.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`], [`Error::Attribute`] for another method, and [`Error::Type`].
pub fn pool_points(out: &mut ViewMut<'_>, x: &View<'_>, indices: &View<'_>, method: &str) -> Result<()> {
    let groups = Groups::new(out.dims(), x.dims(), indices, method)?;
    with_float!(x.dtype(), T => {
        let mut results = vec![T::ZERO; out.len()];
        groups.each(&elements::<T>(x)?, |target, _, value, part| match part {
            Part::Replaces => results[target] = value,
            Part::Adds(factor) => results[target] += value * T::of(factor),
        });
        T::store(out, &results)
    })
}

/// Computes the gradient of [`pool_points`] with respect to the features. The gradient of a maximum goes to the first point
/// that has it.
///
/// # Errors
/// As [`pool_points`].
pub fn pool_points_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
    method: &str,
) -> Result<()> {
    let groups = Groups::new(dout.dims(), x.dims(), indices, method)?;
    expect_shape(x.dims(), dx.dims())?;
    with_float!(x.dtype(), T => {
        let mut gradient = vec![T::ZERO; dx.len()];
        {
            let dout = elements::<T>(dout)?;
            let mut largest = vec![None; dout.len()];
            groups.each(&elements::<T>(x)?, |target, source, _, part| match part {
                Part::Replaces => largest[target] = Some(source),
                Part::Adds(factor) => gradient[source] = dout[target] * T::of(factor),
            });
            for (&upstream, source) in dout.iter().zip(largest) {
                if let Some(source) = source {
                    gradient[source] = upstream;
                }
            }
        }
        T::store(dx, &gradient)
    })
}

/// The effect of a feature on the result of its group.
enum Part {
    /// It is larger than those before.
    Replaces,
    /// It is added, times a factor.
    Adds(f64),
}

struct Groups {
    method: Method,
    features: usize,
    /// The group of each point.
    of_points: Vec<Option<usize>>,
    /// The number of points of each group.
    sizes: Vec<usize>,
}

impl Groups {
    fn new(out: &[usize], x: &[usize], indices: &View<'_>, method: &str) -> Result<Self> {
        let method = Method::new(method)?;
        let (&[groups, features], &[points, _]) = (out, x) else {
            return Err(Error::Rank { dims: x.len(), strides: 2 });
        };
        expect_shape(&[points, features], x)?;
        expect_shape(&[points], indices.dims())?;
        let (mut of_points, mut sizes) = (Vec::with_capacity(points), vec![0; groups]);
        for index in integers(indices)? {
            let group = usize::try_from(index).ok().filter(|&group| group < groups);
            match group {
                Some(group) => sizes[group] += 1,
                None if index == -1 => {}
                None => return Err(Error::Index { index, len: groups }),
            }
            of_points.push(group);
        }
        Ok(Self { method, features, of_points, sizes })
    }

    /// Calls a function with the index of a result, the index of a feature, the feature, and what it does.
    fn each<T: Float>(&self, x: &[T], mut visit: impl FnMut(usize, usize, T, Part)) {
        let mut largest = vec![None; self.sizes.len() * self.features];
        for (point, group) in self.of_points.iter().enumerate() {
            let &Some(group) = group else { continue };
            for feature in 0..self.features {
                let (target, source) = (group * self.features + feature, point * self.features + feature);
                let part = match self.method {
                    Method::Sum => Part::Adds(1.0),
                    Method::Mean => Part::Adds(1.0 / self.sizes[group] as f64),
                    Method::Max if largest[target].is_none_or(|largest| x[source] > largest) => {
                        largest[target] = Some(x[source]);
                        Part::Replaces
                    }
                    Method::Max => continue,
                };
                visit(target, source, x[source], part);
            }
        }
    }
}

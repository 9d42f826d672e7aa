//! Areas of intersections, and their quotients.

use super::convex::{area, shared_area};
use super::{Point, polygons};
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::numeric::Numeric;

use crate::loops::slices::Slot;
use crate::tensor::{TensorMeta, View, ViewMut};

/// The area that an intersection is divided by.
#[derive(Clone, Copy)]
enum Measure {
    Union,
    First,
    One,
}

impl Measure {
    fn new(name: &str) -> Result<Self> {
        match name {
            "union" => Ok(Self::Union),
            "first" => Ok(Self::First),
            "area" => Ok(Self::One),
            _ => Err(Error::Attribute { name: "measure", value: name.to_owned() }),
        }
    }
}

/// Computes the shape of the output of [`polygon_overlaps`].
///
/// # Errors
/// None.
pub fn polygon_overlaps_shape(
    x: TensorMeta<'_>,
    y: TensorMeta<'_>,
    _measure: &str,
    aligned: bool,
) -> Result<Vec<usize>> {
    let [first, second] = [x, y].map(|rows| rows.dims().first().copied().unwrap_or(0));
    Ok(if aligned { vec![first] } else { vec![first, second] })
}

/// Computes the areas of the intersections of convex polygons, divided by the area that `measure` names:
/// `union`, `first` for the first polygon, or `area` for no division.
///
/// A quotient is 0 if the intersection has no area. With `aligned`, only polygons with the same index are compared.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for another measure, and [`Error::Type`].
pub fn polygon_overlaps(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    measure: &str,
    aligned: bool,
) -> Result<()> {
    let expected = polygon_overlaps_shape(x.meta(), y.meta(), measure, aligned)?;
    let measure = Measure::new(measure)?;
    expect_shape(&expected, out.dims())?;
    let (first, second) = (polygons(x)?, polygons(y)?);
    let overlaps: Vec<f64> = if aligned {
        expect_shape(&[first.len()], &[second.len()])?;
        first.iter().zip(&second).map(|(a, b)| overlap(a, b, measure)).collect()
    } else {
        first.iter().flat_map(|a| second.iter().map(move |b| overlap(a, b, measure))).collect()
    };
    with_float!(out.dtype(), T => {
        T::store(out, &overlaps.into_iter().map(T::of).collect::<Vec<_>>())
    })
}

fn overlap(a: &[Point], b: &[Point], measure: Measure) -> f64 {
    let both = shared_area(a, b);
    if both == 0.0 {
        return 0.0;
    }
    match measure {
        Measure::Union => both / (area(a) + area(b) - both),
        Measure::First => both / area(a),
        Measure::One => both,
    }
}

/// Computes the area of the intersection divided by the area of the union.
pub(super) fn quotient(a: &[Point], b: &[Point]) -> f64 {
    overlap(a, b, Measure::Union)
}

//! Label smoothing.

use crate::elements::accumulate::with_float;
use crate::error::{Result, expect_length, expect_shape};
use crate::loops::slices::Slot;
use crate::tensor::{View, ViewMut};

/// Computes `(1 - epsilon) * label + epsilon * prior`. `prior_dist` has a probability for each class, the
/// last dimension of the labels; without it, all classes have the same probability.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Length`](crate::Error::Length), and
/// [`Error::Type`](crate::Error::Type) unless the tensors are floating-point.
pub fn label_smooth(
    out: &mut ViewMut<'_>,
    label: &View<'_>,
    prior_dist: Option<&View<'_>>,
    epsilon: f64,
) -> Result<()> {
    expect_shape(label.dims(), out.dims())?;
    let classes = label.dims().last().copied().unwrap_or(1);
    with_float!(label.dtype(), T => {
        let prior = match prior_dist {
            Some(prior) => T::load(prior)?,
            None => vec![(1.0 / classes as f64) as T; classes],
        };
        expect_length("prior_dist", classes, prior.len())?;
        let (kept, moved) = ((1.0 - epsilon) as T, epsilon as T);
        let labels = T::load(label)?;
        let smooth = labels.iter().zip(prior.iter().cycle()).map(|(label, prior)| kept * label + moved * prior);
        T::store(out, &smooth.collect::<Vec<T>>())
    })
}

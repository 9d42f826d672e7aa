//! Tensors that never change.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// What a device keeps about a tensor whose elements never change, such as the weights of a model.
///
/// The host keeps it as long as the elements, and passes it with each call that reads them. A device can so bring weights
/// into its own order once and not in each call.
///
/// ```
/// use tenon_operators::Constant;
///
/// #[derive(Default)]
/// struct Packed(std::sync::OnceLock<Vec<f32>>);
///
/// let weights = Constant::new();
/// let packed = weights.kept::<Packed>().expect("nothing else was kept");
/// assert_eq!(packed.0.get_or_init(|| vec![1.]), &[1.]);
/// // The next call finds it.
/// assert!(weights.kept::<Packed>().is_some_and(|packed| packed.0.get().is_some()));
/// // There is one device, so there is one type.
/// assert!(weights.kept::<String>().is_none());
/// ```
#[derive(Default)]
pub struct Constant {
    kept: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Constant {
    /// Keeps nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: OnceLock::new() }
    }

    /// Returns what is kept. The first call makes it, empty; `None` if that call was for another type.
    #[must_use]
    pub fn kept<T: Any + Default + Send + Sync>(&self) -> Option<&T> {
        self.kept.get_or_init(|| Box::<T>::default()).downcast_ref()
    }
}

impl fmt::Debug for Constant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Constant").field("is_empty", &self.kept.get().is_none()).finish()
    }
}

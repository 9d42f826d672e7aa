//! Tensors that never change, of which a provider keeps copies in its own order.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The number of copies that are kept. A model with inputs of one shape needs one, and each takes as much memory as the
/// tensor.
const CAPACITY: usize = 4;

/// The copies of a tensor that never changes, such as the weights of a model.
#[derive(Default)]
pub struct Copies {
    copies: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    /// Those of parts of the tensor.
    parts: OnceLock<Box<[Copies]>>,
}

impl Copies {
    /// Returns a copy, which the first call makes; `None` if it cannot be made.
    ///
    /// Of two threads that need it at the same time, one waits. Where there are many copies already, a new one is not kept.
    pub fn copy<T: Any + Send + Sync>(
        &self,
        is_meant: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Option<T>,
    ) -> Option<Arc<T>> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let found = copies.iter().find(|copy| copy.downcast_ref().is_some_and(&is_meant));
        if let Some(found) = found {
            return Arc::clone(found).downcast().ok();
        }
        let made = Arc::new(make()?);
        if copies.len() < CAPACITY {
            copies.push(Arc::<T>::clone(&made));
        }
        Some(made)
    }

    /// Returns the copies of a part of the tensor, which is split into some parts of the same size. Only one number of parts
    /// has copies, that of the first call.
    pub(crate) fn part(&self, number: usize, count: usize) -> Option<&Self> {
        let parts = self.parts.get_or_init(|| (0..count).map(|_| Self::default()).collect());
        parts.get(number).filter(|_| parts.len() == count)
    }
}

impl fmt::Debug for Copies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Copies").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_made_once() {
        let copies = Copies::default();
        for number in [3, 3, 5, 3] {
            let copy = copies.copy(|copy: &i32| *copy == number, || Some(number));
            assert_eq!(copy.as_deref(), Some(&number));
        }
        assert_eq!(copies.copy(|copy: &i32| *copy == 5, || unreachable!()).as_deref(), Some(&5));
        assert!(copies.copy(|_: &u8| true, || None).is_none());
    }

    #[test]
    fn parts_have_copies_of_their_own() {
        let copies = Copies::default();
        for number in [0, 1, 0] {
            let part = copies.part(number, 2).unwrap();
            assert_eq!(part.copy(|_: &usize| true, || Some(number)).as_deref(), Some(&number));
        }
        assert!(copies.part(2, 2).is_none());
        assert!(copies.part(0, 3).is_none());
    }

    #[test]
    fn few_copies_are_kept() {
        let copies = Copies::default();
        for number in 0..100 {
            assert_eq!(copies.copy(|copy: &i32| *copy == number, || Some(number)).as_deref(), Some(&number));
        }
        assert_eq!(copies.copies.lock().unwrap().len(), CAPACITY);
    }
}

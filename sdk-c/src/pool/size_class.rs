//! Size classes: the block size of a request, and the number of blocks per slab.

/// Number of classes between a power of two and the next.
const STEPS: usize = 8;

/// Blocks up to this size come from slabs and are cached by threads; larger ones are one allocation each.
const CUT: usize = 1 << 20;

/// The smallest and the largest slab. Each new slab of a class doubles the bytes of the class.
const LEAST_SLAB: usize = 64 << 10;
const LARGEST_SLAB: usize = 2 << 20;

/// Limits of a thread cache for one class, in bytes and in blocks.
const KEPT: usize = 1 << 20;
const LEAST_KEPT: usize = 4;
const MOST_KEPT: usize = 64;

/// The unit of the page map. Slabs with several blocks consist of whole pages.
pub(super) const PAGE: usize = 4096;

/// The number of a class. Larger numbers have larger blocks.
pub(super) type Class = usize;

/// The classes for blocks that are multiples of a granule, which is a power of two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classes {
    shift: u32,
    cut: Class,
}

impl Classes {
    pub(super) fn new(granule: usize) -> Self {
        let mut classes = Classes { shift: granule.next_power_of_two().ilog2(), cut: 0 };
        classes.cut = classes.of(CUT.max(granule)).map_or(0, |class| class + 1);
        classes
    }

    /// Returns the class of a request; `None` above `isize::MAX`.
    pub(super) fn of(self, request: usize) -> Option<Class> {
        let units = ((request.max(1) - 1) >> self.shift) + 1;
        if units <= STEPS {
            return Some(units - 1);
        }
        let doubling = (units - 1).ilog2() - STEPS.ilog2();
        let within = (units - 1 - (STEPS << doubling)) >> doubling;
        let class = STEPS + doubling as usize * STEPS + within;
        (self.units(class)? <= isize::MAX as usize >> self.shift).then_some(class)
    }

    /// Returns the size of a class that [`Classes::of`] returned.
    pub(super) fn size(self, class: Class) -> usize {
        self.units(class).unwrap_or(0) << self.shift
    }

    fn units(self, class: Class) -> Option<usize> {
        if class < STEPS {
            return Some(class + 1);
        }
        let (doubling, within) = ((class - STEPS) / STEPS, (class - STEPS) % STEPS);
        let units = STEPS + 1 + within;
        (doubling as u32 <= units.leading_zeros()).then(|| units << doubling)
    }

    /// Returns the number of classes whose blocks come from slabs: those below this number.
    pub(super) fn cut(self) -> usize {
        self.cut
    }

    /// Returns the number of blocks in the next slab of a class whose slabs have `bytes` so far.
    pub(super) fn slab(self, class: Class, bytes: usize) -> usize {
        (bytes.clamp(LEAST_SLAB, LARGEST_SLAB) / self.size(class)).max(1)
    }

    /// Returns the number of blocks in the smallest slab of a class.
    pub(super) fn least_slab(self, class: Class) -> usize {
        (PAGE / self.size(class)).max(1)
    }

    /// Returns the largest number of blocks of a class in a thread cache.
    pub(super) fn kept(self, class: Class) -> usize {
        (KEPT / self.size(class)).clamp(LEAST_KEPT, MOST_KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_request_wastes_an_eighth_at_most() {
        for granule in [64, 256, 4096] {
            let classes = Classes::new(granule);
            let requests =
                (0..5000).chain((5000..5 << 20).step_by(997)).chain((1 << 30..5 << 30).step_by(99_999_989));
            for request in requests {
                let class = classes.of(request).unwrap();
                let size = classes.size(class);
                assert!(size >= request && size.is_multiple_of(granule), "{request} in {size}");
                assert!(size - request <= (request / 8).max(granule), "{request} in {size}");
                assert_eq!(classes.of(size), Some(class));
                assert!(
                    class == 0 || classes.size(class - 1) < request.max(1),
                    "{request} fits a smaller class"
                );
            }
        }
    }

    #[test]
    fn of_power_of_two_is_exact() {
        let classes = Classes::new(64);
        for bits in 6..48 {
            assert_eq!(classes.size(classes.of(1 << bits).unwrap()), 1 << bits);
        }
    }

    #[test]
    fn of_more_than_isize_max_is_none() {
        for granule in [1, 64, 1 << 20] {
            let classes = Classes::new(granule);
            for request in [usize::MAX, usize::MAX - 63, isize::MAX as usize + 1] {
                assert_eq!(classes.of(request), None, "{request} by {granule}");
            }
            let largest = classes.of(1 << 62).unwrap();
            assert_eq!(classes.size(largest), 1 << 62);
        }
    }

    #[test]
    fn cut_is_one_mebibyte() {
        let classes = Classes::new(64);
        assert_eq!(classes.of(CUT), Some(classes.cut() - 1));
        assert_eq!(classes.of(CUT + 1), Some(classes.cut()));
        assert_eq!(Classes::new(4 << 20).cut(), 1);
    }
}

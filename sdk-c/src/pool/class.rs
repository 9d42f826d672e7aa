//! Sizes of blocks: which one a request gets, and how many blocks are cut at once.

/// Eight classes lie between a power of two and the next.
const STEPS: usize = 8;

/// Blocks up to this size are cut from slabs and kept by threads; larger ones are the device's own allocations.
const CUT: usize = 1 << 20;

/// The least and the largest slab; each new slab of a class doubles what the class has.
const LEAST_SLAB: usize = 64 << 10;
const LARGEST_SLAB: usize = 2 << 20;

/// How much a thread keeps of one class, in bytes and in blocks.
const KEPT: usize = 1 << 20;
const LEAST_KEPT: usize = 4;
const MOST_KEPT: usize = 64;

/// The unit in which addresses are looked up; blocks that are cut begin in a slab of whole pages.
pub(super) const PAGE: usize = 4096;

/// The number of a class: larger numbers are larger blocks.
pub(super) type Class = usize;

/// The classes for blocks that are multiples of a granule, a power of two.
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

    /// The class for a request; none beyond what a pointer can be offset by.
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

    /// The size of a class that [`Classes::of`] gave.
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

    /// How many classes are cut from slabs: those below this number.
    pub(super) fn cut(self) -> usize {
        self.cut
    }

    /// How many blocks the next slab of a class holds, when the class has taken `bytes` from the device so far.
    pub(super) fn slab(self, class: Class, bytes: usize) -> usize {
        (bytes.clamp(LEAST_SLAB, LARGEST_SLAB) / self.size(class)).max(1)
    }

    /// How many blocks the smallest slab of a class holds.
    pub(super) fn least_slab(self, class: Class) -> usize {
        (PAGE / self.size(class)).max(1)
    }

    /// How many blocks of a class a thread keeps for itself.
    pub(super) fn kept(self, class: Class) -> usize {
        (KEPT / self.size(class)).clamp(LEAST_KEPT, MOST_KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_their_request_and_an_eighth_more_at_most() {
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
    fn powers_of_two_are_exact() {
        let classes = Classes::new(64);
        for bits in 6..48 {
            assert_eq!(classes.size(classes.of(1 << bits).unwrap()), 1 << bits);
        }
    }

    #[test]
    fn sizes_that_no_pointer_spans_have_no_class() {
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
    fn what_is_cut_ends_at_one_mebibyte() {
        let classes = Classes::new(64);
        assert_eq!(classes.of(CUT), Some(classes.cut() - 1));
        assert_eq!(classes.of(CUT + 1), Some(classes.cut()));
        assert_eq!(Classes::new(4 << 20).cut(), 1);
    }
}

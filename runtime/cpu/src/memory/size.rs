//! Sizes as they are really allocated, and the classes that blocks are cached by.

/// The unit of allocation and the least alignment: a cache line, and the widest vector.
pub(crate) const GRANULE: usize = 64;

/// Blocks up to this size come in fixed classes; above it in whole pages.
pub(crate) const SMALL: usize = 1 << 20;

/// The number of classes of small blocks.
pub(crate) const CLASSES: usize = class_of(SMALL) + 1;

const PAGE: usize = 4096;

/// Up to here every multiple of the granule is a class; then there are `STEPS` to a doubling,
/// so no block is more than an eighth larger than what it is for.
const LINEAR: usize = STEPS * GRANULE;
const STEPS: usize = 8;

/// The size of the block for a request; none if there is no such size.
pub(crate) fn block_size(requested: usize) -> Option<usize> {
    let size = requested.max(1);
    // Beyond `isize::MAX` a pointer cannot be offset across the block.
    size.checked_next_multiple_of(step_at(size)).filter(|&size| size <= isize::MAX as usize)
}

/// The largest block of no more than `room` bytes; zero if there is none.
pub(crate) fn largest_block(room: usize) -> usize {
    let room = room.min(isize::MAX as usize);
    if room == 0 { 0 } else { room - room % step_at(room) }
}

/// The size of the block for a request of host memory, which is locked by the page.
pub(crate) fn host_block_size(requested: usize) -> Option<usize> {
    block_size(requested.checked_next_multiple_of(PAGE)?.max(PAGE))
}

/// The alignment of a block: pages for whatever is large enough not to waste them.
pub(crate) fn alignment(block: usize) -> usize {
    if block.is_multiple_of(PAGE) { PAGE } else { GRANULE }
}

/// The class of a small block.
pub(crate) const fn class_of(block: usize) -> usize {
    if block <= LINEAR {
        return block.div_ceil(GRANULE) - 1;
    }
    let doubling = (block - 1).ilog2() - LINEAR.ilog2();
    let within = (block - 1 - (LINEAR << doubling)) / step_of(block);
    STEPS + doubling as usize * STEPS + within
}

const fn step_at(size: usize) -> usize {
    if size <= LINEAR {
        GRANULE
    } else if size <= SMALL {
        step_of(size)
    } else {
        PAGE
    }
}

/// Between 2ⁿ (excluded) and 2ⁿ⁺¹ (included) the classes are 2ⁿ / `STEPS` apart.
const fn step_of(size: usize) -> usize {
    (1 << (size - 1).ilog2()) / STEPS
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_their_request_and_little_more() {
        for requested in (0..5000).chain((5000..3 * SMALL).step_by(997)) {
            let block = block_size(requested).unwrap();
            assert!(block >= requested && block.is_multiple_of(GRANULE));
            assert!(
                block <= GRANULE || block - requested <= (requested / 8).max(GRANULE),
                "{requested} {block}"
            );
            assert_eq!(block_size(block), Some(block), "a block's size is its own block size");
        }
    }

    #[test]
    fn the_largest_block_fits_and_is_one() {
        for room in (0..5000).chain((5000..3 * SMALL).step_by(997)).chain([usize::MAX]) {
            let block = largest_block(room);
            assert!(block <= room && (block == 0 || block_size(block) == Some(block)), "{room}");
            assert!(block_size(block + 1).is_none_or(|next| next > room), "{room}");
        }
    }

    #[test]
    fn powers_of_two_are_exact() {
        for bits in 6..40 {
            assert_eq!(block_size(1 << bits), Some(1 << bits));
        }
    }

    #[test]
    fn each_class_is_one_size() {
        let mut sizes = vec![0; CLASSES];
        for requested in 1..=SMALL {
            let block = block_size(requested).unwrap();
            let class = &mut sizes[class_of(block)];
            assert!(*class == 0 || *class == block, "{requested}");
            *class = block;
        }
        assert!(sizes.iter().all(|&size| size > 0) && sizes.is_sorted());
        assert_eq!(*sizes.last().unwrap(), SMALL);
    }

    #[test]
    fn impossible_sizes_have_no_block() {
        for requested in [usize::MAX, usize::MAX - 63, isize::MAX as usize + 1] {
            assert_eq!(block_size(requested), None);
            assert_eq!(host_block_size(requested), None);
        }
        assert_eq!((block_size(0), host_block_size(0)), (Some(GRANULE), Some(PAGE)));
    }
}

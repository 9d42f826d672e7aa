//! Sizes and alignments of blocks.

/// The unit of allocation and the least alignment: a cache line, and the widest vector.
pub(crate) const GRANULE: usize = 64;

/// Blocks above this size are rounded up to whole pages.
const SMALL: usize = 1 << 20;

const PAGE: usize = 4096;

/// Returns the size of the block for a request; `None` if there is no such size.
pub(crate) fn block_size(requested: usize) -> Option<usize> {
    let size = requested.max(1);
    // Beyond `isize::MAX` a pointer cannot be offset across the block.
    size.checked_next_multiple_of(unit_at(size)).filter(|&size| size <= isize::MAX as usize)
}

/// Returns the largest block of no more than `room` bytes; zero if there is none.
pub(crate) fn largest_block(room: usize) -> usize {
    let room = room.min(isize::MAX as usize);
    room - room % unit_at(room)
}

/// Returns the size of the block for a request of host memory, which is locked by the page.
pub(crate) fn host_block_size(requested: usize) -> Option<usize> {
    block_size(requested.checked_next_multiple_of(PAGE)?.max(PAGE))
}

/// Returns the alignment of a block: a page if it consists of whole pages.
pub(crate) fn alignment(block: usize) -> usize {
    if block.is_multiple_of(PAGE) { PAGE } else { GRANULE }
}

fn unit_at(size: usize) -> usize {
    if size <= SMALL { GRANULE } else { PAGE }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sizes() -> impl Iterator<Item = usize> {
        (0..5000).chain((5000..3 * SMALL).step_by(997)).chain(SMALL - 2..SMALL + 2)
    }

    #[test]
    fn blocks_hold_their_request_and_little_more() {
        for requested in sizes() {
            let block = block_size(requested).unwrap();
            assert!(block >= requested && block.is_multiple_of(GRANULE));
            assert!(block - requested <= if requested <= SMALL { GRANULE } else { PAGE }, "{requested}");
            assert_eq!(block_size(block), Some(block), "a block's size is its own block size");
        }
    }

    #[test]
    fn largest_block_fits_and_is_a_block_size() {
        for room in sizes().chain([usize::MAX]) {
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
    fn impossible_sizes_have_no_block() {
        for requested in [usize::MAX, usize::MAX - 63, isize::MAX as usize + 1] {
            assert_eq!(block_size(requested), None);
            assert_eq!(host_block_size(requested), None);
        }
        assert_eq!((block_size(0), host_block_size(0)), (Some(GRANULE), Some(PAGE)));
    }
}

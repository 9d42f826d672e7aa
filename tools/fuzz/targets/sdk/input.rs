//! An input as a sequence of choices. An exhausted input chooses 0.

/// The rest of an input.
#[derive(Default)]
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    /// Returns a length: small ones, those around powers of two, and those that no memory has.
    pub fn size(&mut self) -> usize {
        let byte = self.byte();
        let (shift, by) = (u32::from(byte >> 2), usize::from(byte & 3));
        match shift {
            0..=19 => (1_usize << shift).wrapping_add(by).wrapping_sub(2).min(1 << 20),
            20..=40 => by,
            41..=61 => 1_usize << shift,
            62 => (isize::MAX as usize).wrapping_add(by),
            _ => usize::MAX - by,
        }
    }

    /// Chooses one of the given values, or another one that a caller could pass by mistake: null, another handle, a
    /// number near one, a number that looks like an address.
    pub fn handle(&mut self, given: &[usize]) -> usize {
        let choice = self.byte();
        let one = given.get(usize::from(choice) % given.len().max(1)).copied().unwrap_or_default();
        match choice {
            0..=207 => one,
            208..=215 => 0,
            216..=223 => one.wrapping_add(1),
            224..=231 => one ^ (1 << (self.byte() % 64)),
            232..=239 => [1, 8, 4096, usize::MAX, isize::MAX as usize, 0xdead_beef][self.below(6)],
            240..=247 => std::ptr::from_ref(self).addr(),
            248.. => usize::from_ne_bytes([(); 8].map(|()| self.byte())),
        }
    }
}

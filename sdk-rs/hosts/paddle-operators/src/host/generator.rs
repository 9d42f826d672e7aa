//! The random number generator of a device, which `paddle.seed` seeds.
//!
//! It returns a seed and an offset, as for GPU operators. The functions are C++ methods without a stability
//! guarantee; every known release has them.

use std::ffi::{CStr, c_void};

use crate::paddle::DeviceContext;

use super::library::Libraries;
use crate::error::{Error, Result};

/// `phi::DeviceContext::GetGenerator`.
type GetGenerator = unsafe extern "C-unwind" fn(context: *const c_void) -> *mut c_void;
/// `phi::Generator::IncrementOffset`.
type IncrementOffset = unsafe extern "C-unwind" fn(generator: *mut c_void, increment: u64) -> SeedAndOffset;

const GET_GENERATOR: &CStr = c"_ZNK3phi13DeviceContext12GetGeneratorEv";
const INCREMENT_OFFSET: &CStr = c"_ZN3phi9Generator15IncrementOffsetEm";

/// A `std::pair` of two numbers, which the C++ ABI returns like a C struct.
#[repr(C)]
struct SeedAndOffset {
    seed: u64,
    offset: u64,
}

/// The methods of Paddle's generators.
#[derive(Debug)]
pub(crate) struct Generator {
    get: GetGenerator,
    increment: IncrementOffset,
}

impl Generator {
    /// Finds the methods.
    ///
    /// # Errors
    /// One line that names the missing method.
    pub(super) fn find(libraries: &Libraries) -> Result<Self, String> {
        let find = |symbol: &CStr| {
            let found = libraries.look_up(symbol);
            let missing = || {
                format!("no operators are registered: Paddle does not export {}", symbol.to_string_lossy())
            };
            if found.is_null() { Err(missing()) } else { Ok(found) }
        };
        let (get, increment) = (find(GET_GENERATOR)?, find(INCREMENT_OFFSET)?);
        // SAFETY: the names determine the class and the argument types; the results are a pointer and a pair
        // of numbers in every release.
        Ok(unsafe {
            Self {
                get: std::mem::transmute::<*mut c_void, GetGenerator>(get),
                increment: std::mem::transmute::<*mut c_void, IncrementOffset>(increment),
            }
        })
    }

    /// Draws a seed and an offset for some random numbers, and advances the generator's offset past them.
    ///
    /// # Safety
    /// `context` must be live. Throws if its generator is not that of a device.
    pub(crate) unsafe fn draw(&self, context: DeviceContext, count: usize) -> Result<(i64, i64)> {
        // SAFETY: the caller's promise.
        let generator = unsafe { (self.get)(context.as_raw().cast()) };
        if generator.is_null() {
            return Err(Error::broken("the device has no generator of random numbers"));
        }
        // SAFETY: the generator of a live context is live.
        let drawn = unsafe { (self.increment)(generator, count as u64) };
        Ok((drawn.seed as i64, drawn.offset as i64))
    }
}

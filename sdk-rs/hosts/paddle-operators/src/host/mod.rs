//! The exports of the running Paddle: the kernel API and its helpers.

mod exception;
mod generator;
mod library;

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::paddle::{KernelContext, PaddleApi};
use tenon::device::Release;

use exception::Thrower;
use generator::Generator;
use library::Libraries;
pub(crate) use library::stay_loaded;

/// `phi::KernelContext::AttrAt`, which returns an attribute of any type. It is a C++ method without a
/// stability guarantee; every known release has it.
type AttributeAt = unsafe extern "C-unwind" fn(context: *const c_void, index: usize) -> *const c_void;

/// The running Paddle.
#[derive(Debug)]
pub(crate) struct Host {
    /// The kernel API.
    pub(crate) api: PaddleApi,
    /// The release.
    pub(crate) release: Release,
    /// The source of the random numbers of devices.
    pub(crate) generator: Generator,
    thrower: Thrower,
    attribute_at: Option<AttributeAt>,
}

static HOST: OnceLock<Host> = OnceLock::new();

impl Host {
    /// Finds Paddle in the process; `None` if it is not loaded.
    ///
    /// # Errors
    /// One line that names a symbol that operators need and Paddle lacks.
    pub(crate) fn find(release: Release) -> Result<Option<&'static Self>, String> {
        let libraries = Libraries::find(PaddleApi::LIBRARIES);
        if libraries.is_empty() {
            return Ok(None);
        }
        // SAFETY: the symbols belong to Paddle, in a release that the spec describes: `release` was detected
        // by the sizes that the host passed. Its libraries stay loaded until the process ends.
        let api = unsafe { PaddleApi::load(|symbol| libraries.look_up(symbol)) };
        if let missing @ [first, ..] = &*api.missing() {
            return Err(format!(
                "no operators are registered: Paddle {} does not export {first}{}",
                release.name(),
                if missing.len() > 1 { format!(" and {} others", missing.len() - 1) } else { String::new() },
            ));
        }
        let thrower = Thrower::find(&libraries)?;
        let generator = Generator::find(&libraries)?;
        let attribute_at = libraries.look_up(c"_ZNK3phi13KernelContext6AttrAtB5cxx11Em");
        // SAFETY: the name determines class, constness and argument types of the method; the result is a
        // reference in every release, and a null pointer becomes `None`.
        let attribute_at = unsafe { std::mem::transmute::<*mut c_void, Option<AttributeAt>>(attribute_at) };
        Ok(Some(HOST.get_or_init(|| Self { api, release, generator, thrower, attribute_at })))
    }

    /// Returns the host, once found. Operators run only after that.
    pub(crate) fn get() -> Option<&'static Self> {
        HOST.get()
    }

    /// Returns the address of a C++ `phi::Attribute`, if this release of Paddle exports the method.
    ///
    /// # Safety
    /// `context` must be live. Throws if there is no such attribute.
    pub(crate) unsafe fn attribute_at(&self, context: KernelContext, index: usize) -> Option<*const c_void> {
        // SAFETY: the context is live by the caller's promise.
        self.attribute_at.map(|attribute_at| unsafe { attribute_at(context.as_raw().cast(), index) })
    }

    /// Raises an error as Paddle's own exception. Every frame between this function and Paddle must support
    /// unwinding.
    pub(crate) fn raise(&self, error: crate::error::Error) -> ! {
        self.thrower.throw(error)
    }
}

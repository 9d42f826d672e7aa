//! The exports of the running Paddle: the kernel API and its helpers.

mod exception;
mod generator;
mod library;

use std::ffi::c_void;
use std::sync::OnceLock;

use tenon::device::Release;
use tenon::paddle::{KernelContext, PaddleApi};

use exception::Thrower;
use generator::Generator;
use library::Libraries;
pub(crate) use library::stay_loaded;

/// `phi::KernelContext::AttrAt`, which returns an attribute whatever its type. A method of C++, so there is no
/// promise that it stays; in every known release it is there.
type AttributeAt = unsafe extern "C-unwind" fn(context: *const c_void, index: usize) -> *const c_void;

/// The running Paddle.
#[derive(Debug)]
pub(crate) struct Host {
    /// The kernel API.
    pub(crate) api: PaddleApi,
    /// Which release it is.
    pub(crate) release: Release,
    /// The source of the random numbers of devices.
    pub(crate) generator: Generator,
    thrower: Thrower,
    attribute_at: Option<AttributeAt>,
}

static HOST: OnceLock<Host> = OnceLock::new();

impl Host {
    /// Finds Paddle in the process; `None` if it is not there.
    ///
    /// # Errors
    /// One line about a Paddle without the symbols that operators need.
    pub(crate) fn find(release: Release) -> Result<Option<&'static Self>, String> {
        let libraries = Libraries::find(PaddleApi::LIBRARIES);
        if libraries.is_empty() {
            return Ok(None);
        }
        // SAFETY: what is found is Paddle's, of a release that the spec describes: `release` was detected by
        // the sizes that the host passed. Its libraries stay loaded until the process ends.
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
        // SAFETY: the name says class, constness and argument types of the method; the result is a reference in
        // every release, and a null pointer becomes `None`.
        let attribute_at = unsafe { std::mem::transmute::<*mut c_void, Option<AttributeAt>>(attribute_at) };
        Ok(Some(HOST.get_or_init(|| Self { api, release, generator, thrower, attribute_at })))
    }

    /// Returns the host that was found. Operators run only after that.
    pub(crate) fn get() -> Option<&'static Self> {
        HOST.get()
    }

    /// Returns the address of a C++ `phi::Attribute`, if this release of Paddle allows that.
    ///
    /// # Safety
    /// `context` is a live one. Throws if there is no such attribute.
    pub(crate) unsafe fn attribute_at(&self, context: KernelContext, index: usize) -> Option<*const c_void> {
        // SAFETY: the context is live by the caller's promise.
        self.attribute_at.map(|attribute_at| unsafe { attribute_at(context.as_raw().cast(), index) })
    }

    /// Raises an error as Paddle's own exception. Every frame between here and Paddle must be able to unwind.
    pub(crate) fn raise(&self, error: crate::error::Error) -> ! {
        self.thrower.throw(error)
    }
}

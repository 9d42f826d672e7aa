//! Singular values and eigenvalues by [LAPACK](https://www.netlib.org/lapack/), if the library is available.
//!
//! The library is optional. Every PaddlePaddle wheel contains one beside its own libraries. Each routine exists for four
//! types of elements with the same parameters, so that a macro declares them; the spec language would repeat each of them
//! four times.

mod library;
mod routines;

pub use library::{BadVariable, Library, Origin, Unusable, VARIABLE};

use tenon_kernels::decomposition::lapack::Routines;

/// Returns the routines of the library, which the first call searches for.
///
/// # Errors
/// The reason for which there is no library.
pub fn find() -> Result<Routines, String> {
    Library::get().map(Library::routines).map_err(ToString::to_string)
}

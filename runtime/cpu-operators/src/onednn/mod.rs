//! Convolutions and matrix products by [oneDNN](https://github.com/uxlfoundation/oneDNN), if the library is
//! available.
//!
//! The library is optional: a caller that gets no [`Library`], or `false` from one of its functions, computes
//! the result itself. `api` is generated from `spec/onednn`.
//!
//! Primitives are expensive to create, so they are cached. All functions may be called from several threads
//! at once. oneDNN uses the threads of OpenMP: `OMP_NUM_THREADS`, or by default the number of cores.

#[allow(dead_code, unused_imports, reason = "it contains all that the spec describes")]
mod api;
mod cache;
mod convolution;
mod library;
mod object;
mod plan;
mod product;
mod threads;

pub use library::{BadVariable, Library, Origin, Unusable, VARIABLE};
pub(crate) use threads::few_for;

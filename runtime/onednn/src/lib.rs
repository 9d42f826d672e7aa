//! Convolutions and products of matrices by [oneDNN](https://github.com/uxlfoundation/oneDNN), if the process finds it.
//!
//! Nothing requires the library: a caller that gets no [`Library`], or `false` from one of its functions, computes by
//! itself. `api` is generated from `spec/onednn`.
//!
//! Primitives, which are expensive to make, are cached. All functions may be called in several threads at once. oneDNN
//! computes with the threads of OpenMP, whose number is `OMP_NUM_THREADS`, or that of the cores if nothing sets it.

#[rustfmt::skip]
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

//! The routines of LAPACK that compute the spectral decompositions, if a library has them.
//!
//! This crate has no such algorithms of its own: [`install`] hands it the routines of a library. Matrices of LAPACK are
//! stored by columns, and the result of each routine is its `info`: zero if it succeeded.

use std::sync::OnceLock;

use num_complex::Complex;

use crate::error::{Error, Result};

/// Routines for matrices of the numbers `T`, whose absolute values have the type `R`.
pub trait Lapack<T, R>: Send + Sync {
    /// Computes a singular value decomposition by `gesdd`, and overwrites the matrix.
    ///
    /// `u` has `rows` rows, `vh` has `columns` columns. If both are empty, only the values are computed.
    fn svd(&self, a: &mut [T], sizes: [usize; 2], s: &mut [R], u: &mut [T], vh: &mut [T]) -> i32;

    /// Computes the ascending eigenvalues of a Hermitian matrix by `syevd` or `heevd`. Reads only the triangle that
    /// `upper` selects, and overwrites the matrix; with `vectors`, by eigenvectors.
    fn eigh(&self, a: &mut [T], w: &mut [R], upper: bool, vectors: bool) -> i32;

    /// Computes the eigenvalues and, unless `v` is empty, the eigenvectors of a matrix by `geev`, and overwrites it.
    fn eig(&self, a: &mut [T], w: &mut [Complex<R>], v: &mut [Complex<R>]) -> i32;
}

/// The routines for each type.
#[derive(Clone, Copy)]
pub struct Routines {
    /// For `float32`.
    pub f32: &'static dyn Lapack<f32, f32>,
    /// For `float64`.
    pub f64: &'static dyn Lapack<f64, f64>,
    /// For `complex64`.
    pub complex64: &'static dyn Lapack<Complex<f32>, f32>,
    /// For `complex128`.
    pub complex128: &'static dyn Lapack<Complex<f64>, f64>,
}

/// Finds the routines, or returns the reason why there are none.
type Find = fn() -> std::result::Result<Routines, String>;

static FIND: OnceLock<Find> = OnceLock::new();

/// Sets the function that finds the routines when they are first needed. Only the first call has an effect.
pub fn install(find: Find) {
    FIND.get_or_init(|| find);
}

/// Returns the routines.
///
/// # Errors
/// [`Error::Library`].
pub(super) fn routines() -> Result<Routines> {
    let reason = match FIND.get() {
        Some(find) => find(),
        None => Err("no library is installed".to_owned()),
    };
    reason.map_err(|reason| Error::Library { name: "LAPACK", reason })
}

//! Matrix decompositions, and operators that solve systems of equations or multiply matrices of them.
//!
//! The last two dimensions are the matrices, and the dimensions before them are the batch. Half precision is
//! computed in float32. Singular values and eigenvalues need a library, which [`lapack`] hands on.

pub mod lapack;
mod lu;
mod matrix;
mod power;
mod qr;
mod spectral;
mod triangular;

pub use lu::{
    determinant, determinant_grad, determinant_shape, inverse, inverse_grad, lu, lu_grad, lu_unpack,
    lu_unpack_grad, slogdet, slogdet_grad, slogdet_shape, slogdet_v2, slogdet_v2_grad, solve, solve_grad,
    solve_shape,
};
pub use power::{matrix_power, matrix_power_grad, multi_dot, multi_dot_grad};
pub use qr::{qr, qr_grad};
pub use spectral::{
    eig, eig_grad, eigh, eigh_grad, eigvalsh_grad, matrix_rank, matrix_rank_tol, svd, svd_grad, svdvals,
    svdvals_grad,
};
pub use triangular::{
    cholesky, cholesky_grad, cholesky_solve, cholesky_solve_grad, triangular_solve, triangular_solve_grad,
};

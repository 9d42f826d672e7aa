//! Fourier transforms, and the overlapping frames of a signal.

mod frames;
mod transform;

pub use frames::{frame, frame_grad, overlap_add, overlap_add_grad};
pub use transform::{fft_c2c, fft_c2c_grad, fft_c2r, fft_c2r_grad, fft_r2c, fft_r2c_grad};

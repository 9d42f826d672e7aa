//! Deformable convolution and attention: the sampling positions are inputs.
//!
//! A sample is interpolated bilinearly between four pixels. Pixels outside the image are zero, and so is a
//! sample that lies a pixel or more outside the image.

mod attention;
mod columns;
mod convolution;

pub use attention::{deformable_attention, deformable_attention_grad, deformable_attention_shape};
pub use columns::{deformable_columns, deformable_columns_grad, deformable_columns_shape};
pub use convolution::{deformable_conv, deformable_conv_grad, deformable_conv_shape};

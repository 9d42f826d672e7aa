//! Rules for neural network layers: convolution, pooling, normalization, embeddings and images.

pub mod convolution;
pub mod embedding;
pub mod normalization;
pub mod pooling;
pub mod resizing;
pub mod vision;
pub mod windows;

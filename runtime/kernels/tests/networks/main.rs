//! Operators of neural networks, each held against loops over indices, and gradients against finite differences.

mod attention;
mod conv;
mod embedding;
mod interpolate;
mod loss;
mod matmul;
mod norm;
mod pool;
mod rnn;
mod softmax;
mod support;

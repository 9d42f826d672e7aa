//! `libtenon_cpu_operators.so`: the operators of libtenon's CPU device.
//!
//! The kernels are larger than libtenon, so they are in a library of their own. libtenon looks for it in its own folder when
//! a program first uses an operator. libtenon also keeps the order of the streams: a call computes before it returns.

use cpu_operators::{CpuOperators, ignore_streams};

tenon_operators::export_operators!(CpuOperators, {
    ignore_streams();
    CpuOperators
});

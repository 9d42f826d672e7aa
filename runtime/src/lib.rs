//! tenon-cpu

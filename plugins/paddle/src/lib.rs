//! tenon-paddle

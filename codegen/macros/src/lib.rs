//! tenon-macros

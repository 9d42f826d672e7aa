//! Operators that choose or sort elements.

mod elements;
mod sorting;
mod values;

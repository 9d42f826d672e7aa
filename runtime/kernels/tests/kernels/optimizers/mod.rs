//! Steps of optimisers.

mod accumulated;
mod lists;
mod steps;
mod variants;

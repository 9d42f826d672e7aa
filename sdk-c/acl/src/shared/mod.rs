//! Memory that other processes can map: anonymous files and their names.
//!
//! A name is the number of a process and of its file descriptor. Another process of the same user opens the file through
//! `/proc`. The system frees the memory when no process has the file open or mapped, also if a process dies.
//!
//! This folder does not depend on devices or streams.

pub(crate) mod file;
pub(crate) mod name;
pub(crate) mod numbers;
pub(crate) mod pages;
mod record;

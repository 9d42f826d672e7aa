//! The ACL runtime on the CPU device.
//!
//! All tests are one program, because a program for each file would take longer to link. Each test has a runtime and devices
//! of its own.

mod devices;
mod memory;
mod surface;
mod test_runtime;
mod work;

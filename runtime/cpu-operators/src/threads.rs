//! The threads that share the work of an operator.

use tenon::device::Plugin as _;
use tenon_cpu::Cpu;
use tenon_kernels::threads::{self, Threads};

/// Lets long operators compute on several threads of the device, those that are idle. Applies to all later calls.
pub fn use_device_threads() {
    use_threads(&OfTheDevice);
}

/// Lets long operators compute on several threads of the program, for example those of the host. Applies to all later calls;
/// the first choice of threads stays.
pub fn use_threads(threads: &'static dyn Threads) {
    threads::set(threads);
}

struct OfTheDevice;

impl Threads for OfTheDevice {
    fn count(&self) -> usize {
        Cpu::instance().config().map_or(1, |config| config.threads)
    }

    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        Cpu::instance().share(parts, work);
    }
}

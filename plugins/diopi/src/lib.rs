//! The CPU device as a library of operators for hosts of DIOPI: `libdiopi_impl.so`.

use cpu_operators::CpuOperators;
use tenon_cpu::Cpu;
use tenon_diopi::Library;

tenon_diopi::library!(@ library());

/// Returns the library to the host when it first needs it.
fn library() -> Library {
    if let Err(reason) = cpu_operators::use_onednn() {
        eprintln!("tenon: {reason}");
    }
    Library::with_operators::<Cpu>(&CpuOperators).with_vendor_name("Tenon CPU Device")
}

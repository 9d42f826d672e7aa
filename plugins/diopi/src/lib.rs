//! The CPU device as a library of operators for hosts of DIOPI: `libdiopi_impl.so`.

use tenon_cpu::Cpu;
use tenon_diopi::Library;
use tenon_operators::CpuOperators;

tenon_diopi::library!(@ library());

/// Returns the library to the host when it first needs it.
fn library() -> Library {
    if let Err(reason) = tenon_operators::use_onednn() {
        eprintln!("tenon: {reason}");
    }
    Library::with_operators::<Cpu>(&CpuOperators).with_vendor_name("Tenon CPU Device")
}

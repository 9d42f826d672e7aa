//! Collectives for a device in C that has none.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use tenon::device::{Forwarded, Function, Loaded, Partial, Plugin, Provided, Release, Status, fill_slots};
use tenon_gloo::{FUNCTIONS, WithCollectives};

/// The device of this plugin, as it was when its collectives were added.
static DEVICE: OnceLock<Loaded> = OnceLock::new();

/// The plugin whose functions the added slots call.
struct OfTable;

impl Plugin for OfTable {
    type Instance = Forwarded<WithCollectives>;
    const PROVIDED: Provided = Provided::of(&FUNCTIONS);
    const FALLBACKS: bool = false;

    fn instance() -> &'static Self::Instance {
        static INSTANCE: OnceLock<Forwarded<WithCollectives>> = OnceLock::new();
        INSTANCE.get_or_init(|| {
            // The slots that call this exist only once there is a device.
            let device = DEVICE.get().expect("a device was given");
            Forwarded(WithCollectives::new(device))
        })
    }
}

/// The functions of the device that collectives need, and that have no fallback.
const NEEDED: [Function; 4] =
    [Function::GetDevice, Function::SynchronizeDevice, Function::MemoryCopyH2d, Function::MemoryCopyD2h];

/// Fills the slots of collectives. `tenon/collectives.h` has the documentation.
///
/// # Safety
/// `table` is null or the table of the host, which begins with its size, filled by the plugin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_collectives_fill(table: *mut c_void) -> Status {
    // SAFETY: the caller's promise.
    let filled = || unsafe { fill(table) };
    catch_unwind(AssertUnwindSafe(filled)).unwrap_or(Status::INTERNAL_ERROR)
}

/// # Safety
/// As for [`tenon_collectives_fill`].
unsafe fn fill(table: *mut c_void) -> Status {
    if table.is_null() || !table.cast::<usize>().is_aligned() {
        return Status::ERROR;
    }
    // SAFETY: the first member of every table is its size.
    let size = unsafe { table.cast::<usize>().read() };
    let Some(release) = Release::of_table_size(size) else { return Status::ERROR };
    // SAFETY: the caller's promise; the size is that of the release. The plugin's functions stay callable, since the host
    // does not unload it.
    let device = unsafe { Loaded::from_table(release, table, None) };
    let has = |function: &Function| device.provides(*function);
    if !NEEDED.iter().all(has) || FUNCTIONS.iter().any(has) || DEVICE.set(device).is_err() {
        return Status::ERROR;
    }
    // SAFETY: the table is that of the release, and no slot of collectives is filled.
    unsafe { fill_slots::<OfTable>(release, table) };
    Status::SUCCESS
}

//! Generated tables for the built-in device and for the fallbacks.

use std::ptr::{from_mut, from_ref};
use std::sync::{Arc, OnceLock};

use tenon::device::{Function, LastError, Loaded, Partial, Plugin, Provided, Release, extension, ffi, fill};
use tenon::reflect::FallbackKind;

/// The implementation behind the tables. The functions of a table have no instance argument, so the process
/// has one instance.
static INSTANCE: OnceLock<Arc<dyn Partial>> = OnceLock::new();

/// The functions that a plugin has, in a table of the newest release.
pub(super) fn natives(plugin: &tenon_loader::Plugin) -> Loaded {
    table::<BuiltinTable>(plugin)
}

/// The spec's fallbacks for the functions that a plugin lacks.
pub(super) fn stand_ins(plugin: &tenon_loader::Plugin) -> Loaded {
    table::<FallbackTable>(plugin)
}

fn table<P: Plugin>(plugin: &tenon_loader::Plugin) -> Loaded {
    INSTANCE.get_or_init(|| plugin.partial());
    let mut words = [0_u64; Release::NEWEST.table_size() / 8];
    let table = words.as_mut_ptr().cast::<ffi::C_DeviceInterface>();
    // SAFETY: as large as the table, aligned like it, and zero, which is a table without functions.
    let table = unsafe { &mut *table };
    fill::<P>(table);
    let extension = extension::<P>();
    // SAFETY: both were filled just now, by functions that live as long as the process.
    unsafe {
        Loaded::from_table(Release::NEWEST, from_mut(table).cast(), Some(last_error as LastError))
            .with_extension(from_ref(&extension).cast())
    }
}

extern "C-unwind" fn last_error() -> *const std::ffi::c_char {
    tenon::last_error(|text| text.map_or(std::ptr::null(), std::ffi::CStr::as_ptr))
}

fn instance() -> &'static dyn Partial {
    // Tables are created by `table` only, which creates the instance.
    &**INSTANCE.get().expect("the instance was made before the table")
}

struct BuiltinTable;

impl Plugin for BuiltinTable {
    type Instance = dyn Partial;
    const PROVIDED: Provided = Provided::of(&[]);
    const FALLBACKS: bool = false;

    fn instance() -> &'static dyn Partial {
        instance()
    }

    fn fills(function: Function) -> bool {
        instance().provides(function)
    }
}

struct FallbackTable;

impl Plugin for FallbackTable {
    type Instance = dyn Partial;
    const PROVIDED: Provided = Provided::of(&[]);
    const FALLBACKS: bool = true;

    fn instance() -> &'static dyn Partial {
        instance()
    }

    fn fills(function: Function) -> bool {
        let works = |fallback: &tenon::reflect::FallbackInfo| fallback.kind != FallbackKind::Refuse;
        !instance().provides(function) && function.info().fallback.as_ref().is_some_and(works)
    }
}

//! The plugin that PaddlePaddle loads: the real plugin behind the layers.

use std::ffi::{CStr, CString, c_void};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tenon::device::ffi::{self, v2_6};
use tenon::device::{
    Device, Error, Function, HandOverError, Layer, Layered, Outcome, Partial, Plugin, Provided, Release,
    WithFallbacks,
};
use tenon::reflect::{Call, ParamInfo};
use tenon_layers::{OpenError, Stack};
use tenon_loader::{Binding, LoadError, LoadOptions, Manifest};
use thiserror::Error;

/// The variable that names the real plugin.
const PLUGIN: &str = "TENON_PADDLE_PLUGIN";
/// The symbol by which a layers plugin is recognised before its entry point is called.
const MARKER: &str = "tenon_loads_another_plugin";
/// The variable that lists the layers.
const LAYERS: &str = "TENON_LAYERS";

/// The reason why the plugin could not be loaded.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// The variable that names the plugin is not set.
    #[error(
        "libtenon_paddle_layers.so stands in front of another plugin, and {PLUGIN} does not say which: set it to \
         the path of that plugin, and keep that plugin out of the folder that CUSTOM_DEVICE_ROOT names"
    )]
    NoPlugin,
    /// The variable names this library or a copy of it.
    #[error(
        "{PLUGIN}: `{}` is libtenon_paddle_layers.so itself, or a copy of it, which would load itself without end: set \
         {PLUGIN} to the path of the real plugin", path.display()
    )]
    Itself {
        /// The path in the variable.
        path: PathBuf,
    },
    /// The real plugin cannot be loaded.
    #[error("{PLUGIN}: {0}")]
    Load(#[from] LoadError),
    /// The layers cannot be created.
    #[error("{LAYERS}: {0}")]
    Layers(#[from] OpenError),
    /// The release of the host is unknown.
    #[error(transparent)]
    Host(#[from] HandOverError),
}

/// The real plugin and its layers.
struct Chain {
    plugin: Arc<tenon_loader::Plugin>,
    device: Layered<WithFallbacks<Arc<dyn Partial>>>,
    device_type: &'static CStr,
    /// True if there is no layer, so that the host may call the plugin directly.
    is_bare: bool,
    /// The functions whose slots the plugin filled with the spec's fallbacks, separated by spaces.
    fallbacks: CString,
}

impl Chain {
    fn new(host: Release) -> Result<Self, Refusal> {
        let path = plugin_path()?;
        let stack = Arc::new(tenon_layers::open(
            &tenon::trusted_variable(LAYERS).unwrap_or_default().to_string_lossy(),
        )?);
        // A plugin that supports several releases must get the release of the host, because it also calls the host.
        let options =
            LoadOptions { binding: Binding::Later, preferred: Some(host), ..LoadOptions::default() };
        let plugin = tenon_loader::Plugin::load(&path, &options)?;
        let plugin = match stack.profile() {
            Some(profile) => Arc::new(plugin.altered(|device| profile.apply(device))),
            None => plugin,
        };
        let is_bare = stack.is_empty();
        let mut layers: Vec<Arc<dyn Layer>> = vec![Arc::new(LastCall(stack.clone()))];
        layers.extend(stack.for_plugin(plugin.name(), &*plugin.partial()));
        let device = Layered::new(WithFallbacks(plugin.partial()), layers);
        // The host reads the name as long as it uses the table, and does not tell when that ends.
        let device_type: &'static CStr = Box::leak(CString::from(plugin.device_type()).into_boxed_c_str());
        let filled = plugin.functions().map(|(function, _)| function);
        let filled = filled.filter(|function| plugin.is_filled_by_fallback(*function)).map(Function::name);
        // Names of functions have no zero byte.
        let fallbacks = CString::new(filled.collect::<Vec<_>>().join(" ")).unwrap_or_default();
        Ok(Chain { plugin, device, device_type, is_bare, fallbacks })
    }
}

/// Returns the path of the real plugin, which must not be this library or a copy of it.
fn plugin_path() -> Result<PathBuf, Refusal> {
    let path = tenon::trusted_variable(PLUGIN).filter(|path| !path.is_empty()).ok_or(Refusal::NoPlugin)?;
    let path = PathBuf::from(path);
    let library = if path.extension().is_some_and(|extension| extension == "json") {
        Manifest::read(&path)?.library
    } else {
        path.clone()
    };
    if tenon_loader::exports(&library, MARKER)? { Err(Refusal::Itself { path }) } else { Ok(path) }
}

/// Returns the names of the functions that the real plugin filled with fallbacks of the spec; `None` before the
/// hand-over.
pub(crate) fn fallbacks() -> Option<&'static CStr> {
    CHAIN.get().map(|chain| chain.fallbacks.as_c_str())
}

static CHAIN: OnceLock<Chain> = OnceLock::new();

/// The plugin as PaddlePaddle sees it.
struct Between;

impl Plugin for Between {
    type Instance = dyn Partial;
    const PROVIDED: Provided = Provided::of(&[]);
    const FALLBACKS: bool = false;

    fn instance() -> &'static dyn Partial {
        // The table is filled, and can be called, only after the chain is set.
        &CHAIN.get().expect("a call before the hand-over").device
    }

    fn fills(function: Function) -> bool {
        CHAIN.get().is_some_and(|chain| chain.device.provides(function))
    }
}

/// Loads the real plugin and fills the table of the host.
///
/// # Safety
/// `params` is null, or points to the params of the host, which begin with their size and the table.
pub(crate) unsafe fn hand_over(params: *mut c_void) -> Result<(), Refusal> {
    // SAFETY: the caller's promise.
    let release = unsafe { tenon::device::host_release(params)? };
    let chain = match CHAIN.get() {
        Some(chain) => chain,
        None => {
            let made = Chain::new(release)?;
            CHAIN.get_or_init(|| made)
        }
    };
    // SAFETY: the caller's promise.
    unsafe { tenon::device::hand_over::<Between>(params, chain.device_type)? };
    // SAFETY: the hand-over has found the release, so the params have a table of it.
    unsafe {
        let table = (*params.cast::<v2_6::CustomRuntimeParams>()).interface.cast::<c_void>();
        if chain.is_bare {
            hand_through(&chain.plugin, table, release);
        }
    }
    let version = chain.plugin.version();
    let sub_type =
        chain.plugin.sub_device_type().map_or(std::ptr::null_mut(), |text| text.as_ptr().cast_mut());
    // SAFETY: the hand-over has found the release by both sizes, so the params are laid out like this.
    unsafe {
        if release == Release::V2_6 {
            let params = params.cast::<v2_6::CustomRuntimeParams>();
            [(*params).version.major, (*params).version.minor, (*params).version.patch] = version;
            (*params).sub_device_type = sub_type;
        } else {
            let params = params.cast::<ffi::CustomRuntimeParams>();
            [(*params).version.major, (*params).version.minor, (*params).version.patch] = version;
            (*params).sub_device_type = sub_type;
            (*params).pir_default_passes = chain.plugin.pir_default_passes();
        }
    }
    Ok(())
}

/// Returns the functions of the real plugin that the host's table has no slot for; null before the hand-over.
pub(crate) fn extension() -> *const ffi::TenonDeviceExtension {
    static TABLE: OnceLock<usize> = OnceLock::new();
    match CHAIN.get() {
        Some(_) => tenon::support::own(&TABLE, tenon::device::extension::<Between>),
        None => std::ptr::null(),
    }
}

/// Puts the plugin's own pointers into the host's table where the signature is the same, so that the plugin sees the
/// host's arguments as they are: a thunk would refuse what the spec forbids and the plugin accepts, such as a null
/// event.
///
/// # Safety
/// `table` is the host's table, of the release.
unsafe fn hand_through(plugin: &tenon_loader::Plugin, table: *mut c_void, host: Release) {
    let Some(own) = plugin.table() else { return };
    for function in Function::ALL {
        let slot = own.slot(function);
        let same = || {
            function
                .info()
                .params
                .iter()
                .all(|param| is_passed(param, host) == is_passed(param, own.release()))
        };
        if let (Some(offset), false) = (host.offset_of(function), slot.is_null())
            && same()
        {
            // SAFETY: the release has the slot at this offset.
            unsafe { table.byte_add(offset).cast::<*const c_void>().write(slot) };
        }
    }
}

/// Returns true if the signature of a release has a parameter.
fn is_passed(param: &ParamInfo, release: Release) -> bool {
    let of_name = |name: &str| Release::ALL.into_iter().find(|known| known.name() == name);
    param.since.and_then(of_name).is_none_or(|since| since <= release)
        && param.until.and_then(of_name).is_none_or(|until| release <= until)
}

/// Ends the layers' work with the host's last call: it closes this library right after.
struct LastCall(Arc<Stack>);

impl Layer for LastCall {
    fn before(&self, _: &Call<'_>, _: &dyn Device) -> Result<u64, Error> {
        Ok(0)
    }

    fn after(&self, call: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {
        if call.index == Function::Finalize as usize {
            self.0.finish();
        }
    }
}

#[cfg(test)]
mod tests;

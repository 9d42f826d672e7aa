//! What PaddlePaddle gets: the real plugin behind the layers.

use std::ffi::{CStr, CString, c_void};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tenon::device::ffi::{v2_6, v3_3};
use tenon::device::{
    Device, Error, Function, HandOverError, Layer, Layered, Outcome, Partial, Plugin, Provided, Release,
    WithFallbacks,
};
use tenon::reflect::Call;
use tenon_host::{LoadError, LoadOptions};
use tenon_layers::{OpenError, Stack};
use thiserror::Error;

/// The variable that names the real plugin.
const PLUGIN: &str = "TENON_PADDLE_PLUGIN";
/// The variable that says which layers there are.
const LAYERS: &str = "TENON_LAYERS";

/// Why PaddlePaddle gets nothing.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// Nobody said which plugin.
    #[error(
        "libtenon_paddle_layers.so stands in front of another plugin, and {PLUGIN} does not say which: set it to \
         the path of that plugin, and keep that plugin out of the folder that CUSTOM_DEVICE_ROOT names"
    )]
    NoPlugin,
    /// The real plugin is not to be had.
    #[error("{PLUGIN}: {0}")]
    Load(#[from] LoadError),
    /// The layers cannot be made.
    #[error("{LAYERS}: {0}")]
    Layers(#[from] OpenError),
    /// The host is of a release that we do not know.
    #[error(transparent)]
    Host(#[from] HandOverError),
}

/// The real plugin and its layers.
struct Chain {
    plugin: Arc<tenon_host::Plugin>,
    device: Layered<WithFallbacks<Arc<dyn Partial>>>,
    device_type: &'static CStr,
}

impl Chain {
    fn new(host: Release) -> Result<Self, Refusal> {
        let path = std::env::var_os(PLUGIN).filter(|path| !path.is_empty()).ok_or(Refusal::NoPlugin)?;
        let stack = Arc::new(tenon_layers::open(&std::env::var(LAYERS).unwrap_or_default())?);
        // A plugin that serves several releases must know which one it is really in: it also calls the host.
        let options = LoadOptions { lazy: true, preferred: Some(host), ..LoadOptions::default() };
        let plugin = tenon_host::Plugin::load(&PathBuf::from(path), &options)?;
        let mut layers: Vec<Arc<dyn Layer>> = vec![Arc::new(LastCall(stack.clone()))];
        layers.extend(stack.for_plugin(plugin.name(), &*plugin.partial()));
        let device = Layered::new(WithFallbacks(plugin.partial()), layers);
        // The host reads the name as long as it has the table, and nobody says when that ends.
        let device_type: &'static CStr = Box::leak(CString::from(plugin.device_type()).into_boxed_c_str());
        Ok(Chain { plugin, device, device_type })
    }
}

static CHAIN: OnceLock<Chain> = OnceLock::new();

/// The plugin as PaddlePaddle sees it.
struct Between;

impl Plugin for Between {
    type Instance = dyn Partial;
    const PROVIDED: Provided = Provided::of(&[]);
    const FALLBACKS: bool = false;

    fn instance() -> &'static dyn Partial {
        // The table is filled, and so can be called, only once there is a chain.
        &CHAIN.get().expect("a call before the hand-over").device
    }

    fn fills(function: Function) -> bool {
        CHAIN.get().is_some_and(|chain| chain.device.provides(function))
    }
}

/// Loads the real plugin and hands it over.
///
/// # Safety
/// `params` is null, or leads to the host's params, which begin with their size and with the table.
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
    let sub_type =
        chain.plugin.sub_device_type().map_or(std::ptr::null_mut(), |text| text.as_ptr().cast_mut());
    // SAFETY: the hand-over has found the release by both sizes, so the params are laid out like this.
    unsafe {
        if release == Release::V2_6 {
            (*params.cast::<v2_6::CustomRuntimeParams>()).sub_device_type = sub_type;
        } else {
            let params = params.cast::<v3_3::CustomRuntimeParams>();
            (*params).sub_device_type = sub_type;
            (*params).pir_default_passes = chain.plugin.pir_default_passes();
        }
    }
    Ok(())
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

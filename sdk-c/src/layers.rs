//! Layers between the exports and the plugins: those of `tenon-layers`, and a program's own.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, LazyLock};

use tenon::Refusal;
use tenon::device::{self, Device, Function, Layer, Layered, Loaded, Outcome, WithFallbacks};
use tenon::reflect::{Call, Direction as Way, Kind};
use tenon_layers::Stack;

use crate::call::export;
use crate::error::Failure;
use crate::plugin_table::LoadedPlugin;
use crate::text::{c_text, required};
use crate::{PluginHandle, Status, library, thread_state};

/// The layers of the process.
pub(crate) struct Layers {
    stack: Option<Arc<Stack>>,
    /// What that was made of.
    names: String,
    custom: Vec<Arc<Custom>>,
    /// True if a plugin was used already, so that layers come too late.
    frozen: bool,
}

impl Layers {
    pub(crate) const NONE: Self =
        Layers { stack: None, names: String::new(), custom: Vec::new(), frozen: false };

    /// Makes the layers of a list of names, in place of those that there are.
    pub(crate) fn open(&mut self, names: &str) -> Result<(), Failure> {
        self.may_change()?;
        let made = self.make(names);
        match made {
            Ok(()) => self.names = names.to_owned(),
            Err(_) => {
                let _ = self.make(&self.names.clone());
            }
        }
        made
    }

    fn make(&mut self, names: &str) -> Result<(), Failure> {
        // A trace goes to a file, which the old one must have closed before the new one opens it.
        if let Some(old) = self.stack.take() {
            old.finish();
        }
        let stack = tenon_layers::open(names).map_err(|error| Failure::invalid(error.to_string()))?;
        self.stack = (!stack.is_empty()).then(|| Arc::new(stack));
        Ok(())
    }

    fn may_change(&self) -> Result<(), Failure> {
        if self.frozen {
            return Err(Failure::busy("layers cannot be changed once a plugin is in use"));
        }
        Ok(())
    }

    /// The layers of a plugin, outermost first. They are fixed from now on.
    pub(crate) fn of_plugin(&mut self, plugin: &LoadedPlugin) -> Vec<Arc<dyn Layer>> {
        self.frozen = true;
        let known =
            self.stack.iter().flat_map(|stack| stack.for_plugin(plugin.key(), &*plugin.host.partial()));
        let custom = self.custom.iter().map(|custom| {
            Arc::new(Of { custom: custom.clone(), plugin: PluginHandle(plugin.handle) }) as Arc<dyn Layer>
        });
        known.chain(custom).collect()
    }

    /// Returns true if the validation layer is one of them.
    pub(crate) fn validate(&self) -> bool {
        self.stack.as_ref().is_some_and(|stack| stack.checker().is_some())
    }

    /// Forgets a plugin that is unloaded.
    pub(crate) fn forget(&self, plugin: &LoadedPlugin) {
        if let Some(stack) = &self.stack {
            stack.forget(plugin.key());
        }
    }

    /// Lets all layers finish.
    pub(crate) fn finish(self) {
        if let Some(stack) = &self.stack {
            stack.finish();
        }
        for custom in &self.custom {
            if let Some(finish) = custom.finish {
                // SAFETY: the program handed it over to be called so.
                unsafe { finish(custom.user_data) };
            }
        }
    }
}

/// The kind of a parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A truth value, 0 or 1.
    Bool = 0,
    /// A whole number with a sign, sign-extended.
    Signed = 1,
    /// A whole number without.
    Unsigned = 2,
    /// A floating-point number, as the bits of a `double`.
    Float = 3,
    /// The address of a text.
    Text = 4,
    /// An address; with a length among the other parameters.
    Pointer = 5,
    /// A number that stands for something, such as a device.
    Id = 6,
    /// A handle of the plugin.
    Handle = 7,
    /// A named number.
    Enum = 8,
    /// The address of a struct.
    Struct = 9,
    /// The address of a function.
    Callback = 10,
}

/// The side that writes a parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The caller.
    In = 0,
    /// The plugin.
    Out = 1,
    /// Both.
    Inout = 2,
}

/// A parameter of a function as the spec has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: *const c_char,
    /// The name of its type in the spec where it has one, such as `Stream`; else what it is, such as `u64`.
    pub r#type: *const c_char,
    /// The kind.
    pub kind: ParamKind,
    /// The side that writes it.
    pub direction: Direction,
}

/// A call on its way to a plugin. It stays as long as the layer's function runs; texts and parameters stay for ever.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LayerCall {
    /// The function in the spec: `memory_copy_h2d`.
    pub function: *const c_char,
    /// Its place in the order of the spec.
    pub index: usize,
    /// The plugin that is called.
    pub plugin: PluginHandle,
    /// Number of parameters.
    pub count: usize,
    /// The parameters in the order of the spec, lengths and outputs included.
    pub params: *const Param,
    /// Their values, as many. Numbers are extended to 64 bits. What is written by the plugin is 0 until the call has
    /// succeeded; arrays and texts that it yields stay 0.
    pub arguments: *const u64,
}

/// Called before a call reaches the plugin. Whatever it answers but success refuses the call: the plugin does not see it,
/// and the caller is answered the same.
pub type Before =
    Option<unsafe extern "C" fn(user_data: *mut c_void, call: *const LayerCall, note: *mut u64) -> Status>;
/// Called after the call has come back, also when a layer further in refused it.
pub type After =
    Option<unsafe extern "C" fn(user_data: *mut c_void, call: *const LayerCall, note: u64, status: Status)>;
/// Called when the library ends.
pub type Finish = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A layer of a program's own. Its functions are called by whatever thread makes a call, by many at once. They may call
/// the library, but not open or close anything. They must return: no C++ exception and no `longjmp` may leave them.
/// [C] Set `size` to `sizeof(tenon_layer)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CustomLayer {
    /// Size of this struct in bytes.
    pub size: usize,
    /// Its name in messages.
    pub name: *const c_char,
    /// Handed to each of its functions.
    pub user_data: *mut c_void,
    /// Before each call; may be `null`. What it writes to `note` comes back in `after`.
    pub before: Before,
    /// After each call; may be `null`.
    pub after: After,
    /// At the end; may be `null`.
    pub finish: Finish,
}

/// A program's layer as it is kept.
pub(crate) struct Custom {
    name: String,
    user_data: *mut c_void,
    before: Before,
    after: After,
    finish: Finish,
}

// SAFETY: the functions may be called by any thread, which their description demands; the pointer is only handed on.
unsafe impl Send for Custom {}
// SAFETY: as above.
unsafe impl Sync for Custom {}

/// A program's layer before one plugin.
struct Of {
    custom: Arc<Custom>,
    plugin: PluginHandle,
}

impl Of {
    fn call(&self, call: &Call<'_>) -> LayerCall {
        let texts = &TEXTS[call.index];
        LayerCall {
            function: texts.function.as_ptr(),
            index: call.index,
            plugin: self.plugin,
            count: texts.params.len(),
            params: texts.params.as_ptr(),
            arguments: call.arguments.as_ptr(),
        }
    }

    /// Runs a function of the program, which may call the library with another device of the plugin, and sees that the
    /// plugin has the same current device afterwards.
    fn run<R>(&self, next: &dyn Device, body: impl FnOnce() -> R) -> R {
        let before = thread_state::selected_device(self.plugin.0);
        let result = body();
        if thread_state::selected_device(self.plugin.0) != before {
            thread_state::clear_current();
            let selected = before.filter(|id| next.set_device(*id).is_ok());
            thread_state::set_selected_device(self.plugin.0, selected);
        }
        result
    }
}

impl Layer for Of {
    fn before(&self, call: &Call<'_>, next: &dyn Device) -> device::Result<u64> {
        let Some(before) = self.custom.before else { return Ok(0) };
        let (mut note, of) = (0, self.call(call));
        // SAFETY: the program handed it over to be called so.
        let status = self.run(next, || unsafe { before(self.custom.user_data, &of, &mut note) });
        if status == Status::SUCCESS {
            return Ok(note);
        }
        let name = &self.custom.name;
        let message = format!("layer `{name}` refused `{}`", call.function.name);
        let refusal = Refusal { layer: name.clone().into(), rule: None, code: Some(status.0) };
        Err(device::Error::refused(status.to_device(), message, refusal))
    }

    fn after(&self, call: &Call<'_>, note: u64, outcome: &Outcome<'_>, next: &dyn Device) {
        let Some(after) = self.custom.after else { return };
        let status = outcome.error.map_or(Status::SUCCESS, Status::of_error);
        // SAFETY: the program handed it over to be called so.
        self.run(next, || unsafe { after(self.custom.user_data, &self.call(call), note, status) });
    }
}

/// The strings of a function that C reads.
struct Texts {
    function: CString,
    params: Vec<Param>,
    /// What the parameters point to.
    _names: Vec<CString>,
}

// SAFETY: the parameters point to texts that are made once and stay.
unsafe impl Send for Texts {}
// SAFETY: as above.
unsafe impl Sync for Texts {}

static TEXTS: LazyLock<[Texts; Function::ALL.len()]> = LazyLock::new(|| Function::ALL.map(texts));

fn texts(function: Function) -> Texts {
    let info = function.info();
    let mut names = Vec::new();
    let mut keep = |text: &str| {
        let text = c_text(text);
        let pointer = text.as_ptr();
        names.push(text);
        pointer
    };
    let params = info.params.iter().map(|param| {
        let (kind, of) = kind(&param.kind);
        let direction = match param.direction {
            Way::In => Direction::In,
            Way::Out => Direction::Out,
            Way::InOut => Direction::Inout,
        };
        Param { name: keep(param.name), r#type: keep(&of), kind, direction }
    });
    let params = params.collect();
    Texts { function: c_text(info.name), params, _names: names }
}

fn kind(kind: &Kind) -> (ParamKind, String) {
    match kind {
        Kind::Bool => (ParamKind::Bool, "bool".to_owned()),
        Kind::Int { bits, signed: true } => (ParamKind::Signed, format!("i{bits}")),
        Kind::Int { bits, signed: false } => (ParamKind::Unsigned, format!("u{bits}")),
        Kind::Float { bits } => (ParamKind::Float, format!("f{bits}")),
        Kind::Text => (ParamKind::Text, "text".to_owned()),
        Kind::Pointer => (ParamKind::Pointer, "pointer".to_owned()),
        Kind::Id(name) => (ParamKind::Id, (*name).to_owned()),
        Kind::Handle { name, .. } => (ParamKind::Handle, (*name).to_owned()),
        Kind::Enum { name, .. } => (ParamKind::Enum, (*name).to_owned()),
        Kind::Struct(name) => (ParamKind::Struct, (*name).to_owned()),
        Kind::Callback(name) => (ParamKind::Callback, (*name).to_owned()),
    }
}

/// Chooses the layers by name, in place of those in `TENON_LAYERS`, which stay if these cannot be made.
///
/// @param[in] names A list such as `"validate,trace"`; empty: none.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT `names` is `null`, there is no such layer, or it cannot be made; the last error says why.
/// @retval TENON_BUSY A plugin is in use already, and the layers come too late; or the call comes from inside of
///     another one or from a callback of a stream.
/// @par Threads
///     Any thread, also several at once; they wait for each other.
///
/// # Safety
/// `names` is null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_layers_enable(names: *const c_char) -> Status {
    export("tenon_layers_enable", || {
        // SAFETY: the caller's promise.
        let names = unsafe { required("names", names) }?.to_string_lossy();
        library::change_layers(|layers| layers.open(&names))
    })
}

/// Adds a layer of the program's own, inside of those that are chosen by name and of those that were added before.
///
/// @param[in] layer The layer; what is needed of it is copied. `user_data` and the functions must stay until the library
///     has ended.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT `layer` or its name is `null`, its size is not what it should be, or there are too many.
/// @retval TENON_BUSY A plugin is in use already, and the layer comes too late; or the call comes from inside of
///     another one or from a callback of a stream.
/// @par Threads
///     Any thread, also several at once; they wait for each other.
///
/// # Safety
/// `layer` is null or can be read, its name is null or a text, and its functions are what they should be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_layer_register(layer: *const CustomLayer) -> Status {
    export("tenon_layer_register", || {
        // SAFETY: the caller's promise.
        let layer = unsafe { library::options(layer) }?.ok_or_else(|| Failure::invalid("`layer` is null"))?;
        // SAFETY: the caller's promise.
        let name = unsafe { required("layer->name", layer.name) }?.to_string_lossy().into_owned();
        let CustomLayer { user_data, before, after, finish, .. } = layer;
        let custom = Arc::new(Custom { name, user_data, before, after, finish });
        library::change_layers(|layers| {
            layers.may_change()?;
            // Beside these there are two by name, and the pool puts one more before its device.
            let most = Layered::<WithFallbacks<Arc<Loaded>>>::MOST - 3;
            if layers.custom.len() >= most {
                return Err(Failure::invalid(format!("a program can add at most {most} layers")));
            }
            layers.custom.push(custom);
            Ok(())
        })
    })
}

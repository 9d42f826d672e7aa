//! The layers of the process: those of `tenon-layers`, and those of the program.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, LazyLock};

use tenon::Refusal;
use tenon::device::{self, Device, Function, Layer, Layered, Loaded, Outcome, WithFallbacks};
use tenon::reflect::{Call, Direction as Way, Kind};
use tenon_layers::Stack;
use tenon_loader::Plugin;

use crate::c_text::c_text;
use crate::call::sized::WithSize;
use crate::call::thread_state;
use crate::error::Failure;
use crate::plugins::loaded::LoadedPlugin;
use crate::{PluginHandle, Status};

/// The layers of the process.
pub(crate) struct Layers {
    stack: Option<Arc<Stack>>,
    /// The names of the layers of `tenon-layers`, and the program's layers.
    names: String,
    custom: Vec<Arc<Custom>>,
    /// True if a plugin has been loaded, so that the profile cannot change any more.
    has_plugins: bool,
    /// True if a plugin has been used, so that the layers cannot change any more.
    frozen: bool,
}

impl Layers {
    pub(crate) const NONE: Self =
        Layers { stack: None, names: String::new(), custom: Vec::new(), has_plugins: false, frozen: false };

    /// Creates the layers in a list of names. They replace the current ones.
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
        // The old trace layer must close its file before the new one opens it.
        if let Some(old) = self.stack.take() {
            old.finish();
        }
        let stack = tenon_layers::open(names).map_err(|error| Failure::invalid(error.to_string()))?;
        if stack.profile().is_some() && self.has_plugins {
            return Err(Failure::busy(
                "the layer `profile` must be on before plugins are loaded: set TENON_LAYERS, or pass the layers to the \
                 initialisation",
            ));
        }
        self.stack = (!stack.is_empty()).then(|| Arc::new(stack));
        Ok(())
    }

    fn may_change(&self) -> Result<(), Failure> {
        if self.frozen {
            return Err(Failure::busy("layers cannot be changed once a plugin is in use"));
        }
        Ok(())
    }

    /// Adds a layer of the program, as the innermost one.
    pub(super) fn add(&mut self, name: String, layer: CustomLayer) -> Result<(), Failure> {
        self.may_change()?;
        // Three layers can be enabled by name, and the pool adds one in front of its device.
        let most = Layered::<WithFallbacks<Arc<Loaded>>>::MOST - 4;
        if self.custom.len() >= most {
            return Err(Failure::invalid(format!("a program can add at most {most} layers")));
        }
        let CustomLayer { user_data, before, after, finish, .. } = layer;
        self.custom.push(Arc::new(Custom { name, user_data, before, after, finish }));
        Ok(())
    }

    /// Returns the plugin with the properties of the profile, if there is one.
    pub(crate) fn profiled(&mut self, plugin: &Arc<Plugin>) -> Arc<Plugin> {
        self.has_plugins = true;
        match self.stack.as_ref().and_then(|stack| stack.profile()) {
            Some(profile) => Arc::new(plugin.altered(|device| profile.apply(device))),
            None => plugin.clone(),
        }
    }

    /// Returns the layers of a plugin, outermost first. After this they cannot be changed.
    pub(crate) fn of_plugin(&mut self, plugin: &LoadedPlugin) -> Vec<Arc<dyn Layer>> {
        self.frozen = true;
        let known =
            self.stack.iter().flat_map(|stack| stack.for_plugin(plugin.key(), &*plugin.host.partial()));
        let custom = self.custom.iter().map(|custom| {
            Arc::new(Of { custom: custom.clone(), plugin: PluginHandle(plugin.handle) }) as Arc<dyn Layer>
        });
        known.chain(custom).collect()
    }

    /// Returns true if the validation layer is enabled.
    pub(crate) fn validate(&self) -> bool {
        self.stack.as_ref().is_some_and(|stack| stack.checker().is_some())
    }

    /// Removes an unloaded plugin.
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
                // SAFETY: the program registered the function with this signature.
                unsafe { finish(custom.user_data) };
            }
        }
    }
}

/// The kind of a parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A Boolean, 0 or 1.
    Bool = 0,
    /// A signed integer, sign-extended.
    Signed = 1,
    /// An unsigned integer.
    Unsigned = 2,
    /// A floating-point number, as the bits of a `double`.
    Float = 3,
    /// The address of a string.
    Text = 4,
    /// An address of memory. Its length is another parameter.
    Pointer = 5,
    /// The number of an object, such as a device.
    Id = 6,
    /// A handle of the plugin.
    Handle = 7,
    /// An enumerator.
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

/// A parameter of a function of the spec.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name.
    pub name: *const c_char,
    /// The name of the type in the spec, such as `Stream`, or a basic type, such as `u64`.
    pub r#type: *const c_char,
    /// The kind.
    pub kind: ParamKind,
    /// The side that writes it.
    pub direction: Direction,
}

/// A call to a plugin. It is valid while the layer's function runs; strings and parameter descriptions are
/// never freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LayerCall {
    /// The name of the function in the spec, such as `memory_copy_h2d`.
    pub function: *const c_char,
    /// The index of the function in the spec.
    pub index: usize,
    /// The plugin that is called.
    pub plugin: PluginHandle,
    /// Number of parameters.
    pub count: usize,
    /// The parameters in the order of the spec, including lengths and outputs.
    pub params: *const Param,
    /// The values of the parameters. Numbers are extended to 64 bits. Outputs of the plugin are 0 until the
    /// call has succeeded; outputs that are arrays or strings stay 0.
    pub arguments: *const u64,
}

/// Called before a call reaches the plugin. A status other than success refuses the call: the plugin does not
/// see it, and the caller gets this status.
pub type Before =
    Option<unsafe extern "C" fn(user_data: *mut c_void, call: *const LayerCall, note: *mut u64) -> Status>;
/// Called after the call has returned, also if an inner layer refused it.
pub type After =
    Option<unsafe extern "C" fn(user_data: *mut c_void, call: *const LayerCall, note: u64, status: Status)>;
/// Called when the library ends.
pub type Finish = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A layer of the program. Its functions run on the thread that makes the call, so on several threads at
/// once. They may call the library, but not open or close anything. They must return: no C++ exception and no
/// `longjmp` may leave them. [C] Set `size` to `sizeof(tenon_layer)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CustomLayer {
    /// Size of this struct in bytes.
    pub size: usize,
    /// The name in messages.
    pub name: *const c_char,
    /// Passed to each of the layer's functions.
    pub user_data: *mut c_void,
    /// Before each call; may be `null`. The value that it writes to `note` is passed to `after`.
    pub before: Before,
    /// After each call; may be `null`.
    pub after: After,
    /// At the end; may be `null`.
    pub finish: Finish,
}

// SAFETY: after the size it has pointers and functions that may be null.
unsafe impl WithSize for CustomLayer {}

/// A stored layer of the program.
struct Custom {
    name: String,
    user_data: *mut c_void,
    before: Before,
    after: After,
    finish: Finish,
}

// SAFETY: the functions may be called by any thread, as the documentation of the struct requires; the pointer
// is only passed on.
unsafe impl Send for Custom {}
// SAFETY: as above.
unsafe impl Sync for Custom {}

/// A layer of the program, in front of one plugin.
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

    /// Runs a function of the program, and then restores the plugin's current device: the function may have
    /// called the library with another device of the plugin.
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
        // SAFETY: the program registered the function with this signature.
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
        // SAFETY: the program registered the function with this signature.
        self.run(next, || unsafe { after(self.custom.user_data, &self.call(call), note, status) });
    }
}

/// The strings of a function, for C.
struct Texts {
    function: CString,
    params: Vec<Param>,
    /// The strings that the parameters point to.
    _names: Vec<CString>,
}

// SAFETY: the parameters point to strings that are created once and never freed.
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

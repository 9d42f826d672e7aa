//! C types of parameters, fields, results and whole signatures.

use super::names::Names;
use crate::model::*;
use crate::sdk::{ANSWER, Handle, PLUGIN, SdkApi};

/// A variant of the C output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Plain C, with every type by its name.
    C,
    /// The C++ of the ABI's own headers: uses types that C cannot express, and writes callbacks in full, because they
    /// may have no name.
    Upstream,
    /// The SDK's C: with the SDK's own names, and its own types for devices and statuses.
    Sdk,
}

/// Writes the types of one release.
#[derive(Clone, Copy, Debug)]
pub struct Speller<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    release: Option<ReleaseId>,
    dialect: Dialect,
}

/// Maximum width of a declaration on one line.
pub(super) const WIDTH: usize = 100;

impl<'a> Speller<'a> {
    /// Makes a writer for the types of an interface in a release; `None`: with the members of all releases.
    pub fn new(
        spec: &'a Spec,
        interface: &'a Interface,
        release: Option<ReleaseId>,
        dialect: Dialect,
    ) -> Self {
        Speller { spec, interface, release, dialect }
    }

    /// Returns the type of a parameter of a function or callback.
    pub fn param(self, param: &Param) -> String {
        if self.dialect == Dialect::Upstream
            && let Some(upstream) = &param.upstream
        {
            return upstream.clone();
        }
        if let Some(c_type) = &param.c_type {
            return c_type.clone();
        }
        let constness = |is_const: bool| if is_const { "const " } else { "" };
        match self.spec.passing(param) {
            Passing::LentList => format!("{}*", self.lent(param)),
            Passing::Array => self.array(param),
            Passing::Memory { is_const } => format!("{}void*", constness(is_const)),
            Passing::MemoryPlace { is_const } => format!("{}void**", constness(is_const)),
            Passing::Text { is_const } => format!("{}char*", constness(is_const)),
            Passing::TextPlace { is_const } => format!("{}char**", constness(is_const)),
            Passing::Object { is_const } | Passing::Struct { is_const } | Passing::Place { is_const } => {
                format!("{}{}*", constness(is_const), self.value(param))
            }
            Passing::ObjectPlace { is_const } => format!("{}{}**", constness(is_const), self.value(param)),
            // The SDK's device handle is passed by value, so an output needs a pointer to it.
            Passing::Value if param.dir != Direction::In && self.is_device(param) => {
                format!("{}*", self.value(param))
            }
            Passing::Value => self.value(param),
        }
    }

    /// Returns the name of the type of a parameter's value.
    fn value(self, param: &Param) -> String {
        self.spec.const_handle_name(param).map_or_else(|| self.base(param.ty), str::to_owned)
    }

    fn array(self, param: &Param) -> String {
        let reads = param.dir == Direction::In;
        match param.ty {
            // In an array of addresses, `const` applies to the memory behind them.
            Ty::Pointer => format!("{}void**", constness(param, reads)),
            Ty::String => format!("{}char**", constness(param, reads)),
            Ty::Named(id)
                if matches!(self.spec.ty(id).kind, TypeKind::Handle { form: HandleForm::Pointee(_), .. }) =>
            {
                let is_const = self.spec.is_const_handle(param.ty);
                // If the objects are mutable, only the array of their addresses is const.
                let array = if reads && !is_const { " const" } else { "" };
                format!("{}{}*{array}*", constness(param, reads && is_const), self.base(param.ty))
            }
            ty if self.spec.const_handle_name(param).is_some() => {
                let array = if reads && !param.is_array_mutable { "const " } else { "" };
                format!("{array}{}*", self.spec.const_handle_name(param).unwrap_or(&self.base(ty)))
            }
            ty => format!("{}{}*", constness(param, reads), self.base(ty)),
        }
    }

    /// Returns the type of a field without array brackets, and the brackets.
    pub fn field(self, field: &Param) -> (String, String) {
        match field.length {
            Some(Length::Count(Extent::Number(count))) => (self.element(field), format!("[{count}]")),
            _ => (self.param(field), String::new()),
        }
    }

    fn element(self, field: &Param) -> String {
        match field.ty {
            Ty::Pointer => "void*".to_owned(),
            Ty::String => format!("{}char*", constness(field, true)),
            ty => self.base(ty),
        }
    }

    /// Returns the type that a function writes to a struct of arguments, or to the location for a borrowed list.
    pub fn written(self, param: &Param) -> String {
        match param.ty {
            _ if param.is_lent_list() => self.lent(param),
            Ty::Named(id) if self.is_pointee(id) => format!("{}*", self.base(param.ty)),
            _ => self.value(param),
        }
    }

    /// Returns the type of a list that the callee owns: `CodecTile* const*`.
    fn lent(self, param: &Param) -> String {
        match param.ty {
            Ty::Named(id) if self.is_pointee(id) => format!("{}* const*", self.base(param.ty)),
            ty => format!("const {}*", self.base(ty)),
        }
    }

    fn is_pointee(self, id: TypeId) -> bool {
        matches!(self.spec.ty(id).kind, TypeKind::Handle { form: HandleForm::Pointee(_), .. })
    }

    /// Returns the result type of a function.
    pub fn result(self, result: &ResultKind) -> String {
        match result {
            ResultKind::None => "void".to_owned(),
            ResultKind::Value(value) => self.param(value),
            ResultKind::Status if self.spec.error_type(self.interface).is_some() => self.error_object(),
            ResultKind::Status => match self.interface.status {
                Some(id) => self.base(Ty::Named(id)),
                None => "void".to_owned(),
            },
        }
    }

    /// Returns the pointer to an error object.
    fn error_object(self) -> String {
        let Some(error) = self.spec.error_type(self.interface) else { return String::new() };
        let base = self.base(Ty::Named(error));
        if self.is_pointee(error) { format!("{base}*") } else { base }
    }

    /// Returns the name of a type; for upstream C++, the whole type of a callback.
    pub fn base(self, ty: Ty) -> String {
        match ty {
            Ty::Bool => "bool".to_owned(),
            Ty::Int { bits, signed } => format!("{}int{bits}_t", if signed { "" } else { "u" }),
            Ty::F32 => "float".to_owned(),
            Ty::F64 => "double".to_owned(),
            Ty::Size => "size_t".to_owned(),
            Ty::ULongLong => "unsigned long long".to_owned(),
            Ty::Char => "char".to_owned(),
            Ty::String => "char*".to_owned(),
            Ty::Pointer => "void*".to_owned(),
            Ty::Named(id) => {
                let ty = self.spec.ty(id);
                match &ty.kind {
                    TypeKind::Callback { params, result, .. } if self.dialect == Dialect::Upstream => {
                        // With `*`, the alias is needed: the bare type does not accept one.
                        format!("std::decay_t<{}>", self.callback(params, result.as_deref(), ""))
                    }
                    _ => self.sdk_api().map_or_else(|| ty.c_name.clone(), |sdk_api| sdk_api.ty(ty)),
                }
            }
        }
    }

    /// Returns a pointer to a function: `void (*C_Callback)(C_Device device, …)`; without a name, only its type.
    pub fn callback(self, params: &[Param], result: Option<&Param>, name: &str) -> String {
        let result = result.map_or_else(|| "void".to_owned(), |result| self.param(result));
        self.declaration(&result, &format!("(*{name})"), params, !name.is_empty(), 0)
    }

    /// Returns the member of a table for a function: `C_Status (*finalize)(void)`.
    pub fn slot(self, function: &Function, indent: usize) -> String {
        self.of_function(function, &format!("(*{})", function.c_name), true, indent)
    }

    /// Returns a prototype: `PD_Tensor* PD_NewTensor(void)`.
    pub fn prototype(self, function: &Function) -> String {
        self.of_function(function, &function.c_name, true, 0)
    }

    /// Returns the prototype with its linkage: an optional function is weak if the interface has a macro for that.
    pub fn declared(self, function: &Function) -> String {
        match &self.interface.weak {
            Some(weak) if function.is_optional() => {
                let result = format!("{weak} {}", self.result(&function.result));
                self.declaration(&result, &function.c_name, &function.params, true, 0)
            }
            _ => self.prototype(function),
        }
    }

    /// Returns the type of a pointer to a function: `C_Status (*)(C_Device)`.
    pub fn function_type(self, function: &Function) -> String {
        self.of_function(function, "(*)", false, 0)
    }

    /// Returns the prototype of a function of the SDK: `tenon_status tenon_set_device(tenon_device device)`.
    pub fn sdk_prototype(self, sdk_api: SdkApi, function: &Function) -> String {
        let plugin = (sdk_api.called_with(function) == Handle::Plugin)
            .then(|| format!("{} {PLUGIN}", sdk_api.handle(PLUGIN)));
        let answer = function.question.map(|_| format!("bool* {ANSWER}"));
        let params = self.params(&function.params, true);
        let params: Vec<String> = plugin.into_iter().chain(params).chain(answer).collect();
        self.lines(&sdk_api.handle("status"), &sdk_api.function(function), &params, true, 0)
    }

    /// Returns the type of a parameter of a function. The SDK adds a `const` that the ABI lacks.
    fn passed(self, param: &Param) -> String {
        let is_memory = param.ty == Ty::Pointer && param.space.is_some() && param.length.is_none();
        match self.dialect {
            Dialect::Sdk if is_memory && param.dir == Direction::In && param.role != Role::Destroys => {
                "const void*".to_owned()
            }
            _ => self.param(param),
        }
    }

    /// Returns the type of a parameter of a function of the SDK.
    pub fn sdk_param(self, param: &Param) -> String {
        self.passed(param)
    }

    fn sdk_api(self) -> Option<SdkApi<'a>> {
        (self.dialect == Dialect::Sdk).then(|| SdkApi::of(self.spec, self.interface)).flatten()
    }

    fn is_device(self, param: &Param) -> bool {
        self.sdk_api().is_some_and(|sdk_api| sdk_api.is_device(param))
    }

    fn of_function(self, function: &Function, name: &str, named: bool, indent: usize) -> String {
        let result = self.result(&function.result);
        match &function.args {
            Some(args) => {
                let passed =
                    if named { format!("{}* args", args.c_name) } else { format!("{}*", args.c_name) };
                self.lines(&result, name, &[passed], named, indent)
            }
            None => {
                let mut params = self.params(&function.params, named);
                params.extend(function.variadic.then(|| "...".to_owned()));
                self.lines(&result, name, &params, named, indent)
            }
        }
    }

    fn declaration(self, result: &str, name: &str, params: &[Param], named: bool, indent: usize) -> String {
        self.lines(result, name, &self.params(params, named), named, indent)
    }

    fn params(self, params: &[Param], named: bool) -> Vec<String> {
        let names = Names::new(self.spec, self.interface);
        params
            .iter()
            .filter(|param| param.availability.is_in(self.release))
            .map(|param| {
                if named {
                    format!("{} {}", self.passed(param), names.variable(&param.name.value))
                } else {
                    self.param(param)
                }
            })
            .collect()
    }

    /// Wraps a declaration that is too wide; further lines are indented by four columns.
    fn lines(self, result: &str, name: &str, params: &[String], named: bool, indent: usize) -> String {
        let head = format!("{result} {name}(");
        if params.is_empty() {
            return format!("{head}{})", if self.dialect == Dialect::Upstream { "" } else { "void" });
        }
        let line = format!("{head}{})", params.join(", "));
        if !named || indent + line.len() < WIDTH {
            return line;
        }
        let margin = format!("\n{}", " ".repeat(indent + 4));
        let lines = fill(params, WIDTH - indent - 6);
        format!("{head}{margin}{})", lines.join(&margin))
    }
}

/// Returns the declaration of a handle.
pub fn handle(form: &HandleForm, name: &str, tag: &str, const_name: Option<&str>) -> String {
    match (form, const_name) {
        (HandleForm::Void, _) => format!("typedef void* {name};"),
        (HandleForm::Tagged(_), None) => format!("typedef struct {tag}* {name};"),
        (HandleForm::Tagged(_), Some(const_name)) => {
            format!("typedef struct {tag}* {name};\ntypedef const struct {tag}* {const_name};")
        }
        (HandleForm::Pointee(_), _) => format!("typedef struct {tag} {name};"),
    }
}

fn constness(param: &Param, usual: bool) -> &'static str {
    if param.constness.unwrap_or(usual) { "const " } else { "" }
}

/// Joins items with commas, as many as fit on each line.
pub(super) fn fill(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let comma = if index + 1 < items.len() { "," } else { "" };
        match lines.last_mut() {
            Some(line) if line.len() + item.len() + 2 <= width => *line = format!("{line} {item}{comma}"),
            _ => lines.push(format!("{item}{comma}")),
        }
    }
    lines
}

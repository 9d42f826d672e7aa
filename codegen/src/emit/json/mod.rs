//! The resolved spec as JSON, for generators in other languages: names, defaults, lengths and layouts are resolved,
//! and every reference is a name.

mod operator;

use serde_json::{Value, json};

use super::descriptions::Describer;
use super::emitter::{EmitError, Emitter, Job};
use super::python;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::abi;
use crate::model::{
    self, Availability, Carrier, EnumValue, Extension, Extent, Form, Function, HandleForm, Interface, Length,
    OutputPlace, Param, ParamId, ReleaseId, ResultKind, Role, Spec, Table, Ty, Type, TypeKind,
};
use crate::out::Output;
use crate::sdk::SdkApi;
use crate::text::count;

/// One file with the whole spec.
pub struct Description;

impl Emitter for Description {
    const KIND: &'static OutputKind = &outputs::JSON;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let spec = job.spec;
        let value = json!({
            "comment": job.stamp.spec(),
            "project": spec.project,
            "summary": spec.summary,
            "interfaces": spec.interfaces.iter().map(|it| interface(spec, it)).collect::<Vec<_>>(),
            "operators": spec.operators.as_ref().map(|operators| operator::operators(spec, operators)),
        });
        let text = format!("{value:#}\n");
        Ok(vec![Output::new("", text, count(spec.interfaces.len(), "interface"))])
    }
}

pub use operator::operators;

/// Describes one interface.
#[derive(Clone, Copy)]
struct InterfaceJson<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    describer: Describer<'a>,
}

fn interface(spec: &Spec, interface: &Interface) -> Value {
    let this = InterfaceJson { spec, interface, describer: Describer::new(spec, interface) };
    let uses: Vec<&str> = interface.uses.iter().map(|id| &*spec.interfaces[id.0].name.value).collect();
    let releases: Vec<&str> = interface.releases.iter().map(|release| &*release.name.value).collect();
    json!({
        "name": interface.name.value,
        "kind": interface.kind_name(),
        "title": interface.title,
        "summary": interface.summary,
        "doc": interface.doc,
        "header": interface.header,
        "uses": uses,
        "releases": releases,
        "status": interface.status.map(|id| &spec.ty(id).name.value),
        "types": interface.types.iter().map(|ty| this.ty(ty)).collect::<Vec<_>>(),
        "functions": interface.functions.iter().map(|function| this.function(function)).collect::<Vec<_>>(),
        "table": interface.table().map(|table| this.table(table)),
    })
}

impl InterfaceJson<'_> {
    fn ty(self, ty: &Type) -> Value {
        let params =
            |params: &[Param]| params.iter().map(|param| self.param(param, params)).collect::<Vec<_>>();
        let kind = match &ty.kind {
            TypeKind::Handle { form, null: meaning, .. } => {
                let by_pointer = matches!(form, HandleForm::Pointee(_));
                json!({ "kind": "handle", "tag": form.tag(), "by_pointer": by_pointer, "null": meaning })
            }
            TypeKind::Id { tag, field, ty } => {
                json!({ "kind": "id", "tag": tag, "field": field, "type": self.name(*ty) })
            }
            TypeKind::Enum { flags, values, .. } => {
                let value = |value: &EnumValue| {
                    let (name, c) = (&value.name.value, &value.c_name);
                    json!({ "name": name, "c": c, "value": value.value, "summary": &*value.summary })
                };
                json!({ "kind": "enum", "flags": flags, "values": values.iter().map(value).collect::<Vec<_>>() })
            }
            TypeKind::Struct { is_union, fields, .. } => {
                json!({ "kind": if *is_union { "union" } else { "struct" }, "fields": params(fields) })
            }
            TypeKind::Callback { params: taken, result, once } => {
                let result = result.as_deref().map(|result| self.param(result, taken));
                json!({ "kind": "callback", "params": params(taken), "returns": result, "once": once })
            }
        };
        let (name, c) = (&ty.name.value, &ty.c_name);
        let head = json!({ "name": name, "c": c, "summary": ty.summary, "doc": ty.doc });
        joined(head, kind, self.availability(ty.availability))
    }

    fn function(self, function: &Function) -> Value {
        let params = function.params.iter().zip(&function.forms).map(|(param, form)| {
            let form = json!({ "form": form_name(form) });
            joined(form, self.param(param, &function.params), json!({}))
        });
        let returns = match &function.result {
            ResultKind::Status => json!("status"),
            ResultKind::None => Value::Null,
            ResultKind::Value(result) => self.param(result, &function.params),
        };
        let statuses = function.returns.iter();
        let statuses = statuses
            .map(|(id, when)| json!({ "status": self.describer.status(*id).name.value, "when": &**when }));
        let fallback =
            function.fallback.as_ref().map(|it| self.describer.fallback_action(function, &it.kind));
        let ordered = function.stream_ordered.map(|id| &function.param(id).name.value);
        let sdk_api = SdkApi::of(self.spec, self.interface);
        let python = match sdk_api {
            Some(sdk_api) => Some(python::sdk_signature(sdk_api, function)),
            None => python::signature(self.spec, self.interface, function),
        };
        let method = sdk_api.and_then(|sdk_api| python::public_method(sdk_api, function));
        let value = json!({
            "name": function.name.value,
            "c": function.c_name,
            "python": python,
            "python_method": method,
            "group": self.interface.groups[function.group.0].name,
            "summary": function.summary,
            "doc": &*function.doc,
            "required": !function.is_optional(),
            "params": params.collect::<Vec<_>>(),
            "args_struct": function.args.as_ref().map(|args| &args.c_name),
            "returns": returns,
            "statuses": statuses.collect::<Vec<_>>(),
            "blocking": function.blocking,
            "stream_ordered": ordered,
            "fallback": fallback,
        });
        joined(value, json!({}), self.availability(function.availability))
    }

    fn param(self, param: &Param, params: &[Param]) -> Value {
        let role = match param.role {
            Role::Creates => "creates",
            Role::Destroys => "destroys",
            Role::Uses => "uses",
        };
        let name = |id: Option<ParamId>| id.map(|id| &params[id.0].name.value);
        let length = param.length.as_ref().map(|length| {
            let (unit, extent) = match length {
                Length::Bytes(extent) => ("bytes", extent),
                Length::Count(extent) => ("count", extent),
            };
            match extent {
                Extent::Param(id) => json!({ "unit": unit, "param": params[id.0].name.value }),
                Extent::Number(number) => json!({ "unit": unit, "number": number }),
                Extent::Call(id) => json!({ "unit": unit, "call": self.interface.function(*id).name.value }),
            }
        });
        let value = json!({
            "name": param.name.value,
            "type": self.name(param.ty),
            "dir": param.dir.name(),
            "role": role,
            "space": param.space.map(super::descriptions::space_description),
            "length": length,
            "nullable": param.nullable,
            "of": name(param.of),
            "held": name(param.held),
            "context_of": name(param.context_of),
            "doc": &*param.doc,
        });
        joined(value, json!({}), self.availability(param.availability))
    }

    /// Returns the name of a type: a primitive by its name in the spec language, a described type as
    /// `interface.Name`.
    fn name(self, ty: Ty) -> String {
        match ty {
            Ty::Named(id) => {
                format!("{}.{}", self.spec.interfaces[id.interface.0].name.value, self.spec.ty(id).name.value)
            }
            ty => ty.name(self.spec).to_owned(),
        }
    }

    fn availability(self, availability: Availability) -> Value {
        let [since, until] =
            [availability.since, availability.until].map(|id| id.map(|id| self.describer.release(id)));
        json!({ "since": since, "until": until })
    }

    /// Describes the table, with the offset of each function in each release.
    fn table(self, table: &Table) -> Value {
        let layout = |release: Option<ReleaseId>| {
            let layout = abi::table_layout(self.interface, table, release);
            let slot = |id| {
                let name = &self.interface.function(id).name.value;
                json!({ "function": name, "offset": layout.offset_of(id) })
            };
            let slots: Vec<Value> = layout.functions().map(slot).collect();
            json!({ "release": release.map(|id| self.describer.release(id)), "size": layout.size, "slots": slots })
        };
        let layouts: Vec<Value> = self.interface.abis().into_iter().map(layout).collect();
        let extension = table.extension.as_ref().map(|extension| self.extension(extension));
        json!({
            "struct": table.c_name,
            "size_field": table.size_field,
            "layouts": layouts,
            "extension": extension,
        })
    }

    /// Describes the extension, with the offset of each function.
    fn extension(self, extension: &Extension) -> Value {
        let (slots, size) = abi::extension_layout(extension);
        let slots: Vec<Value> = slots
            .into_iter()
            .map(|(id, offset)| json!({ "function": self.interface.function(id).name.value, "offset": offset }))
            .collect();
        let releases: Vec<&str> =
            extension.releases.iter().map(|release| release.name.value.as_str()).collect();
        json!({
            "struct": extension.c_name,
            "entry": extension.entry,
            "releases": releases,
            "size": size,
            "slots": slots,
        })
    }
}

/// Returns a word for the kind of a parameter.
fn form_name(form: &Form) -> &'static str {
    match form {
        Form::Carried(Carrier::Result) => "status",
        Form::Carried(Carrier::Callback(_)) => "context",
        Form::Carried(Carrier::Slice(_) | Carrier::Lent(_)) => "length",
        Form::Receiver { .. } => "receiver",
        Form::Object => "object",
        Form::Own => "own_value",
        Form::Value => "value",
        Form::InOut => "inout",
        Form::Bytes { .. } => "bytes",
        Form::Slice { .. } => "slice",
        Form::ByteBuffer { .. } => "byte_buffer",
        Form::Text => "text",
        Form::StructRef { .. } => "struct",
        Form::Callback { .. } => "callback",
        Form::Output(model::Output::Value) => "output",
        Form::Output(model::Output::Array(_)) => "output_array",
        Form::Output(model::Output::Vec(_)) => "output_list",
        Form::Output(model::Output::Text(_)) => "output_text",
        Form::Output(model::Output::Lent { .. }) => "output_lent",
        Form::Output(model::Output::Object) => "output_object",
        Form::Output(model::Output::Own) => "output_own_value",
        Form::Output(model::Output::Objects { .. }) => "output_objects",
    }
}

/// Merges three mappings.
fn joined(first: Value, second: Value, third: Value) -> Value {
    let entries = [first, second, third].into_iter().filter_map(|value| match value {
        Value::Object(entries) => Some(entries),
        _ => None,
    });
    Value::Object(entries.flatten().collect())
}

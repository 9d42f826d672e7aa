//! Texts about the data of a spec, used by C comments, the reference and the command.

pub mod operator;
mod sdk;

use crate::model::*;
use crate::text::{capital, collapse, ended, enumerate, sentence};

/// Makes texts about one interface.
#[derive(Clone, Copy, Debug)]
pub struct Describer<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The interface.
    pub interface: &'a Interface,
    /// Formats constants.
    pub constant: fn(Constant) -> String,
    /// The separator between the name of an argument and its value.
    pub argument: &'static str,
}

impl<'a> Describer<'a> {
    /// Makes texts about an interface.
    pub fn new(spec: &'a Spec, interface: &'a Interface) -> Self {
        Describer { spec, interface, constant, argument: ": " }
    }

    /// Returns the name of a release.
    pub fn release(self, id: ReleaseId) -> &'a str {
        &self.interface.releases[id.0].name.value
    }

    /// Returns the status with an index.
    pub fn status(self, status: StatusValue) -> &'a EnumValue {
        &self.spec.status_values(self.interface)[status.0]
    }

    /// Returns the status of success.
    pub fn success(self) -> Option<&'a EnumValue> {
        self.spec.status_values(self.interface).iter().find(|value| value.value == 0)
    }

    /// Describes releases: `since 3.1`, `3.0 to 3.2`, `until 3.2`, or nothing for all releases.
    pub fn availability(self, availability: Availability) -> String {
        match (availability.since, availability.until) {
            (None, None) => String::new(),
            (Some(since), None) => format!("since {}", self.release(since)),
            (None, Some(until)) => format!("until {}", self.release(until)),
            (Some(since), Some(until)) if since == until => format!("only in {}", self.release(since)),
            (Some(since), Some(until)) => format!("{} to {}", self.release(since), self.release(until)),
        }
    }

    /// Returns the first release of an item.
    pub fn since(self, availability: Availability) -> &'a str {
        let first = availability.since.map(|id| self.release(id));
        first
            .or_else(|| Some(self.release(self.interface.newest().map(|_| ReleaseId(0))?)))
            .unwrap_or_default()
    }

    /// Returns whether a function is required: `required to load`. Only the functions of tables can be required.
    pub fn need(self, function: &Function) -> &'static str {
        match (&self.interface.kind, function.need) {
            (InterfaceKind::Import { .. }, _) => "exported by the host",
            (InterfaceKind::HostTable { .. }, _) => "in the table of the host",
            (InterfaceKind::Objects, Need::Load | Need::Use) => "required",
            (InterfaceKind::Export, _) => "exported by the library",
            (_, Need::Load) => "required to load",
            (_, Need::Use) => "required to use",
            (_, Need::Optional) => "optional",
        }
    }

    /// Describes the differences of the signature between releases, one sentence for each parameter.
    pub fn signature_notes(self, function: &Function) -> Vec<String> {
        let varying = function.params.iter().filter(|param| param.availability != Availability::default());
        varying
            .map(|param| {
                let passed = self.availability(param.availability);
                let absent = param.absent.as_ref().map(|absent| match absent {
                    Absent::Call(id) => {
                        format!("; before, it is the result of `{}`", self.interface.function(*id).name.value)
                    }
                    Absent::Constant(value) => format!("; before, it is {}", constant(*value)),
                });
                format!("`{}` is passed {passed}{}.", param.name.value, absent.unwrap_or_default())
            })
            .collect()
    }

    /// Describes the length of what a parameter points to: `` `size` bytes ``.
    pub fn length(self, param: &Param, params: &[Param]) -> Option<String> {
        let (extent, unit) = match param.length.as_ref()? {
            Length::Bytes(extent) => (extent, "bytes"),
            Length::Count(extent) => (extent, "elements"),
        };
        Some(match extent {
            Extent::Param(id) => format!("`{}` {unit}", params[id.0].name.value),
            Extent::Number(1) => format!("1 {}", unit.trim_end_matches('s')),
            Extent::Number(number) => format!("{number} {unit}"),
            Extent::Call(id) => {
                format!("as many {unit} as `{}` returns", self.interface.function(*id).name.value)
            }
        })
    }

    /// Returns a parameter's documentation with additional facts, as sentences.
    pub fn param(self, param: &Param, params: &[Param], doc: &str) -> String {
        let facts = self.memory(param, params).into_iter().chain(self.life(param, params));
        // If a doc explains null, it need not also say that null is allowed.
        let nullable = (param.nullable && !doc.contains("`null`")).then(|| "may be null".to_owned());
        with_facts(doc, facts.chain(nullable))
    }

    /// Describes the memory that a parameter points to.
    pub fn memory(self, param: &Param, params: &[Param]) -> Option<String> {
        match (param.space.map(space_description), self.length(param, params)) {
            (Some(space), Some(length)) => Some(format!("{space}, {length}")),
            (space, length) => space.map(str::to_owned).or(length),
        }
    }

    /// Describes the lifetime of a parameter.
    pub fn life(self, param: &Param, params: &[Param]) -> Vec<String> {
        let mut facts = Vec::new();
        let handle = matches!(param.ty, Ty::Pointer | Ty::Named(_));
        match param.role {
            Role::Creates if param.dir != Direction::In => facts.push("created by the call".to_owned()),
            Role::Destroys if handle => facts.push("destroyed by the call".to_owned()),
            _ => {}
        }
        if let Some(stream) = param.held {
            facts.push(format!("must stay valid until `{}` has passed it", params[stream.0].name.value));
        }
        facts
    }

    /// Describes the fallback, in one paragraph.
    pub fn fallback(self, function: &Function, fallback: &Fallback) -> String {
        let mut sentences = vec![self.fallback_action(function, &fallback.kind)];
        match fallback.rule {
            Rule::Host => sentences.push("The host does the same when the pointer is null.".to_owned()),
            Rule::Ours if fallback.why.is_empty() => {
                sentences.push("The host behaves differently.".to_owned())
            }
            Rule::Ours => {
                sentences.push(format!("This differs from the host's behaviour: {}", ended(&fallback.why)));
            }
        }
        if self.interface.kind.is_export() || self.interface.kind.is_of_host() {
            sentences.truncate(1);
        }
        if !fallback.costs.is_empty() {
            sentences.push(format!("Cost: {}", ended(&fallback.costs)));
        }
        sentences.join(" ")
    }

    /// Describes what the fallback does, without the host's behaviour and the cost.
    pub fn fallback_action(self, function: &Function, kind: &FallbackKind) -> String {
        match kind {
            FallbackKind::Constant { outputs, returned } => {
                let outputs = outputs.iter().map(|(id, value)| {
                    format!("`{}` is {}", function.param(*id).name.value, (self.constant)(*value))
                });
                let returned =
                    returned.iter().map(|value| format!("the result is {}", (self.constant)(*value)));
                match outputs.chain(returned).collect::<Vec<_>>().as_slice() {
                    [] => "Writes nothing.".to_owned(),
                    values => ended(&enumerate(values)),
                }
            }
            FallbackKind::Call(call) => format!("The result of {}.", self.call(function, &[], call)),
            FallbackKind::Sequence { buffers, calls, answer } => {
                let mut steps: Vec<String> = buffers
                    .iter()
                    .map(|buffer| {
                        let fill = buffer
                            .fill
                            .map(|fill| format!(" filled with `{}`", function.param(fill).name.value));
                        format!(
                            "allocate a host buffer `{}` of `{}` bytes{}",
                            buffer.name.value,
                            function.param(buffer.bytes).name.value,
                            fill.unwrap_or_default()
                        )
                    })
                    .collect();
                steps.extend(calls.iter().map(|call| format!("call {}", self.call(function, buffers, call))));
                if let Some(answer) = answer {
                    steps.push(format!("answer {}", if *answer { "yes" } else { "no" }));
                }
                sentence(&steps.join(", then "))
            }
            FallbackKind::Strategy { name, needs } => {
                let needs: Vec<String> = needs
                    .iter()
                    .map(|id| format!("`{}`", self.interface.function(id.value).name.value))
                    .collect();
                let calls = if needs.is_empty() {
                    String::new()
                } else {
                    format!(", which calls {}", enumerate(&needs))
                };
                format!("The strategy `{}`{calls}.", name.value)
            }
            FallbackKind::Refuse { status, message } => {
                let message = if message.is_empty() {
                    String::new()
                } else {
                    format!(" with the message “{}”", collapse(message))
                };
                format!("The caller gets `{}`{message}.", self.status(*status).name.value)
            }
            FallbackKind::Nothing => "Does nothing, and succeeds.".to_owned(),
        }
    }

    /// Returns a call of a fallback: `` `memory_copy_h2d(device, dst: ptr, src: tmp, size)` ``.
    fn call(self, function: &Function, buffers: &[Buffer], call: &Call) -> String {
        let callee = self.interface.function(call.function.value);
        let arguments: Vec<String> = call
            .arguments
            .iter()
            .map(|(id, argument)| {
                let parameter = &callee.param(*id).name.value;
                let value = match argument.value {
                    Argument::Param(id) => function.param(id).name.value.clone(),
                    Argument::Buffer(index) => buffers[index].name.value.clone(),
                    Argument::Constant(value) => (self.constant)(value),
                };
                if value == *parameter { value } else { format!("{parameter}{}{value}", self.argument) }
            })
            .collect();
        format!("`{}({})`", callee.name.value, arguments.join(", "))
    }

    /// Describes the behaviour of hosts when the pointer is null, on one line; empty if the function is never
    /// missing.
    pub fn when_null(self, function: &Function) -> String {
        collapse(&function.when_null)
    }

    /// Returns the meaning of the status as the answer of a query.
    pub fn question(self, function: &Function) -> Option<String> {
        let (yes, no) = function.question?;
        let [yes, no] = [yes, no].map(|status| &self.status(status).name.value);
        Some(format!("The status is the answer: `{yes}` is yes, `{no}` is no."))
    }

    /// Describes the relation of a call to the work of the device, as sentences.
    pub fn order(self, function: &Function) -> Vec<String> {
        let waits = function.blocking.then(|| "The caller waits for the device.".to_owned());
        waits.into_iter().chain(self.stream_order(function)).collect()
    }

    /// Describes the relation of a call's work to a stream.
    pub fn stream_order(self, function: &Function) -> Option<String> {
        let stream = &function.param(function.stream_ordered?).name.value;
        Some(format!("The work runs in the order of `{stream}`; the call may return before it is complete."))
    }
}

/// Appends facts to a text, as sentences.
pub fn with_facts(doc: &str, facts: impl Iterator<Item = String>) -> String {
    facts.fold(sentence(doc), |text, fact| format!("{text} {}.", capital(&fact)))
}

/// Formats a constant for prose.
pub fn constant(value: Constant) -> String {
    match value {
        Constant::Integer(number) => number.to_string(),
        Constant::Bool(value) => value.to_string(),
        Constant::Null => "null".to_owned(),
    }
}

/// Returns the name of a memory space.
pub fn space_description(space: Space) -> &'static str {
    match space {
        Space::Host => "host memory",
        Space::Device => "device memory",
        Space::Unified => "unified memory",
        Space::Any => "host or device memory",
    }
}

//! The rules for a spec, beyond its grammar. Each rule is one `check_*` function; its doc comment states the rule.
//!
//! Rules only read the resolved model. A rule ignores a place that did not resolve, because that was already
//! reported.

mod enums;
mod fallbacks;
mod functions;
mod handles;
mod headers;
mod lives;
mod names;
mod order;
mod outputs;
mod owners;
mod params;
mod prose;
mod python;
mod releases;
mod rust;
mod sdk;
mod shapes;
mod show;
mod sizes;
mod table;
mod types;

use std::cell::RefCell;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Function, Interface, InterfaceId, Param, Places, Spec, Ty, Type, TypeKind};
use crate::source::Sources;

/// Rules about types, functions and tables.
const DESCRIPTIONS: &[fn(&Check)] = &[
    names::check_names_are_distinct,
    names::check_values_are_distinct,
    names::check_symbols_are_distinct,
    names::check_tags_are_distinct,
    names::check_members_are_distinct,
    names::check_outputs_are_distinct,
    names::check_keywords,
    types::check_status,
    types::check_success,
    types::check_id,
    types::check_containment,
    types::check_unnamed,
    handles::check_form,
    handles::check_use,
    handles::check_objects,
    enums::check_numbers_are_distinct,
    enums::check_aliases,
    enums::check_range,
    enums::check_meanings,
    params::check_direction,
    params::check_life,
    params::check_space,
    params::check_null,
    params::check_length_place,
    params::check_length_type,
    params::check_length_call,
    params::check_status_parameter,
    params::check_keys,
    owners::check_owner,
    owners::check_holder,
    owners::check_order,
    owners::check_context,
    order::check_waits_or_queues,
    order::check_streams,
    order::check_held,
    lives::check_handles_live,
    lives::check_ends_fit,
    lives::check_handle_names,
    lives::check_roles_are_named,
    sizes::check_arrays,
    sizes::check_reserves,
    sizes::check_sizes_are_lengths,
    releases::check_types_are_there,
    releases::check_absent_is_given,
    releases::check_absent_is_of_use,
    releases::check_absent_fits,
    releases::check_hosts,
    functions::check_required_has_no_fallback,
    functions::check_fill,
    functions::check_unsound_null,
    functions::check_refused_plugin,
    functions::check_question,
    functions::check_question_is_upright,
    functions::check_answers,
    table::check_slot_owners,
    table::check_slots_are_distinct,
    table::check_every_function_has_a_slot,
    table::check_extension,
    table::check_reserves,
    table::check_plugin_struct,
    table::check_plugin_fields,
    shapes::check_table_fields,
    shapes::check_owned_version,
    shapes::check_owned_growth,
    shapes::check_error_object,
    shapes::check_args,
    shapes::check_lent,
    sdk::check_place,
    sdk::check_device,
    sdk::check_statuses,
    sdk::check_functions,
    sdk::check_callbacks,
    sdk::check_fields,
    sdk::check_symbols,
    headers::check_place,
    headers::check_no_circle,
    python::check_place,
    python::check_names,
    python::check_parameters,
    python::check_forms,
    rust::check_types,
    rust::check_functions,
    rust::check_variables,
    rust::check_symbols,
    rust::check_interface,
    rust::check_standard_headers,
];

/// Rules about fallbacks. They assume that the rules about descriptions passed.
const FALLBACKS: &[fn(&Check)] = &[
    fallbacks::form::check_keys,
    fallbacks::form::check_reason,
    fallbacks::form::check_refusal,
    fallbacks::form::check_strategy,
    fallbacks::form::check_buffers,
    fallbacks::needs::check_cycles,
    fallbacks::needs::check_absent,
    fallbacks::needs::check_newer,
    fallbacks::arguments::check_given,
    fallbacks::arguments::check_arguments,
    fallbacks::owners::check_owners,
    fallbacks::order::check_waits,
    fallbacks::results::check_constants,
    fallbacks::results::check_results,
    fallbacks::results::check_answer,
];

/// Rules about missing text. They run only if there are no other errors, because a wrong entry should be corrected
/// before it is documented.
const COMPLETENESS: &[fn(&Check)] = &[
    functions::check_fallback_is_there,
    functions::check_null_is_explained,
    owners::check_owner_is_named,
    prose::check_docs_are_there,
    prose::check_docs_are_done,
    prose::check_summaries,
    prose::check_names_exist,
];

/// Applies the rules to a spec.
pub fn check(spec: &Spec, sources: &Sources, diagnostics: &mut Diagnostics) {
    let mut found = Vec::new();
    outputs::check(spec, &mut found);
    found.into_iter().for_each(|diagnostic| diagnostics.push(diagnostic));
    for rules in [DESCRIPTIONS, FALLBACKS] {
        apply(rules, spec, sources, diagnostics);
    }
    if diagnostics.is_empty() {
        apply(COMPLETENESS, spec, sources, diagnostics);
    }
}

fn apply(rules: &[fn(&Check)], spec: &Spec, sources: &Sources, diagnostics: &mut Diagnostics) {
    let mut found = Vec::new();
    for (index, interface) in spec.interfaces.iter().enumerate() {
        let check = Check {
            spec,
            sources,
            interface,
            id: InterfaceId(index),
            before: diagnostics,
            found: RefCell::default(),
        };
        rules.iter().for_each(|rule| rule(&check));
        found.extend(check.found.into_inner());
    }
    found.into_iter().for_each(|diagnostic| diagnostics.push(diagnostic));
}

impl Diagnostic {
    /// Adds the diagnostic to the result.
    fn report(self, check: &Check) {
        check.report(self);
    }
}

/// The interface that is checked.
struct Check<'a> {
    spec: &'a Spec,
    sources: &'a Sources,
    interface: &'a Interface,
    id: InterfaceId,
    /// Earlier errors. Rules report nothing more about their places.
    before: &'a Diagnostics,
    found: RefCell<Vec<Diagnostic>>,
}

impl<'a> Check<'a> {
    fn report(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    /// Returns true if everything below a key resolved, or if the key is missing.
    fn trusts(&self, places: &Places, key: &str) -> bool {
        places.get(key).is_none_or(|places| self.before.trusts(places.extent))
    }

    /// Returns true if the type of a parameter resolved.
    fn knows_type(&self, param: &Param) -> bool {
        param.places.has("type") && self.trusts(&param.places, "type")
    }

    /// Returns true if no error was reported for a parameter.
    fn is_sound(&self, param: &Param) -> bool {
        param.places.has("type") && self.before.trusts(param.places.extent)
    }

    /// Returns true if a caller may pass null for a parameter.
    fn may_be_null(&self, param: &Param) -> bool {
        param.nullable || matches!(self.kind(param.ty), Some(TypeKind::Handle { null: Some(_), .. }))
    }

    fn lists(&self) -> Vec<ParamList<'a>> {
        let functions = self.interface.functions.iter().map(ParamList::of_function);
        let types = self.interface.types.iter().filter_map(ParamList::of_type);
        functions.chain(types).collect()
    }

    /// Returns every parameter and field whose type is known, with the list that contains it.
    fn params(&self) -> Vec<(ParamList<'a>, &'a Param)> {
        let lists = self.lists();
        let params = lists.into_iter().flat_map(|list| list.params.iter().map(move |param| (list, param)));
        params.filter(|(_, param)| self.knows_type(param)).collect()
    }

    /// Returns the return values of functions and callbacks.
    fn results(&self) -> Vec<&'a Param> {
        let functions = self.interface.functions.iter().filter_map(|function| function.result.value());
        let callbacks = self.interface.types.iter().filter_map(Type::result);
        functions.chain(callbacks).filter(|result| self.knows_type(result)).collect()
    }

    /// Returns the kind of a described type.
    fn kind(&self, ty: Ty) -> Option<&'a TypeKind> {
        self.spec.kind(ty)
    }
}

/// The parameters of a function or a callback, or the fields of a struct.
#[derive(Clone, Copy)]
struct ParamList<'a> {
    params: &'a [Param],
    of: ParamsOf<'a>,
}

#[derive(Clone, Copy)]
enum ParamsOf<'a> {
    Function(&'a Function),
    Callback(&'a Type),
    Struct(&'a Type),
}

impl<'a> ParamList<'a> {
    fn of_function(function: &'a Function) -> Self {
        ParamList { params: &function.params, of: ParamsOf::Function(function) }
    }

    fn of_type(ty: &'a Type) -> Option<Self> {
        match &ty.kind {
            TypeKind::Struct { fields, .. } => Some(ParamList { params: fields, of: ParamsOf::Struct(ty) }),
            TypeKind::Callback { params, .. } => Some(ParamList { params, of: ParamsOf::Callback(ty) }),
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Enum { .. } => None,
        }
    }

    fn name(self) -> &'a str {
        match self.of {
            ParamsOf::Function(function) => &function.name.value,
            ParamsOf::Callback(ty) | ParamsOf::Struct(ty) => &ty.name.value,
        }
    }
}

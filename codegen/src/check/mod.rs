//! The rules for a spec, beyond its grammar. Each rule is one `check_*` function; its doc comment states the rule.
//!
//! Rules only read the resolved model. A rule ignores a place that did not resolve, because that was already
//! reported.

mod fallbacks;
mod functions;
mod host_table;
mod names;
mod objects;
mod outputs;
mod params;
mod prose;
mod releases;
mod show;
mod table;
mod types;

use std::cell::RefCell;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Function, Interface, InterfaceId, Param, Places, Spec, Ty, Type, TypeKind};
use crate::source::Sources;
use fallbacks::Site;
use objects::{lives, order, owners, structs};
use outputs::{headers, python, rust, sdk};
use types::{enums, handles, shapes, sizes};

/// A rule: a function, by what it checks.
#[derive(Clone, Copy)]
enum Rule {
    Interface(fn(&Check)),
    Type(fn(&Check, &Type)),
    Function(fn(&Check, &Function)),
    /// A parameter or a field whose type is known, with the list that contains it.
    Param(fn(&Check, ParamList, &Param)),
    /// A parameter, a field or a result whose type is known.
    Value(fn(&Check, &Param)),
    Fallback(fn(&Check, Site)),
}

/// Rules about types, functions and tables.
const DESCRIPTIONS: &[Rule] = &[
    Rule::Interface(names::check_names_are_distinct),
    Rule::Type(names::check_values_are_distinct),
    Rule::Interface(names::check_symbols_are_distinct),
    Rule::Interface(names::check_tags_are_distinct),
    Rule::Interface(names::check_members_are_distinct),
    Rule::Interface(names::check_outputs_are_distinct),
    Rule::Interface(names::check_keywords),
    Rule::Interface(types::check_status),
    Rule::Interface(types::check_success),
    Rule::Interface(types::check_failure),
    Rule::Type(types::check_id),
    Rule::Interface(types::check_containment),
    Rule::Interface(types::check_unnamed),
    Rule::Type(handles::check_form),
    Rule::Value(handles::check_use),
    Rule::Value(handles::check_objects),
    Rule::Type(enums::check_numbers_are_distinct),
    Rule::Type(enums::check_aliases),
    Rule::Type(enums::check_range),
    Rule::Type(enums::check_meanings),
    Rule::Param(params::check_direction),
    Rule::Param(params::check_life),
    Rule::Value(params::check_role),
    Rule::Value(params::check_space),
    Rule::Value(params::check_null),
    Rule::Value(params::check_length_place),
    Rule::Param(params::check_length_type),
    Rule::Param(params::check_length_call),
    Rule::Interface(params::check_status_parameter),
    Rule::Interface(params::check_keys),
    Rule::Param(owners::check_owner),
    Rule::Param(owners::check_holder),
    Rule::Function(owners::check_order),
    Rule::Param(owners::check_context),
    Rule::Function(order::check_waits_or_queues),
    Rule::Interface(order::check_streams),
    Rule::Param(order::check_held),
    Rule::Interface(lives::check_handles_live),
    Rule::Interface(lives::check_ends_fit),
    Rule::Interface(lives::check_handle_names),
    Rule::Interface(lives::check_roles_are_named),
    Rule::Value(sizes::check_arrays),
    Rule::Interface(sizes::check_reserves),
    Rule::Function(sizes::check_sizes_are_lengths),
    Rule::Interface(releases::check_types_are_there),
    Rule::Function(releases::check_absent_is_given),
    Rule::Param(releases::check_absent_is_of_use),
    Rule::Param(releases::check_member_differs),
    Rule::Param(releases::check_absent_fits),
    Rule::Interface(releases::check_hosts),
    Rule::Function(functions::check_required_has_no_fallback),
    Rule::Function(functions::check_fill),
    Rule::Function(functions::check_unsound_null),
    Rule::Function(functions::check_refused_plugin),
    Rule::Function(functions::check_question),
    Rule::Function(functions::check_question_is_upright),
    Rule::Function(functions::check_answers),
    Rule::Interface(table::check_slot_owners),
    Rule::Interface(table::check_slots_are_distinct),
    Rule::Interface(table::check_every_function_has_a_slot),
    Rule::Interface(table::check_extension),
    Rule::Interface(table::check_reserves),
    Rule::Interface(table::check_plugin_struct),
    Rule::Interface(table::check_plugin_fields),
    Rule::Interface(structs::check_groups),
    Rule::Interface(structs::check_growth),
    Rule::Interface(structs::check_ends),
    Rule::Interface(structs::check_error),
    Rule::Param(structs::check_holds),
    Rule::Value(structs::check_use),
    Rule::Function(structs::check_arrays),
    Rule::Function(structs::check_lent_result),
    Rule::Function(structs::check_keys),
    Rule::Interface(host_table::check_slots),
    Rule::Interface(shapes::check_table_fields),
    Rule::Interface(shapes::check_owned_version),
    Rule::Interface(shapes::check_owned_growth),
    Rule::Interface(shapes::check_error_object),
    Rule::Function(shapes::check_args),
    Rule::Param(shapes::check_lent),
    Rule::Interface(sdk::check_place),
    Rule::Interface(sdk::check_methods),
    Rule::Interface(sdk::check_device),
    Rule::Interface(sdk::check_statuses),
    Rule::Interface(sdk::check_functions),
    Rule::Interface(sdk::check_callbacks),
    Rule::Interface(sdk::check_fields),
    Rule::Interface(sdk::check_symbols),
    Rule::Interface(headers::check_place),
    Rule::Interface(headers::check_no_circle),
    Rule::Interface(python::check_place),
    Rule::Interface(python::check_names),
    Rule::Function(python::check_parameters),
    Rule::Function(python::check_forms),
    Rule::Interface(rust::check_types),
    Rule::Interface(rust::check_functions),
    Rule::Interface(rust::check_variables),
    Rule::Interface(rust::check_symbols),
    Rule::Interface(rust::check_interface),
    Rule::Interface(rust::check_standard_headers),
];

/// Rules about fallbacks. They assume that the rules about descriptions passed.
const FALLBACKS: &[Rule] = &[
    Rule::Fallback(fallbacks::form::check_keys),
    Rule::Fallback(fallbacks::form::check_reason),
    Rule::Fallback(fallbacks::form::check_refusal),
    Rule::Fallback(fallbacks::form::check_strategy),
    Rule::Fallback(fallbacks::form::check_buffers),
    Rule::Interface(fallbacks::needs::check_cycles),
    Rule::Fallback(fallbacks::needs::check_absent),
    Rule::Fallback(fallbacks::needs::check_newer),
    Rule::Fallback(fallbacks::arguments::check_given),
    Rule::Fallback(fallbacks::arguments::check_arguments),
    Rule::Fallback(fallbacks::owners::check_owners),
    Rule::Fallback(fallbacks::order::check_waits),
    Rule::Fallback(fallbacks::results::check_constants),
    Rule::Fallback(fallbacks::results::check_results),
    Rule::Fallback(fallbacks::results::check_answer),
];

/// Rules about missing text. They run only if there are no other errors, because a wrong entry should be corrected
/// before it is documented.
const COMPLETENESS: &[Rule] = &[
    Rule::Function(functions::check_fallback_is_there),
    Rule::Interface(functions::check_null_is_explained),
    Rule::Function(owners::check_owner_is_named),
    Rule::Interface(prose::check_docs_are_there),
    Rule::Interface(prose::check_docs_are_done),
    Rule::Interface(prose::check_summaries),
    Rule::Interface(prose::check_names_exist),
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

fn apply(rules: &[Rule], spec: &Spec, sources: &Sources, diagnostics: &mut Diagnostics) {
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
        rules.iter().for_each(|rule| check.apply(*rule));
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
    /// Applies a rule to everything of its kind.
    fn apply(&self, rule: Rule) {
        match rule {
            Rule::Interface(rule) => rule(self),
            Rule::Type(rule) => self.interface.types.iter().for_each(|ty| rule(self, ty)),
            Rule::Function(rule) => self.interface.functions.iter().for_each(|function| rule(self, function)),
            Rule::Param(rule) => self.params().into_iter().for_each(|(list, param)| rule(self, list, param)),
            Rule::Value(rule) => self.values().for_each(|param| rule(self, param)),
            Rule::Fallback(rule) => fallbacks::sites(self).into_iter().for_each(|site| rule(self, site)),
        }
    }

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
        let types = self.interface.types.iter().flat_map(ParamList::of_type);
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

    /// Returns every parameter, field and result whose type is known.
    fn values(&self) -> impl Iterator<Item = &'a Param> {
        self.params().into_iter().map(|(_, param)| param).chain(self.results())
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

    fn of_type(ty: &'a Type) -> Vec<Self> {
        let of_struct = |params| ParamList { params, of: ParamsOf::Struct(ty) };
        match &ty.kind {
            TypeKind::Struct { fields, .. } => vec![of_struct(fields)],
            TypeKind::Callback { params, .. } => vec![ParamList { params, of: ParamsOf::Callback(ty) }],
            TypeKind::Handle { object: Some(object), .. } => {
                vec![of_struct(&object.head), of_struct(&object.tail)]
            }
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Enum { .. } => Vec::new(),
        }
    }

    fn name(self) -> &'a str {
        match self.of {
            ParamsOf::Function(function) => &function.name.value,
            ParamsOf::Callback(ty) | ParamsOf::Struct(ty) => &ty.name.value,
        }
    }
}

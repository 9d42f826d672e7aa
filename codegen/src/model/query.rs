//! Queries of the model that several emitters need.

use super::{
    Availability, ComputeKind, Direction, EnumValue, ErrorObject, Extension, Extent, Form, Function,
    FunctionId, Group, GroupId, HandOver, HandleForm, Interface, InterfaceId, InterfaceKind, Length, Meaning,
    Need, Object, OutputPlace, Outputs, OwnedTable, Param, ParamId, PlaceKind, Places, Plugin, Release,
    ReleaseId, ResultKind, Role, Spec, StatusValue, Table, Ty, Type, TypeId, TypeKind,
};
use crate::grammar::outputs::OutputKind;
use crate::source::{At, Span};

impl Spec {
    /// Returns the type with an id.
    pub fn ty(&self, id: TypeId) -> &Type {
        &self.interfaces[id.interface.0].types[id.index]
    }

    /// Returns the types of all interfaces.
    pub fn type_ids(&self) -> impl Iterator<Item = TypeId> {
        self.interfaces.iter().enumerate().flat_map(|(interface, of)| {
            (0..of.types.len()).map(move |index| TypeId { interface: InterfaceId(interface), index })
        })
    }

    /// Returns the kind of a described type.
    pub fn kind(&self, ty: Ty) -> Option<&TypeKind> {
        ty.id().map(|id| &self.ty(id).kind)
    }

    /// Returns the struct of an object that the implementer makes, if a type is one.
    pub fn object(&self, ty: Ty) -> Option<&Object> {
        match self.kind(ty)? {
            TypeKind::Handle { object, .. } => object.as_deref(),
            _ => None,
        }
    }

    /// Returns true if a function of an interface lends objects of a type as its result.
    pub fn lends(&self, interface: &Interface, ty: &Type) -> bool {
        let results = interface.functions.iter().filter_map(|function| function.result.value());
        let mut lent = results.filter(|result| result.lent).filter_map(|result| result.ty.id());
        lent.any(|id| std::ptr::eq(self.ty(id), ty))
    }

    /// Returns the fields of a version that are its numbers: all but a size or an address before them.
    pub fn version_fields(&self, ty: Ty) -> Vec<&Param> {
        match self.kind(ty) {
            Some(TypeKind::Struct { fields, .. }) => {
                fields.iter().filter(|field| field.holds.is_none() && field.ty != Ty::Pointer).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if a null handle of a type has a meaning.
    pub fn has_null(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), Some(TypeKind::Handle { null: Some(_), .. }))
    }

    /// Returns the handle of the error object that the functions of an interface return instead of a status.
    pub fn error_type(&self, interface: &Interface) -> Option<TypeId> {
        self.error_of(interface).map(|error| error.ty)
    }

    /// Returns the error object that the functions of an interface return: its own, or that of a host.
    pub fn error_of(&self, interface: &Interface) -> Option<ErrorObject> {
        let host = interface.host_error.and_then(|host| self.interfaces[host.0].error);
        interface.error.or(host)
    }

    /// Returns the meaning of a type in computations.
    pub fn compute_kind(&self, ty: Ty) -> Option<ComputeKind> {
        self.ty(ty.id()?).compute
    }

    /// Returns the constness of a handle by pointer or with `c_const`: `(is_const, const_name)`.
    fn handle_constness(&self, ty: Ty) -> Option<(bool, Option<&str>)> {
        let Ty::Named(id) = ty else { return None };
        match &self.ty(id).kind {
            TypeKind::Handle { is_const, const_name, .. } => Some((*is_const, const_name.as_deref())),
            _ => None,
        }
    }

    /// Returns true if a function that takes this handle by pointer takes a pointer to const in C, unless `const`
    /// says otherwise.
    pub fn is_const_handle(&self, ty: Ty) -> bool {
        self.handle_constness(ty).is_none_or(|(is_const, _)| is_const)
    }

    /// Returns the C name of a parameter's type for read-only objects, if the type has such a name and the parameter
    /// uses it.
    pub fn const_handle_name(&self, param: &Param) -> Option<&str> {
        let (_, name) = self.handle_constness(param.ty)?;
        name.filter(|_| param.constness == Some(true))
    }

    /// Returns true if a type is a struct.
    pub fn is_struct(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), Some(TypeKind::Struct { .. }))
    }

    /// Returns true if a field is of a type that C has no name for.
    pub fn is_unnamed(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), Some(TypeKind::Struct { is_unnamed: true, .. }))
    }

    /// Returns true if a struct of arguments contains the value that the function writes, and not the address of a
    /// location for it.
    pub fn is_written_in_args(&self, param: &Param) -> bool {
        if param.dir == Direction::In || param.length.is_some() {
            return param.lent;
        }
        match param.ty {
            Ty::String => false,
            Ty::Pointer => param.role == Role::Creates,
            Ty::Named(id) => match &self.ty(id).kind {
                TypeKind::Handle { form: HandleForm::Pointee(_), .. } => {
                    param.lent || param.role == Role::Creates
                }
                TypeKind::Handle { .. } | TypeKind::Enum { .. } => true,
                TypeKind::Struct { .. } => param.dir == Direction::Out,
                TypeKind::Id { .. } | TypeKind::Callback { .. } => false,
            },
            _ => true,
        }
    }

    /// Returns true if C passes a handle of this parameter as a pointer to const.
    pub fn points_to_const(&self, param: &Param) -> bool {
        let Ty::Named(id) = param.ty else { return false };
        match &self.ty(id).kind {
            TypeKind::Handle { form: HandleForm::Pointee(_), is_const, .. } => {
                param.constness.unwrap_or(*is_const && param.dir == Direction::In)
            }
            _ => self.const_handle_name(param).is_some(),
        }
    }

    /// Returns the interface with a name.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name.value == name)
    }

    /// Returns the value of a status that generated code returns for a case: the one that the spec names for it, else one
    /// that it names for another case, else the first that is neither success nor the answer to a question, else the first
    /// that is not success. `None`: there is only success.
    pub fn failure(&self, status: TypeId, meaning: Meaning) -> Option<&EnumValue> {
        let values = || self.ty(status).enum_values().iter().filter(|value| value.value != 0);
        let for_case = |wanted: Meaning| values().find(|value| value.means == Some(wanted));
        let order = [meaning, Meaning::Internal, Meaning::InvalidArgument, Meaning::Unsupported];
        let interfaces = self.interfaces.iter().filter(|interface| interface.status == Some(status));
        let questions = interfaces.flat_map(|interface| &interface.functions).filter_map(|it| it.question);
        let answers: Vec<StatusValue> = questions.flat_map(|(yes, no)| [yes, no]).collect();
        let is_answer = |value: &EnumValue| {
            let all = self.ty(status).enum_values();
            answers.iter().any(|answer| std::ptr::eq(&all[answer.0], value))
        };
        order
            .into_iter()
            .find_map(for_case)
            .or_else(|| values().find(|value| !is_answer(value)))
            .or_else(|| values().next())
    }

    /// Returns the integer type of an enum.
    pub fn integer_of(&self, ty: Ty) -> Option<Ty> {
        match self.kind(ty)? {
            TypeKind::Enum { representation, .. } => Some(representation.ty()),
            _ => None,
        }
    }

    /// Returns the values of an interface's status enum.
    pub fn status_values(&self, interface: &Interface) -> &[EnumValue] {
        match interface.status.map(|id| &self.ty(id).kind) {
            Some(TypeKind::Enum { values, .. }) => values,
            _ => &[],
        }
    }
}

impl Outputs {
    /// Returns the places of a kind of output.
    pub fn places(&self, kind: &OutputKind) -> impl Iterator<Item = &OutputPlace> {
        let key = kind.key;
        self.places.iter().filter(move |place| place.key == key)
    }

    /// Returns the first place of a kind, for kinds that have one.
    pub fn place(&self, kind: &OutputKind) -> Option<&OutputPlace> {
        self.places(kind).next()
    }

    /// Returns true if the outputs of a key are committed.
    pub fn is_committed(&self, key: &str) -> bool {
        !self.uncommitted.iter().any(|uncommitted| uncommitted == key)
    }
}

impl OutputPlace {
    /// Returns true for a folder of outputs.
    pub fn is_folder(&self) -> bool {
        self.kind != PlaceKind::File
    }

    /// Returns the path of a file that it is made from; empty if it has no such key.
    pub fn read(&self, key: &str) -> &str {
        self.reads.iter().find(|(known, _)| *known == key).map_or("", |(_, path)| path)
    }
}

impl Interface {
    /// Returns the function with an id.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0]
    }

    /// Returns the function with a name.
    pub fn find(&self, name: &str) -> Option<(FunctionId, &Function)> {
        let index = self.functions.iter().position(|function| function.name.value == name)?;
        Some((FunctionId(index), &self.functions[index]))
    }

    /// Returns the functions with their ids, in the order of the docs.
    pub fn function_ids(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().enumerate().map(|(index, function)| (FunctionId(index), function))
    }

    /// Returns the releases with their ids, oldest first.
    pub fn release_ids(&self) -> impl DoubleEndedIterator<Item = (ReleaseId, &Release)> {
        self.releases.iter().enumerate().map(|(index, release)| (ReleaseId(index), release))
    }

    /// Returns the releases that have an ABI of their own: `[None]` if the interface has no releases.
    pub fn abis(&self) -> Vec<Option<ReleaseId>> {
        match self.releases.len() {
            0 => vec![None],
            releases => (0..releases).map(|index| Some(ReleaseId(index))).collect(),
        }
    }

    /// Returns the newest release, if the interface has releases.
    pub fn newest(&self) -> Option<ReleaseId> {
        self.releases.len().checked_sub(1).map(ReleaseId)
    }

    /// Returns the table, if the interface has one.
    pub fn table(&self) -> Option<&Table> {
        match &self.kind {
            InterfaceKind::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the functions that an implementation can have: all except those of error objects, those that release
    /// objects, and those that the library refuses.
    pub fn methods(&self) -> impl Iterator<Item = &Function> {
        let functions = self.function_ids().filter(|(id, _)| !self.is_of_errors(*id));
        let functions = functions.map(|(_, function)| function);
        functions.filter(|function| function.releases.is_none() && self.refusal(function).is_none())
    }

    /// Returns true if a function belongs to error objects. Generated code implements these functions itself.
    pub fn is_of_errors(&self, id: FunctionId) -> bool {
        self.error.is_some_and(|error| error.has(id))
    }

    /// Returns the functions of a group, in the order of the docs.
    pub fn in_group(&self, group: GroupId) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(move |function| function.group == group)
    }

    /// Returns the groups that have their own trait: those with an object, and in an export with several groups, those with
    /// methods.
    pub fn trait_groups(&self) -> Vec<(GroupId, &Group)> {
        let groups = self.groups.iter().enumerate().map(|(index, group)| (GroupId(index), group));
        match self.kind {
            InterfaceKind::Export => {
                let groups: Vec<_> = groups.filter(|(id, _)| self.methods_in(*id).next().is_some()).collect();
                if groups.len() > 1 { groups } else { Vec::new() }
            }
            InterfaceKind::Objects => groups.filter(|(id, _)| self.object_in(*id).is_some()).collect(),
            InterfaceKind::Table(_) | InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. } => {
                Vec::new()
            }
        }
    }

    /// Returns the name of the trait of a group: that of its object, or one that is made of its name.
    pub fn group_trait(&self, id: GroupId) -> String {
        match self.object_in(id) {
            Some((ty, _)) => ty.name.value.clone(),
            None => format!("{}{}", self.trait_name, heck::AsPascalCase(&self.groups[id.0].name)),
        }
    }

    /// Returns the object whose functions a group describes.
    pub fn object_in(&self, group: GroupId) -> Option<(&Type, &Object)> {
        self.objects().find(|(ty, _)| ty.group == group)
    }

    /// Returns the objects that the implementer makes, in the order of the spec.
    pub fn objects(&self) -> impl Iterator<Item = (&Type, &Object)> {
        self.types.iter().filter_map(|ty| match &ty.kind {
            TypeKind::Handle { object, .. } => Some((ty, object.as_deref()?)),
            _ => None,
        })
    }

    /// Returns the name of the trait that has a method: the trait of its group, if groups have traits.
    pub fn trait_with(&self, function: &Function) -> String {
        let is_of_group = self.trait_groups().iter().any(|(id, _)| *id == function.group);
        if is_of_group { self.group_trait(function.group) } else { self.trait_name.clone() }
    }

    /// Returns the word for its kind.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            InterfaceKind::Table(_) => "table",
            InterfaceKind::Export => "export",
            InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. } => "import",
            InterfaceKind::Objects => "objects",
        }
    }
}

impl Table {
    /// Returns the hand-over of a table that the host owns.
    pub fn plugin(&self) -> Option<&Plugin> {
        match &self.hand_over {
            HandOver::Params(plugin) => Some(plugin),
            HandOver::Unknown | HandOver::Owned(_) => None,
        }
    }

    /// Returns the hand-over of a table that the plugin owns.
    pub fn owned(&self) -> Option<&OwnedTable> {
        match &self.hand_over {
            HandOver::Owned(owned) => Some(owned),
            HandOver::Unknown | HandOver::Params(_) => None,
        }
    }

    /// Returns the functions of the table and its extension, once for each place where one has a slot.
    pub fn slot_owners(&self) -> impl Iterator<Item = &At<FunctionId>> {
        let slots = self.blocks.iter().flat_map(|block| &block.slots).flat_map(|slot| &slot.functions);
        slots.chain(self.extension.iter().flat_map(Extension::functions))
    }

    /// Returns the data member with a name.
    pub fn field(&self, name: &str) -> Option<&Param> {
        let mut fields = self.blocks.iter().flat_map(|block| &block.fields);
        fields.find(|field| field.param.name.value == name).map(|field| &field.param)
    }
}

impl Extension {
    /// Returns its functions, in the order of the ABI.
    pub fn functions(&self) -> impl Iterator<Item = &At<FunctionId>> {
        self.releases.iter().flat_map(|release| &release.functions)
    }

    /// Returns the version of its newest release: major, minor.
    pub fn version(&self) -> [u64; 2] {
        self.releases.last().map(|release| release.version).unwrap_or_default()
    }
}

impl Places {
    /// Returns true if the entry has a key.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the places of a key, if the entry has it.
    pub fn get(&self, key: &str) -> Option<&Places> {
        self.below.iter().find(|(known, _)| known == key).map(|(_, places)| places)
    }

    /// Returns the places of a key; if the entry lacks it, those of the entry.
    pub fn at(&self, key: &str) -> &Places {
        self.get(key).unwrap_or(self)
    }

    /// Returns the span of a key's value; if the entry lacks the key, that of the entry's name.
    pub fn span(&self, key: &str) -> Span {
        self.get(key).map_or(self.key, |places| places.value)
    }

    /// Returns the keys below the entry, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &Places)> {
        self.below.iter().map(|(key, places)| (key.as_str(), places))
    }
}

impl Release {
    /// Formats the exact host versions that were checked, as a list in a sentence.
    pub fn host_list(&self) -> String {
        let hosts: Vec<&str> = self.hosts.iter().map(|host| host.value.as_str()).collect();
        hosts.join(", ")
    }
}

impl Availability {
    /// Returns true if a release is in the range. Without releases this is always true.
    pub fn contains(self, release: ReleaseId) -> bool {
        self.since.is_none_or(|since| since <= release) && self.until.is_none_or(|until| release <= until)
    }

    /// Returns true if a release is in the range, or if there is none.
    pub fn is_in(self, release: Option<ReleaseId>) -> bool {
        release.is_none_or(|release| self.contains(release))
    }

    /// Returns true if some release is in both ranges.
    pub fn overlaps(self, other: Availability) -> bool {
        let starts = |a: Availability, b: Availability| match (a.since, b.until) {
            (Some(since), Some(until)) => since <= until,
            _ => true,
        };
        starts(self, other) && starts(other, self)
    }
}

impl ResultKind {
    /// Returns the returned value, if there is one.
    pub fn value(&self) -> Option<&Param> {
        match self {
            ResultKind::Value(value) => Some(value),
            ResultKind::Status | ResultKind::None => None,
        }
    }
}

impl Type {
    /// Returns the fields of a struct, or the parameters of a callback.
    pub fn params(&self) -> &[Param] {
        match &self.kind {
            TypeKind::Struct { fields: params, .. } | TypeKind::Callback { params, .. } => params,
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Enum { .. } => &[],
        }
    }

    /// Returns the result of a callback.
    pub fn result(&self) -> Option<&Param> {
        match &self.kind {
            TypeKind::Callback { result, .. } => result.as_deref(),
            _ => None,
        }
    }

    /// Returns the types that its declaration uses.
    pub fn names(&self) -> impl Iterator<Item = TypeId> {
        self.params().iter().chain(self.result()).filter_map(|param| param.ty.id())
    }
}

impl Function {
    /// Returns true if an implementation may leave it out.
    pub fn is_optional(&self) -> bool {
        self.need == Need::Optional
    }

    /// Returns the parameter with an id.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0]
    }

    /// Returns the parameters with their forms.
    pub fn formed(&self) -> impl Iterator<Item = (&Param, &Form)> + Clone {
        self.params.iter().zip(&self.forms)
    }

    /// Returns the parameters with their ids.
    pub fn param_ids(&self) -> impl Iterator<Item = (ParamId, &Param)> {
        self.params.iter().enumerate().map(|(index, param)| (ParamId(index), param))
    }

    /// Returns the parameters of its signature in a release.
    pub fn params_in(&self, release: Option<ReleaseId>) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(move |param| param.availability.is_in(release))
    }

    /// Returns the results other than its return value: the out-parameters that are neither the status nor memory of
    /// the caller.
    pub fn outputs(&self) -> impl Iterator<Item = (ParamId, &Param)> {
        self.param_ids().filter(|(_, param)| param.is_output())
    }

    /// Returns the releases in which its signature changes, each with the release before it.
    pub fn signature_changes(&self, releases: usize) -> Vec<(ReleaseId, ReleaseId)> {
        // New members of a struct of arguments do not change the signature.
        let releases = if self.args.is_some() { 0 } else { releases };
        (1..releases)
            .map(|index| (ReleaseId(index - 1), ReleaseId(index)))
            .filter(|(before, after)| {
                self.availability.contains(*before)
                    && self.availability.contains(*after)
                    && self.params.iter().any(|param| {
                        param.availability.contains(*before) != param.availability.contains(*after)
                    })
            })
            .collect()
    }
}

impl Param {
    /// Returns true if the function returns the address of its own list.
    pub fn is_lent_list(&self) -> bool {
        self.lent && self.length.is_some()
    }

    /// Returns true if it is a result of the function, and not memory of the caller that the function writes to.
    pub fn is_output(&self) -> bool {
        self.dir == Direction::Out && !self.is_status && !self.is_caller_memory()
    }

    /// Returns true if the ABI passes the value itself, and not its address.
    pub fn is_by_value(&self) -> bool {
        self.dir == Direction::In && self.length.is_none() && !self.lent && !self.by_pointer
    }

    /// Returns true if it is the context of a callback, which only the callback dereferences.
    pub fn is_context(&self) -> bool {
        self.ty == Ty::Pointer && self.space.is_none() && self.length.is_none()
    }

    /// Returns true if it is the address of memory that the function reads or writes.
    pub fn is_caller_memory(&self) -> bool {
        if self.lent {
            return false;
        }
        match self.ty {
            Ty::Pointer => self.role != Role::Creates,
            Ty::Char | Ty::String => {
                matches!(self.length, Some(Length::Bytes(Extent::Param(_)) | Length::Count(Extent::Param(_))))
            }
            _ => matches!(self.length, Some(Length::Count(Extent::Param(_)))),
        }
    }
}

impl Direction {
    /// Returns its name in the spec language.
    pub fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        }
    }
}

impl Ty {
    /// Returns the primitive with a name in the spec language.
    pub fn primitive(name: &str) -> Option<Ty> {
        Self::PRIMITIVES.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty)
    }

    /// The primitives, with their names in the spec language.
    pub const PRIMITIVES: &'static [(&'static str, Ty)] = &[
        ("bool", Ty::Bool),
        ("i8", Ty::Int { bits: 8, signed: true }),
        ("i16", Ty::Int { bits: 16, signed: true }),
        ("i32", Ty::Int { bits: 32, signed: true }),
        ("i64", Ty::Int { bits: 64, signed: true }),
        ("u8", Ty::Int { bits: 8, signed: false }),
        ("u16", Ty::Int { bits: 16, signed: false }),
        ("u32", Ty::Int { bits: 32, signed: false }),
        ("u64", Ty::Int { bits: 64, signed: false }),
        ("f32", Ty::F32),
        ("f64", Ty::F64),
        ("size", Ty::Size),
        ("ulonglong", Ty::ULongLong),
        ("char", Ty::Char),
        ("string", Ty::String),
        ("pointer", Ty::Pointer),
    ];

    /// Returns the id, if it is not a primitive.
    pub fn id(self) -> Option<TypeId> {
        match self {
            Ty::Named(id) => Some(id),
            _ => None,
        }
    }

    /// Returns its name in the spec language.
    pub fn name(self, spec: &Spec) -> &str {
        match self {
            Ty::Named(id) => &spec.ty(id).name.value,
            ty => Self::PRIMITIVES.iter().find(|(_, known)| *known == ty).map_or("?", |(name, _)| name),
        }
    }

    /// Returns true if it can be the type of a length.
    pub fn is_length(self) -> bool {
        matches!(self, Ty::Size | Ty::Int { .. } | Ty::ULongLong)
    }
}

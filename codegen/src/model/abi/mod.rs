//! Layouts: where each member of a table or a struct is, in each release, and what changed between two of
//! them.
//!
//! The rules are those of the System V and AArch64 ABIs for 64-bit systems: pointers and `size_t` have 8
//! bytes, scalars are aligned to their size, an enum is an `int`.

mod diff;

pub use diff::{Change, ChangeKind, diff};

use crate::model::{
    ArgsStruct, Block, Direction, Extension, Extent, Function, FunctionId, Interface, Length, Object, Param,
    ParamId, ReleaseId, Slot, Spec, Table, Ty, Type, TypeKind,
};

/// Bytes of a pointer.
pub const POINTER: u64 = 8;

/// A table in one release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLayout {
    /// Size of the struct in bytes.
    pub size: u64,
    /// Members in the order of the ABI.
    pub members: Vec<Member>,
}

/// A member of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Bytes from the start of the struct.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The kind of member.
    pub kind: MemberKind,
}

/// The kind of a member of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// The size of the struct.
    Size,
    /// A function pointer.
    Function(FunctionId),
    /// Unused slots: name of the array and number of elements.
    Reserved(String, u64),
    /// A data member: the index of its block, and its index in the block. The head of an object is block 0, its tail is
    /// block 1.
    Field(usize, usize),
}

impl TableLayout {
    /// Returns the offset of a function's pointer, if the release has it.
    pub fn offset_of(&self, function: FunctionId) -> Option<u64> {
        self.members
            .iter()
            .find(|member| member.kind == MemberKind::Function(function))
            .map(|member| member.offset)
    }

    /// Returns the offset of the first function.
    pub fn start_of_functions(&self) -> Option<u64> {
        let mut functions =
            self.members.iter().filter(|member| matches!(member.kind, MemberKind::Function(_)));
        functions.next().map(|member| member.offset)
    }

    /// Returns the functions that the release has, in the order of the ABI.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> {
        self.members.iter().filter_map(|member| match member.kind {
            MemberKind::Function(function) => Some(function),
            _ => None,
        })
    }
}

/// Returns the layout of a table in a release; without releases, the only one.
pub fn table_layout(interface: &Interface, table: &Table, release: Option<ReleaseId>) -> TableLayout {
    let mut members = vec![Member { offset: 0, size: POINTER, kind: MemberKind::Size }];
    let mut offset = POINTER;
    let mut push = |size, kind, align: u64| {
        offset = offset.next_multiple_of(align);
        members.push(Member { offset, size, kind });
        offset += size;
    };
    for (number, block) in table.blocks.iter().enumerate() {
        for (index, field) in block.fields.iter().enumerate() {
            push(field.size, MemberKind::Field(number, index), field.align);
        }
        for function in block.slots.iter().filter_map(|slot| slot_owner(interface, slot, release)) {
            push(POINTER, MemberKind::Function(function), POINTER);
        }
        if let Some(reserved) = &block.reserved {
            let count = reserve_left(interface, block, release);
            if count > 0 {
                push(count * POINTER, MemberKind::Reserved(reserved.name.clone(), count), POINTER);
            }
        }
    }
    TableLayout { size: offset.next_multiple_of(POINTER), members }
}

/// Returns the layout of an object in a release; without releases, the only one.
pub fn object_layout(
    spec: &Spec,
    interface: &Interface,
    (ty, object): (&Type, &Object),
    release: Option<ReleaseId>,
) -> TableLayout {
    let (mut members, mut end, mut align) = (Vec::new(), 0u64, POINTER);
    let mut push = |kind, (size, alignment): (u64, u64)| {
        let offset = end.next_multiple_of(alignment);
        members.push(Member { offset, size, kind });
        end = offset + size;
        align = align.max(alignment);
    };
    let fields = |block, fields: &[Param], push: &mut dyn FnMut(MemberKind, (u64, u64))| {
        for (index, field) in fields.iter().enumerate().filter(|(_, it)| it.availability.is_in(release)) {
            push(MemberKind::Field(block, index), field_size(spec, field, release));
        }
    };
    fields(0, &object.head, &mut push);
    for (id, function) in interface.function_ids().filter(|(_, function)| function.group == ty.group) {
        if function.availability.is_in(release) {
            push(MemberKind::Function(id), (POINTER, POINTER));
        }
    }
    fields(1, &object.tail, &mut push);
    TableLayout { size: end.next_multiple_of(align), members }
}

/// Returns the layout of a table of a host in a release: an unused slot for each function that the spec does not describe.
pub fn host_table_layout(interface: &Interface, release: Option<ReleaseId>) -> TableLayout {
    let described = interface.function_ids().filter(|(_, function)| function.availability.is_in(release));
    let mut described: Vec<(u64, FunctionId)> =
        described.filter_map(|(id, function)| Some((function.slot?, id))).collect();
    described.sort_unstable();
    let (mut members, mut end) = (Vec::new(), 0u64);
    for (slot, id) in described {
        let unused = slot.saturating_sub(end / POINTER);
        if unused > 0 {
            let kind = MemberKind::Reserved(format!("unused_{}", end / POINTER), unused);
            members.push(Member { offset: end, size: unused * POINTER, kind });
        }
        members.push(Member { offset: slot * POINTER, size: POINTER, kind: MemberKind::Function(id) });
        end = (slot + 1) * POINTER;
    }
    TableLayout { size: end, members }
}

/// Bytes before the functions of an extension: its size, and its major and minor number.
pub const EXTENSION_HEAD: u64 = POINTER + 8;

/// Returns the offset of each function in an extension, and the size of the whole.
pub fn extension_layout(extension: &Extension) -> (Vec<(FunctionId, u64)>, u64) {
    let offsets = (0..).map(|index| EXTENSION_HEAD + index * POINTER);
    let slots: Vec<_> = extension.functions().map(|function| function.value).zip(offsets).collect();
    let size = EXTENSION_HEAD + slots.len() as u64 * POINTER;
    (slots, size)
}

/// A member of a struct of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgsMember {
    /// Number of bytes of the struct the caller has.
    Size,
    /// The reserved pointer.
    Extension,
    /// A parameter.
    Param(ParamId),
}

/// The layout of a struct of arguments in the newest release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgsLayout {
    /// Size in bytes.
    pub size: u64,
    /// Members with their offset and size.
    pub members: Vec<(ArgsMember, u64, u64)>,
    /// Number of bytes that a caller of the oldest release has.
    pub least: u64,
}

/// Lays out the struct whose members are the parameters of a function.
pub fn args_layout(spec: &Spec, function: &Function, args: &ArgsStruct) -> ArgsLayout {
    let head = [Some(ArgsMember::Size), args.extension.as_ref().map(|_| ArgsMember::Extension)];
    let params = (0..function.params.len()).map(|index| ArgsMember::Param(ParamId(index)));
    let (mut end, mut align, mut least) = (0u64, POINTER, 0);
    let mut members = Vec::new();
    for member in head.into_iter().flatten().chain(params) {
        let (size, alignment) = match member {
            ArgsMember::Size | ArgsMember::Extension => (POINTER, POINTER),
            ArgsMember::Param(id) => args_member_size(spec, function.param(id)),
        };
        let offset = end.next_multiple_of(alignment);
        members.push((member, offset, size));
        end = offset + size;
        align = align.max(alignment);
        let is_new =
            matches!(member, ArgsMember::Param(id) if function.param(id).availability.since.is_some());
        if !is_new {
            least = end;
        }
    }
    ArgsLayout { size: end.next_multiple_of(align), members, least }
}

fn args_member_size(spec: &Spec, param: &Param) -> (u64, u64) {
    let is_pointer = param.lent
        || param.length.is_some()
        || param.by_pointer
        || (param.dir != Direction::In && !spec.is_written_in_args(param));
    if is_pointer { (POINTER, POINTER) } else { size_of(spec, param.ty, None) }
}

/// Returns the function that has a slot in a release.
fn slot_owner(interface: &Interface, slot: &Slot, release: Option<ReleaseId>) -> Option<FunctionId> {
    slot.functions
        .iter()
        .map(|function| function.value)
        .find(|function| interface.function(*function).availability.is_in(release))
}

/// Returns the number of unused slots of a block's reserve in a release.
pub fn reserve_left(interface: &Interface, block: &Block, release: Option<ReleaseId>) -> u64 {
    let spent = block
        .slots
        .iter()
        .filter(|slot| slot.from_reserve && slot_owner(interface, slot, release).is_some())
        .count() as u64;
    block.reserved.as_ref().map_or(0, |reserved| reserved.count.saturating_sub(spent))
}

/// A struct in one release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Index, offset and size of each field that the release has.
    pub fields: Vec<(usize, u64, u64)>,
}

/// Returns the layout of a struct's fields in a release.
pub fn struct_layout(spec: &Spec, fields: &[Param], release: Option<ReleaseId>) -> StructLayout {
    let (mut end, mut align) = (0u64, 1u64);
    let mut placed = Vec::new();
    for (index, field) in fields.iter().enumerate().filter(|(_, field)| field.availability.is_in(release)) {
        let (size, alignment) = field_size(spec, field, release);
        let offset = end.next_multiple_of(alignment);
        placed.push((index, offset, size));
        end = offset + size;
        align = align.max(alignment);
    }
    StructLayout { size: end.next_multiple_of(align), align, fields: placed }
}

/// Returns the layout of a union of the fields in a release.
pub fn union_layout(spec: &Spec, fields: &[Param], release: Option<ReleaseId>) -> StructLayout {
    let one = |(index, field): (usize, &Param)| {
        let layout = struct_layout(spec, std::slice::from_ref(field), release);
        layout.fields.first().map(|(_, _, size)| ((index, 0, *size), layout.align))
    };
    let placed: Vec<_> = fields.iter().enumerate().filter_map(one).collect();
    let align = placed.iter().map(|(_, align)| *align).max().unwrap_or(1);
    let size = placed.iter().map(|((_, _, size), _)| *size).max().unwrap_or_default();
    StructLayout {
        size: size.next_multiple_of(align),
        align,
        fields: placed.into_iter().map(|(field, _)| field).collect(),
    }
}

/// Computes the size and the alignment of a field in bytes. An array of fixed length is part of the struct, any other
/// one is pointed to.
fn field_size(spec: &Spec, field: &Param, release: Option<ReleaseId>) -> (u64, u64) {
    match &field.length {
        Some(Length::Count(Extent::Number(count))) => {
            let (size, align) = size_of(spec, field.ty, release);
            (size * count, align)
        }
        Some(Length::Count(_)) => (POINTER, POINTER),
        _ if field.dir != Direction::In => (POINTER, POINTER),
        _ => size_of(spec, field.ty, release),
    }
}

/// Computes the size and the alignment of a type in bytes.
pub fn size_of(spec: &Spec, ty: Ty, release: Option<ReleaseId>) -> (u64, u64) {
    let scalar = |size| (size, size);
    match ty {
        Ty::Bool | Ty::Char => scalar(1),
        Ty::Int { bits, .. } => scalar(u64::from(bits) / 8),
        Ty::F32 => scalar(4),
        Ty::F64 | Ty::ULongLong => scalar(8),
        Ty::Size | Ty::String | Ty::Pointer => scalar(POINTER),
        Ty::Named(id) => match &spec.ty(id).kind {
            TypeKind::Enum { .. } => scalar(4),
            TypeKind::Struct { fields, is_union, .. } => {
                let layout = match is_union {
                    true => union_layout(spec, fields, release),
                    false => struct_layout(spec, fields, release),
                };
                (layout.size, layout.align)
            }
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Callback { .. } => scalar(POINTER),
        },
    }
}

//! Tables of function pointers: their slots, and how they are handed over between host and plugin.

use super::{FunctionId, Param, TypeId};
use crate::source::{At, Span};

/// The table of an interface of this kind.
#[derive(Debug)]
pub struct Table {
    /// C name of the struct.
    pub c_name: String,
    /// The member with the size.
    pub size_field: String,
    /// Slots in the order of the ABI.
    pub blocks: Vec<Block>,
    /// The way in which host and plugin hand it over.
    pub hand_over: HandOver,
    /// The second table, for functions that have no slot in this one.
    pub extension: Option<Extension>,
    /// The location in the spec.
    pub span: Span,
}

/// A sequence of slots, with a reserve at its end.
#[derive(Debug)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Data members before the slots.
    pub fields: Vec<TableField>,
    /// Its slots.
    pub slots: Vec<Slot>,
    /// The array of unused slots after them.
    pub reserved: Option<Reserved>,
    /// The span of the name.
    pub span: Span,
}

/// A data member of a table.
#[derive(Debug)]
pub struct TableField {
    /// Its name, type and documentation.
    pub param: Param,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// The way in which a table is handed over between host and plugin.
#[derive(Debug)]
pub enum HandOver {
    /// The spec does not say.
    Unknown,
    /// The host owns the table, and hands it over in a struct.
    Params(Plugin),
    /// The plugin owns the table, and returns its address.
    Owned(OwnedTable),
}

/// A table that the plugin owns.
#[derive(Debug)]
pub struct OwnedTable {
    /// The symbol that a plugin exports.
    pub entry: String,
    /// The data member with the version, and its numbers.
    pub version: Option<(String, Vec<u64>)>,
    /// Longer, in Markdown.
    pub doc: String,
}

/// The struct of an object that the implementer makes: data members and the functions of its group.
#[derive(Debug)]
pub struct Object {
    /// Data members before the functions.
    pub head: Vec<Param>,
    /// Data members after them.
    pub tail: Vec<Param>,
    /// True if no function of an object makes it: code by hand does.
    pub is_by_hand: bool,
    /// The struct of their own that has the functions, if they have one.
    pub inner: Option<ObjectTable>,
}

impl Object {
    /// Returns a data member: block 0 is the head, block 1 the tail.
    pub fn field(&self, block: usize, index: usize) -> &Param {
        if block == 0 { &self.head[index] } else { &self.tail[index] }
    }
}

/// A struct of function pointers that an object contains.
#[derive(Debug)]
pub struct ObjectTable {
    /// Its name in C.
    pub c_name: String,
    /// The member of the object.
    pub member: String,
}

/// A second table, which the plugin owns. It consists of its size, its version, and functions.
#[derive(Debug)]
pub struct Extension {
    /// C name of the struct.
    pub c_name: String,
    /// The symbol that a plugin exports.
    pub entry: String,
    /// Its releases, oldest first.
    pub releases: Vec<ExtensionRelease>,
    /// Longer, in Markdown.
    pub doc: String,
}

/// A release of an extension.
#[derive(Debug)]
pub struct ExtensionRelease {
    /// Its name.
    pub name: At<String>,
    /// Its numbers: major, minor.
    pub version: [u64; 2],
    /// The functions that it added.
    pub functions: Vec<At<FunctionId>>,
}

/// One pointer of a table.
#[derive(Debug)]
pub struct Slot {
    /// The functions that had it in successive releases.
    pub functions: Vec<At<FunctionId>>,
    /// True if the slot was taken from the reserve.
    pub from_reserve: bool,
}

/// Unused slots.
#[derive(Debug)]
pub struct Reserved {
    /// Name of the array.
    pub name: String,
    /// Number of slots in the first release.
    pub count: u64,
    /// The location in the spec.
    pub span: Span,
}

/// The hand-over of a table that the host owns.
#[derive(Debug)]
pub struct Plugin {
    /// The symbol that a plugin exports.
    pub entry: String,
    /// The struct that is passed to the plugin.
    pub params: TypeId,
    /// The field that points to the table.
    pub table: String,
    /// The field with the size of the struct.
    pub size: String,
    /// The field for the version.
    pub version_field: String,
    /// The version: major, minor, patch.
    pub version: [u64; 3],
    /// The prefix of the C macros for the version numbers, if the ABI has such macros.
    pub version_macro: Option<String>,
    /// The field for the device type.
    pub device_type: String,
    /// The field for the subtype of the device.
    pub sub_device_type: Option<String>,
    /// Longer, in Markdown.
    pub doc: String,
}

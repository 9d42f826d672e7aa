//! Reads the table of a plugin, which may come from an older header.

use std::collections::HashMap;
use std::fmt;
use std::mem::{MaybeUninit, offset_of};

use tenon::device::DataType;

use crate::call::{CTable, bit};
use crate::table::{METHODS, TenonOperators};

/// The reason why a table cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The pointer is null, or no pointer to a struct.
    Null,
    /// The size is not the one of a table.
    Size(usize),
    /// The table has more functions than this library knows.
    Newer(usize),
    /// The functions have another order or other parameters than in this library.
    Layout,
    /// A function accepts a type that does not exist.
    DataType {
        /// The method of the function.
        method: &'static str,
        /// The number of the type.
        number: u32,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(formatter, "the table of operators is null"),
            Self::Size(size) => write!(
                formatter,
                "the table of operators has a size of {size} bytes: set it to sizeof(TenonOperators)"
            ),
            Self::Newer(count) => write!(
                formatter,
                "the table of operators has {count} functions, and this library knows {}: link the library that \
                 belongs to the header",
                METHODS.len()
            ),
            Self::Layout => write!(
                formatter,
                "the table of operators is that of another header: set its layout to TENON_OPERATORS_LAYOUT, and compile \
                 the plugin with the header that belongs to this library"
            ),
            Self::DataType { method, number } => {
                write!(formatter, "`{method}` accepts the data type {number}, which does not exist")
            }
        }
    }
}

impl std::error::Error for TableError {}

/// The bytes before the first member.
const HEAD: usize = offset_of!(TenonOperators, layout) + size_of::<u64>();
/// The bytes of a member.
const MEMBER: usize = 16;

const _: () = assert!(size_of::<TenonOperators>() == HEAD + MEMBER * METHODS.len());

impl CTable {
    /// Copies the table of a plugin. Members that it lacks are not implemented. `plugin` is the name of the plugin in
    /// messages.
    ///
    /// # Errors
    /// [`TableError`].
    ///
    /// # Safety
    /// `table` is null, or points to a table that begins with its size. If its layout is that of its header, its
    /// functions have the parameters of the header and stay callable.
    pub unsafe fn read(table: *const TenonOperators, plugin: &str) -> Result<Self, TableError> {
        if table.is_null() || !table.is_aligned() {
            return Err(TableError::Null);
        }
        // SAFETY: not null and aligned; the caller promises the size.
        let size = unsafe { (&raw const (*table).size).read() };
        let members = size.checked_sub(HEAD).filter(|bytes| bytes % MEMBER == 0).map(|bytes| bytes / MEMBER);
        let members = members.ok_or(TableError::Size(size))?;
        let methods = METHODS.get(..members).ok_or(TableError::Newer(members))?;
        // SAFETY: the table has at least its head.
        let table_layout = unsafe { (&raw const (*table).layout).read() };
        if table_layout != layout(methods.iter().map(|(_, hash)| *hash)) {
            return Err(TableError::Layout);
        }
        let mut data_types = HashMap::new();
        for (index, &(method, _)) in methods.iter().enumerate() {
            // SAFETY: the table has this member: the address of a function, and the bits of its types.
            let (function, types) = unsafe {
                let member = table.byte_add(HEAD + MEMBER * index).cast::<u64>();
                (member.read(), member.add(1).read())
            };
            if let Some(number) = unknown_type(types) {
                return Err(TableError::DataType { method, number });
            }
            if function != 0 {
                data_types.insert(method, types);
            }
        }
        let mut functions = MaybeUninit::<TenonOperators>::zeroed();
        // SAFETY: the table has `size` bytes, which are not more than those of the struct. A zero is a missing function, and
        // the layout shows that the others have the types of the struct.
        let functions = unsafe {
            functions.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(table.cast(), size);
            functions.assume_init()
        };
        Ok(Self::new(functions, data_types, plugin.to_owned()))
    }
}

/// Identifies the order and the parameters of some methods, from the hash of each, as the generator does for the header.
fn layout(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0, |layout, hash| (layout ^ hash).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Returns the number of a bit that is not that of a type.
fn unknown_type(types: u64) -> Option<u32> {
    let is_known = |number: &i32| DataType(*number).size().is_some();
    let known = (0..64).filter(is_known).fold(0, |known, number| known | bit(DataType(number)));
    let unknown = types & !known;
    (unknown != 0).then(|| unknown.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a table: size, layout, and the first two members.
    #[repr(C, align(8))]
    struct Start {
        size: usize,
        layout: u64,
        relu: (usize, u64),
        relu_dx: (usize, u64),
    }

    fn start() -> Start {
        let layout = layout(METHODS[..2].iter().map(|(_, hash)| *hash));
        Start { size: 48, layout, relu: (4096, bit(DataType::FLOAT32)), relu_dx: (0, 0) }
    }

    fn read_start(start: &Start) -> Result<CTable, TableError> {
        // SAFETY: the size is at most that of the struct where it is read, and nothing calls its functions.
        unsafe { CTable::read(std::ptr::from_ref(start).cast(), "a plugin") }
    }

    #[test]
    fn older_table_has_its_members_and_no_others() {
        use tenon::operators::Operators as _;

        let table = read_start(&start()).unwrap();
        assert!(table.provides("relu", DataType::FLOAT32));
        assert!(!table.provides("relu", DataType::FLOAT64));
        assert!(!table.provides("relu_dx", DataType::FLOAT32));
        assert!(!table.provides("relu6", DataType::FLOAT32));
        let of_all_types = Start { relu: (4096, 0), ..start() };
        assert!(read_start(&of_all_types).unwrap().provides("relu", DataType::INT64));
    }

    #[test]
    fn wrong_tables_are_refused() {
        let refused = |start: Start| read_start(&start).map(drop).unwrap_err();
        // SAFETY: null is allowed.
        let null = unsafe { CTable::read(std::ptr::null(), "a plugin") };
        assert_eq!(null.map(drop), Err(TableError::Null));
        assert_eq!(refused(Start { size: 0, ..start() }), TableError::Size(0));
        assert_eq!(refused(Start { size: 15, ..start() }), TableError::Size(15));
        assert_eq!(refused(Start { size: 40, ..start() }), TableError::Size(40));
        let newer = size_of::<TenonOperators>() + MEMBER;
        assert_eq!(refused(Start { size: newer, ..start() }), TableError::Newer(METHODS.len() + 1));
        assert_eq!(refused(Start { layout: 0, ..start() }), TableError::Layout);
        assert_eq!(refused(Start { size: 32, ..start() }), TableError::Layout);
        let unknown = Start { relu_dx: (4096, 1 << 40), ..start() };
        assert_eq!(refused(unknown), TableError::DataType { method: "relu_dx", number: 40 });
        let undefined = Start { relu: (4096, 1), ..start() };
        assert_eq!(refused(undefined), TableError::DataType { method: "relu", number: 0 });
    }

    #[test]
    fn layout_is_that_of_the_header() {
        let header = include_str!("../../include/tenon/operators.h");
        let layout = layout(METHODS.iter().map(|(_, hash)| *hash));
        assert!(header.contains(&format!("#define TENON_OPERATORS_LAYOUT UINT64_C(0x{layout:016x})")));
    }
}

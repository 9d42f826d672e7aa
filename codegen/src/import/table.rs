//! Finds the table of a header: a struct of function pointers that begins with its size.

use super::header::{CType, FunctionDecl, Header, ParamDecl, StructDecl};

/// The table of a header.
#[derive(Debug)]
pub struct TableDecl<'a> {
    /// Its name in C.
    pub name: &'a str,
    /// The member that is its size.
    pub size_field: &'a str,
    /// Its parts: data members, then functions, then unused slots.
    pub blocks: Vec<BlockDecl<'a>>,
    /// The function that returns it.
    pub entry: Option<&'a str>,
}

/// A part of a table.
#[derive(Debug, Default)]
pub struct BlockDecl<'a> {
    /// Its data members.
    pub fields: Vec<&'a ParamDecl>,
    /// Its functions.
    pub functions: Vec<FunctionDecl>,
    /// The name of its unused slots, and their number.
    pub reserved: Option<(&'a str, u64)>,
}

impl<'a> TableDecl<'a> {
    /// Returns the table with the most functions; `None` if no struct has two of them behind its size.
    pub fn of(header: &'a Header) -> Option<Self> {
        let tables = header.structs.iter().filter(|it| !it.is_opaque);
        let tables = tables.filter_map(|it| Some((it, it.fields.split_first()?)));
        let tables = tables.filter(|(_, (size, _))| size.ty == CType::Primitive("size"));
        let tables = tables.map(|(it, (size, members))| (it, size, blocks(members, header)));
        let count =
            |blocks: &[BlockDecl<'_>]| blocks.iter().map(|block| block.functions.len()).sum::<usize>();
        let (table, size, blocks) = tables.max_by_key(|(_, _, blocks)| count(blocks))?;
        let is_table = count(&blocks) >= 2;
        is_table.then(|| TableDecl {
            name: &table.name,
            size_field: &size.name,
            blocks,
            entry: header.functions.iter().find(|it| returns(it, table)).map(|it| it.name.as_str()),
        })
    }

    /// Returns the functions of the table.
    pub fn functions(&self) -> impl Iterator<Item = &FunctionDecl> {
        self.blocks.iter().flat_map(|block| &block.functions)
    }
}

fn blocks<'a>(members: &'a [ParamDecl], header: &Header) -> Vec<BlockDecl<'a>> {
    let mut blocks: Vec<BlockDecl<'a>> = vec![BlockDecl::default()];
    for member in members {
        // A new block begins behind unused slots, and with data behind functions.
        let is_full = blocks.last().is_some_and(|last| last.reserved.is_some());
        let has_functions = blocks.last().is_some_and(|last| !last.functions.is_empty());
        let function = function_of(member, header);
        let reserved = reserved(member);
        if is_full || (has_functions && function.is_none() && reserved.is_none()) {
            blocks.push(BlockDecl::default());
        }
        let Some(block) = blocks.last_mut() else { continue };
        match (function, reserved) {
            (Some(function), _) => block.functions.push(function),
            (None, Some(count)) => block.reserved = Some((&member.name, count)),
            (None, None) => block.fields.push(member),
        }
    }
    blocks
}

/// Returns the function that a member points to.
pub fn function_of(member: &ParamDecl, header: &Header) -> Option<FunctionDecl> {
    let (params, result) = match &member.ty {
        CType::Function { params, result } => (params, &**result),
        CType::Named(name) => {
            let callback = header.callbacks.iter().find(|callback| callback.name == *name)?;
            (&callback.params, &callback.result)
        }
        _ => return None,
    };
    Some(FunctionDecl {
        name: member.name.clone(),
        comment: member.comment.clone(),
        params: params.clone(),
        result: result.clone(),
        is_variadic: false,
    })
}

/// Returns the number of unused slots: `void* reserved[8]`.
fn reserved(member: &ParamDecl) -> Option<u64> {
    let CType::Array { element, count } = &member.ty else { return None };
    let is_pointer = matches!(element.target(), Some((CType::Void, _)));
    (is_pointer && member.name.contains("reserved")).then_some(*count)
}

/// Returns true for a function without parameters that returns the table.
fn returns(function: &FunctionDecl, table: &StructDecl) -> bool {
    let is_it = |ty: &CType| matches!(ty, CType::Named(name) if *name == table.name);
    function.params.is_empty() && function.result.target().is_some_and(|(target, _)| is_it(target))
}

//! A primitive, with copies of its tensors in the layouts that it chose.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

use tenon_kernels::Copies;
use tenon_kernels::provider::Operand as Input;

use crate::onednn::api::{ExecArg, Query, Result};
use crate::onednn::object::{Code, Context, Description, Layout, Placed, Queue};

/// The argument indices of tensors.
pub(crate) mod role {
    pub(crate) const SRC: i32 = 1;
    pub(crate) const DST: i32 = 17;
    pub(crate) const WEIGHTS: i32 = 33;
    pub(crate) const BIAS: i32 = 41;
    pub(crate) const SCRATCHPAD: i32 = 80;
    pub(crate) const GRADIENT: i32 = 128;
}

/// The most tensors of a computation, with its scratch memory.
const ARGUMENTS: usize = 5;

/// The properties of a tensor that a plan depends on.
pub(crate) struct Tensor {
    /// The argument index in the call.
    pub(crate) role: i32,
    /// The layout that the computation chose; `None` if it was given one.
    pub(crate) chosen: Option<Query>,
    /// The layout of the caller's tensor.
    pub(crate) given: Layout,
}

/// A computation of one output from some inputs.
pub(crate) struct Plan {
    context: Context,
    code: Code,
    output: Operand,
    inputs: Vec<Operand>,
    scratchpad: Layout,
    scratchpad_bytes: usize,
}

/// A tensor of the caller, and its copy if the computation needs another layout.
struct Operand {
    role: i32,
    given: Layout,
    copy: Option<Reordered>,
}

struct Reordered {
    layout: Layout,
    bytes: usize,
    code: Code,
}

impl Plan {
    pub(crate) fn new(
        context: &Context,
        description: &Description,
        output: Tensor,
        inputs: Vec<Tensor>,
    ) -> Result<Self> {
        let scratchpad = description.layout(Query::SCRATCHPAD_MD)?;
        Ok(Self {
            context: *context,
            code: context.code(description)?,
            output: Operand::new(context, description, output, true)?,
            inputs: inputs
                .into_iter()
                .map(|input| Operand::new(context, description, input, false))
                .collect::<Result<_>>()?,
            scratchpad_bytes: scratchpad.bytes(),
            scratchpad,
        })
    }

    /// Computes the output. If this fails, the contents of the output are unspecified.
    ///
    /// # Safety
    /// The addresses must point to tensors of the given layouts, and there are as many inputs as the plan has. The output must
    /// be writable and overlap no input.
    pub(crate) unsafe fn execute(&self, output: *mut c_void, inputs: &[Input<'_>]) -> Result<()> {
        let operands = self.inputs.iter().chain([&self.output]);
        let copied = operands.map(|operand| operand.copy.as_ref().map_or(0, |copy| padded(copy.bytes)));
        let bytes = copied.sum::<usize>() + padded(self.scratchpad_bytes);
        with_workspace(bytes, |memory| {
            // SAFETY: the caller's promise, and the memory has room for all copies and the scratchpad.
            unsafe { self.execute_with(memory, output, inputs) }
        })
    }

    /// # Safety
    /// As for [`Plan::execute`]. The memory must have room for all copies and the scratchpad.
    unsafe fn execute_with(
        &self,
        memory: *mut Block,
        output: *mut c_void,
        inputs: &[Input<'_>],
    ) -> Result<()> {
        let context = &self.context;
        let queue = context.queue()?;
        let mut next = memory;
        let mut reserve = |bytes: usize| {
            let start = next;
            next = next.wrapping_add(bytes.div_ceil(size_of::<Block>()));
            start.cast::<c_void>()
        };
        let mut placed = Vec::with_capacity(ARGUMENTS);
        let mut kept: [Option<Arc<Kept>>; ARGUMENTS] = Default::default();
        for ((operand, input), kept) in self.inputs.iter().zip(inputs).zip(&mut kept) {
            let address = input.elements.as_ptr().cast::<c_void>();
            let given = context.place(&operand.given, address.cast_mut())?;
            let Some(copy) = &operand.copy else {
                placed.push((operand.role, given));
                continue;
            };
            // SAFETY: the memory of both tensors fits their layouts.
            let reorder = |to: &Placed| unsafe {
                run(context, &queue, &copy.code, [(role::SRC, &given), (role::DST, to)])
            };
            *kept = input.copies.and_then(|copies| operand.kept(copies, copy, context, reorder));
            let used = match kept {
                Some(kept) => context.place(&copy.layout, kept.memory.as_ptr().cast_mut().cast())?,
                None => {
                    let to = context.place(&copy.layout, reserve(copy.bytes))?;
                    reorder(&to)?;
                    to
                }
            };
            placed.push((operand.role, used));
        }
        let given = context.place(&self.output.given, output)?;
        let result = match &self.output.copy {
            None => None,
            Some(copy) => Some((copy, context.place(&copy.layout, reserve(copy.bytes))?)),
        };
        let scratchpad = context.place(&self.scratchpad, reserve(self.scratchpad_bytes))?;
        let written = result.as_ref().map_or(&given, |(_, memory)| memory);
        let inputs = placed.iter().map(|(role, memory)| (*role, memory));
        let arguments = inputs.chain([(self.output.role, written), (role::SCRATCHPAD, &scratchpad)]);
        // SAFETY: the memory of all tensors fits the layouts that the primitive chose.
        unsafe { run(context, &queue, &self.code, arguments)? };
        if let Some((copy, memory)) = &result {
            // SAFETY: as above.
            unsafe { run(context, &queue, &copy.code, [(role::SRC, memory), (role::DST, &given)])? };
        }
        Ok(())
    }
}

impl Operand {
    fn new(context: &Context, description: &Description, tensor: Tensor, is_output: bool) -> Result<Self> {
        let Tensor { role, chosen, given } = tensor;
        let layout = chosen.map(|chosen| description.layout(chosen)).transpose()?;
        let Some(layout) = layout.filter(|layout| !layout.is(&given)) else {
            return Ok(Self { role, given, copy: None });
        };
        let code =
            if is_output { context.reorder(&layout, &given)? } else { context.reorder(&given, &layout)? };
        Ok(Self { role, given, copy: Some(Reordered { bytes: layout.bytes(), layout, code }) })
    }

    /// Returns the copy of a tensor that never changes. The first call makes it.
    fn kept(
        &self,
        copies: &Copies,
        copy: &Reordered,
        context: &Context,
        reorder: impl FnOnce(&Placed) -> Result<()>,
    ) -> Option<Arc<Kept>> {
        let is_meant = |kept: &Kept| kept.layout.is(&copy.layout) && kept.given.is(&self.given);
        copies.copy(is_meant, || {
            let mut memory = vec![Block([0; 64]); copy.bytes.div_ceil(size_of::<Block>())];
            let to = context.place(&copy.layout, memory.as_mut_ptr().cast()).ok()?;
            reorder(&to).ok()?;
            Some(Kept { given: self.given.copied().ok()?, layout: copy.layout.copied().ok()?, memory })
        })
    }
}

/// A copy of a tensor that never changes.
struct Kept {
    given: Layout,
    layout: Layout,
    memory: Vec<Block>,
}

/// # Safety
/// The memory of the tensors must fit the layouts that the primitive expects.
unsafe fn run<'a>(
    context: &Context,
    queue: &Queue,
    code: &Code,
    arguments: impl IntoIterator<Item = (i32, &'a Placed)>,
) -> Result<()> {
    let mut list = [ExecArg { arg: 0, memory: std::ptr::null_mut() }; ARGUMENTS];
    let mut count = 0;
    for (entry, (role, memory)) in list.iter_mut().zip(arguments) {
        *entry = ExecArg { arg: role, memory: memory.handle().as_raw() };
        count += 1;
    }
    // SAFETY: all objects are live; the rest is the caller's promise. The call returns when the work is done.
    unsafe { context.api.primitive_execute(code.handle(), queue.handle(), count, list.as_ptr()) }
}

/// The allocation unit of scratch memory: a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block(#[allow(dead_code, reason = "it is the size that counts")] [u8; 64]);

/// The number of bytes of scratch memory that a thread keeps for its next computation.
const KEPT: usize = 64 << 20;

fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(size_of::<Block>())
}

/// Calls a function with uninitialised scratch memory.
fn with_workspace<R>(bytes: usize, compute: impl FnOnce(*mut Block) -> R) -> R {
    thread_local! {
        static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
    }
    let blocks = bytes / size_of::<Block>();
    if bytes > KEPT {
        return compute(Vec::with_capacity(blocks).as_mut_ptr());
    }
    MEMORY.with_borrow_mut(|memory| {
        memory.reserve(blocks);
        compute(memory.as_mut_ptr())
    })
}

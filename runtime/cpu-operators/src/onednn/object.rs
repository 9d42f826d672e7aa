//! Objects of the library that are destroyed on drop.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use tenon_kernels::DType;

use crate::onednn::api::{
    Attributes, ElementType, Engine, Error, ExecutionStream, FormatTag, Memory, MemoryDesc, OneDnn,
    Primitive, PrimitiveDesc, Query, Result, ScratchpadMode,
};

/// The functions of the library, and the objects that all primitives share.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub(crate) api: OneDnn,
    pub(crate) engine: Engine,
    /// The attributes of primitives whose callers provide scratch memory.
    pub(crate) attributes: Attributes,
}

macro_rules! owned {
    ($($(#[$doc:meta])* $name:ident: $handle:ty, $destroy:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name {
            context: Context,
            handle: $handle,
        }

        impl $name {
            /// Takes ownership of an object.
            ///
            /// # Safety
            /// Nothing else may destroy it.
            pub(crate) unsafe fn new(context: Context, handle: $handle) -> Self {
                Self { context, handle }
            }

            pub(crate) fn handle(&self) -> $handle {
                self.handle
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the object is destroyed once. A failure cannot be reported.
                let _ = unsafe { self.context.api.$destroy(self.handle) };
            }
        }

        // SAFETY: any thread may use and destroy objects of the library.
        unsafe impl Send for $name {}
        // SAFETY: using these objects does not change them.
        unsafe impl Sync for $name {}
    )*};
}
owned! {
    /// Describes a tensor.
    Layout: MemoryDesc, memory_desc_destroy;
    /// A tensor at an address.
    Placed: Memory, memory_destroy;
    /// A computation with chosen layouts.
    Description: PrimitiveDesc, primitive_desc_destroy;
    /// A computation that can be executed.
    Code: Primitive, primitive_destroy;
    /// A queue for one execution.
    Queue: ExecutionStream, stream_destroy;
}

impl Context {
    pub(crate) fn new(api: OneDnn, engine: Engine) -> Result<Self> {
        // SAFETY: the attributes are never destroyed.
        let attributes = unsafe {
            let attributes = api.primitive_attr_create()?;
            api.primitive_attr_set_scratchpad_mode(attributes, ScratchpadMode::USER)?;
            attributes
        };
        Ok(Self { api, engine, attributes })
    }

    /// Describes a tensor with strides.
    pub(crate) fn strided(&self, dtype: DType, dims: &[i64], strides: &[i64]) -> Result<Layout> {
        assert_eq!(dims.len(), strides.len(), "each dimension has a stride");
        let (count, ty) = (dims.len() as i32, element_type(dtype)?);
        // SAFETY: both lists have one number for each dimension.
        let handle =
            unsafe { self.api.memory_desc_create_with_strides(count, dims.as_ptr(), ty, strides.as_ptr()) };
        // SAFETY: the descriptor is new.
        handle.map(|handle| unsafe { Layout::new(*self, handle) })
    }

    /// Describes a tensor whose layout the computation chooses.
    pub(crate) fn any(&self, dtype: DType, dims: &[i64]) -> Result<Layout> {
        let (count, ty) = (dims.len() as i32, element_type(dtype)?);
        // SAFETY: the list has one number for each dimension.
        let handle =
            unsafe { self.api.memory_desc_create_with_tag(count, dims.as_ptr(), ty, FormatTag::ANY) };
        // SAFETY: the descriptor is new.
        handle.map(|handle| unsafe { Layout::new(*self, handle) })
    }

    /// Describes the copy of a tensor to another layout.
    pub(crate) fn reorder(&self, from: &Layout, to: &Layout) -> Result<Code> {
        let (from, to, engine) = (from.handle(), to.handle(), self.engine);
        // SAFETY: the descriptors and the engine are live, and the result is new.
        let description = unsafe {
            let handle = self.api.reorder_primitive_desc_create(from, engine, to, engine, self.attributes)?;
            Description::new(*self, handle)
        };
        self.code(&description)
    }

    pub(crate) fn code(&self, description: &Description) -> Result<Code> {
        // SAFETY: the descriptor is live.
        let handle = unsafe { self.api.primitive_create(description.handle()) }?;
        // SAFETY: the primitive is new.
        Ok(unsafe { Code::new(*self, handle) })
    }

    pub(crate) fn queue(&self) -> Result<Queue> {
        const IN_ORDER: u32 = 1;
        // SAFETY: the engine is live.
        let handle = unsafe { self.api.stream_create(self.engine, IN_ORDER) }?;
        // SAFETY: the stream is new.
        Ok(unsafe { Queue::new(*self, handle) })
    }

    pub(crate) fn place(&self, layout: &Layout, address: *mut c_void) -> Result<Placed> {
        // SAFETY: the descriptor and the engine are live. The address is not used yet.
        let handle = unsafe { self.api.memory_create(layout.handle(), self.engine, address) }?;
        // SAFETY: the object is new.
        Ok(unsafe { Placed::new(*self, handle) })
    }
}

impl Layout {
    pub(crate) fn copied(&self) -> Result<Self> {
        // SAFETY: the descriptor is live, and its clone is new.
        unsafe {
            let handle = self.context.api.memory_desc_clone(self.handle)?;
            Ok(Self::new(self.context, handle))
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        // SAFETY: the descriptor is live.
        unsafe { self.context.api.memory_desc_get_size(self.handle) }.unwrap_or(0)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        // SAFETY: both descriptors are live.
        unsafe { self.context.api.memory_desc_equal(self.handle, other.handle) }.is_ok_and(|equal| equal != 0)
    }
}

impl Description {
    /// Returns the layout of one of the tensors.
    pub(crate) fn layout(&self, what: Query) -> Result<Layout> {
        // SAFETY: the descriptor is live; the clone of its part is new.
        unsafe {
            let part = self.context.api.primitive_desc_query_md(self.handle, what, 0)?;
            let handle = self.context.api.memory_desc_clone(part)?;
            Ok(Layout::new(self.context, handle))
        }
    }

    /// Returns true if the library computes it with its slow reference implementation.
    pub(crate) fn is_reference(&self) -> bool {
        let mut name: *const c_char = ptr::null();
        let to = ptr::from_mut(&mut name).cast();
        // SAFETY: the property is a string, and there is room for its address. The string lives as long as
        // the descriptor.
        unsafe {
            let found = self.context.api.primitive_desc_query(self.handle, Query::IMPL_INFO_STR, 0, to);
            found.is_err() || name.is_null() || CStr::from_ptr(name).to_bytes().starts_with(b"ref")
        }
    }
}

fn element_type(dtype: DType) -> Result<ElementType> {
    match dtype {
        DType::F32 => Ok(ElementType::F32),
        DType::F16 => Ok(ElementType::F16),
        DType::Bf16 => Ok(ElementType::BF16),
        _ => Err(Error::unsupported("an element type")),
    }
}

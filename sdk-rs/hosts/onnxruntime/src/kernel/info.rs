//! The node that a kernel computes.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use tenon::device::{DataType, Error, Result};
use tenon_operators::Constant;

use super::call::Places;
use crate::api::objects;
use crate::api::runtime::{AttributeType, KernelInfo, Node, OnnxRuntime};
use crate::element::data_type;
use crate::error::refused;

/// A node with its attributes: one that the host offers, or one that a kernel is made for.
pub(crate) struct Info {
    runtime: &'static OnnxRuntime,
    source: Source,
    version: i32,
    inputs: usize,
    outputs: usize,
}

#[derive(Clone, Copy)]
enum Source {
    Node(Node),
    Kernel(KernelInfo),
}

/// Each function that makes an `Info` requires that the node lives as long.
impl Info {
    /// Describes a node that the host offers.
    pub(crate) fn of_node(runtime: &'static OnnxRuntime, node: Node, version: i32) -> Self {
        // SAFETY: the node is alive.
        let (inputs, outputs) = unsafe { (runtime.node_input_count(node), runtime.node_output_count(node)) };
        Self {
            runtime,
            source: Source::Node(node),
            version,
            inputs: inputs.unwrap_or(0),
            outputs: outputs.unwrap_or(0),
        }
    }

    /// Describes the node of a kernel.
    pub(crate) fn of_kernel(runtime: &'static OnnxRuntime, info: KernelInfo) -> objects::Result<Self> {
        // SAFETY: the host passes a node that is alive.
        let (version, inputs, outputs) = unsafe {
            (
                runtime.kernel_operator_version(info)?,
                runtime.kernel_input_count(info)?,
                runtime.kernel_output_count(info)?,
            )
        };
        Ok(Self { runtime, source: Source::Kernel(info), version, inputs, outputs })
    }

    /// Returns the version of the domain in which the operator got its form.
    pub(crate) fn version(&self) -> i32 {
        self.version
    }

    /// Returns the number of inputs. Absent inputs before a present one are counted.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of outputs. Absent outputs before a present one are counted.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the places for the inputs and outputs of a kernel.
    pub(crate) fn places(&self) -> Places {
        let is_constant = |index| {
            let Source::Kernel(info) = self.source else { return false };
            // SAFETY: the node is alive.
            unsafe { self.runtime.constant_input(info, index) }.is_ok_and(|(is_constant, _)| is_constant != 0)
        };
        let inputs = (0..self.inputs).map(|index| is_constant(index).then(Constant::new)).collect();
        Places { inputs, outputs: self.outputs, kept: OnceLock::new() }
    }

    /// Returns an integer; `None` if the node does not have it.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        let name = CString::new(name).ok()?;
        match self.source {
            // SAFETY: the node is alive, and the name is a text.
            Source::Kernel(info) => unsafe { self.runtime.attribute_int(info, name.as_ptr()) }.ok(),
            Source::Node(node) => self.read(node, &name, AttributeType::INT)?.first().copied(),
        }
    }

    /// Returns a boolean, which the host has as an integer.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.int(name).unwrap_or(0) != 0
    }

    /// Returns a number; `None` if the node does not have it.
    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        let name = CString::new(name).ok()?;
        match self.source {
            Source::Kernel(info) => {
                // SAFETY: as for integers.
                unsafe { self.runtime.attribute_float(info, name.as_ptr()) }.ok().map(f64::from)
            }
            Source::Node(node) => {
                self.read::<f32>(node, &name, AttributeType::FLOAT)?.first().copied().map(f64::from)
            }
        }
    }

    /// Returns a list of integers; `None` if the node does not have it.
    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        let name = CString::new(name).ok()?;
        match self.source {
            Source::Kernel(info) => {
                let mut count = 0;
                // SAFETY: as for integers; there is room for the list.
                unsafe {
                    let null = tenon::AnyPtr::NULL.as_ptr();
                    self.runtime.attribute_ints(info, name.as_ptr(), null, &raw mut count).ok()?;
                    let mut list = vec![0_i64; count];
                    let buffer = list.as_mut_ptr().cast();
                    self.runtime.attribute_ints(info, name.as_ptr(), buffer, &raw mut count).ok()?;
                    list.truncate(count);
                    Some(list)
                }
            }
            Source::Node(node) => self.read(node, &name, AttributeType::INTS),
        }
    }

    /// Returns a list of numbers; `None` if the node does not have it.
    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f64>> {
        let name = CString::new(name).ok()?;
        let list: Vec<f32> = match self.source {
            Source::Kernel(info) => {
                let mut count = 0;
                // SAFETY: as for lists of integers.
                unsafe {
                    let null = tenon::AnyPtr::NULL.as_ptr();
                    self.runtime.attribute_floats(info, name.as_ptr(), null, &raw mut count).ok()?;
                    let mut list = vec![0_f32; count];
                    let buffer = list.as_mut_ptr().cast();
                    self.runtime.attribute_floats(info, name.as_ptr(), buffer, &raw mut count).ok()?;
                    list.truncate(count);
                    list
                }
            }
            Source::Node(node) => self.read(node, &name, AttributeType::FLOATS)?,
        };
        Some(list.into_iter().map(f64::from).collect())
    }

    /// Returns a text; `None` if the node does not have it.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        let mut bytes: Vec<u8> = match self.source {
            Source::Kernel(info) => {
                let mut size = 0;
                // SAFETY: as for lists of integers.
                unsafe {
                    let null = tenon::AnyPtr::NULL.as_ptr();
                    self.runtime.attribute_string(info, name.as_ptr(), null, &raw mut size).ok()?;
                    let mut text = vec![0_u8; size];
                    let buffer = text.as_mut_ptr().cast();
                    self.runtime.attribute_string(info, name.as_ptr(), buffer, &raw mut size).ok()?;
                    text
                }
            }
            Source::Node(node) => self.read(node, &name, AttributeType::STRING)?,
        };
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        String::from_utf8(bytes).ok()
    }

    /// Returns a list of texts of a node that the host offers; `None` if the node does not have it. In 1.24 kernels cannot
    /// read such lists.
    pub(crate) fn offered_texts(&self, name: &str) -> Option<Vec<String>> {
        let name = CString::new(name).ok()?;
        let Source::Node(node) = self.source else { return None };
        // The host writes the texts one after the other, each with its end.
        let bytes: Vec<u8> = self.read(node, &name, AttributeType::STRINGS)?;
        let texts = bytes.split(|byte| *byte == 0).filter(|text| !text.is_empty());
        Some(texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect())
    }

    /// Returns the type and the bytes of the first element of a tensor; `None` if the node does not have it. A node that the
    /// host only offers has no tensors.
    pub(crate) fn element(&self, name: &str) -> Result<Option<(DataType, Vec<u8>)>> {
        let (Source::Kernel(info), Ok(name)) = (self.source, CString::new(name)) else { return Ok(None) };
        let runtime = self.runtime;
        // SAFETY: the node is alive, the name is a text, and the tensor is released once. Its first element is in host memory.
        unsafe {
            let allocator = of_host(runtime.host_allocator())?;
            let Ok(value) = runtime.attribute_tensor(info, name.as_ptr(), allocator.as_ptr()) else {
                return Ok(None);
            };
            let read = || {
                let (mut dims, mut rank) = (std::ptr::null(), 0);
                let element = of_host(runtime.tensor_shape(value, &raw mut dims, &raw mut rank))?;
                let ty = data_type(element).ok_or_else(|| Error::unsupported("elements of this type"))?;
                let size = ty.size().unwrap_or(0);
                if of_host(runtime.tensor_bytes(value))? < size {
                    return Err(Error::invalid("a tensor of one element is expected"));
                }
                let first = of_host(runtime.tensor_data(value))?.as_ptr().cast::<u8>();
                Ok((ty, std::slice::from_raw_parts(first, size).to_vec()))
            };
            let element = read();
            of_host(runtime.release_value(value))?;
            element.map(Some)
        }
    }

    /// Reads the values of an attribute of a node.
    fn read<T: Copy + Default>(&self, node: Node, name: &CString, ty: AttributeType) -> Option<Vec<T>> {
        // SAFETY: the node is alive, the name is a text, and there is room for the values.
        unsafe {
            let attribute = self.runtime.node_attribute(node, name.as_ptr()).ok()?;
            if attribute.is_null() {
                return None;
            }
            // The first call fails where there are values, and writes their size.
            let mut size = 0;
            let null = std::ptr::null_mut::<c_void>();
            let _ = self.runtime.read_attribute(attribute, ty, null, 0, &raw mut size);
            let mut values = vec![T::default(); size.div_ceil(size_of::<T>())];
            let capacity = values.len() * size_of::<T>();
            self.runtime
                .read_attribute(attribute, ty, values.as_mut_ptr().cast(), capacity, &raw mut size)
                .ok()?;
            values.truncate(size / size_of::<T>());
            Some(values)
        }
    }

    /// Refuses an attribute with a value that the kernel does not implement.
    pub(crate) fn refuse<T>(&self, what: &str) -> Result<T> {
        Err(Error::unsupported(what))
    }
}

/// Converts the error of a function of the host that a rule calls.
pub(crate) fn of_host<T>(result: objects::Result<T>) -> Result<T> {
    result.map_err(refused)
}

//! Tensor descriptions: records of an element type, a shape and a format.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use super::element;
use crate::api::{AclError, DataType, Format};
use crate::error::{Error, Result, refuse, unknown_data_handle};
use crate::state::handles::HandleKind;

/// The rank of a tensor whose number of dimensions is unknown.
pub(crate) const UNKNOWN_RANK: usize = usize::MAX - 1;

/// A description behind a handle.
struct TensorDesc {
    content: Mutex<Content>,
}

/// The content of a description.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) data_type: DataType,
    pub(crate) format: Format,
    /// The lengths of the dimensions. -1 is an unknown length; `[-2]` is an unknown number of dimensions.
    dims: Vec<i64>,
    pub(crate) name: &'static CStr,
    /// The address of constant data, or 0.
    pub(crate) address: usize,
}

impl Content {
    /// Returns the number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        if self.dims == [-2] { UNKNOWN_RANK } else { self.dims.len() }
    }

    /// Returns the length of a dimension, or -1.
    pub(crate) fn dim(&self, index: usize) -> Result<i64> {
        match self.dims.get(index) {
            Some(length) if self.rank() != UNKNOWN_RANK => Ok(*length),
            _ => refuse(
                AclError::INVALID_PARAM,
                format!("`index` is {index}, which is not the index of a dimension"),
            ),
        }
    }

    /// Writes the smallest and the largest length of a dimension; -1 means no limit.
    pub(crate) fn write_range(&self, index: usize, place: &mut [i64]) -> Result<()> {
        let [least, most] = place else {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`dim_range_num` is {}; it must be 2", place.len()),
            );
        };
        (*least, *most) = match self.dim(index)? {
            -1 => (0, -1),
            length => (length, length),
        };
        Ok(())
    }

    /// Returns the number of elements; 0 if it is unknown or too large.
    pub(crate) fn elements(&self) -> usize {
        let lengths = self.dims.iter().map(|length| usize::try_from(*length).ok());
        let count = lengths.into_iter().try_fold(1, |count: usize, length| count.checked_mul(length?));
        count.unwrap_or(0)
    }

    /// Returns the size in bytes; 0 if it is unknown or too large.
    pub(crate) fn size(&self) -> usize {
        self.elements().checked_mul(element::size(self.data_type)).unwrap_or(0)
    }

    /// Returns a description of the same elements in another format.
    fn in_format(&self, format: Format) -> Result<Self> {
        let order = match (self.format, format) {
            (from, to) if from == to => return Ok(self.clone()),
            (Format::NCHW, Format::NHWC) => [0, 2, 3, 1],
            (Format::NHWC, Format::NCHW) => [0, 3, 1, 2],
            (from, to) => {
                return refuse(
                    AclError::RT_FEATURE_NOT_SUPPORT,
                    format!(
                        "converting {from:?} to {to:?} needs an operator compiler, which does not exist here"
                    ),
                );
            }
        };
        let [_, _, _, _] = self.dims[..] else {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`src_desc` has {} dimensions, but the formats need four", self.dims.len()),
            );
        };
        let dims = order.into_iter().map(|index| self.dims[index]).collect();
        Ok(Content { dims, format, ..self.clone() })
    }
}

/// All tensor descriptions of the program.
pub(crate) struct TensorDescs(HandleTable<TensorDesc>);

impl Default for TensorDescs {
    fn default() -> Self {
        TensorDescs(HandleTable::new(HandleKind::TensorDesc as u8))
    }
}

impl TensorDescs {
    /// Creates a description.
    pub(crate) fn create(&self, data_type: DataType, dims: &[i64], format: Format) -> Result<usize> {
        let dims = checked(dims)?;
        self.insert(Content { data_type, format, dims, name: c"", address: 0 })
    }

    fn insert(&self, content: Content) -> Result<usize> {
        let content = Mutex::new(content);
        let desc = self.0.insert_with(|_| TensorDesc { content });
        desc.map(|(handle, _)| handle)
            .ok_or_else(|| Error::new(AclError::BAD_ALLOC, "16 million tensor descriptions exist already"))
    }

    /// Destroys a description.
    pub(crate) fn destroy(&self, handle: usize) -> Result<()> {
        self.0.remove(handle).map(drop).ok_or_else(|| unknown_data_handle("desc", handle))
    }

    /// Returns the content of a description.
    pub(crate) fn get(&self, handle: usize) -> Result<Content> {
        Ok(lock(&*self.find("desc", handle)?).clone())
    }

    fn find(&self, param: &str, handle: usize) -> Result<Arc<TensorDesc>> {
        self.0.get(handle).ok_or_else(|| unknown_data_handle(param, handle))
    }

    /// Sets the format.
    pub(crate) fn set_format(&self, handle: usize, format: Format) -> Result<()> {
        lock(&*self.find("desc", handle)?).format = format;
        Ok(())
    }

    /// Sets the shape.
    pub(crate) fn set_shape(&self, handle: usize, dims: &[i64]) -> Result<()> {
        let desc = self.find("desc", handle)?;
        let dims = checked(dims)?;
        lock(&desc).dims = dims;
        Ok(())
    }

    /// Sets the name.
    pub(crate) fn set_name(&self, handle: usize, name: &CStr) -> Result<()> {
        let desc = self.find("desc", handle)?;
        lock(&desc).name = interned(name);
        Ok(())
    }

    /// Sets the address of constant data.
    pub(crate) fn set_constant(&self, handle: usize, address: usize, length: usize) -> Result<()> {
        let desc = self.find("desc", handle)?;
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`data_buffer` is null");
        }
        if length == 0 {
            return refuse(AclError::INVALID_PARAM, "`length` is 0");
        }
        lock(&desc).address = address;
        Ok(())
    }

    /// Checks arguments that only an operator compiler would use.
    pub(crate) fn check_unused(&self, handle: usize, dims: &[i64]) -> Result<()> {
        self.find("desc", handle)?;
        checked(dims).map(drop)
    }

    /// Creates a description of the same elements in another format.
    pub(crate) fn create_in_format(&self, handle: usize, format: Format) -> Result<usize> {
        let content = lock(&*self.find("src_desc", handle)?).in_format(format)?;
        self.insert(content)
    }
}

fn lock(desc: &TensorDesc) -> MutexGuard<'_, Content> {
    desc.content.lock()
}

fn checked(dims: &[i64]) -> Result<Vec<i64>> {
    if dims != [-2]
        && let Some(index) = dims.iter().position(|length| *length < -1)
    {
        return refuse(
            AclError::INVALID_PARAM,
            format!(
                "`dims[{index}]` is {}; a length must be -1 or more, and -2 must be the only value",
                dims[index]
            ),
        );
    }
    Ok(dims.to_vec())
}

/// Returns a copy of a name that is never freed, since C code may keep the pointer. Equal names share one copy, so
/// the memory is bounded by the number of different names.
fn interned(name: &CStr) -> &'static CStr {
    static NAMES: Mutex<BTreeSet<&'static CStr>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static CStr = Box::leak(name.to_owned().into_boxed_c_str());
    names.insert(name);
    name
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    fn of(data_type: DataType, dims: &[i64], format: Format) -> Content {
        Content { data_type, format, dims: checked(dims).unwrap(), name: c"", address: 0 }
    }

    #[test]
    fn elements_of_unknown_shape_is_zero() {
        let image = of(DataType::FLOAT, &[2, 3, 4, 5], Format::NCHW);
        assert_eq!((image.rank(), image.elements(), image.size()), (4, 120, 480));
        let scalar = of(DataType::DOUBLE, &[], Format::ND);
        assert_eq!((scalar.rank(), scalar.elements(), scalar.size()), (0, 1, 8));
        let open = of(DataType::FLOAT, &[2, -1], Format::ND);
        assert_eq!((open.rank(), open.elements(), open.size()), (2, 0, 0));
        let mut range = [7; 2];
        open.write_range(1, &mut range).unwrap();
        assert_eq!(range, [0, -1]);
        open.write_range(0, &mut range).unwrap();
        assert_eq!(range, [2, 2]);
        assert!(open.write_range(0, &mut [0; 3]).is_err());
        let shapeless = of(DataType::FLOAT, &[-2], Format::ND);
        assert_eq!((shapeless.rank(), shapeless.elements()), (UNKNOWN_RANK, 0));
        assert!(shapeless.dim(0).is_err());
        assert_eq!(of(DataType::FLOAT, &[5, 0, i64::MAX], Format::ND).elements(), 0);
        assert_eq!(of(DataType::FLOAT, &[i64::MAX, i64::MAX], Format::ND).elements(), 0, "too many to count");
        assert_eq!(of(DataType::COMPLEX128, &[i64::MAX], Format::ND).size(), 0, "too many bytes to count");
    }

    #[test]
    fn checked_invalid_shape_fails() {
        for dims in [&[-3][..], &[1, -2], &[-2, -2]] {
            assert_eq!(checked(dims).unwrap_err().status, AclError::INVALID_PARAM, "{dims:?}");
        }
    }

    #[test]
    fn in_format_swaps_image_dimensions() {
        let image = of(DataType::FLOAT, &[2, 3, 4, 5], Format::NCHW);
        let turned = image.in_format(Format::NHWC).unwrap();
        assert_eq!((turned.format, &turned.dims[..]), (Format::NHWC, &[2, 4, 5, 3][..]));
        assert_eq!(turned.in_format(Format::NCHW).unwrap().dims, image.dims);
        assert_eq!(image.in_format(Format::NC1HWC0).unwrap_err().status, AclError::RT_FEATURE_NOT_SUPPORT);
        assert_eq!(
            of(DataType::FLOAT, &[2], Format::NCHW).in_format(Format::NHWC).unwrap_err().status,
            AclError::INVALID_PARAM
        );
    }

    #[test]
    fn interned_equal_names_share_one_copy() {
        assert!(std::ptr::eq(interned(c"x"), interned(CString::from(c"x").as_c_str())));
    }
}

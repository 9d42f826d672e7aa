//! Tests of data buffers and tensor descriptions, which need no device.

use tenon::AnyPtr;
use tenon_acl::api::*;

use crate::test_runtime::{refused, runtime};

#[test]
fn data_buffer_returns_what_was_set() {
    let runtime = runtime();
    let buffer = runtime.create_data_buffer(AnyPtr::from_addr(0x40), 5 << 30).unwrap();
    assert_eq!(runtime.get_data_buffer_addr(buffer).unwrap().addr(), 0x40);
    assert_eq!(runtime.get_data_buffer_size_v2(buffer), Ok(5 << 30));
    assert_eq!(runtime.get_data_buffer_size(buffer), Ok(u32::MAX), "more than fits");
    runtime.update_data_buffer(buffer, AnyPtr::from_addr(0x80), 3).unwrap();
    assert_eq!(runtime.get_data_buffer_addr(buffer).unwrap().addr(), 0x80);
    assert_eq!(runtime.get_data_buffer_size(buffer), Ok(3));
    runtime.destroy_data_buffer(buffer).unwrap();
    refused(AclError::INVALID_PARAM, runtime.destroy_data_buffer(buffer));
    refused(AclError::INVALID_PARAM, runtime.update_data_buffer(buffer, AnyPtr::from_addr(0x80), 3));
    refused(AclError::INVALID_PARAM, runtime.get_data_buffer_addr(DataBuffer::NULL));
    runtime.end();
}

#[test]
fn tensor_description_returns_what_was_set() {
    let runtime = runtime();
    let desc = runtime.create_tensor_desc(DataType::FLOAT16, Some(&[2, 3, -1]), Format::ND).unwrap();
    assert_eq!(runtime.get_tensor_desc_type(desc), Ok(DataType::FLOAT16));
    assert_eq!(runtime.get_tensor_desc_format(desc), Ok(Format::ND));
    assert_eq!(runtime.get_tensor_desc_num_dims(desc), Ok(3));
    assert_eq!(runtime.get_tensor_desc_dim_v2(desc, 2), Ok(-1));
    assert_eq!(runtime.get_tensor_desc_size(desc), Ok(0), "not known");
    runtime.set_tensor_shape(desc, Some(&[2, 3, 4])).unwrap();
    assert_eq!(runtime.get_tensor_desc_size(desc), Ok(48));
    assert_eq!(runtime.get_tensor_desc_element_count(desc), Ok(24));
    assert_eq!(runtime.get_tensor_desc_dim(desc, 3), Ok(-1));
    refused(AclError::INVALID_PARAM, runtime.get_tensor_desc_dim_v2(desc, 3));
    assert_eq!(runtime.get_tensor_desc_name(desc).unwrap(), *c"");
    runtime.set_tensor_desc_name(desc, c"weights").unwrap();
    assert_eq!(runtime.get_tensor_desc_name(desc).unwrap(), *c"weights");
    assert_eq!(runtime.get_tensor_desc_by_index(desc, 0), Ok(desc));
    assert_eq!(runtime.get_tensor_desc_by_index(desc, 1), Ok(TensorDesc::NULL));
    runtime.set_tensor_const(desc, AnyPtr::from_addr(0x40), 8).unwrap();
    assert_eq!(runtime.get_tensor_desc_address(desc).unwrap().addr(), 0x40);
    runtime.destroy_tensor_desc(desc).unwrap();
    assert_eq!(runtime.get_tensor_desc_type(desc), Ok(DataType::UNDEFINED), "it was destroyed");
    refused(AclError::INVALID_PARAM, runtime.set_tensor_shape(desc, None));
    refused(AclError::INVALID_PARAM, runtime.create_tensor_desc(DataType::FLOAT, Some(&[-3]), Format::ND));
    runtime.end();
}

#[test]
fn handle_of_another_kind_is_refused() {
    let runtime = runtime();
    let desc = runtime.create_tensor_desc(DataType::FLOAT, None, Format::ND).unwrap();
    assert_eq!(runtime.get_tensor_desc_size(desc), Ok(4), "a scalar");
    refused(AclError::INVALID_PARAM, runtime.destroy_data_buffer(DataBuffer::from_addr(desc.addr())));
    runtime.destroy_tensor_desc(desc).unwrap();
    runtime.end();
}

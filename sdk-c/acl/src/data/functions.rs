//! The functions of the groups for data objects and message buffers.

use std::borrow::Cow;
use std::ffi::CStr;

use tenon::{AnyPtr, HostPtr};

use super::data_buffer::Extent;
use super::element;
use crate::api::{AclBuffer, AclData, DataBuffer, DataType, Format, Mbuf, MemType, RtGetBufData, TensorDesc};
use crate::error::Result;
use crate::runtime::Runtime;

impl AclBuffer for Runtime {
    fn rt_alloc_buf(&self, size: usize) -> Result<Mbuf> {
        self.message_buffers.allocate(&self.state, size).map(Mbuf::from_addr)
    }

    fn rt_free_buf(&self, buf: Mbuf) -> Result<()> {
        self.message_buffers.free(&self.state, buf.addr())
    }

    fn rt_get_buf_data(&self, buf: Mbuf) -> Result<RtGetBufData> {
        let (address, size) = self.message_buffers.memory(buf.addr())?;
        Ok(RtGetBufData { data_ptr: HostPtr::from_addr(address), size })
    }

    fn rt_set_buf_data_len(&self, buf: Mbuf, len: usize) -> Result<()> {
        self.message_buffers.set_length(buf.addr(), len)
    }

    fn rt_get_buf_data_len(&self, buf: Mbuf) -> Result<usize> {
        self.message_buffers.length(buf.addr())
    }

    fn rt_set_buf_user_data(&self, buf: Mbuf, data_ptr: &[u8], offset: usize) -> Result<()> {
        self.message_buffers.write_user_data(buf.addr(), offset, data_ptr)
    }

    fn rt_get_buf_user_data(&self, buf: Mbuf, data_ptr: &mut [u8], offset: usize) -> Result<()> {
        self.message_buffers.read_user_data(buf.addr(), offset, data_ptr)
    }

    fn rt_copy_buf_ref(&self, buf: Mbuf) -> Result<Mbuf> {
        self.message_buffers.share(buf.addr()).map(Mbuf::from_addr)
    }

    fn rt_append_buf_chain(&self, head_buf: Mbuf, buf: Mbuf) -> Result<()> {
        self.message_buffers.append(head_buf.addr(), buf.addr())
    }

    fn rt_get_buf_chain_num(&self, head_buf: Mbuf) -> Result<u32> {
        self.message_buffers.count(head_buf.addr())
    }

    fn rt_get_buf_from_chain(&self, head_buf: Mbuf, index: u32) -> Result<Mbuf> {
        self.message_buffers.at(head_buf.addr(), index).map(Mbuf::from_addr)
    }
}

impl AclData for Runtime {
    fn float16_to_float(&self, value: u16) -> Result<f32> {
        Ok(element::from_half(value))
    }

    fn float_to_float16(&self, value: f32) -> Result<u16> {
        Ok(element::to_half(value))
    }

    fn data_type_size(&self, data_type: DataType) -> Result<usize> {
        Ok(element::size(data_type))
    }

    fn create_data_buffer(&self, data: AnyPtr, size: usize) -> Result<DataBuffer> {
        self.data_buffers.create(Extent { address: data.addr(), size }).map(DataBuffer::from_addr)
    }

    fn destroy_data_buffer(&self, data_buffer: DataBuffer) -> Result<()> {
        self.data_buffers.destroy(data_buffer.addr())
    }

    fn update_data_buffer(&self, data_buffer: DataBuffer, data: AnyPtr, size: usize) -> Result<()> {
        self.data_buffers.set(data_buffer.addr(), Extent { address: data.addr(), size })
    }

    fn get_data_buffer_addr(&self, data_buffer: DataBuffer) -> Result<AnyPtr> {
        self.data_buffers.get(data_buffer.addr()).map(|content| AnyPtr::from_addr(content.address))
    }

    fn get_data_buffer_size(&self, data_buffer: DataBuffer) -> Result<u32> {
        self.data_buffers
            .get(data_buffer.addr())
            .map(|content| u32::try_from(content.size).unwrap_or(u32::MAX))
    }

    fn get_data_buffer_size_v2(&self, data_buffer: DataBuffer) -> Result<usize> {
        self.data_buffers.get(data_buffer.addr()).map(|content| content.size)
    }

    fn create_tensor_desc(
        &self,
        data_type: DataType,
        dims: Option<&[i64]>,
        format: Format,
    ) -> Result<TensorDesc> {
        let desc = self.tensor_descs.create(data_type, dims.unwrap_or_default(), format);
        desc.map(TensorDesc::from_addr)
    }

    fn destroy_tensor_desc(&self, desc: TensorDesc) -> Result<()> {
        self.tensor_descs.destroy(desc.addr())
    }

    fn get_tensor_desc_type(&self, desc: TensorDesc) -> Result<DataType> {
        Ok(self.tensor_descs.get(desc.addr()).map_or(DataType::UNDEFINED, |content| content.data_type))
    }

    fn get_tensor_desc_format(&self, desc: TensorDesc) -> Result<Format> {
        Ok(self.tensor_descs.get(desc.addr()).map_or(Format::UNDEFINED, |content| content.format))
    }

    fn get_tensor_desc_size(&self, desc: TensorDesc) -> Result<usize> {
        self.tensor_descs.get(desc.addr()).map(|content| content.size())
    }

    fn get_tensor_desc_element_count(&self, desc: TensorDesc) -> Result<usize> {
        self.tensor_descs.get(desc.addr()).map(|content| content.elements())
    }

    fn get_tensor_desc_num_dims(&self, desc: TensorDesc) -> Result<usize> {
        self.tensor_descs.get(desc.addr()).map(|content| content.rank())
    }

    fn get_tensor_desc_dim(&self, desc: TensorDesc, index: usize) -> Result<i64> {
        Ok(self.tensor_descs.get(desc.addr()).and_then(|content| content.dim(index)).unwrap_or(-1))
    }

    fn get_tensor_desc_dim_v2(&self, desc: TensorDesc, index: usize) -> Result<i64> {
        self.tensor_descs.get(desc.addr())?.dim(index)
    }

    fn get_tensor_desc_dim_range(&self, desc: TensorDesc, index: usize, dim_range: &mut [i64]) -> Result<()> {
        self.tensor_descs.get(desc.addr())?.write_range(index, dim_range)
    }

    fn set_tensor_desc_name(&self, desc: TensorDesc, name: &CStr) -> Result<()> {
        self.tensor_descs.set_name(desc.addr(), name)
    }

    fn get_tensor_desc_name(&self, desc: TensorDesc) -> Result<Cow<'static, CStr>> {
        Ok(Cow::Borrowed(self.tensor_descs.get(desc.addr()).map_or(c"", |content| content.name)))
    }

    fn trans_tensor_desc_format(&self, src_desc: TensorDesc, dst_format: Format) -> Result<TensorDesc> {
        self.tensor_descs.create_in_format(src_desc.addr(), dst_format).map(TensorDesc::from_addr)
    }

    fn set_tensor_format(&self, desc: TensorDesc, format: Format) -> Result<()> {
        self.tensor_descs.set_format(desc.addr(), format)
    }

    fn set_tensor_shape(&self, desc: TensorDesc, dims: Option<&[i64]>) -> Result<()> {
        self.tensor_descs.set_shape(desc.addr(), dims.unwrap_or_default())
    }

    fn set_tensor_storage_format(&self, desc: TensorDesc, format: Format) -> Result<()> {
        self.tensor_descs.set_format(desc.addr(), format)
    }

    fn set_tensor_storage_shape(&self, desc: TensorDesc, dims: Option<&[i64]>) -> Result<()> {
        self.tensor_descs.set_shape(desc.addr(), dims.unwrap_or_default())
    }

    fn set_tensor_origin_format(&self, desc: TensorDesc, _: Format) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), &[])
    }

    fn set_tensor_origin_shape(&self, desc: TensorDesc, dims: Option<&[i64]>) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), dims.unwrap_or_default())
    }

    fn get_tensor_desc_by_index(&self, desc: TensorDesc, index: usize) -> Result<TensorDesc> {
        self.tensor_descs.get(desc.addr()).map(|_| if index == 0 { desc } else { TensorDesc::NULL })
    }

    fn get_tensor_desc_address(&self, desc: TensorDesc) -> Result<AnyPtr> {
        self.tensor_descs.get(desc.addr()).map(|content| AnyPtr::from_addr(content.address))
    }

    fn set_tensor_dynamic_input(&self, desc: TensorDesc, _: &CStr) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), &[])
    }

    fn set_tensor_const(&self, desc: TensorDesc, data_buffer: AnyPtr, length: usize) -> Result<()> {
        self.tensor_descs.set_constant(desc.addr(), data_buffer.addr(), length)
    }

    fn set_tensor_place_ment(&self, desc: TensorDesc, _: MemType) -> Result<()> {
        self.tensor_descs.check_unused(desc.addr(), &[])
    }
}

//! The functions of the groups for copies, cache hints and tasks.

use tenon::{AnyPtr, DevicePtr};

use super::batch;
use super::batch::Batch;
use super::cache_hint;
use super::fill;
use super::fill::Pattern;
use super::indirect;
use super::indirect::IndirectAddress;
use super::transfer;
use super::transfer::Direction;
use super::transfer::Rows;
use crate::api::{AclCache, AclCopy, AclTask, BarrierTaskInfo, CmoType, MemcpyBatchAttr, MemcpyKind, Stream};
use crate::device::settings;
use crate::error::Result;
use crate::error::only;
use crate::runtime::Runtime;

impl AclCopy for Runtime {
    fn rt_memcpy(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        src: AnyPtr,
        count: usize,
        kind: MemcpyKind,
    ) -> Result<()> {
        let rows = Rows::within(dest_max, count)?;
        transfer::copy(&self.state, dst.addr(), src.addr(), rows, Direction::of(kind)?)
    }

    fn rt_memcpy_async(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        src: AnyPtr,
        count: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let (rows, direction) = (Rows::within(dest_max, count)?, Direction::of(kind)?);
        transfer::copy_on(&self.state, stream.addr(), (dst.addr(), src.addr()), rows, direction, false)
    }

    fn rt_memcpy_async_with_condition(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        src: AnyPtr,
        count: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let (rows, direction) = (Rows::within(dest_max, count)?, Direction::of(kind)?);
        transfer::copy_on(&self.state, stream.addr(), (dst.addr(), src.addr()), rows, direction, true)
    }

    fn rt_memcpy2d(
        &self,
        dst: AnyPtr,
        dpitch: usize,
        src: AnyPtr,
        spitch: usize,
        width: usize,
        height: usize,
        kind: MemcpyKind,
    ) -> Result<()> {
        let rows = Rows { dst_pitch: dpitch, src_pitch: spitch, width, height };
        transfer::copy(&self.state, dst.addr(), src.addr(), rows, Direction::of_rectangle(kind)?)
    }

    fn rt_memcpy2d_async(
        &self,
        dst: AnyPtr,
        dpitch: usize,
        src: AnyPtr,
        spitch: usize,
        width: usize,
        height: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let rows = Rows { dst_pitch: dpitch, src_pitch: spitch, width, height };
        let direction = Direction::of_rectangle(kind)?;
        transfer::copy_on(&self.state, stream.addr(), (dst.addr(), src.addr()), rows, direction, false)
    }

    fn rt_memcpy_batch(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
        fail_index: &mut [usize],
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, None, fail_index)
    }

    fn rt_memcpy_batch_v2(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, None, &mut [])
    }

    fn rt_memcpy_batch_async(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
        fail_index: &mut [usize],
        stream: Stream,
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, Some(stream.addr()), fail_index)
    }

    fn rt_memcpy_batch_async_v2(
        &self,
        dsts: &[AnyPtr],
        dest_maxs: &[usize],
        srcs: &[AnyPtr],
        sizes: &[usize],
        attrs: &[MemcpyBatchAttr],
        attrs_indexes: &[usize],
        stream: Stream,
    ) -> Result<()> {
        let batch = Batch { dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes };
        batch::copy_batch(&self.state, &batch, Some(stream.addr()), &mut [])
    }

    fn rt_memset(&self, dev_ptr: AnyPtr, max_count: usize, value: i32, count: usize) -> Result<()> {
        fill::fill(&self.state, ("dev_ptr", dev_ptr.addr()), max_count, Pattern::lowest_byte(value), count)
    }

    fn rt_memset_async(
        &self,
        dev_ptr: AnyPtr,
        max_count: usize,
        value: i32,
        count: usize,
        stream: Stream,
    ) -> Result<()> {
        let pattern = Pattern::lowest_byte(value);
        fill::fill_on(&self.state, stream.addr(), ("dev_ptr", dev_ptr.addr()), max_count, pattern, count)
    }

    fn rt_memset_d32(&self, ptr: AnyPtr, mem_size: usize, value: u32, n: usize) -> Result<()> {
        fill::fill(&self.state, ("ptr", ptr.addr()), mem_size, Pattern::Word(value), n)
    }

    fn rt_memset_d32_async(
        &self,
        ptr: AnyPtr,
        mem_size: usize,
        value: u32,
        n: usize,
        stream: Stream,
    ) -> Result<()> {
        fill::fill_on(&self.state, stream.addr(), ("ptr", ptr.addr()), mem_size, Pattern::Word(value), n)
    }
}

impl AclCache for Runtime {
    fn rt_cmo_async_with_barrier(
        &self,
        src: DevicePtr,
        size: usize,
        cmo_type: CmoType,
        _barrier_id: u32,
        stream: Stream,
    ) -> Result<()> {
        cache_hint::hint_cache(&self.state, src.addr(), size, cmo_type, stream.addr())
    }

    fn rt_cmo_wait_barrier(&self, task_info: &[BarrierTaskInfo], stream: Stream, flag: u32) -> Result<()> {
        cache_hint::wait_for_hints(&self.state, only("task_info", task_info)?, stream.addr(), flag)
    }

    fn rt_cmo_get_desc_size(&self) -> Result<usize> {
        Ok(cache_hint::DESC_SIZE)
    }

    fn rt_cmo_set_desc(&self, cmo_desc: DevicePtr, src: DevicePtr, size: usize) -> Result<()> {
        cache_hint::set_hint_desc(&self.state, cmo_desc.addr(), src.addr(), size)
    }

    fn rt_cmo_async_with_desc(
        &self,
        cmo_desc: DevicePtr,
        cmo_type: CmoType,
        stream: Stream,
        reserve: AnyPtr,
    ) -> Result<()> {
        cache_hint::hint_as_described(&self.state, cmo_desc.addr(), cmo_type, stream.addr(), reserve.addr())
    }
}

impl AclTask for Runtime {
    fn rt_memcpy_async_with_offset(
        &self,
        dst: AnyPtr,
        dest_max: usize,
        dst_data_offset: usize,
        src: AnyPtr,
        count: usize,
        src_data_offset: usize,
        kind: MemcpyKind,
        stream: Stream,
    ) -> Result<()> {
        let dst = IndirectAddress { at: dst.addr(), offset: dst_data_offset };
        let src = IndirectAddress { at: src.addr(), offset: src_data_offset };
        indirect::copy_indirectly(&self.state, dst, dest_max, src, count, kind, stream.addr())
    }

    fn rt_npu_get_float_over_flow_status(
        &self,
        output_addr: DevicePtr,
        output_size: u64,
        _check_mode: u32,
        stream: Stream,
    ) -> Result<()> {
        let size = usize::try_from(output_size).unwrap_or(usize::MAX);
        settings::write_overflow_status(&self.state, output_addr.addr(), size, stream.addr())
    }

    fn rt_npu_clear_float_over_flow_status(&self, _check_mode: u32, stream: Stream) -> Result<()> {
        self.state.stream(stream.addr()).map(drop)
    }
}

//! Hand-written fallbacks that the spec language cannot express. The spec refers to them by `strategy`.

mod pageable;

pub use pageable::{allocate_pageable, free_pageable};

use crate::device::{
    CaptureStatus, CollectiveComm, DataType, Device, DeviceId, Error, Result, Status, Stream,
};
use crate::pointer::{DevicePtr, HostPtr};
use tenon::support::check_pattern;

/// Fraction of the free device memory that PaddlePaddle allocates at once: `FLAGS_fraction_of_gpu_memory_to_use`.
const SHARE: f32 = 0.92;

/// Returns the number of bytes to allocate from the device at once: a fraction of its free memory, as in
/// PaddlePaddle's `AllocSize`.
pub fn alloc_size(device: &impl Device, id: DeviceId) -> Result<usize> {
    let free = device.device_memory_stats(id)?.free_memory;
    if free == 0 || free < device.device_min_chunk_size(id)? {
        return Err(Error::new(Status::FAILED, "the device has no free memory"));
    }
    // PaddlePaddle multiplies in single precision too, and the results must agree.
    Ok((free as f32 * SHARE) as usize)
}

/// Most bytes of a fill that the host uploads. The device copies the rest within its own memory.
const PATTERN_BYTES: usize = 1 << 16;

/// Fills memory in stream order: uploads the pattern, repeated up to a limit, then doubles the filled part by copies.
///
/// The pattern is in pageable memory, which `async_memory_copy_h2d` reads before it returns. Allocating pinned memory
/// would cost more than staging so few bytes.
pub fn fill_by_copies(
    device: &impl Device,
    id: DeviceId,
    stream: Stream,
    dst: DevicePtr,
    pattern: &[u8],
    size: usize,
) -> Result<()> {
    check_pattern(pattern, size)?;
    if size == 0 {
        return Ok(());
    }
    let capture = device.cuda_stream_capture_info(id, stream);
    if capture.is_ok_and(|info| info.capture_status != CaptureStatus::NONE) {
        // A captured graph would read the pattern at each launch, but the pattern is freed when this call returns.
        return Err(Error::new(Status::FAILED, "this device cannot capture a fill"));
    }
    let mut filled = size.min(PATTERN_BYTES);
    let uploaded = pattern.repeat(filled / pattern.len());
    device.async_memory_copy_h2d(id, stream, dst, HostPtr::from_ptr(uploaded.as_ptr()), filled)?;
    while filled < size {
        let length = filled.min(size - filled);
        let rest = dst.checked_add(filled).ok_or_else(|| Error::invalid("the memory to fill overflows"))?;
        device.async_memory_copy_d2d(id, stream, rest, dst, length)?;
        filled += length;
    }
    Ok(())
}

/// Returns the larger of the sizes of the first and of later allocations.
pub fn max_of_init_and_realloc(device: &impl Device, id: DeviceId) -> Result<usize> {
    Ok(device.device_init_alloc_size(id)?.max(device.device_realloc_size(id)?))
}

/// Exchanges data between all ranks by point-to-point calls: receives from the lower ranks, sends to all others, copies
/// its own part, and receives from the higher ranks. PaddlePaddle uses this order too, and it cannot deadlock.
#[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
pub fn all_to_all_by_send_recv(
    device: &impl Device,
    send_buf: &[DevicePtr],
    send_count: &[usize],
    send_dtype: &[DataType],
    recv_buf: &[DevicePtr],
    recv_count: &[usize],
    recv_dtype: &[DataType],
    rank: usize,
    comm: CollectiveComm,
    stream: Stream,
) -> Result<()> {
    let ranks = send_buf.len();
    if rank >= ranks {
        return Err(Error::invalid(format!("rank {rank} is not one of {ranks}")));
    }
    let receive = |from: usize| {
        device.xccl_recv(recv_buf[from], recv_count[from], recv_dtype[from], from, comm, stream)
    };
    (0..rank).try_for_each(receive)?;
    for to in (0..ranks).filter(|to| *to != rank) {
        device.xccl_send(send_buf[to], send_count[to], send_dtype[to], to, comm, stream)?;
    }
    let ty = send_dtype[rank];
    let element = ty.size().ok_or_else(|| Error::invalid(format!("elements of {ty:?} have no size")))?;
    let size = send_count[rank]
        .checked_mul(element)
        .ok_or_else(|| Error::invalid("the range of this rank's part overflows"))?;
    device.async_memory_copy_d2d(device.get_device()?, stream, recv_buf[rank], send_buf[rank], size)?;
    (rank + 1..ranks).try_for_each(receive)
}

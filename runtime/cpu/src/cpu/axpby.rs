//! `y = alpha · x + beta · y`, the one computation in the table.

use tenon::DevicePtr;
use tenon::device::{DataType, DeviceId, Error, Result, Stream};

use super::Cpu;
use crate::memory::Space;

/// Queues it on the stream.
pub(super) fn launch(
    cpu: &Cpu,
    device: DeviceId,
    stream: Stream,
    dtype: DataType,
    count: usize,
    (alpha, x): (f32, DevicePtr),
    (beta, y): (f32, DevicePtr),
) -> Result<()> {
    match dtype {
        DataType::FLOAT32 => queue::<f32>(cpu, device, stream, count, (alpha, x), (beta, y)),
        DataType::FLOAT64 => queue::<f64>(cpu, device, stream, count, (alpha.into(), x), (beta.into(), y)),
        other => Err(Error::invalid(format!("`blas_axpby` takes float32 and float64, not {other:?}"))),
    }
}

trait Float:
    Copy + Send + PartialEq + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self> + 'static
{
    const ZERO: Self;
}

impl Float for f32 {
    const ZERO: Self = 0.0;
}

impl Float for f64 {
    const ZERO: Self = 0.0;
}

fn queue<T: Float>(
    cpu: &Cpu,
    device: DeviceId,
    stream: Stream,
    count: usize,
    (alpha, x): (T, DevicePtr),
    (beta, y): (T, DevicePtr),
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    for (name, pointer) in [("x", x), ("y", y)] {
        check::<T>(cpu, device, name, pointer, count)?;
    }
    let body = move || {
        for index in 0..count {
            // SAFETY: when the work was queued, both ranges were aligned and inside allocations of the device. If one
            // was freed afterwards, its memory stays until the stream has passed this work.
            unsafe {
                let (from, to) = (x.as_ptr().cast::<T>().add(index), y.as_ptr().cast::<T>().add(index));
                // As in BLAS, a vector whose factor is zero is not read: its memory may be uninitialised.
                let kept = if beta == T::ZERO { T::ZERO } else { beta * to.read() };
                to.write(alpha * from.read() + kept);
            }
        }
        Ok(())
    };
    Ok(cpu.launch_kernel(device, stream, "axpby", body)?)
}

fn check<T>(cpu: &Cpu, device: DeviceId, name: &str, pointer: DevicePtr, count: usize) -> Result<()> {
    let info = cpu.pointer_info(pointer.addr())?;
    let end = count.checked_mul(size_of::<T>()).and_then(|bytes| pointer.addr().checked_add(bytes));
    let fits = end.is_some_and(|end| end <= info.base + info.size);
    let reachable = info.device == device && info.space != Space::Host;
    if !fits || !reachable || !pointer.addr().is_multiple_of(align_of::<T>()) {
        return Err(Error::invalid(format!(
            "`{name}`: {count} elements from {pointer:?} are not inside of memory of device {}, or not aligned",
            device.0
        )));
    }
    Ok(())
}

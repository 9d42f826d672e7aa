//! Access of operators to the device of the plugin.

use tenon::device::{Device, DeviceId, Plugin, Result, Status, Stream};

/// The device that the plugin gives to Paddle.
pub(crate) type Backend = tenon_cpu::Cpu;

/// Waits until the work queued on a stream is done, because operators access the memory directly.
///
/// Paddle does not tell the device of a stream. Usually it is the current device of the calling thread.
pub(crate) fn settle(stream: Stream) -> Result<()> {
    settle_on(Backend::instance(), stream)
}

fn settle_on(device: &impl Device, stream: Stream) -> Result<()> {
    let current = device.get_device()?;
    let mut outcome = device.synchronize_stream(current, stream);
    // The null handle means the default stream, but every device has one.
    if outcome.is_ok() && !stream.is_null() {
        return outcome;
    }
    for other in 0..device.get_device_count()? {
        let Ok(other) = i32::try_from(other) else { break };
        if other == current.0 {
            continue;
        }
        match device.synchronize_stream(DeviceId(other), stream) {
            Ok(()) if stream.is_null() => {}
            Ok(()) => return Ok(()),
            // Either the work on the stream failed, or the stream belongs to another device.
            Err(error) if error.status != Status::ERROR => outcome = Err(error),
            Err(_) => {}
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenon_cpu::{Config, Cpu};

    #[test]
    fn streams_of_any_device_come_to_rest() {
        let cpu = Cpu::with_config(Config { devices: 3, memory: 1 << 20, threads: 1 });
        for current in 0..3 {
            cpu.set_device(DeviceId(current)).unwrap();
            for device in 0..3 {
                let stream = cpu.create_stream(DeviceId(device)).unwrap();
                settle_on(&cpu, stream).unwrap();
                cpu.destroy_stream(DeviceId(device), stream).unwrap();
                assert!(settle_on(&cpu, stream).is_err());
            }
            settle_on(&cpu, Stream::NULL).unwrap();
        }
    }

    #[test]
    fn failed_work_is_told_whatever_device_is_current() {
        let cpu = Cpu::with_config(Config { devices: 2, memory: 1 << 20, threads: 1 });
        for device in [0, 1] {
            let stream = cpu.create_stream(DeviceId(device)).unwrap();
            cpu.launch_kernel(DeviceId(device), stream, "broken", || Err("it broke".into())).unwrap();
            let refused = settle_on(&cpu, stream).unwrap_err();
            assert!(refused.message.contains("it broke"), "{refused}");
        }
    }
}

//! The device behind the plugin, as far as operators have to know it.

use tenon::device::{Device, DeviceId, Plugin, Result, Status, Stream};

/// The device that is handed over to Paddle.
pub(crate) type Backend = tenon_cpu::Cpu;

/// Waits until a stream has done what was queued on it: operators work on its memory directly.
///
/// Paddle does not say which device a stream is of. Most often it is the calling thread's current one.
pub(crate) fn settle(stream: Stream) -> Result<()> {
    settle_on(Backend::instance(), stream)
}

fn settle_on(device: &impl Device, stream: Stream) -> Result<()> {
    let current = device.get_device()?;
    let mut outcome = device.synchronize_stream(current, stream);
    // Every device has a default stream, and the null handle does not say whose is meant.
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
            // What is left is a stream of another device, unless its work failed.
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
            Device::set_device(&cpu, DeviceId(current)).unwrap();
            for device in 0..3 {
                let stream = Device::create_stream(&cpu, DeviceId(device)).unwrap();
                settle_on(&cpu, stream).unwrap();
                Device::destroy_stream(&cpu, DeviceId(device), stream).unwrap();
                assert!(settle_on(&cpu, stream).is_err());
            }
            settle_on(&cpu, Stream::NULL).unwrap();
        }
    }

    #[test]
    fn failed_work_is_told_whatever_device_is_current() {
        let cpu = Cpu::with_config(Config { devices: 2, memory: 1 << 20, threads: 1 });
        for device in [0, 1] {
            let stream = cpu.create_stream(device).unwrap();
            cpu.launch_kernel(device, stream, "broken", || Err("it broke".into())).unwrap();
            let refused = settle_on(&cpu, stream).unwrap_err();
            assert!(refused.message.contains("it broke"), "{refused}");
        }
    }
}

//! Cases of the list of devices and the current device.

use tenon::device::Function::{GetDevice, GetDeviceCount, GetDeviceList, SetDevice, SynchronizeDevice};

use crate::case::{Case, Level, Verdict, ensure, failed};
use crate::plugin_under_test::{GuardedBuffer, PluginUnderTest, address, id};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("device.count", Level::Promised, count).of([GetDeviceCount]).spec(
            "get_device_count",
            "keeps the first successful answer for the life of the process, so the number must not change",
        ),
        Case::written("device.list", Level::Required, list)
            .of([GetDeviceList])
            .spec("get_device_list", "They must be 0, 1, 2 and so on without a gap"),
        Case::written("device.current", Level::Required, current)
            .of([SetDevice, GetDevice])
            .spec("set_device", "Makes a device the current one of the calling thread."),
        Case::written("device.current.per-thread", Level::Promised, per_thread)
            .of([SetDevice, GetDevice])
            .spec("set_device", "It does not affect other threads and does not wait."),
        Case::written("device.current.at-first", Level::Promised, at_first)
            .of([GetDevice])
            .spec("get_device", "In a thread that never called `set_device` it is device 0."),
        Case::written("device.current.kept-after-failure", Level::Good, kept)
            .of([SetDevice])
            .practice("a call that fails changes nothing"),
        Case::written("device.synchronize.idle", Level::Required, synchronize).of([SynchronizeDevice]).spec(
            "synchronize_device",
            "Waits until all work that was queued on the device before the call is done",
        ),
    ]
}

fn asked_count(plugin: &PluginUnderTest) -> Verdict<usize> {
    let mut count = usize::MAX;
    plugin.ok(GetDeviceCount, &[address(&mut count)])?;
    Ok(count)
}

fn count(plugin: &PluginUnderTest) -> Verdict {
    let first = asked_count(plugin)?;
    let other = on_thread(|| asked_count(plugin))?;
    let again = asked_count(plugin)?;
    ensure!(first == other && first == again, "counted {first} devices, then {other}, then {again}");
    Ok(())
}

fn list(plugin: &PluginUnderTest) -> Verdict {
    let count = asked_count(plugin)?;
    let mut place = GuardedBuffer::new(count * size_of::<usize>(), 0xA5);
    plugin.ok(GetDeviceList, &[place.address()])?;
    place.intact("the list of devices")?;
    let bytes = place.bytes();
    let (numbers, _) = bytes.as_chunks::<8>();
    let found: Vec<usize> = numbers.iter().map(|bytes| usize::from_ne_bytes(*bytes)).collect();
    let expected: Vec<usize> = (0..count).collect();
    ensure!(found == expected, "listed {found:?}, where a host calls with {expected:?}");
    Ok(())
}

fn current(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device().chain(plugin.each_device().rev()) {
        plugin.set_device(device)?;
        let found = plugin.get_device()?;
        ensure!(found == device, "`get_device` gave {found} after `set_device` of {device}");
    }
    Ok(())
}

fn per_thread(plugin: &PluginUnderTest) -> Verdict {
    let other = plugin.second_device()?;
    plugin.set_device(0)?;
    on_thread(|| plugin.set_device(other))?;
    let found = plugin.get_device()?;
    ensure!(
        found == 0,
        "another thread's `set_device` of {other} made it current here, where 0 had been set"
    );
    on_thread(|| {
        plugin.set_device(other)?;
        let found = plugin.get_device()?;
        ensure!(found == other, "the other thread set {other} and found {found}");
        Ok(())
    })
}

fn at_first(plugin: &PluginUnderTest) -> Verdict {
    plugin.set_device(plugin.device_count() - 1)?;
    let found = on_thread(|| plugin.get_device())?;
    ensure!(found == 0, "a new thread's current device is {found}");
    Ok(())
}

fn kept(plugin: &PluginUnderTest) -> Verdict {
    plugin.set_device(0)?;
    let unknown = plugin.device_count();
    plugin.refused(SetDevice, &[id(unknown)], &format!("device {unknown} of {unknown}"))?;
    let found = plugin.get_device()?;
    ensure!(found == 0, "`set_device` of {unknown} failed and made {found} current");
    Ok(())
}

fn synchronize(plugin: &PluginUnderTest) -> Verdict {
    plugin.each_device().try_for_each(|device| plugin.synchronize_device(device))
}

fn on_thread<T: Send>(body: impl FnOnce() -> Verdict<T> + Send) -> Verdict<T> {
    std::thread::scope(|scope| match scope.spawn(body).join() {
        Ok(result) => result,
        Err(_) => failed("the case itself panicked"),
    })
}

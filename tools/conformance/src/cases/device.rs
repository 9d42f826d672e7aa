//! Which devices there are, and which one is current.

use tenon::device::Function::{GetDevice, GetDeviceCount, GetDeviceList, SetDevice, SynchronizeDevice};

use crate::case::{Case, Level, Verdict, ensure, failed};
use crate::subject::{Guarded, Subject, address, id};

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
            .spec("set_device", "It takes no device away from other threads and waits for nothing."),
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

fn asked_count(subject: &Subject) -> Verdict<usize> {
    let mut count = usize::MAX;
    subject.ok(GetDeviceCount, &[address(&mut count)])?;
    Ok(count)
}

fn count(subject: &Subject) -> Verdict {
    let first = asked_count(subject)?;
    let other = on_thread(|| asked_count(subject))?;
    let again = asked_count(subject)?;
    ensure!(first == other && first == again, "counted {first} devices, then {other}, then {again}");
    Ok(())
}

fn list(subject: &Subject) -> Verdict {
    let count = asked_count(subject)?;
    let mut place = Guarded::new(count * size_of::<usize>(), 0xA5);
    subject.ok(GetDeviceList, &[place.address()])?;
    place.intact("the list of devices")?;
    let bytes = place.bytes();
    let (numbers, _) = bytes.as_chunks::<8>();
    let found: Vec<usize> = numbers.iter().map(|bytes| usize::from_ne_bytes(*bytes)).collect();
    let expected: Vec<usize> = (0..count).collect();
    ensure!(found == expected, "listed {found:?}, where a host calls with {expected:?}");
    Ok(())
}

fn current(subject: &Subject) -> Verdict {
    for device in subject.each_device().chain(subject.each_device().rev()) {
        subject.set_device(device)?;
        let found = subject.get_device()?;
        ensure!(found == device, "`get_device` gave {found} after `set_device` of {device}");
    }
    Ok(())
}

fn per_thread(subject: &Subject) -> Verdict {
    let other = subject.second_device()?;
    subject.set_device(0)?;
    on_thread(|| subject.set_device(other))?;
    let found = subject.get_device()?;
    ensure!(
        found == 0,
        "another thread's `set_device` of {other} made it current here, where 0 had been set"
    );
    on_thread(|| {
        subject.set_device(other)?;
        let found = subject.get_device()?;
        ensure!(found == other, "the other thread set {other} and found {found}");
        Ok(())
    })
}

fn at_first(subject: &Subject) -> Verdict {
    subject.set_device(subject.device_count() - 1)?;
    let found = on_thread(|| subject.get_device())?;
    ensure!(found == 0, "a new thread's current device is {found}");
    Ok(())
}

fn kept(subject: &Subject) -> Verdict {
    subject.set_device(0)?;
    let unknown = subject.device_count();
    subject.refused(SetDevice, &[id(unknown)], &format!("device {unknown} of {unknown}"))?;
    let found = subject.get_device()?;
    ensure!(found == 0, "`set_device` of {unknown} failed and made {found} current");
    Ok(())
}

fn synchronize(subject: &Subject) -> Verdict {
    subject.each_device().try_for_each(|device| subject.synchronize_device(device))
}

fn on_thread<T: Send>(body: impl FnOnce() -> Verdict<T> + Send) -> Verdict<T> {
    std::thread::scope(|scope| match scope.spawn(body).join() {
        Ok(result) => result,
        Err(_) => failed("the case itself panicked"),
    })
}

//! From load to end, each in a process of its own.

use tenon::device::Function::{
    self, DeinitDevice, DeviceExtraPaddingSize, DeviceMinChunkSize, Finalize, GetDeviceCount, GetDeviceList,
    InitDevice, Initialize, SetDevice,
};

use crate::case::{Case, Level, Verdict, ensure, skipped};
use crate::subject::{Guarded, Subject, address, id, pattern, soon};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("life.host-order", Level::Required, host_order)
            .of([Initialize, InitDevice, DeinitDevice, Finalize])
            .fresh()
            .lenient()
            .host("the calls of a program that makes a tensor, reads it and ends, in PaddlePaddle's order"),
        Case::written("life.set-device-first", Level::Required, set_device_first)
            .of([SetDevice])
            .fresh()
            .spec("device", "`set_device` may come before `init_device`."),
        Case::written("life.threads-end", Level::Promised, threads_end)
            .of([Finalize])
            .fresh()
            .spec("finalize", "so every thread of the plugin must have ended"),
        Case::written("life.end-with-handles", Level::Promised, end_with_handles)
            .of([Finalize])
            .fresh()
            .spec("finalize", "Handles and memory that are still alive are gone afterwards."),
    ]
}

/// Calls a function where it is there, as PaddlePaddle skips it where it is not.
fn if_there(subject: &Subject, function: Function, arguments: &[u64]) -> Verdict {
    if subject.answers(function) { subject.ok(function, arguments) } else { Ok(()) }
}

fn list(subject: &Subject) -> Verdict<i32> {
    let mut count = 0_usize;
    subject.ok(GetDeviceCount, &[address(&mut count)])?;
    let mut numbers = Guarded::new(count * size_of::<usize>(), 0);
    subject.ok(GetDeviceList, &[numbers.address()])?;
    subject.devices()
}

fn host_order(subject: &Subject) -> Verdict {
    if_there(subject, Initialize, &[])?;
    let count = list(subject)?;
    if count == 0 {
        return skipped("the plugin has no devices");
    }
    let (mut padding, mut chunk) = (0_usize, 0_usize);
    subject.set_device(0)?;
    subject.set_device(0)?;
    for _ in 0..2 {
        if_there(subject, DeviceExtraPaddingSize, &[id(0), address(&mut padding)])?;
        if_there(subject, DeviceMinChunkSize, &[id(0), address(&mut chunk)])?;
    }
    subject.set_device(0)?;
    if_there(subject, InitDevice, &[id(0)])?;
    let len = (64 + padding).next_multiple_of(chunk.max(1));
    let memory = subject.allocate(0, len)?;
    subject.set_device(0)?;
    let stream = subject.stream(0)?;
    let bytes = pattern(64, 1);
    subject.synchronize_stream(0, stream)?;
    subject.write(&memory, 0, &bytes)?;
    subject.synchronize_stream(0, stream)?;
    subject.expect(&memory, 0, &bytes, "a tensor, read back")?;
    subject.free(memory)?;
    subject.set_device(0)?;
    subject.destroy_stream(0, stream)?;
    if_there(subject, DeinitDevice, &[id(0)])?;
    if_there(subject, Finalize, &[])
}

fn set_device_first(subject: &Subject) -> Verdict {
    if_there(subject, Initialize, &[])?;
    for device in (0..list(subject)?).rev() {
        subject.set_device(device)?;
        let found = subject.get_device()?;
        ensure!(found == device, "`get_device` gave {found} after `set_device` of {device}");
    }
    Ok(())
}

/// The threads of this process; `None` where the system does not tell.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

fn threads_end(subject: &Subject) -> Verdict {
    let Some(before) = threads() else { return skipped("the system does not count threads") };
    subject.start()?;
    if subject.devices()? > 0 {
        let stream = subject.stream(0)?;
        subject.synchronize_stream(0, stream)?;
        subject.destroy_stream(0, stream)?;
    }
    subject.ok(Finalize, &[])?;
    // A thread that has been joined may stand in the list for a moment.
    let ended = soon(|| threads().is_none_or(|now| now <= before));
    let left = threads().unwrap_or_default().saturating_sub(before);
    ensure!(ended, "{left} threads of the plugin are left after `finalize`");
    Ok(())
}

fn end_with_handles(subject: &Subject) -> Verdict {
    subject.start()?;
    for device in subject.each_device() {
        let (stream, event) = (subject.stream(device)?, subject.event(device)?);
        subject.filled(device, &pattern(100, 1))?;
        subject.record(device, stream, event)?;
    }
    subject.ok(Finalize, &[])
}

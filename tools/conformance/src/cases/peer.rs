//! Copies from one device to another.

use tenon::device::Function::{AsyncMemoryCopyD2d, AsyncMemoryCopyP2p, MemoryCopyP2p, StreamAddCallback};

use crate::case::{Case, Level, Verdict};
use crate::subject::{Gate, Memory, Subject, id, pattern};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("peer.copy", Level::Required, copies).of([MemoryCopyP2p]).spec(
            "memory_copy_p2p",
            "Copies from one device to another of the same type and returns when the bytes are there.",
        ),
        Case::written("peer.copy.same-device", Level::Promised, same_device)
            .of([MemoryCopyP2p])
            .spec("memory_copy_p2p", "Both devices may be the same."),
        Case::written("peer.async", Level::Required, queued).of([AsyncMemoryCopyP2p]).spec(
            "async_memory_copy_p2p",
            "the copy runs after all that was queued on the stream before, which is a stream of either device",
        ),
        Case::written("peer.async.source-first", Level::Required, source_first)
            .of([AsyncMemoryCopyP2p])
            .uses([AsyncMemoryCopyD2d, StreamAddCallback])
            .native()
            .spec(
                "async_memory_copy_p2p",
                "a device whose work is asynchronous has to let work that is queued on the source come first",
            ),
    ]
}

const LEN: usize = (1 << 20) + 3;

fn copy(subject: &Subject, to: &Memory, from: &Memory, stream: Option<u64>) -> Verdict {
    let (there, here) = (to.device, from.device);
    let len = to.len.min(from.len) as u64;
    match stream {
        None => subject.ok(MemoryCopyP2p, &[id(there), id(here), to.address, from.address, len]),
        Some(stream) => {
            subject.ok(AsyncMemoryCopyP2p, &[id(there), id(here), stream, to.address, from.address, len])
        }
    }
}

fn copies(subject: &Subject) -> Verdict {
    let other = subject.second_device()?;
    for (there, here) in [(other, 0), (0, other)] {
        for len in [1, 7, 63, 4097, LEN] {
            let bytes = pattern(len, u64::from(len as u32));
            let (from, to) = (subject.filled(here, &bytes)?, subject.filled(there, &vec![0; len + 1])?);
            copy(subject, &to, &from, None)?;
            let mut expected = bytes.clone();
            expected.push(0);
            subject.expect(
                &to,
                0,
                &expected,
                &format!("{len} bytes copied from device {here} to device {there}"),
            )?;
            subject.free(from)?;
            subject.free(to)?;
        }
    }
    Ok(())
}

fn same_device(subject: &Subject) -> Verdict {
    let bytes = pattern(LEN, 1);
    let (from, to) = (subject.filled(0, &bytes)?, subject.filled(0, &vec![0; LEN])?);
    copy(subject, &to, &from, None)?;
    subject.expect(&to, 0, &bytes, "a copy from device 0 to device 0")?;
    subject.free(from)?;
    subject.free(to)
}

fn queued(subject: &Subject) -> Verdict {
    let other = subject.second_device()?;
    // A stream of the destination, as PaddlePaddle has it, and one of the source.
    for home in [other, 0] {
        let stream = subject.stream(home)?;
        let bytes = pattern(LEN, 2);
        let (first, middle) = (subject.filled(0, &bytes)?, subject.filled(other, &vec![0; LEN])?);
        let last = subject.filled(0, &vec![0; LEN])?;
        copy(subject, &middle, &first, Some(stream))?;
        copy(subject, &last, &middle, Some(stream))?;
        subject.synchronize_stream(home, stream)?;
        subject.expect(&last, 0, &bytes, "a copy to another device and back")?;
        for memory in [first, middle, last] {
            subject.free(memory)?;
        }
        subject.destroy_stream(home, stream)?;
    }
    Ok(())
}

fn source_first(subject: &Subject) -> Verdict {
    let other = subject.second_device()?;
    let (here, there) = (subject.stream(0)?, subject.stream(other)?);
    let bytes = pattern(LEN, 3);
    let (first, middle) = (subject.filled(0, &bytes)?, subject.filled(0, &vec![0; LEN])?);
    let last = subject.filled(other, &vec![0; LEN])?;
    let gate = Gate::close(subject, 0, here)?;
    subject.queue_copy(here, &middle, &first)?;
    // It may wait for the source, which is held.
    subject.beside(&gate, |this| {
        copy(this, &last, &middle, Some(there))?;
        this.synchronize_stream(other, there)
    })?;
    subject.expect(&last, 0, &bytes, "a copy of what work on the source device was still to write")?;
    subject.synchronize_stream(0, here)?;
    for memory in [first, middle, last] {
        subject.free(memory)?;
    }
    subject.destroy_stream(0, here)?;
    subject.destroy_stream(other, there)
}

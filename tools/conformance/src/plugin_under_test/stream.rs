//! Streams, events and what is queued.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use tenon::device::{Function, Status};

use super::{GuardedBuffer, Memory, PluginUnderTest, StreamLatch, address, id};
use crate::case::{Verdict, blame};

impl PluginUnderTest {
    /// Returns a new stream; null where the plugin has none, which is its default stream.
    pub(crate) fn stream(&self, device: i32) -> Verdict<u64> {
        if !self.answers(Function::CreateStream) {
            return Ok(0);
        }
        let mut stream = u64::MAX;
        self.ok(Function::CreateStream, &[id(device), address(&mut stream)])?;
        match stream {
            u64::MAX => {
                blame(Function::CreateStream, "`create_stream` answered `success` and wrote no stream")
            }
            stream => Ok(stream),
        }
    }

    pub(crate) fn destroy_stream(&self, device: i32, stream: u64) -> Verdict {
        if !self.answers(Function::DestroyStream) {
            return Ok(());
        }
        self.ok(Function::DestroyStream, &[id(device), stream])
    }

    pub(crate) fn synchronize_stream(&self, device: i32, stream: u64) -> Verdict {
        if !self.answers(Function::SynchronizeStream) {
            return self.synchronize_device(device);
        }
        self.ok(Function::SynchronizeStream, &[id(device), stream])
    }

    pub(crate) fn event(&self, device: i32) -> Verdict<u64> {
        let mut event = u64::MAX;
        self.ok(Function::CreateEvent, &[id(device), address(&mut event)])?;
        match event {
            u64::MAX => blame(Function::CreateEvent, "`create_event` answered `success` and wrote no event"),
            event => Ok(event),
        }
    }

    pub(crate) fn destroy_event(&self, device: i32, event: u64) -> Verdict {
        self.ok(Function::DestroyEvent, &[id(device), event])
    }

    pub(crate) fn record(&self, device: i32, stream: u64, event: u64) -> Verdict {
        self.ok(Function::RecordEvent, &[id(device), stream, event])
    }

    pub(crate) fn wait_event(&self, device: i32, stream: u64, event: u64) -> Verdict {
        self.ok(Function::StreamWaitEvent, &[id(device), stream, event])
    }

    pub(crate) fn synchronize_event(&self, device: i32, event: u64) -> Verdict {
        self.ok(Function::SynchronizeEvent, &[id(device), event])
    }

    /// Returns the time between two events of device 0, in nanoseconds.
    pub(crate) fn elapsed_time(&self, start: u64, end: u64) -> Verdict<i64> {
        let mut elapsed = i64::MIN;
        self.ok(Function::EventElapsedTime, &[id(0), start, end, address(&mut elapsed)])?;
        Ok(elapsed)
    }

    /// Asks a question whose answer is the status.
    pub(crate) fn question(&self, function: Function, device: i32, of: u64) -> Verdict<bool> {
        match self.call(function, &[id(device), of])? {
            Status::SUCCESS => Ok(true),
            Status::FAILED => Ok(false),
            status => blame(
                function,
                format!(
                    "`{}` answered {}, where `success` is yes and `failed` is no",
                    function.name(),
                    super::status_text(status)
                ),
            ),
        }
    }

    /// Queues a copy within the device.
    pub(crate) fn queue_copy(&self, stream: u64, to: &Memory, from: &Memory) -> Verdict {
        let len = to.len.min(from.len) as u64;
        self.ok(Function::AsyncMemoryCopyD2d, &[id(to.device), stream, to.address, from.address, len])
    }

    /// Queues a fill of a part of the memory, and overwrites the pattern when the call has returned.
    pub(crate) fn queue_fill(
        &self,
        stream: u64,
        to: &Memory,
        offset: usize,
        pattern: &[u8],
        len: usize,
    ) -> Verdict {
        let mut source = GuardedBuffer::of(pattern);
        let (address, pattern_len) = (source.address(), pattern.len() as u64);
        let arguments = [id(to.device), stream, to.at(offset), address, pattern_len, len as u64];
        self.ok(Function::AsyncMemoryFill, &arguments)?;
        source.bytes_mut().fill(0xDD);
        Ok(())
    }

    /// Queues a copy from an address of the host.
    pub(crate) fn queue_upload(&self, stream: u64, to: &Memory, from: u64) -> Verdict {
        self.ok(Function::AsyncMemoryCopyH2d, &[id(to.device), stream, to.address, from, to.len as u64])
    }

    /// Queues a copy to an address of the host.
    pub(crate) fn queue_download(&self, stream: u64, to: u64, from: &Memory) -> Verdict {
        self.ok(Function::AsyncMemoryCopyD2h, &[id(from.device), stream, to, from.address, from.len as u64])
    }

    /// Runs a call that may wait for a held stream on another thread, opens the latch when the plugin had time
    /// enough to be wrong, and says whether the call returned before that. It reports no more than that: the
    /// machine may be slow.
    pub(crate) fn beside<T: Send>(
        &self,
        latch: &StreamLatch,
        call: impl FnOnce(&Self) -> Verdict<T> + Send,
    ) -> Verdict<(T, bool)> {
        let started = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let call = scope.spawn(|| {
                started.store(true, Ordering::Relaxed);
                call(self)
            });
            super::soon(|| started.load(Ordering::Relaxed));
            let early = super::linger(|| call.is_finished());
            latch.open();
            match call.join() {
                Ok(result) => Ok((result?, early)),
                Err(panic) => resume_unwind(panic),
            }
        })
    }

    /// Runs a call as [`beside`](Self::beside) does, for one that must return although the stream is held.
    pub(crate) fn meanwhile<T: Send>(
        &self,
        latch: &StreamLatch,
        call: impl FnOnce(&Self) -> Verdict<T> + Send,
    ) -> Verdict<(T, bool)> {
        std::thread::scope(|scope| {
            let call = scope.spawn(|| call(self));
            let returned = super::soon(|| call.is_finished());
            latch.open();
            match call.join() {
                Ok(result) => Ok((result?, returned)),
                Err(panic) => resume_unwind(panic),
            }
        })
    }

    /// Looks at memory of the device while a stream is held; `None` where the plugin waits for that stream first.
    pub(crate) fn peek(&self, latch: &StreamLatch, memory: &Memory) -> Verdict<Option<Vec<u8>>> {
        let (bytes, early) = self.beside(latch, |this| this.read(memory, 0, memory.len))?;
        Ok(early.then_some(bytes))
    }
}

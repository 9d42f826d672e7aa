//! The arguments of a repeated call as numbers.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;

use tenon::device::{Status, ffi};
use tenon::reflect::Kind;

use super::super::access;
use super::super::call::{Argument, Call, ContentId, ObjectId, Position};
use super::super::check::unknown_value;
use super::super::reader::ReadError;
use super::Replay;

/// The most bytes that are held for work in stream order before the device is waited for.
const MOST_HELD: usize = 64 << 20;
/// The most bytes of host memory that a call gets if it uses no memory of the device of that length.
const MOST_UNMATCHED: u64 = 1 << 20;

/// Host memory that calls use.
#[derive(Default)]
pub(super) struct Held {
    /// Memory of the call that is being made.
    now: Vec<Vec<u8>>,
    /// A destination of the call that is being made.
    destination: Option<Vec<u8>>,
    /// Memory of work in stream order.
    later: Vec<Vec<u8>>,
    bytes: usize,
}

impl Held {
    /// Holds some bytes for the call, and returns their address.
    fn hold(&mut self, bytes: Vec<u8>) -> u64 {
        let address = bytes.as_ptr().expose_provenance() as u64;
        self.now.push(bytes);
        address
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes > MOST_HELD
    }

    /// Ends a call. If its work is in stream order, its memory is held until the device has been waited for.
    pub(super) fn end_of_call(&mut self, is_stream_ordered: bool) {
        let now = std::mem::take(&mut self.now);
        if is_stream_ordered {
            self.bytes += now.iter().map(Vec::len).sum::<usize>();
            self.later.extend(now);
        }
        if let Some(unused) = self.destination.take() {
            self.bytes += unused.len();
            self.later.push(unused);
        }
    }

    /// Takes the memory for the destination of the call.
    pub(super) fn take_buffer(&mut self) -> Option<Vec<u8>> {
        self.destination.take()
    }

    pub(super) fn clear(&mut self) {
        self.later.clear();
        self.bytes = 0;
    }

    /// Never frees the memory of work that may still run.
    pub(super) fn abandon(&mut self) {
        self.later.drain(..).for_each(std::mem::forget);
        self.bytes = 0;
    }
}

/// The callback of repeated calls: it does nothing.
unsafe extern "C-unwind" fn no_callback(_: ffi::C_Device, _: ffi::C_Stream, _: *mut c_void, _: *mut Status) {}

impl Replay<'_> {
    /// Returns the arguments of a call as numbers, or the reason why it cannot be repeated.
    ///
    /// Host memory comes last, so that no recorded bytes are unpacked for a call that is not made.
    pub(super) fn words(&mut self, call: &Call) -> Result<Result<Vec<u64>, String>, ReadError> {
        let mut words = vec![0; call.arguments.len()];
        let is_host =
            |argument: &Argument| matches!(argument, Argument::Source { .. } | Argument::Destination { .. });
        for pass in [false, true] {
            for (index, argument) in call.arguments.iter().enumerate() {
                if is_host(argument) != pass {
                    continue;
                }
                match self.word(call, index)? {
                    Ok(word) => words[index] = word,
                    Err(reason) => {
                        self.held.end_of_call(false);
                        return Ok(Err(reason));
                    }
                }
            }
        }
        Ok(Ok(words))
    }

    fn word(&mut self, call: &Call, index: usize) -> Result<Result<u64, String>, ReadError> {
        let param = &call.function.info().params[index];
        let word = match &call.arguments[index] {
            Argument::Number(number) => self.number(call, index, *number),
            Argument::Null | Argument::Output => Ok(0),
            Argument::Handle(id) => match self.handles.get(id) {
                Some(handle) => Ok(handle.word),
                None => Err(self.lost(*id)),
            },
            Argument::Memory(position) => self.address(call, index, *position, access::length(call, index)),
            Argument::Source { content: Some(content), length, position } => {
                return self.source(call, index, (*content, *length), *position);
            }
            Argument::Source { content: None, length, position } => match position {
                Some(position) => self.address(call, index, *position, Some(*length)),
                None => Err("work that was not complete may have changed its source".to_owned()),
            },
            Argument::Destination { length, position } => self.destination(call, index, *length, *position),
            // The only strings of the interface are paths, and a file of this machine is not the program's.
            Argument::Text(_) => Err(format!("`{}` names a file", param.name)),
            Argument::Callback => match param.kind {
                Kind::Callback("StreamCallback") => Ok((no_callback as *const ()).expose_provenance() as u64),
                Kind::Callback(_) => Err("a capture does not contain its callback".to_owned()),
                // The context.
                _ => Ok(0),
            },
            Argument::Unknown => Err(format!("`{}` is from outside of the capture", param.name)),
        };
        Ok(word)
    }

    /// Returns a number for the device of this replay.
    fn number(&self, call: &Call, index: usize, number: u64) -> Result<u64, String> {
        if let Some(reason) = unknown_value(call.function, index, number) {
            return Err(reason);
        }
        let Kind::Id(_) = call.function.info().params[index].kind else { return Ok(number) };
        let device = self.target.device.map_or(number as i64, i64::from);
        if self.present.contains(&device) {
            Ok(device as u64)
        } else {
            Err(format!("there is no device {device}"))
        }
    }

    fn lost(&self, id: ObjectId) -> String {
        match self.lost.get(&id) {
            Some(call) => format!("it needs the result of call {call}"),
            None => "it needs an object that does not exist".to_owned(),
        }
    }

    /// Returns the address of a position, from which the call uses `length` bytes.
    fn address(
        &self,
        call: &Call,
        index: usize,
        position: Position,
        length: Option<u64>,
    ) -> Result<u64, String> {
        let address = self.blocks.get(&position.block).copied();
        let (Some(address), Some(block)) = (address, self.recording.block(position.block)) else {
            return Err(self.lost(position.block));
        };
        block.check(&call.function.info().params[index], position.offset, length)?;
        // It was allocated with this length, so the sum fits.
        Ok(address + position.offset)
    }

    /// Checks that a call needs host memory of this length: it also uses as much memory of the device.
    fn needs(&self, call: &Call, length: u64) -> Result<(), String> {
        let in_device = (0..call.arguments.len()).filter_map(|index| match call.arguments[index] {
            Argument::Memory(_) => access::length(call, index),
            _ => None,
        });
        if length <= MOST_UNMATCHED || in_device.max().is_some_and(|most| length <= most) {
            Ok(())
        } else {
            Err(format!("it uses {length} bytes of the host, but less memory of the device"))
        }
    }

    /// Returns the address of recorded bytes: in the plugin's memory, if they were there.
    fn source(
        &mut self,
        call: &Call,
        index: usize,
        (content, length): (ContentId, u64),
        position: Option<Position>,
    ) -> Result<Result<u64, String>, ReadError> {
        if let Err(reason) = self.needs(call, length) {
            return Ok(Err(reason));
        }
        let bytes = self.recording.content(content)?;
        let Some(address) =
            position.and_then(|position| self.address(call, index, position, Some(length)).ok())
        else {
            return Ok(Ok(self.held.hold(bytes)));
        };
        if self.is_queued {
            // The recorded program wrote the memory here, so no work of its own used it any more.
            self.wait();
        }
        let memory = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the block is host memory with these bytes. Only work that no wait can end may still use it, and gets
        // other bytes then.
        unsafe { memory.copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(Ok(address))
    }

    /// Returns the address of memory for bytes from the device.
    fn destination(
        &mut self,
        call: &Call,
        index: usize,
        length: u64,
        position: Option<Position>,
    ) -> Result<u64, String> {
        if let Some(position) = position
            && let Ok(address) = self.address(call, index, position, Some(length))
        {
            return Ok(address);
        }
        self.needs(call, length)?;
        let buffer = zeros(length).ok_or_else(|| format!("the host has no {length} bytes of memory"))?;
        let address = buffer.as_ptr().expose_provenance() as u64;
        self.held.destination = Some(buffer);
        Ok(address)
    }
}

/// Returns memory of zeros; `None` if there is not enough. Pages that are never written stay free.
fn zeros(length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok()?;
    let layout = Layout::array::<u8>(length).ok()?;
    if length == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout has at least one byte.
    let memory = unsafe { alloc_zeroed(layout) };
    // SAFETY: allocated by the global allocator with this layout, and zeros are bytes.
    (!memory.is_null()).then(|| unsafe { Vec::from_raw_parts(memory, length, length) })
}

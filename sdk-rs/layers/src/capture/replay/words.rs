//! The arguments of a repeated call as numbers.

use std::ffi::{CString, c_void};

use tenon::device::{Device as _, DeviceId, Status, ffi};
use tenon::reflect::Kind;

use super::super::access::length;
use super::super::call::{Argument, Call, ObjectId, Position};
use super::super::reader::ReadError;
use super::Replay;

/// The most bytes that are held for work in stream order before the device is waited for.
const MOST_HELD: usize = 64 << 20;

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
}

/// The callback of repeated calls: it does nothing.
unsafe extern "C-unwind" fn no_callback(_: ffi::C_Device, _: ffi::C_Stream, _: *mut c_void, _: *mut Status) {}

impl Replay<'_> {
    /// Returns the arguments of a call as numbers, or the reason why it cannot be repeated.
    pub(super) fn words(&mut self, call: &Call) -> Result<Result<Vec<u64>, String>, ReadError> {
        let mut words = Vec::with_capacity(call.arguments.len());
        for index in 0..call.arguments.len() {
            match self.word(call, index)? {
                Ok(word) => words.push(word),
                Err(reason) => {
                    self.held.end_of_call(false);
                    return Ok(Err(reason));
                }
            }
        }
        Ok(Ok(words))
    }

    fn word(&mut self, call: &Call, index: usize) -> Result<Result<u64, String>, ReadError> {
        let param = &call.function.info().params[index];
        let word = match &call.arguments[index] {
            Argument::Number(number) => match (param.kind, self.target.device) {
                (Kind::Id(_), Some(device)) => Ok(device as i64 as u64),
                _ => Ok(*number),
            },
            Argument::Null | Argument::Output => Ok(0),
            Argument::Handle(id) => self.handles.get(id).copied().ok_or_else(|| self.lost(*id)),
            Argument::Memory(position) => self.address(*position, length(call, index)),
            Argument::Source { content: Some(content), position, .. } => {
                let bytes = self.recording.content(*content)?;
                self.source(bytes, *position)
            }
            Argument::Source { content: None, length, position } => match position {
                Some(position) => self.address(*position, Some(*length)),
                None => Err("work that was not complete may have changed its source".to_owned()),
            },
            Argument::Destination { length, position } => self.destination(*length, *position),
            Argument::Text(text) => match CString::new(text.clone()) {
                Ok(text) => Ok(self.held.hold(text.into_bytes_with_nul())),
                Err(_) => Err("a string has a zero byte".to_owned()),
            },
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

    fn lost(&self, id: ObjectId) -> String {
        match self.lost.get(&id) {
            Some(call) => format!("it needs the result of call {call}"),
            None => "it needs an object that does not exist".to_owned(),
        }
    }

    /// Returns the address of a position, from which `length` bytes are in the block.
    fn address(&self, position: Position, length: Option<u64>) -> Result<u64, String> {
        let block = self.blocks.get(&position.block).ok_or_else(|| self.lost(position.block))?;
        let end = position.offset.checked_add(length.unwrap_or(0));
        match end.filter(|end| *end <= block.length) {
            Some(_) => Ok(block.address + position.offset),
            None => Err("it reaches past the end of its memory".to_owned()),
        }
    }

    /// Returns the address of recorded bytes: in the plugin's memory, if they were there.
    fn source(&mut self, bytes: Vec<u8>, position: Option<Position>) -> Result<u64, String> {
        let Some(address) =
            position.and_then(|position| self.address(position, Some(bytes.len() as u64)).ok())
        else {
            return Ok(self.held.hold(bytes));
        };
        let memory = tenon::HostPtr::from_addr(address as usize);
        // SAFETY: the block is host memory of this length, and the recorded program wrote it here too, so no work uses it
        // or the device is waited for.
        unsafe {
            if memory.bytes(bytes.len()) != bytes {
                for device in &self.devices {
                    // A device that cannot be waited for reports that in the next call.
                    let _ = self.device.synchronize_device(DeviceId(*device));
                }
                memory.bytes_mut(bytes.len()).copy_from_slice(&bytes);
            }
        }
        Ok(address)
    }

    /// Returns the address of memory for bytes from the device.
    fn destination(&mut self, length: u64, position: Option<Position>) -> Result<u64, String> {
        if let Some(position) = position
            && let Ok(address) = self.address(position, Some(length))
        {
            return Ok(address);
        }
        let mut buffer = Vec::new();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        buffer.try_reserve_exact(length).map_err(|_| format!("the host has no {length} bytes of memory"))?;
        buffer.resize(length, 0);
        let address = buffer.as_ptr().expose_provenance() as u64;
        self.held.destination = Some(buffer);
        Ok(address)
    }
}

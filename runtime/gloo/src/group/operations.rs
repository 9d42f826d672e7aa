//! Runs the operations of a group.

use std::ptr;

use super::Group;
use crate::api::Transfer;
use crate::error::{Error, Result};
use crate::operation::{Buffer, Operation};
use crate::reduction::Reduction;

impl Group {
    /// Runs a collective, whose messages have this tag.
    ///
    /// # Safety
    /// As for [`Group::run`].
    pub(super) unsafe fn collective(&self, operation: &Operation, tag: u64) -> Result<()> {
        match operation {
            Operation::AllReduce { send, receive, op } => {
                let (reduction, bytes) = (Reduction::of(send.data_type, *op)?, send.bytes()?);
                if bytes == 0 {
                    return Ok(());
                }
                let buffers = [send.address(), receive.addr()];
                match &self.connected {
                    // SAFETY: the caller's promise.
                    Some(connected) => unsafe {
                        let size = bytes / send.count;
                        connected.mesh.all_reduce(
                            buffers,
                            send.count,
                            size,
                            reduction.combine,
                            tag as u32,
                        )?;
                    },
                    // SAFETY: the caller's promise.
                    None => unsafe { copy(buffers, bytes) },
                }
                // SAFETY: the caller's promise.
                unsafe { self.divide(reduction, receive.addr(), send.count) };
                Ok(())
            }
            // SAFETY: the caller's promise.
            Operation::Reduce { send, receive, op, root } => unsafe {
                self.reduce(send, receive.addr(), Reduction::of(send.data_type, *op)?, *root, tag as u32)
            },
            Operation::Broadcast { buffer, root } => {
                let bytes = buffer.bytes()?;
                match &self.connected {
                    // SAFETY: the caller's promise.
                    Some(connected) if bytes > 0 => unsafe {
                        connected.mesh.broadcast(buffer.address(), bytes, *root, tag as u32)
                    },
                    _ => Ok(()),
                }
            }
            Operation::AllGather { send, receive } => {
                let bytes = send.bytes()?;
                let buffers = [send.address(), receive.addr()];
                match &self.connected {
                    _ if bytes == 0 => Ok(()),
                    // SAFETY: the caller's promise.
                    Some(connected) => unsafe { connected.mesh.all_gather(buffers, bytes, tag as u32) },
                    None => {
                        // SAFETY: the caller's promise.
                        unsafe { copy(buffers, bytes) };
                        Ok(())
                    }
                }
            }
            // SAFETY: the caller's promise.
            Operation::ReduceScatter { send, receive, op } => unsafe {
                self.reduce_scatter(send.addr(), receive, Reduction::of(receive.data_type, *op)?, tag)
            },
            // SAFETY: the caller's promise.
            Operation::AllToAll { send, receive } => unsafe { self.all_to_all(send, receive, tag) },
            Operation::Send { .. } | Operation::Receive { .. } => {
                Err(Error::Invalid("a message is no collective".to_owned()))
            }
        }
    }

    /// Reduces to one member. The others have no results, but gloo needs room for partial ones.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn reduce(
        &self,
        send: &Buffer,
        receive: usize,
        reduction: Reduction,
        root: usize,
        tag: u32,
    ) -> Result<()> {
        let bytes = send.bytes()?;
        if bytes == 0 {
            return Ok(());
        }
        let Some(connected) = &self.connected else {
            // SAFETY: the caller's promise.
            unsafe { copy([send.address(), receive], bytes) };
            return Ok(());
        };
        let mut scratch = Vec::new();
        let output = if root == self.rank { receive } else { room(&mut scratch, bytes)? };
        let buffers = [send.address(), output];
        // SAFETY: the caller's promise, and the scratch memory has the size.
        unsafe {
            connected.mesh.reduce(buffers, send.count, bytes / send.count, reduction.combine, root, tag)?;
            if root == self.rank {
                self.divide(reduction, receive, send.count);
            }
        }
        Ok(())
    }

    /// Gives each member its part of the reduced buffers: each sends the others their parts, and reduces its own in the
    /// order of the ranks.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn reduce_scatter(
        &self,
        send: usize,
        receive: &Buffer,
        reduction: Reduction,
        tag: u64,
    ) -> Result<()> {
        let bytes = receive.bytes()?;
        if bytes == 0 {
            return Ok(());
        }
        let own = send + self.rank * bytes;
        let others: Vec<usize> = (0..self.size).filter(|&member| member != self.rank).collect();
        let mut scratch = Vec::new();
        // `Operation::check` has found that the buffers of all members are not larger than memory.
        let parts = room(&mut scratch, bytes * others.len())?;
        let part_of = |index: usize| parts + index * bytes;
        if let Some(connected) = &self.connected {
            let transfers: Vec<Transfer> = others
                .iter()
                .enumerate()
                .flat_map(|(index, &member)| {
                    [
                        transfer(send + member * bytes, bytes, member, tag, true),
                        transfer(part_of(index), bytes, member, tag, false),
                    ]
                })
                .collect();
            // SAFETY: the caller's promise, and the scratch memory has room for the parts.
            unsafe { connected.mesh.exchange(&transfers)? };
        }
        // The own part has its place in the order of the ranks.
        let mut in_order: Vec<usize> = (0..others.len()).map(part_of).collect();
        in_order.insert(self.rank, own);
        let out = receive.address();
        // The own part may overlap the results, so the sum is computed in the first part that is not its own.
        let sum = if self.size == 1 { own } else { part_of(0) };
        let mut left = in_order[0];
        for &right in &in_order[1..] {
            // SAFETY: all parts have the size; the result lies in one of the scratch memory.
            unsafe {
                (reduction.combine)(sum as *mut _, left as *const _, right as *const _, receive.count);
            }
            left = sum;
        }
        // SAFETY: the caller's promise.
        unsafe {
            copy([sum, out], bytes);
            self.divide(reduction, out, receive.count);
        }
        Ok(())
    }

    /// Exchanges a buffer with each member.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn all_to_all(&self, send: &[Buffer], receive: &[Buffer], tag: u64) -> Result<()> {
        let mut transfers = Vec::new();
        for member in 0..self.size {
            let (to, from) = (&send[member], &receive[member]);
            let sizes = [to.bytes()?, from.bytes()?];
            if member == self.rank {
                if sizes[0] != sizes[1] {
                    return Err(Error::Invalid(
                        "the own part has another size where it is received".to_owned(),
                    ));
                }
                // SAFETY: the caller's promise.
                unsafe { copy([to.address(), from.address()], sizes[0]) };
                continue;
            }
            transfers.push(transfer(to.address(), sizes[0], member, tag, true));
            transfers.push(transfer(from.address(), sizes[1], member, tag, false));
        }
        match &self.connected {
            // SAFETY: the caller's promise.
            Some(connected) => unsafe { connected.mesh.exchange(&transfers) },
            None => Ok(()),
        }
    }

    /// Sends and receives messages. Those to this member itself are copied.
    ///
    /// # Safety
    /// As for [`Group::run`].
    pub(super) unsafe fn exchange(&mut self, messages: &[&Operation]) -> Result<()> {
        let mut transfers = Vec::new();
        let (mut to_self, mut from_self) = (Vec::new(), Vec::new());
        for message in messages {
            let (buffer, member, is_send) = match message {
                Operation::Send { send, to } => (send, *to, true),
                Operation::Receive { receive, from } => (receive, *from, false),
                _ => continue,
            };
            if member == self.rank {
                if is_send { &mut to_self } else { &mut from_self }.push(buffer);
                continue;
            }
            let counter = if is_send { &mut self.sent[member] } else { &mut self.received[member] };
            *counter += 1;
            // A message of another size or type has another tag: it never arrives, instead of arriving in part.
            let tag = tag(&buffer.to_string(), *counter) | 1 << 63;
            transfers.push(transfer(buffer.address(), buffer.bytes()?, member, tag, is_send));
        }
        if to_self.len() != from_self.len() {
            let text = "a message to the own rank needs its receiver in the same group of calls";
            return Err(Error::Invalid(text.to_owned()));
        }
        for (from, to) in to_self.iter().zip(&from_self) {
            if from.bytes()? != to.bytes()? {
                return Err(Error::Invalid(format!("{from} are sent, but {to} are received")));
            }
            // SAFETY: the caller's promise.
            unsafe { copy([from.address(), to.address()], from.bytes()?) };
        }
        let Some(connected) = self.connected.as_ref().filter(|_| !transfers.is_empty()) else {
            return Ok(());
        };
        if transfers.iter().any(|transfer| transfer.is_send == 0) {
            // SAFETY: the caller's promise.
            return unsafe { connected.mesh.exchange(&transfers) };
        }
        // Hosts let two members send to each other and then receive, without a group of calls. So what is sent must not
        // wait for the receiver.
        for transfer in transfers {
            connected.outbox.reserve(transfer.bytes)?;
            let mut data = Vec::new();
            let place = room(&mut data, transfer.bytes)?;
            // SAFETY: the caller's promise; the vector has room for the bytes, which are all written.
            unsafe {
                copy([transfer.data as usize, place], transfer.bytes);
                data.set_len(transfer.bytes);
            }
            let sending = connected.mesh.send(data, transfer)?;
            connected.outbox.push(sending)?;
        }
        Ok(())
    }

    /// Makes a mean of a sum.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn divide(&self, reduction: Reduction, data: usize, count: usize) {
        if let Some(divide) = reduction.divide {
            // SAFETY: the caller's promise.
            unsafe { divide(data as *mut _, count, self.size) };
        }
    }
}

/// Returns a tag that members have in common only if they call the same operation as the same of all calls. FNV-1a, with
/// both halves mixed into 31 bits: gloo puts a tag of 32 bits into a larger one.
pub(super) fn tag(operation: &str, calls: u64) -> u64 {
    let bytes = operation.bytes().chain(calls.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) & 0x7fff_ffff
}

fn transfer(data: usize, bytes: usize, member: usize, tag: u64, is_send: bool) -> Transfer {
    // Members that disagree about the size have other tags. The highest bits keep these tags apart from those of gloo.
    let tag = tag | (bytes as u64 & 0x3fff_ffff) << 32 | 1 << 62;
    Transfer { data: data as *mut _, bytes, tag, member: member as u32, is_send: u32::from(is_send) }
}

/// Reserves memory, and returns its address.
fn room(scratch: &mut Vec<u8>, bytes: usize) -> Result<usize> {
    let refused = |_| Error::Invalid(format!("there is no memory for {bytes} bytes of partial results"));
    scratch.try_reserve_exact(bytes).map_err(refused)?;
    Ok(scratch.as_mut_ptr() as usize)
}

/// Copies bytes; the buffers may overlap.
///
/// # Safety
/// Both buffers have the size.
unsafe fn copy([from, to]: [usize; 2], bytes: usize) {
    if from != to && bytes > 0 {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
    }
}

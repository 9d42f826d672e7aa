//! The connections of one member to all others.

use std::ffi::c_void;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::api::{Exchange, Mesh as Handle, Transfer};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::reduction::Combine;

/// The membership of this process in a group, as gloo sees it.
pub(crate) struct Mesh {
    engine: &'static Engine,
    handle: Handle,
    address_size: usize,
    size: usize,
    rank: usize,
}

// SAFETY: any thread may call functions with a mesh.
unsafe impl Send for Mesh {}
// SAFETY: one thread at a time runs operations, and any thread may close a mesh. `Group` sees to it.
unsafe impl Sync for Mesh {}

impl Mesh {
    /// Makes a membership that listens for each other member at an address of this machine.
    pub(crate) fn new(
        engine: &'static Engine,
        at: IpAddr,
        [rank, size]: [usize; 2],
        limit: Duration,
    ) -> Result<Self> {
        let device = engine.device(at)?;
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        // SAFETY: the device is never destroyed.
        let handle =
            engine.check(unsafe { engine.api.mesh_create(device, rank as u32, size as u32, limit) })?;
        let mut mesh = Self { engine, handle, address_size: 0, size, rank };
        // SAFETY: the mesh is alive.
        mesh.address_size = engine.check(unsafe { engine.api.mesh_address_size(handle) })?;
        Ok(mesh)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.size).filter(move |&member| member != rank)
    }

    /// Returns the addresses at which the mesh expects the members, in the order of their ranks.
    pub(crate) fn addresses(&self) -> Result<Vec<u8>> {
        let mut addresses = vec![0; self.size * self.address_size];
        for member in self.others() {
            let place = addresses[member * self.address_size..].as_mut_ptr();
            // SAFETY: the place has room for an address.
            let written = unsafe { self.engine.api.mesh_address(self.handle, member as u32, place.cast()) };
            self.engine.check(written)?;
        }
        Ok(addresses)
    }

    /// Connects to all members, which expect this one at these addresses.
    pub(crate) fn connect(&self, mut addresses: Vec<u8>) -> Result<()> {
        if addresses.len() != self.size * self.address_size {
            return Err(Error::Gloo("members have a gloo of another version".to_owned()));
        }
        for member in self.others() {
            let address = addresses[member * self.address_size..].as_mut_ptr();
            // SAFETY: an address has this size.
            let connected =
                unsafe { self.engine.api.mesh_connect(self.handle, member as u32, address.cast()) };
            self.engine
                .check(connected)
                .map_err(|reason| Error::NotConnected { member, reason: Box::new(reason) })?;
        }
        Ok(())
    }

    /// Closes all connections.
    pub(crate) fn close(&self) {
        // SAFETY: the mesh is alive. Closing it twice does nothing.
        let _ = unsafe { self.engine.api.mesh_close(self.handle) };
    }

    /// Reduces the buffers of all members to all.
    ///
    /// # Safety
    /// Both buffers have `count` elements of the size, which is that of the reduction; no other thread runs an operation.
    pub(crate) unsafe fn all_reduce(
        &self,
        [input, output]: [usize; 2],
        count: usize,
        element_size: usize,
        combine: Combine,
        tag: u32,
    ) -> Result<()> {
        let [input, output] = [input as *mut c_void, output as *mut c_void];
        let (count, element_size) = (count as u64, element_size as u32);
        // SAFETY: the caller's promise.
        self.engine.check(unsafe {
            self.engine.api.all_reduce(self.handle, input, output, count, element_size, Some(combine), tag)
        })
    }

    /// Reduces the buffers of all members to one.
    ///
    /// # Safety
    /// As for [`Mesh::all_reduce`].
    pub(crate) unsafe fn reduce(
        &self,
        [input, output]: [usize; 2],
        count: usize,
        element_size: usize,
        combine: Combine,
        root: usize,
        tag: u32,
    ) -> Result<()> {
        let [input, output] = [input as *mut c_void, output as *mut c_void];
        let (count, element_size, root) = (count as u64, element_size as u32, root as u32);
        // SAFETY: the caller's promise.
        self.engine.check(unsafe {
            self.engine.api.reduce(self.handle, input, output, count, element_size, Some(combine), root, tag)
        })
    }

    /// Copies a buffer of one member to all.
    ///
    /// # Safety
    /// The buffer has the size; no other thread runs an operation.
    pub(crate) unsafe fn broadcast(&self, buffer: usize, bytes: usize, root: usize, tag: u32) -> Result<()> {
        // SAFETY: the caller's promise.
        self.engine.check(unsafe {
            self.engine.api.broadcast(self.handle, buffer as *mut c_void, bytes as u64, root as u32, tag)
        })
    }

    /// Gives the buffers of all members to all.
    ///
    /// # Safety
    /// The input has the size, and the output as much for each member; no other thread runs an operation.
    pub(crate) unsafe fn all_gather(
        &self,
        [input, output]: [usize; 2],
        bytes: usize,
        tag: u32,
    ) -> Result<()> {
        let [input, output] = [input as *mut c_void, output as *mut c_void];
        // SAFETY: the caller's promise.
        self.engine
            .check(unsafe { self.engine.api.all_gather(self.handle, input, output, bytes as u64, tag) })
    }

    /// Sends and receives messages.
    ///
    /// # Safety
    /// The transfers describe memory that nothing else uses; no other thread runs an operation.
    pub(crate) unsafe fn exchange(&self, transfers: &[Transfer]) -> Result<()> {
        // SAFETY: the caller's promise.
        let exchange = unsafe { self.start(transfers)? };
        self.wait(exchange)
    }

    /// Starts to send and receive messages.
    ///
    /// # Safety
    /// As for [`Mesh::exchange`], until [`Mesh::wait`] has returned.
    unsafe fn start(&self, transfers: &[Transfer]) -> Result<Exchange> {
        // SAFETY: the caller's promise.
        self.engine.check(unsafe {
            self.engine.api.exchange_start(self.handle, transfers.as_ptr(), transfers.len())
        })
    }

    /// Waits until messages are complete. Any thread may wait.
    fn wait(&self, exchange: Exchange) -> Result<()> {
        // SAFETY: it was started, and is waited for once, because this takes it.
        self.engine.check(unsafe { self.engine.api.exchange_wait(exchange) })
    }

    /// Starts to send bytes, as the transfer says but for their place.
    pub(crate) fn send(self: &Arc<Self>, data: Vec<u8>, transfer: Transfer) -> Result<Sending> {
        let transfer = Transfer { data: data.as_ptr().cast_mut().cast(), ..transfer };
        // SAFETY: the bytes stay as they are until the end of the wait, and outlive a move of the vector.
        let exchange = unsafe { self.start(&[transfer])? };
        Ok(Sending { mesh: self.clone(), exchange, data })
    }
}

/// A message that is under way to a member.
#[must_use = "the message has to be waited for"]
pub(crate) struct Sending {
    mesh: Arc<Mesh>,
    exchange: Exchange,
    data: Vec<u8>,
}

// SAFETY: any thread may wait for messages.
unsafe impl Send for Sending {}

impl Sending {
    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Waits until the message is complete.
    pub(crate) fn wait(self) -> Result<()> {
        self.mesh.wait(self.exchange)
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        // SAFETY: nothing uses the mesh any more.
        let _ = unsafe { self.engine.api.mesh_destroy(self.handle) };
    }
}

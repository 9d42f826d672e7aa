//! Contexts: what streams belong to, and what is current in a thread.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{AclError, StreamState};
use crate::error::{Error, Result, refuse};
use crate::home::{Home, Lease, cannot_open};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::stream::{Making, Stream};

/// A context of a device.
pub(crate) struct Context {
    pub(crate) handle: usize,
    /// Whether it is the default context of its device, which all threads share.
    pub(crate) is_primary: bool,
    pub(crate) default_stream: Arc<Stream>,
    streams: Mutex<BTreeSet<usize>>,
    pub(crate) options: Options,
    pub(crate) lease: Lease,
}

impl Context {
    /// Handles of the streams that the program made in it.
    pub(crate) fn streams(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// Makes a context, which becomes the current one.
    pub(crate) fn create_context(&self, device: i32) -> Result<usize> {
        let context = self.new_context(&self.home(device.into())?, false)?;
        self.tell_of_default_stream(&context);
        self.make_current(&context);
        Ok(context.handle)
    }

    /// A context that nobody was told of, see [`tell_of_default_stream`](Self::tell_of_default_stream).
    pub(crate) fn new_context(&self, home: &Arc<Home>, is_primary: bool) -> Result<Arc<Context>> {
        let lease = home.lease(&*self.devices).map_err(|error| cannot_open(home.ordinal, &error))?;
        let making = Making::begin(home, &lease.unit, &self.exceptions)?;
        let stream = self.streams.insert_with(|handle| making.finish_default(handle));
        let default_stream = stream.ok_or_else(crate::stream::too_many)?;
        let context = self.contexts.insert_with(|handle| {
            default_stream.context.store(handle, Ordering::Relaxed);
            let (streams, options) = (Mutex::default(), Options::default());
            Context { handle, is_primary, default_stream, streams, options, lease }
        });
        context.ok_or_else(|| Error::new(AclError::RT_RESOURCE_ALLOC_FAIL, "a million contexts are alive"))
    }

    /// Tells observers that there is the default stream of a context. They may call whatever they like, so that the context
    /// has to be where others find it.
    pub(crate) fn tell_of_default_stream(&self, context: &Context) {
        self.observers.tell_stream(context.default_stream.handle, StreamState::CREATE_POST);
    }

    /// Destroys a context of the program's.
    pub(crate) fn destroy_context(&self, handle: usize) -> Result<()> {
        let context = self.context_of(handle)?;
        if context.is_primary {
            return refuse(
                AclError::RT_CONTEXT_NULL,
                "`context` is the default context of its device, which `aclrtResetDevice` destroys",
            );
        }
        let done = self.finish_context(&context);
        self.make_uncurrent(handle);
        let Some(context) = self.contexts.remove(handle) else { return Err(gone(handle)) };
        self.end_context(&context);
        done
    }

    /// Makes a context the current one.
    pub(crate) fn set_current_context(&self, handle: usize) -> Result<()> {
        self.make_current(&*self.context_of(handle)?);
        Ok(())
    }

    /// The context of a handle that a program passes.
    pub(crate) fn context_of(&self, handle: usize) -> Result<Arc<Context>> {
        self.contexts.get(handle).ok_or_else(|| gone(handle))
    }

    /// Waits for all work of a context, as far as it can end.
    pub(crate) fn finish_context(&self, context: &Context) -> Result<()> {
        let mut done = Ok(());
        for stream in self.streams_of(context) {
            let waited = stream.synchronize(None).map(drop);
            done = done.and(waited);
        }
        done
    }

    /// Every stream of a context, the default one first.
    pub(crate) fn streams_of(&self, context: &Context) -> Vec<Arc<Stream>> {
        let handles: Vec<usize> = context.streams().iter().copied().collect();
        let made = handles.into_iter().filter_map(|handle| self.streams.get(handle));
        std::iter::once(context.default_stream.clone()).chain(made).collect()
    }

    /// Destroys the streams of a context that nobody can find any more.
    pub(crate) fn end_context(&self, context: &Context) {
        for stream in self.streams_of(context) {
            // What fails here has nobody any more whom it would concern.
            let _ = self.force(&stream);
        }
    }
}

/// What is said of a handle that leads to no context.
#[cold]
pub(crate) fn gone(handle: usize) -> Error {
    if handle == 0 {
        return Error::new(AclError::INVALID_PARAM, "`context` is null");
    }
    Error::new(
        AclError::RT_PARAM_INVALID,
        format!("`context` is {handle:#x}, which is destroyed or was never made"),
    )
}

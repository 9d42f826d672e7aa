//! The threads: started by `initialize`, joined by `shutdown`.

use super::Shared;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The running threads of a device.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    caller: Option<JoinHandle<()>>,
}

impl Pool {
    /// Starts `size` threads for streams and one for callbacks.
    pub(crate) fn start(shared: &Arc<Shared>, size: usize) -> Result<Self> {
        shared.open();
        let mut pool = Self { shared: shared.clone(), workers: Vec::with_capacity(size), caller: None };
        for index in 0..size {
            let worker = pool.spawn(format!("tenon-cpu-{index}"), |shared| shared.ready.serve())?;
            pool.workers.push(worker);
        }
        let caller = pool.spawn("tenon-cpu-call".to_owned(), |shared| shared.callbacks.serve(shared))?;
        pool.caller = Some(caller);
        Ok(pool)
    }

    fn spawn(&self, name: String, body: impl FnOnce(&Shared) + Send + 'static) -> Result<JoinHandle<()>> {
        let shared = self.shared.clone();
        Builder::new()
            .name(name)
            .spawn(move || body(&shared))
            .map_err(|error| Error::Threads { reason: error.to_string() })
    }
}

/// Lets queued work finish, then joins every thread.
impl Drop for Pool {
    fn drop(&mut self) {
        if self.shared.is_forked() {
            // After a fork, the threads do not exist, and locks that they held are never released.
            std::mem::forget(self.workers.drain(..).chain(self.caller.take()).collect::<Vec<_>>());
            return;
        }
        // The workers end first: they may still queue callbacks. Work that a callback resumes runs on the
        // callback thread.
        self.shared.ready.close();
        self.workers.drain(..).for_each(join);
        self.shared.callbacks.close();
        self.caller.take().into_iter().for_each(join);
    }
}

fn join(thread: JoinHandle<()>) {
    // A panic of the thread was printed when it happened; there is no caller to return it to.
    drop(thread.join());
}

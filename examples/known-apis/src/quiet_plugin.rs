//! A plugin for PJRT with one client, whose work is always complete.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenon::{AnyPtr, Lent};

use crate::pjrt::{Client, Error, Event, OnReady, Pjrt, PjrtError, Result};

/// Counts the clients that are alive.
#[derive(Default)]
struct QuietPlugin {
    clients: AtomicUsize,
}

/// The event of work that is complete.
const COMPLETE: Event = Event::from_addr(1);

impl QuietPlugin {
    /// Refuses an event that is none of this plugin.
    fn is_complete(event: Event) -> Result<()> {
        if event == COMPLETE { Ok(()) } else { Err(Error::invalid(format!("{event:?} is no event"))) }
    }

    /// Refuses a client that is not alive.
    fn is_client(&self, client: Client) -> Result<()> {
        match self.clients.load(Ordering::Relaxed) {
            0 => Err(Error::invalid(format!("{client:?} is not alive"))),
            _ => Ok(()),
        }
    }
}

#[tenon_spec_macros::plugin(spec = "spec", module = crate::pjrt)]
impl Pjrt for QuietPlugin {
    fn plugin_initialize(&self) -> Result<()> {
        Ok(())
    }

    fn event_destroy(&self, event: Event) -> Result<()> {
        Self::is_complete(event)
    }

    fn event_is_ready(&self, event: Event) -> Result<bool> {
        Self::is_complete(event).map(|()| true)
    }

    fn event_error(&self, event: Event) -> Result<()> {
        Self::is_complete(event)
    }

    fn event_await(&self, event: Event) -> Result<()> {
        Self::is_complete(event)
    }

    fn event_on_ready(&self, event: Event, callback: OnReady) -> Result<()> {
        Self::is_complete(event)?;
        callback.call(PjrtError::NULL);
        Ok(())
    }

    fn client_create(
        &self,
        _: AnyPtr,
        options: usize,
        _: AnyPtr,
        _: AnyPtr,
        _: AnyPtr,
        _: AnyPtr,
    ) -> Result<Client> {
        if options > 0 {
            return Err(Error::invalid(format!("{options} options, of which none is known")));
        }
        let number = self.clients.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Client::from_addr(number << 4))
    }

    fn client_destroy(&self, client: Client) -> Result<()> {
        self.is_client(client)?;
        self.clients.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn client_platform_name(&self, client: Client) -> Result<Lent<std::ffi::c_char>> {
        self.is_client(client)?;
        Ok(Lent::text(c"quiet"))
    }

    fn client_process_index(&self, client: Client) -> Result<i32> {
        self.is_client(client)?;
        Ok(0)
    }
}

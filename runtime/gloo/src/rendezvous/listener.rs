//! A port on which processes are expected.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The time limit for the first message of a process that connects.
const FIRST_MESSAGE: Duration = Duration::from_secs(5);
/// The time limit for a message to a process.
const SENDING: Duration = Duration::from_secs(5);
/// Number of connections that may be open without a first message.
const MOST_STRANGERS: usize = 256;

/// Accepts connections until it is closed, each on a thread of its own.
pub(super) struct Listener {
    socket: TcpListener,
    strangers: AtomicUsize,
    is_closed: AtomicBool,
}

impl Listener {
    /// Listens at an address.
    pub(super) fn bind(address: impl ToSocketAddrs) -> io::Result<Arc<Self>> {
        let socket = TcpListener::bind(address)?;
        Ok(Arc::new(Self { socket, strangers: AtomicUsize::new(0), is_closed: AtomicBool::new(false) }))
    }

    /// Returns the address with the port that the system chose.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Refuses further connections.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        // SAFETY: the descriptor is open as long as the socket. This ends the wait of the thread.
        unsafe { libc::shutdown(self.socket.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// Starts to accept. `greet` reads the first message of a connection, and `serve` gets it. If the first message is
    /// wrong or late, the connection is closed without an answer.
    pub(super) fn start<M>(
        self: &Arc<Self>,
        greet: impl Fn(&TcpStream) -> io::Result<M> + Send + Sync + 'static,
        serve: impl Fn(M, TcpStream) + Send + Sync + 'static,
    ) -> io::Result<()> {
        let listener = self.clone();
        let accept = move || listener.accept(&Arc::new((greet, serve)));
        thread::Builder::new().name("tenon-root".to_owned()).spawn(accept).map(drop)
    }

    fn accept<M>(
        self: Arc<Self>,
        actions: &Arc<(
            impl Fn(&TcpStream) -> io::Result<M> + Send + Sync + 'static,
            impl Fn(M, TcpStream) + Send + Sync + 'static,
        )>,
    ) {
        loop {
            let connection = self.socket.accept();
            if self.is_closed.load(Ordering::Acquire) {
                return;
            }
            let Ok((connection, _)) = connection else {
                // No descriptor is free, for example.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            if self.strangers.fetch_add(1, Ordering::AcqRel) >= MOST_STRANGERS {
                self.strangers.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let (listener, actions) = (self.clone(), actions.clone());
            let serve = move || {
                let first = prepare(&connection).and_then(|()| (actions.0)(&connection));
                listener.strangers.fetch_sub(1, Ordering::AcqRel);
                drop(listener);
                if let Ok(first) = first {
                    (actions.1)(first, connection);
                }
            };
            let thread = thread::Builder::new().name("tenon-member".to_owned()).stack_size(256 << 10);
            if thread.spawn(serve).is_err() {
                self.strangers.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

fn prepare(connection: &TcpStream) -> io::Result<()> {
    connection.set_read_timeout(Some(FIRST_MESSAGE))?;
    connection.set_write_timeout(Some(SENDING))?;
    connection.set_nodelay(true)
}

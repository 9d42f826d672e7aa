//! The bytes by which the members of a group find each other.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::error::{Error, Result};

/// Marks the bytes as an id, with the version of the messages.
const MAGIC: [u8; 8] = *b"tenoncc1";
const SECRET: usize = 16;

/// Size of an id in bytes.
pub(crate) const ID_SIZE: usize = MAGIC.len() + 16 + 2 + SECRET;

/// The address of the server of a group, and the secret that its members know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootId {
    pub(crate) address: SocketAddr,
    pub(crate) secret: [u8; SECRET],
}

impl RootId {
    /// Makes an id with a new secret.
    pub(crate) fn new(address: SocketAddr) -> io::Result<Self> {
        let mut secret = [0; SECRET];
        // SAFETY: the pointer and the length are those of the array.
        let filled = unsafe { libc::getrandom(secret.as_mut_ptr().cast(), secret.len(), 0) };
        if usize::try_from(filled) == Ok(secret.len()) {
            Ok(Self { address, secret })
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> [u8; ID_SIZE] {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let parts = [&MAGIC[..], &ip.octets(), &self.address.port().to_be_bytes(), &self.secret];
        let mut bytes = [0; ID_SIZE];
        bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(place, byte)| *place = *byte);
        bytes
    }

    /// Reads an id. Bytes behind it are ignored.
    ///
    /// # Errors
    /// If the bytes are no id.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Error::NotAnId)?;
        let (ip, rest) = rest.split_first_chunk::<16>().ok_or(Error::NotAnId)?;
        let (port, rest) = rest.split_first_chunk::<2>().ok_or(Error::NotAnId)?;
        let secret = *rest.first_chunk().ok_or(Error::NotAnId)?;
        let address = SocketAddr::new(Ipv6Addr::from(*ip).to_canonical(), u16::from_be_bytes(*port));
        Ok(Self { address, secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_both_versions_of_addresses_survive() {
        for address in ["127.0.0.1:80", "[fe80::1]:65535"] {
            let id = RootId::new(address.parse().unwrap()).unwrap();
            assert!(RootId::from_bytes(&id.bytes()).unwrap() == id, "{address}");
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let id = RootId::new("127.0.0.1:80".parse().unwrap()).unwrap().bytes();
        for bytes in [&[][..], &id[..ID_SIZE - 1], &id[1..], &[0; ID_SIZE]] {
            assert!(matches!(RootId::from_bytes(bytes), Err(Error::NotAnId)));
        }
    }
}

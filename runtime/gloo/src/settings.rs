//! The environment variables of collectives, and the address of this machine in the network.

use std::cell::Cell;
use std::env;
use std::ffi::{CStr, CString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _, UdpSocket};
use std::ptr;
use std::time::Duration;

use crate::error::{Error, Result};

/// The address or name of the interface that reaches the other members.
const INTERFACE: &str = "TENON_COMM_INTERFACE";
/// The time limit of each operation in seconds.
const TIMEOUT: &str = "TENON_COMM_TIMEOUT";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Variables of hosts with the address of this process, `host:port`, as others see it.
const OWN: [&str; 1] = ["PADDLE_CURRENT_ENDPOINT"];
/// Variables of hosts with an address that all members reach, with or without a port.
const MASTERS: [&str; 2] = ["PADDLE_MASTER", "MASTER_ADDR"];

thread_local! {
    /// The address of this machine that the processes use which this thread has met.
    static REACHED_AT: Cell<Option<IpAddr>> = const { Cell::new(None) };
}

/// Calls `body`, during which groups are served at an address of this machine, unless the variable names another one.
pub(crate) fn reachable_at<R>(own: IpAddr, body: impl FnOnce() -> R) -> R {
    /// Restores the address also if `body` panics.
    struct Restore(Option<IpAddr>);
    impl Drop for Restore {
        fn drop(&mut self) {
            REACHED_AT.set(self.0);
        }
    }
    let _restore = Restore(REACHED_AT.replace(Some(own)));
    body()
}

/// Returns the time limit of each operation.
///
/// # Errors
/// If the variable is not a number of seconds.
pub(crate) fn timeout() -> Result<Duration> {
    env::var_os(TIMEOUT).map_or(Ok(DEFAULT_TIMEOUT), |value| timeout_of(&value.to_string_lossy()))
}

fn timeout_of(value: &str) -> Result<Duration> {
    let value = value.trim();
    if value.is_empty() {
        return Ok(DEFAULT_TIMEOUT);
    }
    let seconds = value.parse().ok().filter(|seconds| (0.001..1e9).contains(seconds));
    let reason = "expected a number of seconds, such as 600".to_owned();
    seconds.map(Duration::from_secs_f64).ok_or(Error::Variable {
        variable: TIMEOUT,
        value: value.to_owned(),
        reason,
    })
}

/// Returns the address at which other members reach this process: that of the interface which the variable names, the
/// one at which the thread has met them, the host's own, or that of the interface which reaches the host's master. Without
/// any, programs of one machine meet.
///
/// # Errors
/// If the variable names no interface.
pub(crate) fn own_address() -> Result<IpAddr> {
    if let Some(address) = interface()?.or(REACHED_AT.get()) {
        return Ok(address);
    }
    let endpoint = |variable: &&str| env::var(variable).ok().filter(|value| !value.is_empty());
    let own = OWN.iter().find_map(endpoint).and_then(|endpoint| resolve(&endpoint));
    let master = || MASTERS.iter().find_map(endpoint).and_then(|endpoint| resolve(&endpoint));
    let address = own.or_else(|| master().and_then(|master| address_towards(master).ok()));
    Ok(address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
}

/// Returns the address of this machine that a member at `other` sees.
///
/// # Errors
/// If there is no route to it, or the variable names no interface.
pub(crate) fn own_address_towards(other: IpAddr) -> Result<IpAddr> {
    match interface()? {
        Some(address) => Ok(address),
        None => address_towards(other).map_err(|reason| Error::System {
            action: "cannot find the interface that reaches the group",
            reason,
        }),
    }
}

/// Asks the system for the interface of a route. Nothing is sent.
fn address_towards(other: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    // Any port will do, since no packet leaves.
    socket.connect((other, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Finds the address of `HOST:PORT`, `[ADDRESS]:PORT` or a host alone.
fn resolve(endpoint: &str) -> Option<IpAddr> {
    let host = match endpoint.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        // More than one colon: an address of version 6 without a port.
        None => endpoint
            .split_once(':')
            .filter(|(_, port)| !port.contains(':'))
            .map_or(endpoint, |(host, _)| host),
    };
    (host, 0).to_socket_addrs().ok()?.next().map(|address| address.ip())
}

fn interface() -> Result<Option<IpAddr>> {
    let value = env::var_os(INTERFACE).filter(|value| !value.is_empty());
    value.map(|value| interface_of(&value.to_string_lossy())).transpose()
}

fn interface_of(value: &str) -> Result<IpAddr> {
    if let Ok(address) = value.parse() {
        return Ok(address);
    }
    let interfaces =
        interfaces().map_err(|reason| Error::System { action: "cannot list interfaces", reason })?;
    if let Some((_, address)) = interfaces.iter().find(|(name, _)| name == value) {
        return Ok(*address);
    }
    let known: Vec<String> = interfaces.iter().map(|(name, address)| format!("{name} ({address})")).collect();
    let reason =
        format!("expected an address or an interface of this machine, which has {}", known.join(", "));
    Err(Error::Variable { variable: INTERFACE, value: value.to_owned(), reason })
}

/// Returns the interfaces of this machine with their addresses, those of version 4 first.
fn interfaces() -> io::Result<Vec<(String, IpAddr)>> {
    let mut first = ptr::null_mut();
    // SAFETY: the function writes a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: each entry is null or valid until the list is freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: null, or an address of the length that its family has.
        if let Some(address) = unsafe { address_of(entry.ifa_addr) } {
            // SAFETY: the name is NUL-terminated.
            let name: CString = unsafe { CStr::from_ptr(entry.ifa_name) }.to_owned();
            found.push((name.to_string_lossy().into_owned(), address));
        }
    }
    // SAFETY: the list came from `getifaddrs`, and nothing refers to it.
    unsafe { libc::freeifaddrs(first) };
    found.sort_by_key(|(_, address)| address.is_ipv6());
    Ok(found)
}

/// Reads an address of either version.
///
/// # Safety
/// `address` is null, or valid for its family.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null, or a struct that begins with the family.
    let family = unsafe { address.as_ref() }?.sa_family;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: the family has this struct.
            let address = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(IpAddr::from(address.sin_addr.s_addr.to_ne_bytes()))
        }
        libc::AF_INET6 => {
            // SAFETY: the family has this struct.
            let address = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(IpAddr::from(address.sin6_addr.s6_addr))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_seconds() {
        assert_eq!(timeout_of("").unwrap(), DEFAULT_TIMEOUT);
        assert_eq!(timeout_of(" 2.5 ").unwrap(), Duration::from_millis(2500));
        for value in ["0", "-1", "soon", "1e300", "NaN", "10s"] {
            let text = timeout_of(value).unwrap_err().to_string();
            assert_eq!(
                text,
                format!("TENON_COMM_TIMEOUT={value}: expected a number of seconds, such as 600")
            );
        }
    }

    #[test]
    fn interfaces_have_names_and_addresses() {
        assert_eq!(interface_of("10.1.2.3").unwrap(), IpAddr::from([10, 1, 2, 3]));
        assert_eq!(interface_of("lo").unwrap(), IpAddr::from([127, 0, 0, 1]));
        let text = interface_of("none0").unwrap_err().to_string();
        assert!(text.starts_with("TENON_COMM_INTERFACE=none0: expected an address"), "{text}");
        assert!(text.contains("lo (127.0.0.1)"), "{text}");
    }

    #[test]
    fn endpoints_of_hosts_have_a_port_or_none() {
        let here = Some(IpAddr::from([127, 0, 0, 1]));
        assert_eq!(resolve("127.0.0.1:6170"), here);
        assert_eq!(resolve("127.0.0.1"), here);
        assert_eq!(resolve("[::1]:6170"), Some("::1".parse().unwrap()));
        assert_eq!(resolve("::1"), Some("::1".parse().unwrap()));
        assert_eq!(resolve("no host has this name.invalid:1"), None);
        assert_eq!(address_towards(IpAddr::from([127, 0, 0, 1])).unwrap(), IpAddr::from([127, 0, 0, 1]));
    }
}

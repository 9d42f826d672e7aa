//! Processes that meet at an address. Threads take their place, and a device's id is any bytes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tenon_gloo::{Error, Result, meet};

/// The time limit comes from the environment, which all tests share.
static TESTS: Mutex<()> = Mutex::new(());

/// Runs a test with a time limit in seconds.
fn with_limit(limit: &str, test: impl FnOnce(&str)) {
    let _one = TESTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // SAFETY: no other thread reads or changes the environment now: the tests run one after the other.
    unsafe { std::env::set_var("TENON_COMM_TIMEOUT", limit) };
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    test(&address);
}

fn id() -> Result<Vec<u8>> {
    Ok(b"an id".to_vec())
}

/// Meets with a rank and a size for each thread. Returns what each gets.
fn all(address: &str, members: &[(usize, usize)]) -> Vec<Result<Vec<u8>>> {
    thread::scope(|scope| {
        let one = |(rank, size): (usize, usize)| scope.spawn(move || meet(address, rank, size, id));
        let threads: Vec<_> = members.iter().copied().map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn text(outcome: &Result<Vec<u8>>) -> String {
    outcome.as_ref().map_or_else(ToString::to_string, |id| String::from_utf8_lossy(id).into_owned())
}

#[test]
fn all_get_the_id_and_the_address_serves_the_next_group() {
    with_limit("30", |address| {
        for size in [1, 2, 4, 2] {
            let members: Vec<_> = (0..size).map(|rank| (rank, size)).collect();
            for outcome in all(address, &members) {
                assert_eq!(text(&outcome), "an id");
            }
        }
    });
}

#[test]
fn rank_0_may_come_last() {
    with_limit("30", |address| {
        thread::scope(|scope| {
            let first = scope.spawn(|| meet(address, 1, 2, id));
            thread::sleep(Duration::from_millis(200));
            assert_eq!(text(&meet(address, 0, 2, id)), "an id");
            assert_eq!(text(&first.join().unwrap()), "an id");
        });
    });
}

#[test]
fn missing_ranks_are_named_to_all() {
    with_limit("0.5", |address| {
        let outcomes = all(address, &[(0, 4), (2, 4)]);
        let missing = "the group did not come together within 0.5 s: ranks 1, 3 of 4 did not come";
        assert_eq!(text(&outcomes[0]), missing);
        assert_eq!(text(&outcomes[1]), format!("the root of the group refuses rank 2: {missing}"));
        let started = Instant::now();
        let alone = text(&meet(address, 1, 2, id));
        assert!(
            alone.starts_with(&format!("rank 0 was not found at {address} within 0.5 s: Connection refused")),
            "{alone}"
        );
        assert!(started.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_rank_twice_and_another_size_are_refused_and_the_others_go_on() {
    with_limit("30", |address| {
        thread::scope(|scope| {
            let root = scope.spawn(|| meet(address, 0, 3, id));
            let other_size = text(&meet(address, 2, 4, id));
            assert_eq!(
                other_size,
                "the root of the group refuses rank 2: it says that the group has 4 members, but rank 0 says 3"
            );
            let (result, results) = mpsc::channel();
            for _ in 0..3 {
                let result = result.clone();
                scope.spawn(move || result.send(text(&meet(address, 1, 3, id))).unwrap());
            }
            let twice = "the root of the group refuses rank 1: another process has this rank";
            assert_eq!([results.recv().unwrap(), results.recv().unwrap()], [twice, twice]);
            assert_eq!(text(&meet(address, 2, 3, id)), "an id");
            assert_eq!(results.recv().unwrap(), "an id");
            assert_eq!(text(&root.join().unwrap()), "an id");
        });
    });
}

#[test]
fn the_error_of_rank_0_reaches_all() {
    with_limit("30", |address| {
        thread::scope(|scope| {
            let other = scope.spawn(|| meet(address, 1, 2, id));
            let made = meet(address, 0, 2, || Err(Error::Invalid("no id today".to_owned())));
            assert_eq!(text(&made), "no id today");
            assert_eq!(text(&other.join().unwrap()), "the root of the group refuses rank 1: no id today");
        });
    });
}

#[test]
fn strangers_get_no_answer_and_hold_nobody_up() {
    with_limit("30", |address| {
        thread::scope(|scope| {
            let root = scope.spawn(|| meet(address, 0, 2, id));
            let connect = || loop {
                match TcpStream::connect(address) {
                    Ok(connection) => return connection,
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            };
            let _silent = connect();
            let mut garbage = connect();
            garbage.write_all(b"GET / HTTP/1.1\r\nHost: tenon\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            // An end or a reset, but no bytes.
            let _ = garbage.read_to_end(&mut answer);
            assert_eq!(answer, b"");
            assert_eq!(text(&meet(address, 1, 2, id)), "an id");
            assert_eq!(text(&root.join().unwrap()), "an id");
        });
    });
}

#[test]
fn wrong_addresses_are_named() {
    with_limit("0.5", |address| {
        for wrong in ["", "somewhere", "127.0.0.1", "127.0.0.1:x"] {
            let error = text(&meet(wrong, 0, 2, id));
            assert!(error.starts_with(&format!("`{wrong}` is not an address such as")), "{error}");
        }
        let _taken = TcpListener::bind(address).unwrap();
        let error = text(&meet(address, 0, 2, id));
        assert!(error.starts_with(&format!("rank 0 cannot listen at {address}: Address already")), "{error}");
        assert_eq!(text(&meet(address, 2, 2, id)), "there is no rank 2 in a group of 2");
    });
}

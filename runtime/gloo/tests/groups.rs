//! Groups whose members are threads of one process.

use std::sync::{Barrier, Mutex, mpsc};
use std::thread;

use tenon::DevicePtr;
use tenon::device::{DataType, ReduceOp};
use tenon_gloo::{Buffer, Communicator, Error, Group, Operation, Result};

/// Runs `body` as each member of a group, and returns the results in the order of the ranks.
fn members<R: Send>(size: usize, body: impl Fn(&mut Group) -> R + Sync) -> Vec<R> {
    let id = tenon_gloo::new_root_id().expect("gloo is there");
    thread::scope(|scope| {
        let member = |rank| {
            let (id, body) = (&id, &body);
            scope.spawn(move || body(&mut Group::join(id, rank, size).expect("all members come")))
        };
        let threads: Vec<_> = (0..size).map(member).collect();
        threads.into_iter().map(|thread| thread.join().expect("no member panics")).collect()
    })
}

fn place<T>(data: &mut [T]) -> DevicePtr {
    DevicePtr::from_addr(data.as_mut_ptr() as usize)
}

fn run(group: &mut Group, operation: Operation) -> Result<()> {
    // SAFETY: the tests pass buffers of the right sizes, which live until the call ends.
    unsafe { group.run(&[&operation]) }
}

/// Returns the elements that a member contributes.
fn own(rank: usize, count: usize) -> Vec<f32> {
    (0..count).map(|index| (rank * 100 + index) as f32).collect()
}

#[test]
fn all_members_get_the_sum() {
    if !tenon_testing::has_gloo() {
        return;
    }
    for size in [1, 2, 3, 4] {
        let results = members(size, |group| {
            let (mut send, mut receive) = (own(group.rank(), 1000), vec![0_f32; 1000]);
            let send = Buffer::new(place(&mut send), 1000, DataType::FLOAT32);
            let receive_at = place(&mut receive);
            run(group, Operation::AllReduce { send, receive: receive_at, op: ReduceOp::SUM }).unwrap();
            receive
        });
        let sum: Vec<f32> =
            (0..1000).map(|index| (0..size).map(|rank| own(rank, 1000)[index]).sum()).collect();
        assert!(results.iter().all(|result| *result == sum), "{size}");
    }
}

#[test]
fn one_member_gets_the_mean_and_the_buffers_of_others_stay() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(3, |group| {
        let (mut send, mut receive) = ([group.rank() as i32 * 3; 5], [-1_i32; 5]);
        let send = Buffer::new(place(&mut send), 5, DataType::INT32);
        let receive_at = place(&mut receive);
        run(group, Operation::Reduce { send, receive: receive_at, op: ReduceOp::AVG, root: 1 }).unwrap();
        receive
    });
    assert_eq!(results, [[-1; 5], [3; 5], [-1; 5]]);
}

#[test]
fn broadcast_and_gather_keep_the_order_of_ranks() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(4, |group| {
        let mut data = [group.rank() as u8; 3];
        let buffer = Buffer::new(place(&mut data), 3, DataType::UINT8);
        let mut all = [0_u8; 12];
        let receive = place(&mut all);
        run(group, Operation::AllGather { send: buffer, receive }).unwrap();
        run(group, Operation::Broadcast { buffer, root: 2 }).unwrap();
        (all, data)
    });
    assert!(
        results.iter().all(|result| *result == ([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], [2; 3])),
        "{results:?}"
    );
}

#[test]
fn each_member_gets_its_part_of_the_sum() {
    if !tenon_testing::has_gloo() {
        return;
    }
    for size in [1, 2, 3, 4] {
        let results = members(size, |group| {
            let mut send: Vec<i64> =
                (0..size * 2).map(|index| (10 * (group.rank() + 1) + index) as i64).collect();
            let mut receive = [0_i64; 2];
            let receive_at = Buffer::new(place(&mut receive), 2, DataType::INT64);
            let send = place(&mut send);
            run(group, Operation::ReduceScatter { send, receive: receive_at, op: ReduceOp::SUM }).unwrap();
            receive
        });
        for (rank, result) in results.iter().enumerate() {
            let part =
                |index: usize| (0..size).map(|of| (10 * (of + 1) + rank * 2 + index) as i64).sum::<i64>();
            assert_eq!(*result, [part(0), part(1)], "{size}");
        }
    }
}

#[test]
fn all_to_all_takes_buffers_of_different_lengths() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(3, |group| {
        let rank = group.rank();
        // To member m go m + 1 numbers.
        let mut send: Vec<Vec<u16>> = (0..3).map(|to| vec![(rank * 10 + to) as u16; to + 1]).collect();
        let mut receive = vec![vec![0_u16; rank + 1]; 3];
        let buffers = |all: &mut Vec<Vec<u16>>| -> Vec<Buffer> {
            all.iter_mut().map(|one| Buffer::new(place(one), one.len(), DataType::UINT16)).collect()
        };
        let operation = Operation::AllToAll { send: buffers(&mut send), receive: buffers(&mut receive) };
        run(group, operation).unwrap();
        receive
    });
    for (rank, result) in results.iter().enumerate() {
        let expected: Vec<Vec<u16>> = (0..3).map(|from| vec![(from * 10 + rank) as u16; rank + 1]).collect();
        assert_eq!(*result, expected);
    }
}

#[test]
fn messages_of_one_call_cross_each_other() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |group| {
        let other = 1 - group.rank();
        let (mut data, mut got) = (own(group.rank(), 1 << 18), vec![0_f32; 1 << 18]);
        let send = Buffer::new(place(&mut data), data.len(), DataType::FLOAT32);
        let receive = Buffer::new(place(&mut got), data.len(), DataType::FLOAT32);
        // SAFETY: the buffers have the size, and live until the call ends.
        unsafe {
            group
                .run(&[&Operation::Send { send, to: other }, &Operation::Receive { receive, from: other }])
                .unwrap();
        }
        got
    });
    assert_eq!(results, [own(1, 1 << 18), own(0, 1 << 18)]);
}

#[test]
fn members_that_call_different_things_get_errors_that_say_so() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |group| {
        let count = 4 + group.rank();
        let mut data = vec![1_f32; count];
        let receive = place(&mut data);
        let send = Buffer::new(receive, count, DataType::FLOAT32);
        let error = run(group, Operation::AllReduce { send, receive, op: ReduceOp::SUM }).unwrap_err();
        let again = run(group, Operation::AllReduce { send, receive, op: ReduceOp::SUM }).unwrap_err();
        assert!(matches!(again, Error::Broken { .. }));
        error.to_string()
    });
    assert!(
        results.iter().any(|text| text.contains("rank 1 calls all_reduce of 5 float32 (sum) instead"))
            || results.iter().any(|text| text.contains("rank 0 calls all_reduce of 4 float32 (sum) instead")),
        "{results:?}"
    );
}

#[test]
fn a_member_that_leaves_early_is_named() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(3, |group| {
        if group.rank() == 1 {
            return String::new();
        }
        let mut data = [1_f32; 4];
        let receive = place(&mut data);
        let send = Buffer::new(receive, 4, DataType::FLOAT32);
        run(group, Operation::AllReduce { send, receive, op: ReduceOp::SUM }).unwrap_err().to_string()
    });
    for text in [&results[0], &results[2]] {
        assert!(text.contains("all_reduce of 4 float32 (sum) failed on rank"), "{text}");
        assert!(text.contains("rank 1 has left the group"), "{text}");
    }
}

#[test]
fn a_member_that_hears_of_a_failure_late_names_who_made_it() {
    if !tenon_testing::has_gloo() {
        return;
    }
    // Rank 1 leaves, which makes the root fail, and the root leaves before rank 2 asks.
    let (root_is_over, root_was_over) = mpsc::channel();
    let id = tenon_gloo::new_root_id().unwrap();
    let id = &id;
    let text = thread::scope(|scope| {
        let fails = |group: &mut Group| {
            let mut data = [1_f32; 4];
            let receive = place(&mut data);
            let send = Buffer::new(receive, 4, DataType::FLOAT32);
            run(group, Operation::AllReduce { send, receive, op: ReduceOp::SUM }).unwrap_err().to_string()
        };
        scope.spawn(move || {
            // The first member of the process that joins has the server.
            let mut group = Group::join(id, 0, 3).unwrap();
            let text = fails(&mut group);
            drop(group);
            root_is_over.send(text).unwrap();
        });
        thread::sleep(std::time::Duration::from_millis(200));
        scope.spawn(|| drop(Group::join(id, 1, 3).unwrap()));
        let mut group = Group::join(id, 2, 3).unwrap();
        assert!(root_was_over.recv().unwrap().contains("rank 1 has left the group"));
        fails(&mut group)
    });
    assert!(text.contains("failed on rank 2 of 3: rank 1 has left the group"), "{text}");
}

#[test]
fn joins_that_do_not_fit_are_refused() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let id = tenon_gloo::new_root_id().unwrap();
    assert!(matches!(Group::join(&id, 2, 2), Err(Error::Invalid(_))));
    assert!(matches!(Group::join(&[1; 50], 0, 2), Err(Error::NotAnId)));
    let (refusals, joined) = (Mutex::new(Vec::new()), Barrier::new(2));
    let join = |rank| {
        let group = Group::join(&id, rank, 2).unwrap();
        joined.wait();
        drop(group);
    };
    thread::scope(|scope| {
        scope.spawn(|| join(0));
        thread::sleep(std::time::Duration::from_millis(200));
        for (rank, size) in [(0, 2), (0, 3)] {
            let error = Group::join(&id, rank, size).err().map(|error| error.to_string());
            refusals.lock().unwrap().push(error.unwrap_or_default());
        }
        join(1);
    });
    let refusals = refusals.into_inner().unwrap();
    assert!(refusals[0].contains("another process has this rank"), "{refusals:?}");
    assert!(refusals[1].contains("the group has 3 members, but others say 2"), "{refusals:?}");
}

#[test]
fn strangers_on_the_port_get_no_answer_and_hold_nobody_up() {
    if !tenon_testing::has_gloo() {
        return;
    }
    use std::io::{Read as _, Write as _};

    let id = tenon_gloo::new_root_id().unwrap();
    let port = u16::from_be_bytes([id[24], id[25]]);
    let connect = || std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let silent = connect();
    // The greeting of a member with another secret, and what other programs say.
    let mut with_secret = 46_u32.to_le_bytes().to_vec();
    with_secret.extend(b"\x01tenoncc1");
    with_secret.extend([0; 37]);
    for bytes in [&with_secret[..], b"GET / HTTP/1.1\r\n\r\n", &[255; 64]] {
        let mut stranger = connect();
        stranger.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // The server may reset the connection, because it has not read everything.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{answer:?}");
    }
    thread::scope(|scope| {
        for rank in 0..2 {
            let id = &id;
            scope.spawn(move || {
                let mut group = Group::join(id, rank, 2).unwrap();
                let mut data = [1_f64];
                let receive = place(&mut data);
                let send = Buffer::new(receive, 1, DataType::FLOAT64);
                run(&mut group, Operation::AllReduce { send, receive, op: ReduceOp::SUM }).unwrap();
                assert_eq!(data, [2.0]);
            });
        }
    });
    drop(silent);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "nothing listens when all have come");
}

#[test]
fn operations_run_in_the_order_of_the_calls_whatever_streams_do() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let id = tenon_gloo::new_root_id().unwrap();
    let results: Vec<Vec<f32>> = thread::scope(|scope| {
        let member = |rank| {
            let id = &id;
            scope.spawn(move || {
                let communicator = Communicator::join(id, rank, 2).unwrap();
                let mut data = [own(rank, 8), own(rank, 16)];
                let (sender, over) = std::sync::mpsc::channel();
                let (ticket_sender, tickets) = std::sync::mpsc::channel();
                for (stream, data) in data.iter_mut().enumerate() {
                    let receive = place(data);
                    let send = Buffer::new(receive, data.len(), DataType::FLOAT32);
                    let operation = Operation::AllReduce { send, receive, op: ReduceOp::SUM };
                    let ticket_sender = ticket_sender.clone();
                    let launch =
                        move |ticket, _| ticket_sender.send(ticket).map_err(|error| error.to_string());
                    // SAFETY: the buffers live until both operations are over.
                    unsafe { communicator.queue(operation, stream, Box::new(()), Box::new(launch)).unwrap() }
                }
                drop(ticket_sender);
                let tickets: Vec<_> = tickets.iter().collect();
                // The streams of one member come to the second operation first.
                let order: Vec<_> = if rank == 0 { tickets } else { tickets.into_iter().rev().collect() };
                for ticket in order {
                    let sender = sender.clone();
                    ticket.ready(Box::new(move |outcome| sender.send(outcome.is_ok()).unwrap()));
                }
                assert_eq!([over.recv(), over.recv()], [Ok(true), Ok(true)]);
                data.concat()
            })
        };
        let threads = [member(0), member(1)];
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |count| (0..count).map(move |index| own(0, count)[index] + own(1, count)[index]);
    let expected: Vec<f32> = sum(8).chain(sum(16)).collect();
    assert_eq!(results, [expected.clone(), expected]);
}

#[test]
fn a_stream_that_refuses_its_part_does_not_block_the_others() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let id = tenon_gloo::new_root_id().unwrap();
    let communicator = Communicator::join(&id, 0, 1).unwrap();
    let mut data = [own(0, 4), own(0, 4)];
    let (sender, over) = std::sync::mpsc::channel();
    let mut queue = |stream: usize, refuses: bool| {
        let receive = place(&mut data[stream]);
        let send = Buffer::new(receive, 4, DataType::FLOAT32);
        let operation = Operation::AllReduce { send, receive, op: ReduceOp::SUM };
        let sender = sender.clone();
        let launch = move |ticket: tenon_gloo::Ticket, _: Vec<tenon_gloo::Memory>| {
            if refuses {
                return Err("the stream takes no more work".to_owned());
            }
            ticket.ready(Box::new(move |outcome| sender.send(outcome.is_ok()).unwrap()));
            Ok(())
        };
        // SAFETY: the buffers live until both operations are over.
        unsafe { communicator.queue(operation, stream, Box::new(()), Box::new(launch)).unwrap() }
    };
    tenon_gloo::start_bracket();
    queue(0, false);
    queue(1, true);
    let refused = tenon_gloo::end_bracket().unwrap_err();
    assert_eq!(refused.to_string(), "the stream takes no more work");
    assert_eq!(over.recv(), Ok(true));
}

/// Sends to a member, or receives from it, outside of a group of calls.
fn message(group: &mut Group, data: &mut [i64], other: usize, is_send: bool) -> Result<()> {
    let buffer = Buffer::new(place(data), data.len(), DataType::INT64);
    run(
        group,
        if is_send {
            Operation::Send { send: buffer, to: other }
        } else {
            Operation::Receive { receive: buffer, from: other }
        },
    )
}

/// Hosts do this with pipelines of several processes.
#[test]
fn members_that_send_to_each_other_first_do_not_wait() {
    if !tenon_testing::has_gloo() {
        return;
    }
    for count in [1, 1000, 1 << 20] {
        let results = members(2, |group| {
            let other = 1 - group.rank();
            for turn in 0..3 {
                message(group, &mut vec![group.rank() as i64 + turn; count], other, true).unwrap();
            }
            let mut received = vec![-1; count];
            let mut seen = Vec::new();
            for _ in 0..3 {
                message(group, &mut received, other, false).unwrap();
                assert!(received.iter().all(|value| *value == received[0]));
                seen.push(received[0]);
            }
            seen
        });
        assert_eq!(results, [[1, 2, 3], [0, 1, 2]]);
    }
}

#[test]
fn a_member_that_leaves_sends_what_is_under_way() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |group| {
        let mut data = vec![7; 1 << 18];
        if group.rank() == 0 {
            message(group, &mut data, 1, true).unwrap();
            // What is sent is a copy.
            data.fill(0);
            return true;
        }
        thread::sleep(std::time::Duration::from_millis(100));
        data.fill(-1);
        message(group, &mut data, 0, false).unwrap();
        data.iter().all(|value| *value == 7)
    });
    assert_eq!(results, [true, true]);
}

#[test]
fn messages_beyond_the_limit_wait_for_their_receiver() {
    if !tenon_testing::has_gloo() {
        return;
    }
    // Five messages of 64 MiB: the last one has no room before the first has arrived.
    let results = members(2, |group| {
        let mut data = vec![group.rank() as i64; 8 << 20];
        (0..5).all(|_| message(group, &mut data, 1 - group.rank(), group.rank() == 0).is_ok()) && data[0] == 0
    });
    assert_eq!(results, [true, true]);
}

//! Collectives in the order of streams. Each member of a group is a `Cpu` with a thread of its own.
#![cfg(not(loom))]

mod common;

use common::{block, cpu, download, fails, upload};
use std::thread;
use tenon::DevicePtr;
use tenon::device::{CollectiveComm, DataType, Device, DeviceId, ReduceOp, Result, Stream};
use tenon_cpu::Cpu;

const DEVICE: DeviceId = DeviceId(0);

/// Makes a root id.
fn root_id(cpu: &Cpu) -> Vec<u8> {
    let mut id = vec![0; cpu.xccl_get_unique_id_size().unwrap()];
    cpu.xccl_get_unique_id(&mut id).expect("gloo is there");
    id
}

/// Runs `body` as each member of a group, and returns the results in the order of the ranks.
fn members<R: Send>(size: usize, body: impl Fn(&Cpu, usize, CollectiveComm) -> R + Sync) -> Vec<R> {
    let root = cpu();
    let id = root_id(&root);
    thread::scope(|scope| {
        let member = |rank| {
            let (mut id, body) = (id.clone(), &body);
            scope.spawn(move || {
                let cpu = cpu();
                let comm = cpu.xccl_comm_init_rank(size, &mut id, rank).expect("all members come");
                let result = body(&cpu, rank, comm);
                // A shutdown of the device has destroyed it already.
                let _ = cpu.xccl_destroy_comm(comm);
                assert!(fails(cpu.xccl_get_comm_name(comm), "is not a live communicator"));
                result
            })
        };
        let threads: Vec<_> = (0..size).map(member).collect();
        threads.into_iter().map(|thread| thread.join().expect("no member panics")).collect()
    })
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn sum(cpu: &Cpu, data: DevicePtr, count: usize, comm: CollectiveComm, stream: Stream) -> Result<()> {
    cpu.xccl_all_reduce(data, data, count, DataType::FLOAT32, ReduceOp::SUM, comm, stream)
}

#[test]
fn a_collective_has_its_place_in_the_stream() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |cpu, rank, comm| {
        let stream = cpu.create_stream(DEVICE).unwrap();
        let data = upload(cpu, 0, &floats(&[0.0; 2]));
        let gate = block(cpu, 0, stream);
        // What is queued before it decides what it reduces, and what is queued behind it sees the results.
        cpu.async_memory_fill(DEVICE, stream, data, &floats(&[rank as f32 + 1.0]), 8).unwrap();
        sum(cpu, data, 2, comm, stream).unwrap();
        sum(cpu, data, 2, comm, stream).unwrap();
        assert!(!cpu.query_stream(DEVICE, stream).unwrap());
        gate.open();
        cpu.synchronize_stream(DEVICE, stream).unwrap();
        download(cpu, 0, data, 8)
    });
    assert_eq!(results, [floats(&[6.0; 2]), floats(&[6.0; 2])]);
}

#[test]
fn memory_that_is_freed_behind_a_collective_stays_until_it_is_over() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |cpu, rank, comm| {
        let stream = cpu.create_stream(DEVICE).unwrap();
        let (send, receive) = (upload(cpu, 0, &floats(&[1.0; 64])), upload(cpu, 0, &floats(&[0.0; 64])));
        if rank == 1 {
            thread::sleep(std::time::Duration::from_millis(100));
        }
        cpu.xccl_all_reduce(send, receive, 64, DataType::FLOAT32, ReduceOp::SUM, comm, stream).unwrap();
        cpu.device_memory_deallocate(DEVICE, send, 256).unwrap();
        cpu.synchronize_stream(DEVICE, stream).unwrap();
        download(cpu, 0, receive, 256)
    });
    assert_eq!(results, [floats(&[2.0; 64]), floats(&[2.0; 64])]);
}

#[test]
fn messages_in_a_group_of_calls_cross_each_other() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(3, |cpu, rank, comm| {
        let (next, before) = ((rank + 1) % 3, (rank + 2) % 3);
        let (send, receive) = (upload(cpu, 0, &[rank as u8; 4]), upload(cpu, 0, &[9; 4]));
        cpu.xccl_group_start().unwrap();
        cpu.xccl_recv(receive, 4, DataType::UINT8, before, comm, Stream::NULL).unwrap();
        cpu.xccl_send(send, 4, DataType::UINT8, next, comm, Stream::NULL).unwrap();
        cpu.xccl_group_end().unwrap();
        cpu.synchronize_device(DEVICE).unwrap();
        assert!(fails(cpu.xccl_group_end(), "no group of calls"));
        download(cpu, 0, receive, 4)
    });
    assert_eq!(results, [[2; 4], [0; 4], [1; 4]]);
}

#[test]
fn groups_do_not_wait_for_each_other() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let root = cpu();
    let id = root_id(&root);
    let results = members(2, |cpu, rank, first| {
        let second = cpu.xccl_comm_init_rank(2, &mut id.clone(), rank).unwrap();
        // Each member calls the groups in another order, with a stream for each.
        let groups = if rank == 0 { [first, second] } else { [second, first] };
        let streams = groups.map(|comm| {
            let stream = cpu.create_stream(DEVICE).unwrap();
            let data = upload(cpu, 0, &floats(&[1.0; 4]));
            (0..10).for_each(|_| sum(cpu, data, 4, comm, stream).unwrap());
            (stream, data)
        });
        streams.map(|(stream, data)| {
            cpu.synchronize_stream(DEVICE, stream).unwrap();
            download(cpu, 0, data, 16)
        })
    });
    assert!(results.iter().flatten().all(|result| *result == floats(&[1024.0; 4])));
}

#[test]
fn a_failure_reaches_the_stream_and_what_waits_for_it() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |cpu, rank, comm| {
        if rank == 1 {
            return true;
        }
        let (stream, other) = (cpu.create_stream(DEVICE).unwrap(), cpu.create_stream(DEVICE).unwrap());
        let (data, event) = (upload(cpu, 0, &floats(&[1.0])), cpu.create_event(DEVICE).unwrap());
        sum(cpu, data, 1, comm, stream).unwrap();
        cpu.record_event(DEVICE, stream, event).unwrap();
        cpu.stream_wait_event(DEVICE, other, event).unwrap();
        let text = "all_reduce of 1 float32 (sum) failed on rank 0 of 2: rank 1 has left the group";
        fails(cpu.synchronize_stream(DEVICE, other), text)
            && fails(cpu.synchronize_stream(DEVICE, stream), text)
    });
    assert_eq!(results, [true, true]);
}

#[test]
fn wrong_calls_are_refused_before_anything_is_queued() {
    if !tenon_testing::has_gloo() {
        return;
    }
    members(1, |cpu, _, comm| {
        let (data, stream) = (upload(cpu, 0, &[0; 16]), Stream::NULL);
        let reduce = |data, count, data_type, op, comm| {
            cpu.xccl_all_reduce(data, data, count, data_type, op, comm, stream)
        };
        let float = DataType::FLOAT32;
        assert!(reduce(data, 4, float, ReduceOp::SUM, comm).is_ok());
        assert!(fails(reduce(data, 5, float, ReduceOp::SUM, comm), "20 bytes"));
        assert!(fails(reduce(DevicePtr::NULL, 1, float, ReduceOp::SUM, comm), "null"));
        assert!(fails(reduce(data, usize::MAX, float, ReduceOp::SUM, comm), "more than memory has"));
        assert!(fails(reduce(data, 1, DataType::UNDEFINED, ReduceOp::SUM, comm), "have no size"));
        assert!(fails(reduce(data, 1, DataType::COMPLEX64, ReduceOp::MAX, comm), "no reduction max"));
        assert!(fails(reduce(data, 1, float, ReduceOp(9), comm), "no reduction"));
        let none = CollectiveComm::from_addr(0x70);
        assert!(fails(reduce(data, 1, float, ReduceOp::SUM, none), "is not a live communicator"));
        assert!(fails(cpu.xccl_broadcast(data, 1, float, 1, comm, stream), "no rank 1 in a group of 1"));
        assert!(fails(cpu.xccl_send(data, 1, float, 7, comm, stream), "no rank 7 in a group of 1"));
        let all =
            |rank| cpu.xccl_all_to_all(&[data], &[1], &[float], &[data], &[1], &[float], rank, comm, stream);
        assert!(all(0).is_ok() && fails(all(1), "this process is rank 0"));
        cpu.synchronize_device(DEVICE).unwrap();
    });
}

#[test]
fn ids_that_are_none_are_refused() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let cpu = cpu();
    let mut id = root_id(&cpu);
    assert!(fails(cpu.xccl_get_unique_id(&mut [0; 8]), "the buffer has 8 bytes"));
    assert!(fails(cpu.xccl_comm_init_rank(2, &mut id, 2), "no rank 2 in a group of 2"));
    id[0] ^= 1;
    assert!(fails(cpu.xccl_comm_init_rank(2, &mut id, 0), "not one of this library"));
}

#[test]
fn a_shutdown_leaves_the_group() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |cpu, rank, comm| {
        let data = upload(cpu, 0, &floats(&[1.0]));
        sum(cpu, data, 1, comm, Stream::NULL).unwrap();
        cpu.synchronize_device(DEVICE).unwrap();
        if rank == 1 {
            cpu.shutdown().unwrap();
            cpu.initialize().unwrap();
            let mut id = root_id(cpu);
            let again = cpu.xccl_comm_init_rank(1, &mut id, 0).unwrap();
            cpu.xccl_destroy_comm(again).unwrap();
        }
        rank
    });
    assert_eq!(results, [0, 1]);
}

/// PaddlePaddle destroys its communicators at the end of a process, whatever is queued.
#[test]
fn a_communicator_is_destroyed_after_its_last_operation() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let results = members(2, |cpu, rank, comm| {
        let stream = cpu.create_stream(DEVICE).unwrap();
        let data = upload(cpu, 0, &floats(&[1.5; 3]));
        let gate = block(cpu, 0, stream);
        for _ in 0..3 {
            sum(cpu, data, 3, comm, stream).unwrap();
        }
        if rank == 1 {
            // The others must come later than the call that destroys.
            thread::sleep(std::time::Duration::from_millis(50));
        }
        drop(gate);
        cpu.xccl_destroy_comm(comm).unwrap();
        cpu.synchronize_stream(DEVICE, stream).unwrap();
        download(cpu, 0, data, 12)
    });
    assert_eq!(results, [floats(&[12.0; 3]), floats(&[12.0; 3])]);
}

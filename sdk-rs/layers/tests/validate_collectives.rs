//! The rules of collectives: members of a group are threads with a device each.

mod common;

use std::sync::{Barrier, Mutex};
use std::thread;

use common::{ID, OTHER, Validated, validated_cpu};
use tenon::DevicePtr;
use tenon::device::*;
use tenon_cpu::Cpu;
use tenon_layers::validate::{Options, Rule};

/// A member of a group of two.
struct Member<'a> {
    cpu: &'a Validated<Cpu>,
    comm: CollectiveComm,
    rank: usize,
    stream: Stream,
    data: DevicePtr,
}

impl Member<'_> {
    fn all_reduce(&self, count: usize, op: ReduceOp) -> Result<()> {
        let Self { cpu, comm, stream, data, .. } = *self;
        cpu.device.xccl_all_reduce(data, data, count, DataType::FLOAT32, op, comm, stream)
    }

    fn device(&self) -> DeviceId {
        [ID, OTHER][self.rank]
    }
}

/// Runs `body` as both members of a group.
fn both(cpu: &Validated<Cpu>, body: impl Fn(&Member<'_>) + Sync) {
    let device = &cpu.device;
    let mut id = vec![0; device.xccl_get_unique_id_size().unwrap()];
    device.xccl_get_unique_id(&mut id).unwrap();
    thread::scope(|scope| {
        for rank in 0..2 {
            let (mut id, body) = (id.clone(), &body);
            scope.spawn(move || {
                let own = [ID, OTHER][rank];
                device.set_device(own).unwrap();
                let comm = device.xccl_comm_init_rank(2, &mut id, rank).unwrap();
                let stream = device.create_stream(own).unwrap();
                let data = device.device_memory_allocate(own, 256).unwrap();
                body(&Member { cpu, comm, rank, stream, data });
                // After a failure the stream has its error still.
                let _ = device.synchronize_stream(own, stream);
                let _ = device.xccl_destroy_comm(comm);
                device.device_memory_deallocate(own, data, 256).unwrap();
                device.destroy_stream(own, stream).unwrap();
            });
        }
    });
}

#[test]
fn members_that_agree_are_left_alone() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let cpu = validated_cpu();
    both(&cpu, |member| {
        for count in [4, 8, 4] {
            member.all_reduce(count, ReduceOp::SUM).unwrap();
            let Member { data, comm, stream, rank, .. } = *member;
            let device = &member.cpu.device;
            device.xccl_broadcast(data, count, DataType::INT8, 1, comm, stream).unwrap();
            device.xccl_group_start().unwrap();
            device.xccl_send(data, count, DataType::INT32, 1 - rank, comm, stream).unwrap();
            let received = DevicePtr::from_addr(data.addr() + 128);
            device.xccl_recv(received, count, DataType::INT32, 1 - rank, comm, stream).unwrap();
            device.xccl_group_end().unwrap();
        }
        member.cpu.device.synchronize_stream(member.device(), member.stream).unwrap();
    });
    cpu.silent();
}

#[test]
fn v005_unknown_rank() {
    let cpu = validated_cpu();
    let device = &cpu.device;
    let mut id = vec![0; device.xccl_get_unique_id_size().unwrap()];
    device.xccl_get_unique_id(&mut id).unwrap();
    let text = cpu.refused(Rule::UnknownRank, device.xccl_comm_init_rank(2, &mut id, 2));
    assert_eq!(text, "error V005: xccl_comm_init_rank(rank) on cpu: there is no rank 2 in a group of 2");
    let comm = device.xccl_comm_init_rank(1, &mut id, 0).unwrap();
    let data = device.device_memory_allocate(ID, 64).unwrap();
    let sent = device.xccl_send(data, 4, DataType::FLOAT32, 1, comm, Stream::NULL);
    let text = cpu.refused(Rule::UnknownRank, sent);
    assert!(text.contains("xccl_send(dest_rank)"), "{text}");
    cpu.refused(
        Rule::UnknownRank,
        device.xccl_broadcast(data, 4, DataType::FLOAT32, usize::MAX, comm, Stream::NULL),
    );
    device.device_memory_deallocate(ID, data, 64).unwrap();
    device.xccl_destroy_comm(comm).unwrap();
}

#[test]
fn v011_a_communicator_is_not_used_after_it_was_destroyed() {
    let cpu = validated_cpu();
    let device = &cpu.device;
    let mut id = vec![0; device.xccl_get_unique_id_size().unwrap()];
    device.xccl_get_unique_id(&mut id).unwrap();
    let comm = device.xccl_comm_init_rank(1, &mut id, 0).unwrap();
    device.xccl_destroy_comm(comm).unwrap();
    let text = cpu.refused(Rule::DestroyedHandle, device.xccl_get_comm_name(comm));
    assert!(text.contains("was destroyed by `xccl_destroy_comm`"), "{text}");
    cpu.refused(Rule::DestroyedTwice, device.xccl_destroy_comm(comm));
}

/// Lets rank 0 make its call, and then rank 1, whose call must be refused. Returns what the layer says.
fn disagreement(
    first: impl Fn(&Member<'_>) -> Result<()> + Sync,
    second: impl Fn(&Member<'_>) -> Result<()> + Sync,
) -> String {
    let cpu = validated_cpu();
    let (called, text) = (Barrier::new(2), Mutex::new(String::new()));
    both(&cpu, |member| {
        if member.rank == 0 {
            first(member).unwrap();
            called.wait();
        } else {
            called.wait();
            *text.lock().unwrap() = cpu.refused(Rule::Disagreement, second(member));
            // Ends the wait of the other, which fails.
            member.cpu.device.xccl_destroy_comm(member.comm).unwrap();
        }
    });
    text.into_inner().unwrap()
}

#[test]
fn v034_members_disagree_about_a_count() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let text = disagreement(
        |member| member.all_reduce(4, ReduceOp::SUM),
        |member| member.all_reduce(5, ReduceOp::SUM),
    );
    let expected = "error V034: xccl_all_reduce on cpu: rank 1 calls xccl_all_reduce(count 5, data_type float32, op sum), \
                    but rank 0 called xccl_all_reduce(count 4, data_type float32, op sum) at this place, ";
    assert!(text.starts_with(expected), "{text}");
    let text = disagreement(
        |member| member.all_reduce(4, ReduceOp::SUM),
        |member| member.all_reduce(4, ReduceOp::MAX),
    );
    assert!(text.contains("op max"), "{text}");
}

#[test]
fn v034_members_disagree_about_the_order() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let broadcast = |member: &Member<'_>| {
        let Member { cpu, comm, stream, data, .. } = *member;
        cpu.device.xccl_broadcast(data, 4, DataType::FLOAT32, 0, comm, stream)
    };
    let text = disagreement(|member| member.all_reduce(4, ReduceOp::SUM), broadcast);
    assert!(text.contains("rank 1 calls xccl_broadcast(count 4, data_type float32, root 0)"), "{text}");
}

#[test]
fn v034_sender_and_receiver_disagree() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let text = disagreement(
        |member| {
            let Member { cpu, comm, stream, data, .. } = *member;
            cpu.device.xccl_send(data, 4, DataType::FLOAT32, 1, comm, stream)
        },
        |member| {
            let Member { cpu, comm, stream, data, .. } = *member;
            cpu.device.xccl_recv(data, 4, DataType::INT32, 0, comm, stream)
        },
    );
    let expected = "rank 1 calls xccl_recv(count 4, data_type int32), but rank 0 called xccl_send(count 4, data_type float32)";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_rule_that_is_ignored_lets_members_disagree() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let options = Options { ignore: vec![Rule::Disagreement], ..Options::default() };
    let cpu = common::validated("cpu", common::cpu(), options);
    both(&cpu, |member| {
        // The device finds it out itself.
        let _ = member.all_reduce(4 + member.rank, ReduceOp::SUM);
        let waited = member.cpu.device.synchronize_stream(member.device(), member.stream);
        assert!(waited.unwrap_err().message.contains("failed on rank"));
    });
    cpu.silent();
}

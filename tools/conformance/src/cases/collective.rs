//! Cases of collectives, each in two and in four processes.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, StreamAddCallback, XcclAllGather, XcclAllReduce, XcclAllToAll, XcclBroadcast,
    XcclCommInitRank, XcclDestroyComm, XcclGetCommName, XcclGetUniqueId, XcclGetUniqueIdSize, XcclGroupEnd,
    XcclGroupStart, XcclRecv, XcclReduce, XcclReduceScatter, XcclSend,
};
use tenon::device::{DataType, Function, ReduceOp, Status};

use crate::case::{Body, Case, Level, Verdict, ensure, failed};
use crate::plugin_under_test::{GuardedBuffer, Member, Memory, StreamLatch, address};

type MemberBody = fn(&Member<'_>) -> Verdict;

pub(super) fn cases() -> Vec<Case> {
    [2, 4].into_iter().flat_map(cases_of).collect()
}

fn cases_of(size: usize) -> Vec<Case> {
    let case = |name: &str, level, body: MemberBody| {
        let id = format!("collective.{name}.{size}-processes");
        let name = id.clone();
        let run = move |plugin: &_| crate::PluginUnderTest::as_group(plugin, &name, size, body);
        let case = Case::written("", level, |_| Ok(()));
        let needed = [XcclGetUniqueIdSize, XcclGetUniqueId, XcclCommInitRank, XcclDestroyComm];
        Case { id: id.into(), body: Body::Made(Box::new(run)), ..case }.uses(needed)
    };
    vec![
        case("join", Level::Required, |_| Ok(()))
            .of([XcclGetUniqueIdSize, XcclGetUniqueId, XcclCommInitRank, XcclDestroyComm])
            .spec("xccl_comm_init_rank", "Joins the group of a root id, with the current device."),
        case("names", Level::Required, names).of([XcclGetCommName]).spec(
            "xccl_get_comm_name",
            "Writes the name by which operators of the device find the communicator, ended by a zero byte.",
        ),
        case("all_reduce", Level::Required, all_reduce).of([XcclAllReduce]).spec(
            "xccl_all_reduce",
            "Combines the elements at the same index in the send buffers of all processes and writes the results to \
             the receive buffers of all.",
        ),
        case("all_reduce.types", Level::Promised, types)
            .of([XcclAllReduce])
            .spec("xccl_all_reduce", "Combines the elements at the same index in the send buffers of all processes"),
        case("reduce", Level::Required, reduce)
            .of([XcclReduce])
            .spec("xccl_reduce", "The receive buffers of the others are left alone."),
        case("broadcast", Level::Required, broadcast)
            .of([XcclBroadcast])
            .spec("xccl_broadcast", "Copies the buffer of the root process to the buffers of all others."),
        case("all_gather", Level::Required, all_gather).of([XcclAllGather]).spec(
            "xccl_all_gather",
            "Writes the send buffers of all processes one after the other, in the order of the ranks",
        ),
        case("reduce_scatter", Level::Required, reduce_scatter).of([XcclReduceScatter]).spec(
            "xccl_reduce_scatter",
            "cuts the result into equal parts, and gives each process the part of its rank",
        ),
        case("all_to_all", Level::Promised, all_to_all).of([XcclAllToAll]).spec(
            "xccl_all_to_all",
            "send buffer j of process i is copied to receive buffer i of process j",
        ),
        case("messages", Level::Required, messages)
            .of([XcclSend, XcclRecv])
            .spec("xccl_send", "Several sends to the same process arrive in the order of the calls."),
        case("messages.bracket", Level::Required, bracket)
            .of([XcclGroupStart, XcclGroupEnd, XcclSend, XcclRecv])
            .spec("xccl_group_start", "a send and a receive of the same process do not wait for each other"),
        case("order", Level::Required, order)
            .of([XcclAllReduce])
            .uses([
                XcclGetUniqueIdSize,
                XcclGetUniqueId,
                XcclCommInitRank,
                XcclDestroyComm,
                AsyncMemoryCopyD2d,
                StreamAddCallback,
            ])
            .native()
            .spec("collective", "Calls return when the work is queued; it runs in the order of the stream"),
        case("second-group", Level::Required, second_group)
            .of([XcclCommInitRank, XcclDestroyComm, XcclAllReduce, XcclBroadcast])
            .host("PaddlePaddle makes several groups of the same processes, and uses them side by side."),
    ]
}

/// Element counts that are not a multiple of anything.
const COUNTS: [usize; 4] = [1, 7, 1003, 65_539];

impl Member<'_> {
    /// Allocates memory with floats in it.
    fn floats(&self, values: impl Iterator<Item = f32>) -> Verdict<Memory> {
        self.plugin.filled(self.device, &bytes_of(values))
    }

    /// Waits for the stream and compares. A difference is noted, and the member goes on.
    fn expect(&self, memory: &Memory, values: impl Iterator<Item = f32>, what: &str) -> Verdict {
        self.plugin.synchronize_stream(self.device, self.stream)?;
        self.note(self.plugin.expect(memory, 0, &bytes_of(values), what));
        Ok(())
    }

    fn free<const N: usize>(&self, memory: [Memory; N]) -> Verdict {
        memory.into_iter().try_for_each(|memory| self.plugin.free(memory))
    }

    fn sum(&self, from: &Memory, to: &Memory, count: usize) -> Verdict {
        let (data_type, op) = (DataType::FLOAT32.0 as u64, ReduceOp::SUM.0 as u64);
        let arguments = [from.address, to.address, count as u64, data_type, op, self.comm, self.stream];
        self.plugin.ok(XcclAllReduce, &arguments)
    }

    /// Calls a function with these arguments and then the communicator and the stream.
    fn call(&self, function: Function, arguments: &[u64]) -> Verdict {
        self.plugin.ok(function, &[arguments, &[self.comm, self.stream]].concat())
    }
}

const FLOAT32: u64 = DataType::FLOAT32.0 as u64;
const SUM: u64 = ReduceOp::SUM.0 as u64;

fn bytes_of(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}

/// Returns what a member contributes: small whole numbers, so that every order of additions gives the same bits.
fn own(rank: usize, index: usize) -> f32 {
    (index % 17 + 3 * rank) as f32
}

fn sum(size: usize, index: usize) -> f32 {
    (0..size).map(|rank| own(rank, index)).sum()
}

fn names(member: &Member<'_>) -> Verdict {
    let mut name = GuardedBuffer::new(128, 0xAA);
    member.plugin.ok(XcclGetCommName, &[member.comm, name.address()])?;
    name.intact("the name of a communicator")?;
    let length = name.bytes().iter().position(|byte| *byte == 0);
    ensure!(length.is_some(), "a name of 128 bytes has no zero byte");
    ensure!(length != Some(0), "the name is empty");
    Ok(())
}

fn all_reduce(member: &Member<'_>) -> Verdict {
    let Member { rank, size, .. } = *member;
    for count in COUNTS {
        let send = member.floats((0..count).map(|index| own(rank, index)))?;
        // One element more, which must stay.
        let receive = member.floats((0..=count).map(|_| -1.0))?;
        member.sum(&send, &receive, count)?;
        let results = (0..count).map(|index| sum(size, index));
        member.expect(&receive, results.clone().chain([-1.0]), &format!("the sums of {count} elements"))?;
        let sent = (0..count).map(|index| own(rank, index));
        member.expect(&send, sent, "a send buffer after the call")?;
        member.sum(&send, &send, count)?;
        member.expect(&send, results, &format!("the sums of {count} elements in place"))?;
        member.free([send, receive])?;
    }
    Ok(())
}

/// Stores a small whole number as an element.
type Store = fn(u32) -> Vec<u8>;

/// The types and how a small whole number is stored in them.
fn stored() -> [(DataType, Store); 9] {
    [
        (DataType::FLOAT32, |value| (value as f32).to_le_bytes().to_vec()),
        (DataType::FLOAT64, |value| f64::from(value).to_le_bytes().to_vec()),
        (DataType::FLOAT16, |value| half(value).to_le_bytes().to_vec()),
        // The upper half of a float32.
        (DataType::BFLOAT16, |value| (value as f32).to_le_bytes()[2..].to_vec()),
        (DataType::UINT8, |value| vec![value as u8]),
        (DataType::INT8, |value| vec![value as u8]),
        (DataType::INT16, |value| (value as i16).to_le_bytes().to_vec()),
        (DataType::INT32, |value| value.to_le_bytes().to_vec()),
        (DataType::INT64, |value| u64::from(value).to_le_bytes().to_vec()),
    ]
}

/// Returns a whole number up to 2048 in half precision: five bits of exponent, ten of mantissa.
fn half(value: u32) -> u16 {
    let Some(exponent) = value.checked_ilog2() else { return 0 };
    let mantissa = (value << 10 >> exponent) as u16 & 0x3FF;
    ((exponent as u16 + 15) << 10) | mantissa
}

fn types(member: &Member<'_>) -> Verdict {
    const COUNT: usize = 37;
    let Member { plugin, rank, size, device, stream, comm, .. } = *member;
    // Contributions with a whole mean, and a product that fits. Each rank has the largest one now and then.
    let of_mean = |rank: usize, index: usize| (index % 5 + 2 * ((rank + index) % size)) as u32;
    let of_product = |rank: usize, index: usize| 1 + ((index + rank) % 3) as u32;
    let ranks = || 0..size;
    for op in [ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MAX, ReduceOp::MIN, ReduceOp::PRODUCT] {
        let contribution = |rank, index| match op {
            ReduceOp::PRODUCT => of_product(rank, index),
            _ => of_mean(rank, index),
        };
        let expected = |index: usize| {
            let each = ranks().map(|rank| contribution(rank, index));
            match op {
                ReduceOp::SUM => each.sum(),
                ReduceOp::AVG => each.sum::<u32>() / size as u32,
                ReduceOp::MAX => each.max().unwrap_or_default(),
                ReduceOp::MIN => each.min().unwrap_or_default(),
                _ => each.product(),
            }
        };
        for (data_type, store) in stored() {
            let bytes: Vec<u8> = (0..COUNT).flat_map(|index| store(contribution(rank, index))).collect();
            let memory = plugin.filled(device, &bytes)?;
            let arguments =
                [memory.address, memory.address, COUNT as u64, data_type.0 as u64, op.0 as u64, comm, stream];
            // A device need not have all types.
            if plugin.call(XcclAllReduce, &arguments)? != Status::FAILED {
                plugin.synchronize_stream(device, stream)?;
                let results: Vec<u8> = (0..COUNT).flat_map(|index| store(expected(index))).collect();
                let what = format!("the reduction {op:?} of elements of the type {data_type:?}");
                member.note(plugin.expect(&memory, 0, &results, &what));
            }
            plugin.free(memory)?;
        }
    }
    Ok(())
}

fn reduce(member: &Member<'_>) -> Verdict {
    let Member { rank, size, .. } = *member;
    for root in 0..size {
        for count in COUNTS {
            let send = member.floats((0..count).map(|index| own(rank, index)))?;
            let receive = member.floats((0..count).map(|_| -1.0))?;
            let (from, to) = (send.address, receive.address);
            member.call(XcclReduce, &[from, to, count as u64, FLOAT32, SUM, root as u64])?;
            let result = |index| if rank == root { sum(size, index) } else { -1.0 };
            let what =
                if rank == root { "the sums in the root" } else { "the receive buffer of another rank" };
            member.expect(&receive, (0..count).map(result), what)?;
            member.free([send, receive])?;
        }
    }
    Ok(())
}

fn broadcast(member: &Member<'_>) -> Verdict {
    for root in 0..member.size {
        for count in COUNTS {
            let memory = member.floats((0..count).map(|index| own(member.rank, index)))?;
            member.call(XcclBroadcast, &[memory.address, count as u64, FLOAT32, root as u64])?;
            let what = format!("{count} elements of rank {root}");
            member.expect(&memory, (0..count).map(|index| own(root, index)), &what)?;
            member.free([memory])?;
        }
    }
    Ok(())
}

fn all_gather(member: &Member<'_>) -> Verdict {
    let Member { rank, size, .. } = *member;
    for count in COUNTS {
        let send = member.floats((0..count).map(|index| own(rank, index)))?;
        let receive = member.floats((0..count * size).map(|_| -1.0))?;
        member.call(XcclAllGather, &[send.address, receive.address, count as u64, FLOAT32])?;
        let all = (0..size).flat_map(|rank| (0..count).map(move |index| own(rank, index)));
        member.expect(&receive, all, &format!("the buffers of all ranks, {count} elements each"))?;
        member.free([send, receive])?;
    }
    Ok(())
}

fn reduce_scatter(member: &Member<'_>) -> Verdict {
    let Member { rank, size, .. } = *member;
    for count in COUNTS {
        let send = member.floats((0..count * size).map(|index| own(rank, index)))?;
        let receive = member.floats((0..count).map(|_| -1.0))?;
        member.call(XcclReduceScatter, &[send.address, receive.address, count as u64, FLOAT32, SUM])?;
        let part = (rank * count..(rank + 1) * count).map(|index| sum(size, index));
        member.expect(&receive, part, &format!("the part of this rank, {count} elements"))?;
        member.free([send, receive])?;
    }
    Ok(())
}

fn all_to_all(member: &Member<'_>) -> Verdict {
    let Member { plugin, rank, size, .. } = *member;
    // From a rank to another, so many elements with this value.
    let count = |from: usize, to: usize| 5 + 2 * from + 3 * to;
    let value = |from: usize, to: usize| (10 * from + to) as f32;
    let part = |from, to| std::iter::repeat_n(value(from, to), count(from, to));
    let send: Vec<Memory> = (0..size).map(|to| member.floats(part(rank, to))).collect::<Verdict<Vec<_>>>()?;
    let receive: Vec<Memory> = (0..size)
        .map(|from| member.floats(std::iter::repeat_n(-1.0, count(from, rank))))
        .collect::<Verdict<Vec<_>>>()?;
    let addresses = |memory: &[Memory]| memory.iter().map(|part| part.address).collect::<Vec<u64>>();
    let (mut from, mut to) = (addresses(&send), addresses(&receive));
    let mut send_counts: Vec<usize> = (0..size).map(|to| count(rank, to)).collect();
    let mut receive_counts: Vec<usize> = (0..size).map(|from| count(from, rank)).collect();
    let mut types = vec![DataType::FLOAT32.0; size];
    let types = address(&mut types[0]);
    let arguments = [
        address(&mut from[0]),
        address(&mut send_counts[0]),
        types,
        address(&mut to[0]),
        address(&mut receive_counts[0]),
        types,
        rank as u64,
        size as u64,
    ];
    member.call(XcclAllToAll, &arguments)?;
    for (from, memory) in receive.iter().enumerate() {
        member.expect(memory, part(from, rank), &format!("what rank {from} has sent"))?;
    }
    send.into_iter().chain(receive).try_for_each(|memory| plugin.free(memory))
}

/// Sends to the next rank, and receives from the one before. `count` is for both.
fn ring(member: &Member<'_>, send: &Memory, receive: &Memory, count: usize, sends_first: bool) -> Verdict {
    let Member { rank, size, .. } = *member;
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let to = || member.call(XcclSend, &[send.address, count as u64, FLOAT32, next as u64]);
    let from = || member.call(XcclRecv, &[receive.address, count as u64, FLOAT32, before as u64]);
    if sends_first {
        to()?;
        from()
    } else {
        from()?;
        to()
    }
}

fn messages(member: &Member<'_>) -> Verdict {
    let Member { rank, size, .. } = *member;
    let before = (rank + size - 1) % size;
    for count in COUNTS {
        let send = [0, 1].map(|turn| member.floats((0..count).map(|index| own(rank, index + turn))));
        let receive = [0, 1].map(|_| member.floats((0..count).map(|_| -1.0)));
        let ([first, second], [here, there]) = (send, receive);
        let (send, receive) = ([first?, second?], [here?, there?]);
        for (send, receive) in send.iter().zip(&receive) {
            // Every second rank receives first, so that no one needs a buffer in between.
            ring(member, send, receive, count, rank % 2 == 0)?;
        }
        for (turn, receive) in receive.iter().enumerate() {
            let sent = (0..count).map(|index| own(before, index + turn));
            member.expect(receive, sent, &format!("message {} of {count} elements", turn + 1))?;
        }
        member.free(send)?;
        member.free(receive)?;
    }
    Ok(())
}

fn bracket(member: &Member<'_>) -> Verdict {
    let Member { plugin, rank, size, .. } = *member;
    let before = (rank + size - 1) % size;
    for count in COUNTS {
        let send = member.floats((0..count).map(|index| own(rank, index)))?;
        let receive = member.floats((0..count).map(|_| -1.0))?;
        plugin.ok(XcclGroupStart, &[])?;
        // All receive first, which only a bracket allows.
        ring(member, &send, &receive, count, false)?;
        plugin.ok(XcclGroupEnd, &[])?;
        member.expect(&receive, (0..count).map(|index| own(before, index)), "a message in a bracket")?;
        member.free([send, receive])?;
    }
    Ok(())
}

fn order(member: &Member<'_>) -> Verdict {
    const COUNT: usize = 1003;
    let Member { plugin, rank, size, device, stream, .. } = *member;
    let source = member.floats((0..COUNT).map(|index| own(rank, index)))?;
    let data = member.floats((0..COUNT).map(|_| -1.0))?;
    let after = member.floats((0..COUNT).map(|_| -2.0))?;
    let latch = StreamLatch::close(plugin, device, stream)?;
    let ((), returned) = plugin.meanwhile(&latch, |plugin| {
        plugin.set_device(device)?;
        plugin.queue_copy(stream, &data, &source)?;
        member.sum(&data, &data, COUNT)?;
        plugin.queue_copy(stream, &after, &data)
    })?;
    if !returned {
        return failed("`xccl_all_reduce` returned after the stream had come to it, not when it was queued");
    }
    let results = (0..COUNT).map(|index| sum(size, index));
    member.expect(&after, results, "a copy of the sums that was queued behind the reduction")?;
    member.free([source, data, after])
}

fn second_group(member: &Member<'_>) -> Verdict {
    let Member { plugin, rank, size, device, stream, .. } = *member;
    // The first group carries the id of the second.
    let id = if rank == 0 { plugin.root_id()? } else { Vec::new() };
    let mut room = id.clone();
    room.resize(1 << 10, 0);
    let sent = plugin.filled(device, &room)?;
    let length = plugin.filled(device, &(id.len() as u64).to_le_bytes())?;
    member.call(XcclBroadcast, &[length.address, 1, DataType::INT64.0 as u64, 0])?;
    member.call(XcclBroadcast, &[sent.address, room.len() as u64, DataType::UINT8.0 as u64, 0])?;
    plugin.synchronize_stream(device, stream)?;
    let bytes = plugin.read(&length, 0, 8)?;
    let length_of_id = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) as usize;
    ensure!(length_of_id <= room.len(), "a root id of {length_of_id} bytes came");
    let id = plugin.read(&sent, 0, length_of_id)?;
    let second = match plugin.join(&id, rank, size)? {
        Ok(comm) => comm,
        Err(reason) => return failed(reason),
    };
    let second = Member { comm: second, stream: plugin.stream(device)?, ..*member };
    let (first_data, second_data) =
        (member.floats((0..7).map(|index| own(rank, index)))?, second.floats((0..7).map(|_| 1.0))?);
    member.sum(&first_data, &first_data, 7)?;
    second.sum(&second_data, &second_data, 7)?;
    second.expect(&second_data, (0..7).map(|_| size as f32), "the sums of the second group")?;
    plugin.ok(XcclDestroyComm, &[second.comm])?;
    plugin.destroy_stream(device, second.stream)?;
    // The first group works without the second.
    member.sum(&first_data, &first_data, 7)?;
    let twice = (0..7).map(|index| sum(size, index) * size as f32);
    member.expect(&first_data, twice, "the sums of the first group")?;
    member.free([sent, length, first_data, second_data])
}

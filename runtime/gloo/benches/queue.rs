//! Measures the cost of a communicator's queue: all-reduces of two processes by gloo alone, and in the order of a stream.
//!
//! `cargo bench -p tenon-gloo` prints medians. The second process is this program once more.

use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tenon::DevicePtr;
use tenon::device::{DataType, ReduceOp};
use tenon_gloo::{Buffer, Communicator, Group, Operation};

const ROUNDS: usize = 7;
const SIZES: [usize; 4] = [4, 4 << 10, 1 << 20, 64 << 20];

/// An all-reduce that returns when it is complete.
type AllReduce<'a> = &'a mut dyn FnMut(Buffer);

fn main() {
    let mut arguments = std::env::args().skip(1);
    // Cargo passes `--bench`.
    let ids = match arguments.next().filter(|argument| argument != "--bench") {
        Some(ids) => ids.split(',').map(bytes).collect(),
        None => vec![id(), id()],
    };
    let other = (arguments.next().is_none()).then(|| start_other(&ids));
    let rank = usize::from(other.is_none());
    let rows = measure(&ids, rank);
    if let Some(mut other) = other {
        other.wait().expect("the other process ends");
        println!("{:>10} {:>12} {:>12} {:>6}", "bytes", "gloo", "queue", "ratio");
        for (size, [alone, queued]) in SIZES.into_iter().zip(rows) {
            let ratio = queued.as_secs_f64() / alone.as_secs_f64();
            println!(
                "{size:>10} {:>12} {:>12} {ratio:>6.2}",
                format!("{alone:.1?}"),
                format!("{queued:.1?}")
            );
        }
    }
}

fn id() -> Vec<u8> {
    tenon_gloo::new_root_id().expect("a port is free").to_vec()
}

fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("it is hexadecimal")).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn start_other(ids: &[Vec<u8>]) -> Child {
    let texts: Vec<String> =
        ids.iter().map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let program = std::env::current_exe().expect("it runs");
    Command::new(program).args([&texts.join(","), "other"]).spawn().expect("it runs")
}

/// Returns the median times of gloo alone and of the queue, for each size.
fn measure(ids: &[Vec<u8>], rank: usize) -> Vec<[Duration; 2]> {
    let mut group = Group::join(&ids[0], rank, 2).expect("both come");
    let communicator = Communicator::join(&ids[1], rank, 2).expect("both come");
    let mut alone = |send: Buffer| {
        let operation = Operation::AllReduce { send, receive: send.data, op: ReduceOp::SUM };
        // SAFETY: nothing else uses the buffer, which is as long as it says.
        unsafe { group.run(&[&operation]) }.expect("the other takes part");
    };
    let mut queued = |send: Buffer| {
        let operation = Operation::AllReduce { send, receive: send.data, op: ReduceOp::SUM };
        let (say, over) = mpsc::channel();
        let launch = Box::new(move |ticket: tenon_gloo::Ticket, _| {
            ticket.ready(Box::new(move |outcome| say.send(outcome).expect("it waits")));
            Ok(())
        });
        // SAFETY: as above.
        unsafe { communicator.queue(operation, 0, Box::new(()), launch) }.expect("it is valid");
        over.recv().expect("it is over").expect("the other takes part");
    };
    let mut ways: [AllReduce<'_>; 2] = [&mut alone, &mut queued];
    SIZES
        .into_iter()
        .map(|size| {
            let mut data = vec![0_f32; size / 4];
            let place = DevicePtr::from_addr(data.as_mut_ptr() as usize);
            let buffer = Buffer::new(place, data.len(), DataType::FLOAT32);
            let calls = (8_usize << 20).div_ceil(size).min(300);
            let mut times = [const { Vec::new() }; 2];
            for _ in 0..=ROUNDS {
                for (way, times) in ways.iter_mut().zip(&mut times) {
                    let start = Instant::now();
                    (0..calls).for_each(|_| way(buffer));
                    times.push(start.elapsed() / calls as u32);
                }
            }
            // The first round touches the memory.
            times.map(|times| {
                let mut times = times[1..].to_vec();
                times.sort_unstable();
                times[times.len() / 2]
            })
        })
        .collect()
}

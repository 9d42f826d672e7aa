//! What groups leave behind: nothing. Alone in its process, because it counts threads, files and memory.

use std::fs;
use std::thread;

use tenon::DevicePtr;
use tenon::device::{DataType, ReduceOp};
use tenon_gloo::{Buffer, Group, Operation};

fn reduce(group: &mut Group, data: &mut [f32]) {
    let receive = DevicePtr::from_addr(data.as_mut_ptr() as usize);
    let send = Buffer::new(receive, data.len(), DataType::FLOAT32);
    let operation = Operation::AllReduce { send, receive, op: ReduceOp::MAX };
    // SAFETY: the buffer has the size, and lives until the call ends.
    unsafe { group.run(&[&operation]).expect("all members call it") };
}

/// Runs `body` as each of four members of a group.
fn four(body: impl Fn(&mut Group) + Sync) {
    let id = tenon_gloo::new_root_id().expect("gloo is there");
    thread::scope(|scope| {
        for rank in 0..4 {
            let (id, body) = (&id, &body);
            scope.spawn(move || body(&mut Group::join(id, rank, 4).expect("all members come")));
        }
    });
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).expect("Linux has it").count()
}

/// Returns the numbers of threads and open files, when those that are about to end have ended.
fn left() -> [usize; 2] {
    thread::sleep(std::time::Duration::from_millis(300));
    [count("/proc/self/task"), count("/proc/self/fd")]
}

/// Returns the resident memory in KiB.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has the line");
    line.trim().trim_end_matches("kB").trim().parse().expect("it is a number")
}

#[test]
fn groups_and_operations_leave_nothing_behind() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let once = || four(|group| reduce(group, &mut [1.0; 16]));
    once();
    let before = left();
    (0..100).for_each(|_| once());
    assert_eq!(left(), before, "threads and files");

    four(|group| {
        let mut data = vec![1.0; 256];
        (0..1000).for_each(|_| reduce(group, &mut data));
        let before = memory();
        (0..9000).for_each(|_| reduce(group, &mut data));
        let grown = memory().saturating_sub(before);
        // The threads stop at different moments, so one sees what another has for a moment.
        assert!(grown < 2048, "{grown} KiB more after 9,000 operations");
    });
}

//! A group over two machines: two namespaces of the network, with a cable between them.
//!
//! Making them takes the rights of root and the command `ip`. Where they are missing, the test is reported as left out.

use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use tenon::DevicePtr;
use tenon::device::{DataType, ReduceOp};
use tenon_gloo::{Buffer, Group, Operation};

/// The rank of a process that the test has started.
const RANK: &str = "TENON_TEST_RANK";
const TEST: &str = "members_on_two_machines_meet_and_add";
const CABLE: &str = "tenon0";

fn address(rank: usize) -> String {
    format!("10.77.0.{}", rank + 1)
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip").args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Starts this test as a member on a machine of its own, which has no network yet.
fn machine(rank: usize, variables: &[(&str, &str)]) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", TEST, "--nocapture"]).env(RANK, rank.to_string());
    command.envs(variables.iter().copied()).env("TENON_COMM_TIMEOUT", "5");
    for variable in ["PADDLE_CURRENT_ENDPOINT", "PADDLE_MASTER", "MASTER_ADDR"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: the function makes a system call, and nothing else.
    unsafe {
        command.pre_exec(|| match libc::unshare(libc::CLONE_NEWNET) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.spawn()
}

/// Runs both members. `variables` are for rank 0. Returns what each has found, or none if there may be no namespaces.
fn run(variables: &[(&str, &str)]) -> Option<[String; 2]> {
    let mut machines = [machine(0, variables).ok()?, machine(1, &[]).ok()?];
    let [first, second] = [&machines[0], &machines[1]].map(|machine| machine.id().to_string());
    let cable =
        ["link", "add", CABLE, "netns", &first, "type", "veth", "peer", "name", CABLE, "netns", &second];
    if !ip(&cable) {
        for machine in &mut machines {
            machine.kill().expect("it runs");
            machine.wait().expect("it ends");
        }
        return None;
    }
    for machine in &mut machines {
        machine.stdin.take().expect("it is piped").write_all(b"go\n").expect("it reads");
    }
    Some(machines.map(|machine| {
        let output = machine.wait_with_output().expect("it ends");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = printed.lines().find_map(|line| line.split_once("found: "));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        found.map(|(_, found)| found.to_owned()).unwrap_or_else(|| panic!("{printed}{errors}"))
    }))
}

/// Runs a member, in its own namespace.
fn member(rank: usize) {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).expect("the test says when there is a cable");
    assert!(ip(&["link", "set", "lo", "up"]));
    assert!(ip(&["address", "add", &format!("{}/24", address(rank)), "dev", CABLE]));
    assert!(ip(&["link", "set", CABLE, "up"]));
    let sum = || -> tenon_gloo::Result<f32> {
        let meeting = format!("{}:6170", address(0));
        let id = tenon_gloo::meet(&meeting, rank, 2, || tenon_gloo::new_root_id().map(|id| id.to_vec()))?;
        let mut group = Group::join(&id, rank, 2)?;
        let mut data = vec![rank as f32 + 1.0; 1 << 18];
        let place = DevicePtr::from_addr(data.as_mut_ptr() as usize);
        let send = Buffer::new(place, data.len(), DataType::FLOAT32);
        // SAFETY: nothing else uses the buffer, which is as long as it says.
        unsafe { group.run(&[&Operation::AllReduce { send, receive: place, op: ReduceOp::SUM }])? };
        assert!(data.iter().all(|value| *value == data[0]));
        Ok(data[0])
    };
    match sum() {
        Ok(sum) => println!("found: {sum}"),
        Err(error) => println!("found: {error}"),
    }
}

#[test]
fn members_on_two_machines_meet_and_add() {
    if let Ok(rank) = std::env::var(RANK) {
        return member(rank.parse().expect("it is a rank"));
    }
    if !tenon_testing::has_gloo() {
        return;
    }
    let Some(found) = run(&[]) else {
        println!("left out: namespaces of the network need the rights of root and the command `ip`");
        return;
    };
    // The group uses the interface on which the members have met.
    assert_eq!(found, ["3", "3"]);
    let found = run(&[("TENON_COMM_INTERFACE", "lo")]).expect("there were namespaces before");
    // The wrong interface is named by its address.
    assert!(found[1].starts_with("cannot reach the root of the group at 127.0.0.1:"), "{found:?}");
    assert_eq!(found[0], "the group did not come together within 5 s: rank 1 of 2 did not come");
}

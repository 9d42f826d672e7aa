//! The process between the runner and the one that runs cases: it ends every program that a plugin leaves behind.
//!
//! It is a subreaper, so that a program whose parent has ended becomes its child, also one that has left the process
//! group or the session. It ends when the cases have ended, with the same status.

use std::mem::MaybeUninit;

/// The signal by which the runner ends the cases.
pub(crate) const END: i32 = libc::SIGTERM;

/// The signal by which the runner asks for the function that was called last.
pub(crate) const ABORT: i32 = libc::SIGABRT;

/// Continues in a child process, which has a process group of its own. This process waits for it and does not return.
///
/// It is called before the process starts threads.
pub(crate) fn supervise() {
    // SAFETY: no other thread runs, so the child may do what it likes. The sets are initialised by `sigemptyset`.
    let child = unsafe {
        let (mut signals, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in [END, ABORT, libc::SIGCHLD] {
            libc::sigaddset(signals.as_mut_ptr(), signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, signals.as_ptr(), before.as_mut_ptr());
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        // The runner may end without a word, as by Ctrl-C.
        libc::prctl(libc::PR_SET_PDEATHSIG, END);
        match libc::fork() {
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
                libc::setpgid(0, 0);
                return;
            }
            -1 => {
                eprintln!("no process can be started: {}", std::io::Error::last_os_error());
                libc::_exit(2)
            }
            child => {
                // The pipes to the runner are the child's alone: their end is the end of the cases.
                [0, 1, 2].into_iter().for_each(|file| _ = libc::close(file));
                (child, signals.assume_init())
            }
        }
    };
    let (child, signals) = child;
    wait(child, &signals)
}

/// Waits for the cases and for the runner's signals.
fn wait(cases: i32, signals: &libc::sigset_t) -> ! {
    loop {
        let mut signal = 0;
        // SAFETY: the set is initialised, and the place can be written.
        unsafe { libc::sigwait(signals, &raw mut signal) };
        match signal {
            // SAFETY: the child has not been waited for, so the number is its own.
            ABORT => _ = unsafe { libc::kill(cases, libc::SIGABRT) },
            END => {
                kill_children();
                // SAFETY: ends the process.
                unsafe { libc::_exit(1) }
            }
            _ => {
                if let Some(status) = reap(cases) {
                    kill_children();
                    end_as(status);
                }
            }
        }
    }
}

/// Collects the children that have ended; the status of the one that runs the cases, if it is among them.
fn reap(cases: i32) -> Option<i32> {
    let (mut status, mut found) = (0, None);
    loop {
        // SAFETY: the place can be written.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            child if child == cases => found = Some(status),
            child if child > 0 => {}
            _ => return found,
        }
    }
}

/// Ends all children, and those that become children by that.
fn kill_children() {
    loop {
        let children = children();
        // SAFETY: a child that has not been waited for keeps its number.
        let killed = children.iter().filter(|child| unsafe { libc::kill(**child, libc::SIGKILL) } == 0);
        // A program with other rights cannot be killed; it is left alone.
        let killed = killed.count();
        for _ in 0..killed {
            // SAFETY: asks for no status.
            unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
        }
        if killed == 0 {
            return;
        }
    }
}

/// Returns the children of this process.
fn children() -> Vec<i32> {
    let own = std::process::id();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| parent(*number) == Some(own)).collect()
}

/// Returns the parent of a process.
fn parent(process: i32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    // `PID (NAME) STATE PARENT …`, where the name may contain anything.
    let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    std::str::from_utf8(rest).ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Ends this process as the one that ran the cases has ended.
fn end_as(status: i32) -> ! {
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: changes and ends this process only.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::signal(signal, libc::SIG_DFL);
            let mut unblocked = MaybeUninit::uninit();
            libc::sigemptyset(unblocked.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, unblocked.as_ptr(), std::ptr::null_mut());
            libc::raise(signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

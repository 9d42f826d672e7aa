//! The process that runs cases: it opens the plugin, runs the requested cases, and reports the outcome of
//! each.

use std::io::{BufRead, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use tenon::device::Function;
use tenon::support::panic_text;

use crate::case::{Case, Failure, Place, Stop, Verdict};
use crate::cases;
use crate::plugin_under_test::{
    Launch, PluginUnderTest, begin_case, current_function, set_timeout, was_reached,
};
use crate::protocol::{Ending, PluginInfo, Reply, Request};
use crate::supervisor::supervise;

/// The file that the signal handler writes to; -1 before there is a place.
static REPLIES: AtomicI32 = AtomicI32::new(-1);

/// Runs the cases that standard input asks for, and answers on standard output.
///
/// Call it before the process starts threads: the cases run in a child process, which this one supervises.
///
/// The plugin's output goes to standard error, so that it cannot be mistaken for a reply. Does not return:
/// the plugin's exit handlers are not part of a case.
pub fn serve() -> ! {
    supervise();
    end_with_parent();
    let mut replies = take_standard_output();
    REPLIES.store(replies.as_raw_fd(), Ordering::Relaxed);
    report_signals();
    leave_no_core();
    let mut line = String::new();
    let request =
        std::io::stdin().lock().read_line(&mut line).ok().and_then(|_| serde_json::from_str(&line).ok());
    let code = match request {
        Some(request) => {
            let mut say = |reply: Reply| {
                let mut line = serde_json::to_string(&reply).unwrap_or_default();
                line.push('\n');
                // The reader may have ended; then nobody needs the answer.
                let _ = replies.write_all(line.as_bytes());
            };
            run(&request, &mut say);
            0
        }
        None => 2,
    };
    // SAFETY: ends the process and nothing else; what is buffered is not ours.
    unsafe { libc::_exit(code) }
}

/// Opens the plugin of a request, and runs the cases.
fn run(request: &Request, say: &mut dyn FnMut(Reply)) {
    let launch = Launch {
        source: request.source.clone(),
        fallbacks: request.fallbacks,
        program: std::env::current_exe().ok(),
        role: request.role.clone(),
    };
    let under_test = match PluginUnderTest::open(launch) {
        Ok(under_test) => under_test,
        Err(error) => return say(Reply::Refused { message: error.to_string(), loaded: false }),
    };
    if !request.fresh
        && let Err(message) = start(&under_test)
    {
        return say(Reply::Refused { message, loaded: true });
    }
    cases(&under_test, request, false, say);
}

/// Starts the plugin. The error is the message of the failure.
pub(crate) fn start(under_test: &PluginUnderTest) -> Result<(), String> {
    under_test.start().map_err(|stop| match stop {
        Stop::Failed(failure) => failure.message,
        Stop::Skipped(reason) => reason,
    })
}

/// Runs the cases of a request, up to the first that fails or to the end.
pub(crate) fn cases(
    under_test: &PluginUnderTest,
    request: &Request,
    to_the_end: bool,
    say: &mut dyn FnMut(Reply),
) {
    set_timeout(Duration::from_millis(request.timeout));
    say(Reply::Loaded(info(under_test)));
    for case in request.cases.iter().filter_map(|id| cases::all().iter().find(|case| case.id == *id)) {
        say(Reply::Begin { case: case.id.to_string() });
        let start = Instant::now();
        let (verdict, blamed) = one(case, under_test);
        if case.place == Place::Exit && verdict == Ending::Passed {
            say(Reply::Exiting);
            // SAFETY: the process has no other thread of ours; exit handlers are what is tested.
            unsafe { libc::exit(0) };
        }
        let blamed = blamed.into_iter().map(|function| function.name().to_owned()).collect();
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        // The next case must not be blamed for the remains of a failed one.
        let is_over = matches!(verdict, Ending::Failed(_) | Ending::Blocked(_)) && !to_the_end;
        say(Reply::End { case: case.id.to_string(), verdict, blamed, micros });
        if is_over {
            break;
        }
    }
    say(Reply::Done);
}

/// Runs a case. Returns its result, and the functions whose result was wrong.
fn one(case: &Case, under_test: &PluginUnderTest) -> (Ending, Vec<Function>) {
    if let Some(obstacle) = case.obstacle(under_test) {
        return (Ending::Skipped(obstacle), Vec::new());
    }
    begin_case(&case.functions);
    let run = || -> Verdict { case.run(under_test) };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => (Ending::Passed, Vec::new()),
        Ok(Err(Stop::Failed(failure))) => failed(case, under_test, failure),
        Ok(Err(Stop::Skipped(reason))) => (Ending::Skipped(reason), Vec::new()),
        Err(panic) => {
            let text = panic_text(&*panic);
            let message = format!("the case itself panicked, which is a defect of the runner: {text}");
            (Ending::Failed(message), Vec::new())
        }
    }
}

/// Distinguishes a failure of the tested function from a failure of a function that the case only needs.
fn failed(case: &Case, under_test: &PluginUnderTest, failure: Failure) -> (Ending, Vec<Function>) {
    let Failure { mut message, blamed, certain } = failure;
    let about = blamed.is_empty() || blamed.iter().any(|function| case.functions.contains(function));
    if !about && (certain || !was_reached()) {
        return (Ending::Blocked(message), blamed);
    }
    if let Some(filled) = case.functions.iter().find(|function| under_test.is_filled_by_fallback(**function))
    {
        message.push_str(&format!(
            "; `{}` is the spec's fallback here, which the plugin was filled with: its author did not write it",
            filled.name()
        ));
    }
    (Ending::Failed(message), blamed)
}

fn info(under_test: &PluginUnderTest) -> PluginInfo {
    let plugin = &under_test.opened().plugin;
    PluginInfo {
        name: plugin.name().to_owned(),
        device_type: plugin.device_type().to_string_lossy().into_owned(),
        release: plugin.release().map(|release| release.name().to_owned()),
        recognition: plugin.recognised_by().to_string(),
        version: plugin.version(),
        devices: under_test.known_devices(),
        native: Function::ALL
            .into_iter()
            .filter(|function| under_test.is_native(*function))
            .map(|function| function.name().to_owned())
            .collect(),
        filled: Function::ALL
            .into_iter()
            .filter(|function| under_test.is_filled_by_fallback(*function))
            .map(|function| function.name().to_owned())
            .collect(),
        open_symbols: plugin.open_symbols().to_vec(),
    }
}

/// Returns standard output as a separate file. From now on, prints go to standard error.
fn take_standard_output() -> std::fs::File {
    // SAFETY: both numbers are open in every process that was started with pipes, and the new one is nobody else's.
    unsafe {
        let copy = libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 3);
        libc::dup2(2, 1);
        std::fs::File::from(OwnedFd::from_raw_fd(copy))
    }
}

/// Ends this process and what the plugin started in its group when the supervisor ends.
fn end_with_parent() {
    extern "C" fn end_group(_: i32) {
        // SAFETY: `kill` may be called in a signal handler; the group was made for this process.
        unsafe { libc::kill(0, libc::SIGKILL) };
    }
    // SAFETY: the handler only does what a handler may; the system sends the signal when the parent ends.
    unsafe {
        if libc::getpgrp() == libc::getpid() {
            libc::signal(libc::SIGHUP, end_group as extern "C" fn(i32) as usize);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGHUP);
        }
    }
}

/// Disables core dumps: a crash is a result here.
fn leave_no_core() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads the struct and changes a limit of this process.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
}

/// Prints the function that was called when a signal ends the process.
fn report_signals() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT] {
        // SAFETY: the handler only does what a handler may; the default comes back before it runs, so that the signal
        // still ends the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = dying as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn dying(signal: i32) {
    let name = current_function().map_or("", Function::name);
    let reached: &[u8] = if was_reached() { b"true" } else { b"false" };
    let parts: [&[u8]; 5] =
        [b"{\"dying\":{\"function\":\"", name.as_bytes(), b"\",\"reached\":", reached, b"}}\n"];
    for part in parts {
        // SAFETY: `write` may be called in a signal handler, and the memory is static.
        unsafe { libc::write(REPLIES.load(Ordering::Relaxed), part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: as above; the default has come back, so this ends the process.
    unsafe { libc::raise(signal) };
}

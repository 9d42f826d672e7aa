//! `tenon-fuzz`: random calls of every function of `functions.h`, on any plugin.

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use tenon::device::Function;
use tenon_fuzz::program::current_function;
use tenon_fuzz::{Subject, Tally, program};

/// Calls every function of functions.h with valid, boundary and hostile arguments.
///
/// Each program starts the library, makes up to 320 calls, and ends the library. The first error ends the run; it is
/// printed with the seed that repeats it. A run with the layer `validate` tests a plugin as programs use it in
/// development; without layers, only a plugin that looks up every handle and address survives.
#[derive(Parser)]
#[command(name = "tenon-fuzz")]
struct Options {
    /// The plugin: a library, or a manifest [default: the built-in CPU device]
    #[arg(long, value_name = "PATH")]
    plugin: Option<PathBuf>,

    /// The layers to enable, separated by commas; may be empty [default: validate; for the CPU device in every second
    /// program]
    #[arg(long, value_name = "NAMES")]
    layers: Option<String>,

    /// Duration in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,

    /// Number of programs to run, in place of a duration
    #[arg(long)]
    programs: Option<u64>,

    /// Seed of the first program; each further program has the next number
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Time limit of a program in seconds
    #[arg(long, default_value_t = 30)]
    timeout: u32,

    /// Show what the library and the plugin write to standard error
    #[arg(long)]
    verbose: bool,
}

/// The seed of the program that runs, for the message of a process that dies.
static SEED: AtomicU64 = AtomicU64::new(0);

/// The standard error that the process was started with.
static STANDARD_ERROR: AtomicI32 = AtomicI32::new(2);

fn main() -> ExitCode {
    let options = Options::parse();
    let subject = match subject(&options) {
        Ok(subject) => subject,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    // SAFETY: no other thread runs yet.
    unsafe { program::set_environment() };
    let mut messages = match keep_standard_error(options.verbose) {
        Ok(messages) => messages,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    report_signals();
    let (mut tally, start, mut seed) = (Tally::default(), Instant::now(), options.seed);
    let is_over = |programs: u64| match options.programs {
        Some(most) => programs >= most,
        None => start.elapsed() >= Duration::from_secs(options.seconds),
    };
    let mut found = None;
    while found.is_none() && !is_over(seed - options.seed) {
        SEED.store(seed, Ordering::Relaxed);
        // SAFETY: sets a timer of this process.
        unsafe { libc::alarm(options.timeout) };
        found = program::run(&subject, seed, &mut tally).err();
        seed += 1;
    }
    print!("{}", report(&tally, seed - options.seed, start.elapsed()));
    match found {
        None => ExitCode::SUCCESS,
        Some(finding) => {
            // If standard error is closed, the exit status remains.
            let _ = write!(messages, "error: {finding}\nto repeat it: --seed {} --programs 1\n", seed - 1);
            ExitCode::FAILURE
        }
    }
}

fn subject(options: &Options) -> Result<Subject, std::ffi::NulError> {
    let plugin = options.plugin.as_ref().map(|path| CString::new(path.as_os_str().as_bytes()));
    let layers = options.layers.as_ref().map(|names| CString::new(names.as_str()));
    Ok(Subject { plugin: plugin.transpose()?, layers: layers.transpose()? })
}

fn report(tally: &Tally, programs: u64, elapsed: Duration) -> String {
    let (calls, seconds) = (tally.calls(), elapsed.as_secs_f64());
    let (missed, failed) = (tally.not_reached(), tally.not_succeeded());
    let all = Function::ALL.len();
    let mut text = format!(
        "{calls} calls in {seconds:.1} s, {:.0} per second, in {programs} programs\n\
         functions of functions.h: {all}; reached: {}; succeeded: {}\n",
        calls as f64 / seconds,
        all - missed.len(),
        all - failed.len(),
    );
    for function in missed {
        text += &format!("never reached: tenon_{}\n", function.name());
    }
    for (function, status) in failed {
        let status = status
            .and_then(tenon_sdk_c::Status::name)
            .map_or("refused".into(), |name| name.to_string_lossy());
        text += &format!("never succeeded: tenon_{}: {status}\n", function.name());
    }
    text
}

/// Returns the standard error. Unless `verbose` is set, whatever else is written to it is dropped: `validate` reports
/// each hostile call there.
fn keep_standard_error(verbose: bool) -> std::io::Result<File> {
    let null = File::options().write(true).open("/dev/null")?;
    // SAFETY: the numbers are open, and the new one is nobody else's.
    let kept = unsafe {
        let kept = libc::fcntl(2, libc::F_DUPFD_CLOEXEC, 3);
        if kept < 0 {
            return Err(std::io::Error::last_os_error());
        }
        if !verbose {
            libc::dup2(null.as_raw_fd(), 2);
        }
        File::from_raw_fd(kept)
    };
    STANDARD_ERROR.store(kept.as_raw_fd(), Ordering::Relaxed);
    Ok(kept)
}

/// Prints the program and the function that a signal ends.
fn report_signals() {
    let signals = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGALRM];
    for signal in signals {
        // SAFETY: the handler only does what a handler may; the default comes back before it runs, so that the signal
        // still ends the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = dying as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn dying(signal: i32) {
    let what: &[u8] = if signal == libc::SIGALRM {
        b"error: the program does not end: `"
    } else {
        b"error: a signal ends the process in or after `"
    };
    let mut digits = [0_u8; 20];
    let seed = decimal(SEED.load(Ordering::Relaxed), &mut digits);
    let parts: [&[u8]; 5] =
        [what, current_function().as_bytes(), b"`\nto repeat it: --seed ", seed, b" --programs 1\n"];
    for part in parts {
        // SAFETY: `write` may be called in a signal handler, and the memory is valid.
        unsafe { libc::write(STANDARD_ERROR.load(Ordering::Relaxed), part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: as above; the default has come back, so this ends the process.
    unsafe { libc::raise(signal) };
}

/// Writes a number without allocating.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}

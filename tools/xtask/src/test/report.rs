//! The results and times of the parts of a run.

use std::time::{Duration, Instant};

use crate::process::Failure;

/// The maximum length of a failure in the summary. The full text is printed when the part fails.
const LINE: usize = 120;

/// The completed parts.
#[derive(Default)]
pub struct Report(Vec<Done>);

struct Done {
    name: String,
    took: Duration,
    /// The total processor time of the programs of the part.
    processor: Duration,
    /// The first line of the failure.
    failure: Option<String>,
}

impl Report {
    /// Runs a part. Prints a failure at once and stores it for the summary. Later parts run anyway.
    pub fn run(&mut self, name: &str, part: impl FnOnce() -> Result<(), Failure>) {
        eprintln!("── {name}");
        let (start, before) = (Instant::now(), processor_time());
        let outcome = part();
        let failure = outcome.err().map(|failure| {
            let line = failure.to_string().lines().next().unwrap_or_default().chars().take(LINE).collect();
            eprintln!("{:?}", miette::Report::new(failure));
            line
        });
        self.0.push(Done {
            name: name.to_owned(),
            took: start.elapsed(),
            processor: processor_time().saturating_sub(before),
            failure,
        });
    }

    /// Returns true if no part failed.
    pub fn has_passed(&self) -> bool {
        self.0.iter().all(|part| part.failure.is_none())
    }

    /// Returns the summary: the parts with their times, the skipped tests, and the counts on the last line.
    pub fn summary(&self, left_out: &[(String, Vec<String>)]) -> String {
        let mut text = String::from("\n      time  processor\n");
        for part in &self.0 {
            let (took, processor) = (part.took.as_secs_f64(), part.processor.as_secs_f64());
            let outcome = match &part.failure {
                None => String::new(),
                Some(reason) => format!("   FAILED: {reason}"),
            };
            text += &format!("{took:>8.1} s {processor:>8.1} s  {}{outcome}\n", part.name);
        }
        let sum = |time: fn(&Done) -> Duration| self.0.iter().map(time).sum::<Duration>().as_secs_f64();
        text += &format!("{:>8.1} s {:>8.1} s  in all\n", sum(|part| part.took), sum(|part| part.processor));
        for (tool, tests) in left_out {
            let install = crate::tools::find(tool).map_or("", |tool| tool.install);
            text += &format!("\nleft out, because `{tool}` is not installed ({install}):\n");
            for test in tests {
                text += &format!("  {test}\n");
            }
        }
        let failed = self.0.iter().filter(|part| part.failure.is_some()).count();
        text + &format!("\n{} passed, {failed} failed\n", self.0.len() - failed)
    }
}

/// Returns the processor time of all child processes that have ended.
fn processor_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer refers to memory for a `rusage`, as the function requires.
    let status = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    if status != 0 {
        return Duration::ZERO;
    }
    // SAFETY: the memory is initialised: it was zeroed, all zeroes are a valid `rusage`, and the function may fill it.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::step;

    #[test]
    fn all_parts_run_and_the_failed_one_is_named() {
        let mut report = Report::default();
        let mut ran = 0;
        report.run("first", || Err(crate::tools::missing("valgrind")));
        report.run("second", || {
            ran += 1;
            step("true").run()
        });
        assert_eq!(ran, 1);
        assert!(!report.has_passed());
        let text = report.summary(&[("valgrind".to_owned(), vec!["a test".to_owned()])]);
        assert!(text.contains("first   FAILED: `valgrind` is not installed\n"), "{text}");
        assert!(text.contains(" second\n"), "{text}");
        let end = "left out, because `valgrind` is not installed (apt-get install valgrind):\n  a test\n\n1 passed, 1 failed\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn the_processor_time_of_a_program_is_counted() {
        let before = processor_time();
        step("sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).run().unwrap();
        assert!(processor_time() > before);
    }
}

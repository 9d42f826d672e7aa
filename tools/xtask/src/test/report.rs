//! The summary of a run.

use std::time::Duration;

/// The maximum length of a failure in the summary. The full text is in the output of the part.
const LINE: usize = 120;

/// A part that has ended.
pub struct Done {
    /// Its name.
    pub name: &'static str,
    /// The time from its start to its end.
    pub took: Duration,
    /// The processor time of its programs.
    pub processor: Duration,
    /// The first line of its failure.
    pub failure: Option<String>,
}

/// A run that has ended.
pub struct Report {
    /// The parts, in the order of the table.
    pub parts: Vec<Done>,
    /// The time of the run, which is less than the sum of the parts if these ran side by side.
    pub took: Duration,
}

impl Report {
    /// Returns true if no part failed.
    pub fn has_passed(&self) -> bool {
        self.parts.iter().all(|part| part.failure.is_none())
    }

    /// Returns the summary: the parts with their times, the skipped tests, and the counts on the last line.
    pub fn summary(&self, left_out: &[(String, Vec<String>)]) -> String {
        let mut text = String::from("\n      time  processor\n");
        for part in &self.parts {
            let (took, processor) = (part.took.as_secs_f64(), part.processor.as_secs_f64());
            let outcome = match &part.failure {
                None => String::new(),
                Some(reason) => format!("   FAILED: {}", reason.chars().take(LINE).collect::<String>()),
            };
            text += &format!("{took:>8.1} s {processor:>8.1} s  {}{outcome}\n", part.name);
        }
        let processor: Duration = self.parts.iter().map(|part| part.processor).sum();
        text += &format!("{:>8.1} s {:>8.1} s  in all\n", self.took.as_secs_f64(), processor.as_secs_f64());
        for (tool, tests) in left_out {
            let install = crate::tools::find(tool).map_or("", |tool| tool.install);
            text += &format!("\nleft out, because `{tool}` is not installed ({install}):\n");
            for test in tests {
                text += &format!("  {test}\n");
            }
        }
        let failed = self.parts.iter().filter(|part| part.failure.is_some()).count();
        text + &format!("\n{} passed, {failed} failed\n", self.parts.len() - failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_names_failed_part_and_total_times() {
        let part = |name, took, failure: Option<&str>| Done {
            name,
            took: Duration::from_secs(took),
            processor: Duration::from_secs(took),
            failure: failure.map(str::to_owned),
        };
        let parts = vec![part("first", 30, Some("`valgrind` is not installed")), part("second", 40, None)];
        let report = Report { parts, took: Duration::from_secs(41) };
        assert!(!report.has_passed());
        let text = report.summary(&[("valgrind".to_owned(), vec!["a test".to_owned()])]);
        assert!(text.contains("first   FAILED: `valgrind` is not installed\n"), "{text}");
        assert!(text.contains(" second\n"), "{text}");
        assert!(text.contains("    41.0 s     70.0 s  in all\n"), "{text}");
        let end = "left out, because `valgrind` is not installed (apt-get install valgrind):\n  a test\n\n1 passed, 1 failed\n";
        assert!(text.ends_with(end), "{text}");
    }
}

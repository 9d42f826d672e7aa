//! Traces as Chrome and Perfetto read them.

use std::fmt::{self, Write as _};

use crate::profiler::{Activity, Trace, TraceRecord};

impl Trace {
    /// Returns the trace as JSON in Chrome's trace format: a track for the calls of the host, and one for each stream.
    ///
    /// Times begin with the first record.
    #[must_use]
    pub fn to_chrome(&self) -> String {
        let process = std::process::id();
        let first = self.records.iter().map(|record| record.start_ns).min().unwrap_or(0);
        let mut events = Vec::with_capacity(self.records.len() + 4);
        let mut tracks: Vec<_> = self.records.iter().map(Track::of).collect();
        tracks.sort_unstable();
        tracks.dedup();
        for (number, track) in tracks.iter().enumerate() {
            for (kind, value) in [("name", format!("\"{track}\"")), ("sort_index", number.to_string())] {
                events.push(format!(
                    r#"{{"ph":"M","pid":{process},"tid":{number},"name":"thread_{kind}","args":{{"{kind}":{value}}}}}"#
                ));
            }
        }
        for record in &self.records {
            let (start, time) = (record.start_ns - first, record.end_ns.saturating_sub(record.start_ns));
            events.push(format!(
                r#"{{"ph":"X","pid":{process},"tid":{},"name":"{}","cat":"{}","ts":{},"dur":{}{}}}"#,
                tracks.binary_search(&Track::of(record)).unwrap_or_default(),
                escaped(record.name),
                category(record.activity),
                microseconds(start),
                microseconds(time),
                record.library.map_or_else(String::new, |library| {
                    format!(r#","args":{{"library":"{}"}}"#, escaped(library))
                }),
            ));
        }
        let mut text = String::from("{\"traceEvents\":[\n");
        text.push_str(&events.join(",\n"));
        let _ = write!(text, "\n],\"otherData\":{{\"dropped\":{}}}}}\n", self.dropped);
        text
    }
}

/// A row of the picture.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Host,
    Stream { device: i32, handle: usize },
}

impl Track {
    fn of(record: &TraceRecord) -> Self {
        match record.activity {
            Activity::Call => Self::Host,
            _ => Self::Stream { device: record.device.0, handle: record.stream },
        }
    }
}

impl fmt::Display for Track {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => formatter.write_str("calls of operators"),
            Self::Stream { device, handle: 0 } => write!(formatter, "default stream of cpu:{device}"),
            Self::Stream { device, handle } => write!(formatter, "stream {handle:#x} of cpu:{device}"),
        }
    }
}

fn category(activity: Activity) -> &'static str {
    match activity {
        Activity::Copy(_) => "copy",
        Activity::Fill => "fill",
        Activity::Kernel => "kernel",
        Activity::Callback => "callback",
        Activity::Call => "call",
    }
}

/// Times are in microseconds, with nanoseconds as fractions.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// Replaces the characters that end a text in JSON.
fn escaped(name: &str) -> String {
    name.replace(|character: char| character.is_control() || matches!(character, '"' | '\\'), "?")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tenon::device::DeviceId;

    fn record(activity: Activity, name: &'static str, stream: usize, times: [u64; 2]) -> TraceRecord {
        let [start_ns, end_ns] = times;
        TraceRecord { activity, name, library: None, device: DeviceId(0), stream, start_ns, end_ns }
    }

    #[test]
    fn calls_and_streams_have_tracks() {
        let mut records = vec![
            record(Activity::Call, "mat\"mul", 0x20, [5_000_000_000, 5_000_003_500]),
            record(Activity::Kernel, "matmul", 0x20, [5_000_002_000, 5_000_010_001]),
        ];
        records[1].library = Some("oneDNN");
        let text = Trace { records, dropped: 2 }.to_chrome();
        let process = std::process::id();
        let expected = [
            "{\"traceEvents\":[".to_owned(),
            format!(
                r#"{{"ph":"M","pid":{process},"tid":0,"name":"thread_name","args":{{"name":"calls of operators"}}}},"#
            ),
            format!(
                r#"{{"ph":"M","pid":{process},"tid":0,"name":"thread_sort_index","args":{{"sort_index":0}}}},"#
            ),
            format!(
                r#"{{"ph":"M","pid":{process},"tid":1,"name":"thread_name","args":{{"name":"stream 0x20 of cpu:0"}}}},"#
            ),
            format!(
                r#"{{"ph":"M","pid":{process},"tid":1,"name":"thread_sort_index","args":{{"sort_index":1}}}},"#
            ),
            format!(
                r#"{{"ph":"X","pid":{process},"tid":0,"name":"mat?mul","cat":"call","ts":0.000,"dur":3.500}},"#
            ),
            format!(
                r#"{{"ph":"X","pid":{process},"tid":1,"name":"matmul","cat":"kernel","ts":2.000,"dur":8.001,"args":{{"library":"oneDNN"}}}}"#
            ),
            r#"],"otherData":{"dropped":2}}"#.to_owned(),
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}

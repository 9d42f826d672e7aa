//! Summary of a trace, in tables.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read as _};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Summary of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Number of calls.
    pub calls: u64,
    /// From the first event to the last, in nanoseconds.
    pub span_ns: u64,
    /// Number of events that were dropped because of the limit.
    pub dropped: u64,
    /// True if the file lacks its end, as after a crash.
    pub truncated: bool,
    /// The functions that were called, most time first.
    pub functions: Vec<FunctionSummary>,
    /// The streams, in the order of devices and lanes.
    pub streams: Vec<StreamSummary>,
    /// The memory in use.
    pub memory: Vec<MemorySummary>,
}

/// The calls of one function. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionSummary {
    /// Its name.
    pub name: String,
    /// Number of calls.
    pub count: u64,
    /// Number of failed calls.
    pub errors: u64,
    /// All together.
    pub total_ns: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The median.
    pub median_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The bytes of its calls, where the trace has them: elements of collectives, and memory that providers give.
    pub bytes: u64,
}

/// The work of one stream.
#[derive(Clone, Debug, Serialize)]
pub struct StreamSummary {
    /// The device.
    pub device: String,
    /// The stream.
    pub stream: String,
    /// Number of pieces of work.
    pub count: u64,
    /// The time during which it had work, in nanoseconds.
    pub busy_ns: u64,
}

/// The memory of one device.
#[derive(Clone, Debug, Serialize)]
pub struct MemorySummary {
    /// The kind of memory, and the device.
    pub name: String,
    /// The peak use in bytes.
    pub peak_bytes: u64,
    /// Bytes in use at the end.
    pub last_bytes: u64,
}

/// The file is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// It cannot be read.
    #[error("the trace cannot be read")]
    Read(#[from] io::Error),
    /// There is no event in it.
    #[error("there is no event in it: is it a trace?")]
    NoEvents,
}

/// Most bytes of a line. The layer writes an event into each, and a longer one of another program is read as several,
/// which are no events.
const LONGEST_LINE: u64 = 1 << 20;

#[derive(Deserialize)]
struct Event {
    ph: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    cat: String,
    #[serde(default)]
    pid: u64,
    #[serde(default)]
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Args,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Args {
    status: Option<String>,
    name: Option<String>,
    bytes: Option<u64>,
    dropped: Option<u64>,
}

/// The state while events are read.
#[derive(Default)]
struct Gathered {
    events: u64,
    /// Durations, failures and bytes, by name.
    functions: BTreeMap<String, (Vec<u64>, u64, u64)>,
    /// Count and duration, by process and thread.
    streams: BTreeMap<(u64, u64), (u64, u64)>,
    /// The peak, and the last with its time.
    memory: BTreeMap<String, (u64, u64, u64)>,
    /// Names of threads; of processes with thread 0.
    names: BTreeMap<(u64, u64), String>,
    dropped: u64,
    first: Option<u64>,
    last: u64,
}

impl Summary {
    /// Reads a trace. An event that a crash has cut off at the end is ignored.
    ///
    /// # Errors
    /// If it cannot be read, or has no event.
    pub fn read(mut trace: impl BufRead) -> Result<Self, SummaryError> {
        let mut gathered = Gathered::default();
        let (mut line, mut ended) = (Vec::new(), false);
        while {
            line.clear();
            (&mut trace).take(LONGEST_LINE).read_until(b'\n', &mut line)?
        } > 0
        {
            let text = line.trim_ascii();
            let text = text.strip_suffix(b",").unwrap_or(text).trim_ascii();
            ended = text == b"]";
            if let Ok(event) = serde_json::from_slice::<Event>(text) {
                gathered.add(event);
            }
        }
        match gathered.events {
            0 => Err(SummaryError::NoEvents),
            _ => Ok(gathered.summary(!ended)),
        }
    }
}

/// Microseconds with a fraction, as nanoseconds.
fn ns(us: f64) -> u64 {
    (us * 1000.0).round() as u64
}

impl Gathered {
    fn add(&mut self, event: Event) {
        self.events += 1;
        let (start, duration) = (ns(event.ts), ns(event.dur));
        match event.ph.as_str() {
            "M" => {
                if let Some(name) = event.args.name {
                    let thread = if event.name == "process_name" { 0 } else { event.tid };
                    self.names.insert((event.pid, thread), name);
                }
                self.dropped = self.dropped.max(event.args.dropped.unwrap_or(0));
                return;
            }
            "X" if event.cat == "work" => {
                let (count, busy) = self.streams.entry((event.pid, event.tid)).or_default();
                *count += 1;
                *busy = busy.saturating_add(duration);
            }
            "X" => {
                let (durations, errors, bytes) = self.functions.entry(event.name).or_default();
                durations.push(duration);
                *bytes = bytes.saturating_add(event.args.bytes.unwrap_or(0));
                *errors += u64::from(event.args.status.is_some_and(|status| status != "success"));
            }
            "C" => {
                let (peak, last, time) = self.memory.entry(event.name).or_default();
                let bytes = event.args.bytes.unwrap_or(0);
                *peak = bytes.max(*peak);
                if start >= *time {
                    (*last, *time) = (bytes, start);
                }
            }
            _ => return,
        }
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.last = self.last.max(start.saturating_add(duration));
    }

    fn summary(self, truncated: bool) -> Summary {
        let mut functions: Vec<_> = self
            .functions
            .into_iter()
            .map(|(name, (durations, errors, bytes))| function(name, durations, errors, bytes))
            .collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.total_ns));
        let name = |process, thread| self.names.get(&(process, thread)).cloned().unwrap_or_default();
        let stream = |((process, thread), (count, busy_ns))| StreamSummary {
            device: name(process, 0),
            stream: name(process, thread),
            count,
            busy_ns,
        };
        let memory = |(name, (peak_bytes, last_bytes, _))| MemorySummary { name, peak_bytes, last_bytes };
        Summary {
            calls: functions.iter().map(|function| function.count).sum(),
            span_ns: self.first.map_or(0, |first| self.last.saturating_sub(first)),
            dropped: self.dropped,
            truncated,
            functions,
            streams: self.streams.into_iter().map(stream).collect(),
            memory: self.memory.into_iter().map(memory).collect(),
        }
    }
}

fn function(name: String, mut durations: Vec<u64>, errors: u64, bytes: u64) -> FunctionSummary {
    durations.sort_unstable();
    let (count, total_ns) =
        (durations.len() as u64, durations.iter().fold(0_u64, |sum, duration| sum.saturating_add(*duration)));
    // The nearest-rank percentile: the shortest duration that this share of the calls does not exceed.
    let at = |hundredths: u64| durations[((count * hundredths).div_ceil(100) - 1) as usize];
    FunctionSummary {
        name,
        count,
        errors,
        total_ns,
        mean_ns: total_ns / count,
        median_ns: at(50),
        p99_ns: at(99),
        max_ns: at(100),
        bytes,
    }
}

/// A summary with its tables cut to some rows.
pub struct Tables<'a> {
    summary: &'a Summary,
    top: usize,
}

impl Summary {
    /// Returns the summary with at most `top` rows in each table.
    pub fn tables(&self, top: usize) -> Tables<'_> {
        Tables { summary: self, top }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables(usize::MAX).fmt(formatter)
    }
}

impl fmt::Display for Tables<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.summary;
        let span = time(summary.span_ns);
        write!(formatter, "{} calls of {} functions in {span}", summary.calls, summary.functions.len())?;
        if summary.dropped > 0 {
            write!(formatter, "; {} events were dropped", summary.dropped)?;
        }
        if summary.truncated {
            write!(formatter, "; the file lacks its end")?;
        }
        writeln!(formatter)?;
        let by_time: Vec<_> = summary.functions.iter().collect();
        table(formatter, "by time", &by_time, self.top)?;
        let mut by_count = by_time;
        by_count.sort_by_key(|function| std::cmp::Reverse(function.count));
        table(formatter, "by count", &by_count, self.top)?;
        if !summary.streams.is_empty() {
            writeln!(formatter, "\n{:<28} {:<24} {:>9} {:>10} {:>6}", "streams", "", "work", "busy", "%")?;
        }
        for stream in summary.streams.iter().take(self.top) {
            let share = stream.busy_ns as f64 / summary.span_ns.max(1) as f64 * 100.0;
            let StreamSummary { device, stream: name, count, busy_ns } = stream;
            writeln!(formatter, "{device:<28} {name:<24} {count:>9} {:>10} {share:>6.1}", time(*busy_ns))?;
        }
        if !summary.memory.is_empty() {
            writeln!(formatter, "\n{:<53} {:>9} {:>10}", "memory", "peak", "at the end")?;
        }
        for memory in summary.memory.iter().take(self.top) {
            let (peak, last) = (size(memory.peak_bytes), size(memory.last_bytes));
            writeln!(formatter, "{:<53} {peak:>9} {last:>10}", memory.name)?;
        }
        let with_bytes: Vec<_> =
            summary.functions.iter().filter(|function| function.bytes > 0).take(self.top).collect();
        if !with_bytes.is_empty() {
            writeln!(formatter, "\n{:<53} {:>9} {:>10}", "bytes", "count", "total")?;
        }
        for FunctionSummary { name, count, bytes, .. } in with_bytes {
            writeln!(formatter, "{name:<53} {count:>9} {:>10}", size(*bytes))?;
        }
        Ok(())
    }
}

fn table(
    formatter: &mut fmt::Formatter<'_>,
    title: &str,
    functions: &[&FunctionSummary],
    top: usize,
) -> fmt::Result {
    writeln!(
        formatter,
        "\n{title:<30} {:>9} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "count", "failed", "total", "mean", "median", "p99", "max"
    )?;
    for function in functions.iter().take(top) {
        let [total, mean, median, p99, max] =
            [function.total_ns, function.mean_ns, function.median_ns, function.p99_ns, function.max_ns]
                .map(time);
        let FunctionSummary { name, count, errors, .. } = function;
        writeln!(
            formatter,
            "{name:<30} {count:>9} {errors:>8} {total:>10} {mean:>10} {median:>10} {p99:>10} {max:>10}"
        )?;
    }
    Ok(())
}

fn time(ns: u64) -> String {
    format!("{:.2?}", Duration::from_nanos(ns))
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (bytes.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    match unit {
        0 => format!("{bytes} B"),
        _ => {
            format!("{:.1} {}", bytes as f64 / f64::from(1u32 << 10).powi(unit as i32), UNITS[unit as usize])
        }
    }
}

//! Writes events as JSON to a buffer of fixed size. Nothing here allocates, so a signal handler may use it.

use std::fmt::Write as _;

use tenon::device::reflection::FUNCTIONS;
use tenon::reflect::{FunctionInfo, Kind as ParamKind};

use super::ring::{Header, Kind};

/// The maximum number of bytes of an event.
pub(super) const EVENT: usize = 4096;

/// The lanes of a device are shown as a separate process; numbers of processes are below this.
const LANES: u64 = 10_000_000;

/// Text of a fixed size. Text that does not fit is cut. [`EVENT`] is large enough that this does not happen.
pub(super) struct Text<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> Text<'a> {
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns true if another event fits.
    pub(super) fn has_room(&self) -> bool {
        self.buffer.len() - self.len >= EVENT
    }

    fn put(&mut self, text: &str) {
        self.put_bytes(text.as_bytes());
    }

    #[inline]
    fn put_bytes(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.buffer.len() - self.len)];
        self.buffer[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn number(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.put_bytes(&digits[at..]);
    }

    fn signed(&mut self, number: i64) {
        if number < 0 {
            self.put("-");
        }
        self.number(number.unsigned_abs());
    }

    /// Writes an address in quotes, because JSON's numbers would round it.
    fn address(&mut self, address: u64) {
        let mut digits = [0; 16];
        let mut at = digits.len();
        let mut rest = address;
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(rest % 16) as usize];
            rest /= 16;
            if rest == 0 {
                break;
            }
        }
        self.put("\"0x");
        self.put_bytes(&digits[at..]);
        self.put("\"");
    }

    /// Writes nanoseconds as microseconds, which viewers expect.
    fn time(&mut self, ns: u64) {
        self.number(ns / 1000);
        let digit = |unit: u64| b'0' + (ns / unit % 10) as u8;
        self.put_bytes(&[b'.', digit(100), digit(10), digit(1)]);
    }

    /// Writes a text without quotes. Characters that JSON must escape are replaced.
    fn plain(&mut self, text: &[u8]) {
        for &byte in text {
            let byte = if byte < 0x20 || matches!(byte, b'"' | b'\\') { b'_' } else { byte };
            self.put_bytes(&[byte]);
        }
    }

    fn float(&mut self, bits: u64) {
        let number = f64::from_bits(bits);
        // JSON does not have NaN and infinity. Writing never fails: what does not fit is cut.
        let _ = if number.is_finite() { write!(self, "{number}") } else { write!(self, "\"{number}\"") };
    }
}

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.put(text);
        Ok(())
    }
}

/// The text around the events.
pub(super) struct Setting<'a> {
    pub(super) process: u64,
    /// The time at which the trace began.
    pub(super) start: u64,
    /// The names of the plugins.
    pub(super) plugin: &'a dyn Fn(u8) -> &'a str,
}

/// Writes the beginning of a file, with its first event.
pub(super) fn head(text: &mut Text<'_>, process: u64, name: &str) {
    text.put("[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":");
    text.number(process);
    text.put(",\"tid\":0,\"args\":{\"name\":\"");
    text.plain(name.as_bytes());
    text.put("\"}}");
}

/// Writes the end of a file, also of one that is incomplete. A viewer shows `dropped` at the process.
pub(super) fn dropped(text: &mut Text<'_>, process: u64, dropped: u64) {
    text.put(",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":");
    text.number(process);
    text.put(",\"tid\":0,\"args\":{\"labels\":\"");
    text.number(dropped);
    text.put(" events dropped\",\"dropped\":");
    text.number(dropped);
    text.put("}}");
}

/// Writes the end of a file.
pub(super) fn tail(text: &mut Text<'_>) {
    text.put("\n]\n");
}

/// Writes a record as one or two events.
pub(super) fn record(text: &mut Text<'_>, setting: &Setting<'_>, thread: u64, header: Header, words: &[u64]) {
    match (header.kind, words) {
        (Kind::Call, [start, end, arguments @ ..]) => {
            call(text, setting, thread, header, (*start, *end), None, arguments);
        }
        (Kind::Collective, [start, end, rank, ranks, bytes, arguments @ ..]) => {
            let of_group = Some([*rank, *ranks, *bytes]);
            call(text, setting, thread, header, (*start, *end), of_group, arguments);
        }
        (Kind::MemoryCall, [start, end, bytes, arguments @ ..]) => {
            call(text, setting, thread, header, (*start, *end), None, arguments);
            counter(text, setting, header, *end, *bytes, arguments);
        }
        (Kind::Work, [start, end, lane, device]) => {
            work(text, setting, header, (*start, *end), *lane, *device)
        }
        (Kind::Lane, [lane, device, stream]) => new_lane(text, setting, header, *lane, (*device, *stream)),
        (Kind::Thread, [a, b]) => {
            text.put(",\n{\"ph\":\"M\",\"name\":\"thread_name\"");
            place(text, setting.process, thread);
            text.put(",\"args\":{\"name\":\"");
            let name = [a.to_le_bytes(), b.to_le_bytes()];
            let name = name.as_flattened();
            let len = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            text.plain(&name[..len]);
            text.put("\"}}");
        }
        _ => {}
    }
}

fn place(text: &mut Text<'_>, process: u64, thread: u64) {
    text.put(",\"pid\":");
    text.number(process);
    text.put(",\"tid\":");
    text.number(thread);
}

fn span(text: &mut Text<'_>, setting: &Setting<'_>, (start, end): (u64, u64)) {
    text.put(",\"ts\":");
    text.time(start.saturating_sub(setting.start));
    text.put(",\"dur\":");
    text.time(end.saturating_sub(start));
}

fn function(header: Header) -> &'static FunctionInfo {
    &FUNCTIONS[usize::from(header.function) % FUNCTIONS.len()]
}

fn call(
    text: &mut Text<'_>,
    setting: &Setting<'_>,
    thread: u64,
    header: Header,
    times: (u64, u64),
    of_group: Option<[u64; 3]>,
    arguments: &[u64],
) {
    let info = function(header);
    text.put(",\n{\"ph\":\"X\",\"name\":\"");
    text.put(info.name);
    text.put("\",\"cat\":\"");
    text.put(info.group);
    text.put("\"");
    place(text, setting.process, thread);
    span(text, setting, times);
    text.put(",\"args\":{\"plugin\":\"");
    text.plain((setting.plugin)(header.plugin).as_bytes());
    text.put("\"");
    for (param, argument) in info.params.iter().zip(arguments) {
        text.put(",\"");
        text.put(param.name);
        text.put("\":");
        value(text, &param.kind, *argument);
    }
    if let Some(numbers) = of_group {
        for (name, number) in ["rank", "ranks", "bytes"].into_iter().zip(numbers) {
            text.put(",\"");
            text.put(name);
            text.put("\":");
            text.number(number);
        }
    }
    if header.answer != 0 {
        text.put(if header.answer == 1 { ",\"answer\":true" } else { ",\"answer\":false" });
    }
    text.put(",\"status\":\"");
    match header.status {
        0 => text.put("success"),
        1 => text.put("warning"),
        2 => text.put("failed"),
        3 => text.put("error"),
        4 => text.put("internal_error"),
        other => text.signed(i64::from(other)),
    }
    text.put("\"}}");
}

/// Writes the memory in use after a call.
fn counter(
    text: &mut Text<'_>,
    setting: &Setting<'_>,
    header: Header,
    time: u64,
    bytes: u64,
    arguments: &[u64],
) {
    let Some(change) = super::memory::change(header.function) else { return };
    text.put(",\n{\"ph\":\"C\",\"name\":\"");
    text.put(change.name());
    text.put(" ");
    text.plain((setting.plugin)(header.plugin).as_bytes());
    text.put(":");
    text.signed(change.device(arguments).cast_signed());
    text.put("\"");
    place(text, setting.process, 0);
    text.put(",\"ts\":");
    text.time(time.saturating_sub(setting.start));
    text.put(",\"args\":{\"bytes\":");
    text.number(bytes);
    text.put("}}");
}

fn lanes_of(header: Header, device: u64) -> u64 {
    LANES + u64::from(header.plugin) * 10_000 + device % 10_000
}

fn work(
    text: &mut Text<'_>,
    setting: &Setting<'_>,
    header: Header,
    times: (u64, u64),
    lane: u64,
    device: u64,
) {
    text.put(",\n{\"ph\":\"X\",\"name\":\"");
    text.put(function(header).name);
    text.put("\",\"cat\":\"work\"");
    place(text, lanes_of(header, device), lane);
    span(text, setting, times);
    text.put("}");
}

fn new_lane(
    text: &mut Text<'_>,
    setting: &Setting<'_>,
    header: Header,
    lane: u64,
    (device, stream): (u64, u64),
) {
    let process = lanes_of(header, device);
    text.put(",\n{\"ph\":\"M\",\"name\":\"process_name\"");
    place(text, process, 0);
    text.put(",\"args\":{\"name\":\"streams of ");
    text.plain((setting.plugin)(header.plugin).as_bytes());
    text.put(":");
    text.number(device);
    text.put("\"}},\n{\"ph\":\"M\",\"name\":\"thread_name\"");
    place(text, process, lane);
    text.put(",\"args\":{\"name\":");
    match stream {
        0 => text.put("\"default stream\""),
        _ => {
            text.put("\"stream ");
            let _ = write!(text, "{stream:#x}\"");
        }
    }
    text.put("}}");
}

fn value(text: &mut Text<'_>, kind: &ParamKind, argument: u64) {
    match kind {
        ParamKind::Bool => text.put(if argument == 0 { "false" } else { "true" }),
        ParamKind::Int { signed: false, .. } => text.number(argument),
        ParamKind::Int { signed: true, .. } | ParamKind::Id(_) => text.signed(argument.cast_signed()),
        ParamKind::Float { .. } => text.float(argument),
        ParamKind::Enum { values, .. } => {
            match values.iter().find(|(number, _)| *number == argument.cast_signed()) {
                Some((_, name)) => {
                    text.put("\"");
                    text.put(name);
                    text.put("\"");
                }
                None => text.signed(argument.cast_signed()),
            }
        }
        ParamKind::Text
        | ParamKind::Pointer
        | ParamKind::Handle { .. }
        | ParamKind::Struct(_)
        | ParamKind::Callback(_) => text.address(argument),
    }
}

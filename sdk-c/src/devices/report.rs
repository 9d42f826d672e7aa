//! The implementation of each function of an open device, and the number of its calls.

use std::ffi::{CString, c_char};
use std::fmt::Write as _;
use std::ptr::null;
use std::sync::LazyLock;

use serde::Serialize;
use tenon::device::Function;
use tenon_loader::Availability as Behind;

use crate::c_text::c_text;
use crate::call::export_on;
use crate::call::text::{hand_out, hand_out_text};
use crate::devices::table::DeviceGuard;
use crate::{DeviceHandle, Status};

/// The implementation of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// The plugin implements it.
    Native = 0,
    /// The spec's fallback implements it.
    Fallback = 1,
    /// Nothing implements it; the function fails with #TENON_UNSUPPORTED.
    Unavailable = 2,
}

/// The implementation of one function of a device. The strings are never freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReportEntry {
    /// The name in the spec: `memory_copy_h2d` for `tenon_memory_copy_h2d`.
    pub function: *const c_char,
    /// The group of the function in the spec.
    pub group: *const c_char,
    /// The implementation.
    pub availability: Availability,
    /// A sentence that describes the fallback; `null` if there is none.
    pub fallback: *const c_char,
    /// The cost of the fallback; `null` if there is none, or the spec states no cost.
    pub costs: *const c_char,
    /// Number of calls, including failed ones, since the device was opened, or, for functions without a
    /// device, since the plugin was loaded. Calls by the pool count; calls by a fallback do not.
    pub calls: u64,
}

/// Strings of the spec, for C.
struct Texts {
    function: CString,
    group: CString,
    fallback: CString,
    costs: CString,
}

static TEXTS: LazyLock<[Texts; Function::ALL.len()]> = LazyLock::new(|| {
    Function::ALL.map(|function| {
        let info = function.info();
        let fallback = info.fallback.as_ref();
        Texts {
            function: c_text(info.name),
            group: c_text(info.group),
            fallback: c_text(fallback.map_or("", |fallback| fallback.text)),
            costs: c_text(fallback.map_or("", |fallback| fallback.costs)),
        }
    })
});

/// One function of a report, for both text and JSON.
#[derive(Serialize)]
struct Row {
    function: &'static str,
    group: &'static str,
    availability: Availability,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<&'static str>,
    calls: u64,
}

#[derive(Serialize)]
struct Report<'a> {
    device: String,
    plugin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'static str>,
    recognition: String,
    functions: Vec<Row>,
}

fn rows(open: &DeviceGuard) -> impl Iterator<Item = Row> {
    open.plugin.host.functions().map(|(function, behind)| {
        let info = function.info();
        let (availability, fallback) = match behind {
            Behind::Native => (Availability::Native, None),
            Behind::Fallback(fallback) => (Availability::Fallback, Some(fallback)),
            Behind::Unavailable => (Availability::Unavailable, None),
        };
        Row {
            function: info.name,
            group: info.group,
            availability,
            fallback: fallback.map(|fallback| fallback.text),
            costs: fallback.map(|fallback| fallback.costs).filter(|costs| !costs.is_empty()),
            calls: open.calls.get(function) + open.plugin.calls.get(function),
        }
    })
}

fn report(open: &DeviceGuard) -> Report<'_> {
    let host = &open.plugin.host;
    Report {
        device: open.name(),
        plugin: host.name(),
        path: host.path().map(|path| path.to_string_lossy().into_owned()),
        release: host.release().map(|release| release.name()),
        recognition: host.recognised_by().to_string(),
        functions: rows(open).collect(),
    }
}

fn text(report: &Report<'_>) -> String {
    let mut text = format!("{} of plugin {}", report.device, report.plugin);
    match (&report.path, report.release) {
        (Some(path), Some(release)) => {
            let _ = write!(text, " ({path}), release {release}: {}", report.recognition);
        }
        _ => {
            let _ = write!(text, ": {}", report.recognition);
        }
    }
    let of = |availability| report.functions.iter().filter(|row| row.availability == availability).count();
    let _ = write!(
        text,
        "\n{} functions: {} native, {} by fallback, {} unavailable\n",
        report.functions.len(),
        of(Availability::Native),
        of(Availability::Fallback),
        of(Availability::Unavailable)
    );
    let width = report.functions.iter().map(|row| row.function.len()).max().unwrap_or(0);
    let mut group = "";
    for row in &report.functions {
        if row.group != group {
            group = row.group;
            let _ = write!(text, "\n{group}\n");
        }
        let state = match row.availability {
            Availability::Native => "native",
            Availability::Fallback => "fallback",
            Availability::Unavailable => "unavailable",
        };
        let line = format!("  {:<width$}  {:<11}  {:>10}", row.function, state, row.calls);
        text.push_str(&line);
        if let Some(fallback) = row.fallback {
            let _ = write!(text, "  {fallback}");
        }
        text.push('\n');
    }
    text
}

/// Reports the implementation and the number of calls of each function of the spec.
///
/// [C] If `entries` is `null`, `count` gets the number of entries. Otherwise `count` holds the capacity of
/// `entries`, and gets the number of entries that were written.
///
/// @param[in] device The device.
/// @param[out] entries The entries. [C] May be `null`.
/// @param[in,out] count The number of entries.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `count` is `null`, or the capacity is too small; then `count` gets the
/// capacity that is needed.
/// @par Threads
///     Any thread, also several at once. The count of a function that is running on another thread may not be
///     up to date.
///
/// # Safety
/// `count` is null, or can be read and written; `entries` is null or has space for `*count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_report(
    device: DeviceHandle,
    entries: *mut ReportEntry,
    count: *mut usize,
) -> Status {
    export_on("tenon_device_report", device, |open| {
        let found: Vec<ReportEntry> = rows(open)
            .zip(TEXTS.iter())
            .map(|(row, texts)| ReportEntry {
                function: texts.function.as_ptr(),
                group: texts.group.as_ptr(),
                availability: row.availability,
                fallback: row.fallback.map_or(null(), |_| texts.fallback.as_ptr()),
                costs: row.costs.map_or(null(), |_| texts.costs.as_ptr()),
                calls: row.calls,
            })
            .collect();
        // SAFETY: the caller's promise.
        unsafe { hand_out(&found, entries, count) }
    })
}

/// Writes the report as a readable text.
///
/// [C] If `text` is `null`, `size` gets the length. Otherwise `size` holds the capacity of `text` in bytes,
/// and gets the number of bytes that were written. The NUL at the end counts. The text grows with the counts
/// in it, so add some spare capacity or try again.
///
/// @param[in] device The device.
/// @param[out] text The text. [C] May be `null`.
/// @param[in,out] size Its length in bytes.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `size` is `null`, or the capacity is too small; then `size` gets the
/// capacity that is needed.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `size` is null, or can be read and written; `text` is null or has space for `*size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_report_text(
    device: DeviceHandle,
    text: *mut c_char,
    size: *mut usize,
) -> Status {
    export_on("tenon_device_report_text", device, |open| {
        // SAFETY: the caller's promise.
        unsafe { hand_out_text(&self::text(&report(open)), text, size) }
    })
}

/// Writes the report as JSON: an object with `device`, `plugin`, `recognition` and `functions`, each with
/// `function`, `group`, `availability` and `calls`.
///
/// @param[in] device The device.
/// @param[out] text The text. [C] As in #tenon_device_report_text; may be `null`.
/// @param[in,out] size Its length in bytes, with the NUL.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `size` is `null`, or the capacity is too small; then `size` gets the
/// capacity that is needed.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `size` is null, or can be read and written; `text` is null or has space for `*size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_report_json(
    device: DeviceHandle,
    text: *mut c_char,
    size: *mut usize,
) -> Status {
    export_on("tenon_device_report_json", device, |open| {
        let json = serde_json::to_string(&report(open)).map_err(|error| {
            crate::error::Failure::new(<Status as tenon::StatusCode>::INTERNAL, error.to_string())
        })?;
        // SAFETY: the caller's promise.
        unsafe { hand_out_text(&json, text, size) }
    })
}

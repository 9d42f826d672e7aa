//! The system, and the environment variables that change how devices and frameworks work.

use std::fs;

use crate::environment;

/// Beginnings of the names of such variables.
const VARIABLES: [&str; 9] = [
    "ASCEND_",
    "CUSTOM_DEVICE",
    "FLAGS_",
    "GLOG_",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "OMP_",
    "PADDLE_",
    "TENON_",
];

/// Describes the system as a section. `shorten` removes folders from the value of a variable.
pub fn describe(shorten: impl Fn(&str) -> String) -> String {
    let mut text = String::from("## System\n\n");
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!("- {name}: {value}\n");
        }
    };
    row("system", value("/etc/os-release", "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned()));
    row("kernel", read("/proc/sys/kernel/osrelease"));
    row("architecture", Some(std::env::consts::ARCH.to_owned()));
    row("glibc", glibc());
    row(
        "processor",
        value("/proc/cpuinfo", "model name").map(|name| name.trim_matches([' ', '\t', ':']).to_owned()),
    );
    row("cores", std::thread::available_parallelism().ok().map(|cores| cores.to_string()));
    row("memory", value("/proc/meminfo", "MemTotal:").map(|size| size.trim().to_owned()));
    text += "\n## Environment variables\n\n";
    let is_named = |name: &str| VARIABLES.iter().any(|start| name.starts_with(start));
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .filter(|(name, _)| is_named(name))
        .collect();
    variables.sort();
    if variables.is_empty() {
        text += "None is set.\n";
    }
    for (name, value) in variables {
        text += &format!("    {name}={}\n", shorten(&environment::shown(&name, &value)));
    }
    text + "\n"
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Returns what follows a word at the start of a line of a file.
fn value(path: &str, word: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word)).map(str::to_owned)
}

fn glibc() -> Option<String> {
    // SAFETY: the function takes nothing and returns a string that lives as long as the program.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(version.to_string_lossy().into_owned())
}

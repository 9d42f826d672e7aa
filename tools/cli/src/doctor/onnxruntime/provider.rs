//! The library of a provider: its file, and how it works in ONNX Runtime.

use std::path::Path;

use tenon_loader::{exports, foreign_kind};

use super::said;
use super::trial::{Device, Report, Step, Trial, try_out};
use crate::doctor::child;
use crate::doctor::finding::Section;
use crate::doctor::image::Image;
use crate::doctor::verdict::Verdict;

/// The functions that ONNX Runtime looks up.
const ENTRY: &str = "CreateEpFactories";
const EXIT: &str = "ReleaseEpFactory";

/// Functions of other kinds of libraries, and what these are.
const OTHERS: [(&str, &str, &str); 4] = [
    (
        "RegisterCustomOps",
        "it is a library of operators, which sessions load",
        "pass it to `SessionOptions.register_custom_ops_library`",
    ),
    (
        "GetProvider",
        "it is a provider that was built together with an ONNX Runtime, and only that one loads it",
        "install the maker's package of ONNX Runtime, or take the provider as a plugin",
    ),
    ("OrtGetApiBase", "it is ONNX Runtime itself", "register the library of a provider"),
    (
        "InitPlugin",
        "it is a plugin for PaddlePaddle only",
        "`tenon doctor PLUGIN --paddle PYTHON` examines it there",
    ),
];

/// Libraries of drivers, by the start of their names.
const DRIVERS: [(&str, &str); 11] = [
    ("libcuda.so", "the driver of NVIDIA's GPUs"),
    ("libnvidia-", "the driver of NVIDIA's GPUs"),
    ("libcud", "CUDA and cuDNN of NVIDIA"),
    ("libamdhip64.so", "ROCm, the driver of AMD's GPUs"),
    ("libhsa-runtime64.so", "ROCm, the driver of AMD's GPUs"),
    ("libze_", "Level Zero, the driver of Intel's GPUs and NPUs"),
    ("libvulkan.so", "Vulkan, the driver of GPUs"),
    ("libOpenCL.so", "OpenCL, the driver of GPUs"),
    ("libascend", "CANN, the driver of Ascend's NPUs"),
    ("libmusa", "the driver of Moore Threads' GPUs"),
    ("libcnrt.so", "the driver of Cambricon's MLUs"),
];

/// Returns true if a file is the library of a provider.
pub fn has_entry(file: &Path) -> bool {
    exports(file, ENTRY).unwrap_or(false)
}

/// Examines a library in the ONNX Runtime of a Python, or in one in a folder of its own. Returns the verdict, and the name of
/// the provider if it lists a device.
pub fn examine(
    file: &Path,
    python: &Path,
    packages: Option<&Path>,
    section: &mut Section,
) -> (Verdict, Option<String>) {
    let Some(needed) = check_file(file, section) else { return (Verdict::NotLoaded, None) };
    match try_out(python, packages, file, &needed) {
        Ok(trial) => {
            let name = trial.reports.iter().find_map(|report| match report {
                Report::Devices(devices) => devices.first().map(|device| device.name.clone()),
                _ => None,
            });
            (judge(&trial, section), name)
        }
        Err(error) => {
            section.problem(format!("it cannot be tried: {error}"));
            (Verdict::Unknown, None)
        }
    }
}

/// Returns the libraries that the library of a provider needs; `None` if a file is not one, or is for other machines.
fn check_file(file: &Path, section: &mut Section) -> Option<Vec<String>> {
    if let Some(kind) = tenon_files::special(file) {
        section.problem(format!("it is {kind}, and not a file"));
        return None;
    }
    if let Some(kind) = foreign_kind(file) {
        section.problem(format!("it is not a library, but {kind}"));
        return None;
    }
    let has_entry = match exports(file, ENTRY) {
        Ok(has_entry) => has_entry,
        Err(error) => {
            section.problem(error.to_string());
            return None;
        }
    };
    let Some(image) = Image::read(file) else {
        section.problem_with_advice("it is not a library, or a damaged one", "copy or download it again");
        return None;
    };
    if !image.runs_here(section) {
        return None;
    }
    if !has_entry {
        explain_missing_entry(file, section);
        return None;
    }
    if !exports(file, EXIT).unwrap_or(true) {
        section.problem_with_advice(
            format!("it does not export `{EXIT}`, and ONNX Runtime then does not register it"),
            "ask its maker, or export the function",
        );
        return None;
    }
    Some(image.needed)
}

/// Says what a library without the entry is.
fn explain_missing_entry(file: &Path, section: &mut Section) {
    let other = OTHERS.iter().find(|(function, ..)| exports(file, function).unwrap_or(false));
    let (kind, advice) = match other {
        Some((_, kind, advice)) => (*kind, *advice),
        None => ("ONNX Runtime looks up this function", "export it, without C++ decoration (`extern \"C\"`)"),
    };
    section.problem_with_advice(format!("it does not export `{ENTRY}`: {kind}"), advice);
}

/// Judges how a provider worked.
fn judge(trial: &Trial, section: &mut Section) -> Verdict {
    let said = said(&trial.said);
    let mut hardware = "nothing".to_owned();
    let mut verdict = Verdict::Runs;
    for report in &trial.reports {
        match report {
            Report::Begun(_) | Report::Session(None) => {}
            Report::Hardware(found) => hardware = found.join(", "),
            Report::Unloadable { message, missing } => {
                explain_unloadable(message, missing, section);
                return Verdict::NotLoaded;
            }
            Report::Failed(message) => {
                explain_failure(trial.step, message, section);
                return if trial.step == Step::Register { Verdict::Refuses } else { Verdict::Fails };
            }
            Report::Devices(devices) if devices.is_empty() => {
                section.problem_with_advice(
                    format!("it is registered, and lists no device{said}"),
                    format!(
                        "a provider lists the hardware that it knows. ONNX Runtime sees {hardware}; check that the \
                         hardware is there, that its driver is installed, and that this process may use it. If it is, \
                         the provider may need another release of ONNX Runtime: its maker says which"
                    ),
                );
                return Verdict::NoDevice;
            }
            Report::Devices(devices) => devices.iter().for_each(|device| list(device, section)),
            Report::Hidden { name, message } => {
                section.problem_with_advice(
                    format!("a session on `{name}` cannot be made, and runs on the CPU without an error: {message}"),
                    "take the provider's build for this release of ONNX Runtime. `InferenceSession(…, enable_fallback=0)` \
                     raises the error",
                );
                return Verdict::LeftOut;
            }
            Report::Session(Some(taken)) if taken.is_empty() => {
                verdict = Verdict::Idle;
                section.note("it takes none of the nodes `Add` and `Relu`, which run on the CPU");
            }
            Report::Session(Some(taken)) => {
                section.ok(format!("it computes the nodes {}", taken.join(", ")));
            }
            Report::Ran { expected, found } if expected == found => section.ok("a model runs"),
            Report::Ran { expected, found } => {
                verdict = Verdict::Fails;
                section.problem_with_advice(
                    format!("a model has a wrong result: {found:?} in place of {expected:?}"),
                    "send it to the provider's maker",
                );
            }
        }
    }
    let has_ended = trial.step == Step::End && trial.ended.status.is_some_and(|status| status.success());
    if !has_ended {
        section.problem_with_advice(
            format!("the process {} {}{said}", child::describe(trial.ended.status), trial.step),
            "programs would end in the same way: run one under a debugger, or send it to the provider's maker",
        );
        return Verdict::Crashes;
    }
    verdict
}

fn list(device: &Device, section: &mut Section) {
    let Device { name, vendor, version, hardware } = device;
    section.ok(format!("lists `{name}` {version} of {vendor}, for the {hardware}"));
}

fn explain_unloadable(message: &str, missing: &[String], section: &mut Section) {
    let driver =
        missing.iter().find_map(|library| DRIVERS.iter().find(|(start, _)| library.starts_with(start)));
    let advice = match (missing, driver) {
        ([], _) => "take the provider's build for this system and this release of ONNX Runtime".to_owned(),
        (_, Some((_, driver))) => format!("install {driver}"),
        (missing, None) => format!(
            "install the packages with {}, or name their folder in LD_LIBRARY_PATH",
            missing.join(", ")
        ),
    };
    section.problem_with_advice(format!("it cannot be loaded: {message}"), advice);
}

fn explain_failure(step: Step, message: &str, section: &mut Section) {
    let (what, advice) = match step {
        Step::Import => ("`import onnxruntime` fails", "install it and `numpy` again"),
        Step::Load => ("it cannot be loaded", "take the provider's build for this system"),
        Step::Register => (
            "ONNX Runtime does not register it",
            "take the provider's build for this release of ONNX Runtime, or the release that its maker names",
        ),
        Step::List => ("its devices cannot be listed", "check the driver of the device"),
        Step::Session => (
            "a session on it cannot be made",
            "check the driver of the device, and the options that the provider's maker documents",
        ),
        Step::Run => ("a model does not run on it", "send it to the provider's maker"),
        Step::Unregister | Step::End => {
            ("it cannot be unregistered", "send it to the provider's maker, if programs unregister it")
        }
    };
    section.problem_with_advice(format!("{what}: {message}"), advice);
}

//! Advice for a symbol or a library that the dynamic linker did not find.

use super::symbols::is_paddles;

/// Returns advice for an error of the dynamic linker, or an empty string if the error is clear by itself.
///
/// `is_host_loaded`: the libraries of a PaddlePaddle and its Python are already loaded, so loading them does not
/// help.
pub(super) fn help(reason: &str, was_lazy: bool, is_host_loaded: bool) -> String {
    if let Some((_, symbol)) = reason.split_once("undefined symbol: ") {
        let symbol = symbol.split([' ', ',', ')']).next().unwrap_or_default();
        return symbol_help(symbol, was_lazy, is_host_loaded);
    }
    let library = |reason: &str| reason.rsplit([' ', '/']).next().unwrap_or_default().to_owned();
    // Systems with glibc have a text of this name for the linker, or none.
    if let Some((first, _)) = reason.split_once(": ")
        && is_musls(&library(first))
    {
        let advice = "take the plugin's build for glibc, as for Debian, Ubuntu or CentOS";
        return format!(
            ". The plugin was built for the C library musl, as of Alpine Linux, and this system has glibc: {advice}"
        );
    }
    match reason.split_once(": cannot open shared object file") {
        Some((first, _)) => library_help(&library(first)),
        None => String::new(),
    }
}

fn symbol_help(symbol: &str, was_lazy: bool, is_host_loaded: bool) -> String {
    if is_pythons(symbol) && is_host_loaded {
        return format!(
            ". `{symbol}` is Python's (libpython), and the Python of `--host` has no library with it"
        );
    }
    if is_pythons(symbol) {
        return format!(
            ". `{symbol}` is Python's (libpython): load that library first, or let `tenon check --host PYTHON` do so"
        );
    }
    let whose = match is_paddles(symbol) {
        true if is_host_loaded => format!(
            ". `{symbol}` is PaddlePaddle's, and the PaddlePaddle of `--host` does not have it: the plugin may have been \
             built for another release"
        ),
        true => format!(
            ". `{symbol}` is PaddlePaddle's: libpaddle.so, or a library beside it, has it and is not loaded here. To \
             load it first, name the Python that has PaddlePaddle: `tenon check --host PYTHON`"
        ),
        false => format!(
            ". No library that is loaded has `{symbol}`: link the plugin with the library that has it, or set \
             LD_PRELOAD to that library"
        ),
    };
    if was_lazy {
        format!(
            "{whose}. The symbol is data, such as a vtable, which the system looks up at once, also when functions may \
         wait"
        )
    } else {
        format!(
            "{whose}. Where the device does without it, say `lazy` in the options of the call or in a manifest: then \
         functions, but not data, may stay open until they are called"
        )
    }
}

fn library_help(library: &str) -> String {
    const PADDLES: [&str; 5] = ["libpaddle", "libphi", "libcommon", "libpir", "libpaddle_inference"];
    let stem = library.split('.').next().unwrap_or_default();
    if PADDLES.iter().any(|known| stem.starts_with(known)) {
        format!(
            ". `{library}` is PaddlePaddle's: name the Python that has it, `tenon check --host PYTHON`, or set \
             LD_LIBRARY_PATH to the folder of `{library}`"
        )
    } else if stem.starts_with("libpython") {
        format!(". `{library}` is Python's: `tenon check --host PYTHON` loads it first")
    } else {
        format!(". Set LD_LIBRARY_PATH to the folder of `{library}`, or link the plugin with a RUNPATH to it")
    }
}

/// Returns true if a library is musl's C library, which has one of two names.
fn is_musls(library: &str) -> bool {
    cfg!(target_env = "gnu") && (library == "libc.so" || library.starts_with("libc.musl-"))
}

fn is_pythons(symbol: &str) -> bool {
    let name = symbol.trim_start_matches('_');
    name.strip_prefix("Py")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase() || first == '_'))
}

#[cfg(test)]
mod tests {
    use super::help;

    #[test]
    fn host_is_not_recommended_when_it_is_loaded() {
        for symbol in ["PD_RegisterPhiKernel", "PyExc_TypeError"] {
            let text = help(&format!("undefined symbol: {symbol}"), false, true);
            assert!(text.contains("of `--host`") && !text.contains("--host PYTHON"), "{text}");
        }
    }

    #[test]
    fn a_missing_symbol_or_library_is_traced_to_its_owner() {
        for (reason, lazy, parts) in [
            (
                "undefined symbol: PD_RegisterPhiKernel",
                false,
                &["libpaddle.so", "--host PYTHON", "`lazy`"][..],
            ),
            ("undefined symbol: _ZTVN3phi11DenseTensorE", true, &["is PaddlePaddle's", "vtable"]),
            ("undefined symbol: PyExc_TypeError", false, &["libpython"]),
            (
                "undefined symbol: npu_open",
                false,
                &["No library that is loaded has `npu_open`", "LD_PRELOAD"],
            ),
            (
                "libpaddle.so: cannot open shared object file: No such file or directory",
                false,
                &["`libpaddle.so` is PaddlePaddle's", "--host PYTHON"],
            ),
            (
                "libnpu.so.2: cannot open shared object file: No such file or directory",
                false,
                &["LD_LIBRARY_PATH", "`libnpu.so.2`"],
            ),
            (
                "libc.musl-x86_64.so.1: cannot open shared object file: No such file or directory",
                false,
                &["the C library musl", "glibc"],
            ),
            ("/usr/lib/x86_64-linux-gnu/libc.so: invalid ELF header", false, &["the C library musl"]),
            ("invalid ELF header", false, &[]),
        ] {
            let text = help(reason, lazy, false);
            assert_eq!(text.is_empty(), parts.is_empty(), "{text}");
            for part in parts {
                assert!(text.contains(part), "`{part}` is not in: {text}");
            }
        }
    }
}

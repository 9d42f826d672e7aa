//! Programs in Python that are part of this one.

use std::path::Path;
use std::process::Command;

/// Makes modules of the sources in the first argument, and runs the last one as the main module. Modules of the current
/// folder are not found.
const START: &str = "\
import json, sys, types
sys.path[:] = filter(None, sys.path)
for name, text in json.loads(sys.argv.pop(1)):
    module = types.ModuleType(name)
    if name != '__main__':
        sys.modules[name] = module
    exec(compile(text, f'<tenon: {name}>', 'exec'), module.__dict__)
";

/// The name of the module that runs.
const MAIN: &str = "__main__";

/// Encodes models without the package onnx.
const MODELS: &str = include_str!("python/models.py");

/// A program in Python for an environment with ONNX Runtime. It may import the module `models`, which encodes models.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its modules with their sources, in an order in which each may import those before it.
    pub modules: &'static [(&'static str, &'static str)],
    /// The source that runs.
    pub main: &'static str,
}

impl Program {
    /// Returns the command that runs the program. Arguments can be added to it.
    #[must_use]
    pub fn command(&self, python: &Path) -> Command {
        let modules: Vec<(&str, &str)> = std::iter::once(("models", MODELS))
            .chain(self.modules.iter().copied())
            .chain([(MAIN, self.main)])
            .collect();
        let mut command = Command::new(python);
        command.args(["-c", START]).arg(serde_json::json!(modules).to_string());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_import_those_before_them() {
        let program = Program {
            modules: &[
                ("first", "value = len(__import__('models').KINDS)"),
                ("second", "from first import value"),
            ],
            main: "import sys, second; print(__name__, second.value > 5, sys.argv[1:])",
        };
        let output = program.command(Path::new("python3")).args(["a", "b"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "__main__ True ['a', 'b']\n", "{output:?}");
    }

    #[test]
    fn sources_fit_into_an_argument() {
        let longest = super::super::runner::CASES.command(Path::new("python3"));
        let length = longest.get_args().map(std::ffi::OsStr::len).max().unwrap();
        // Linux allows 128 KiB.
        assert!(length < 100_000, "{length}");
    }
}

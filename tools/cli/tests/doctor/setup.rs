//! Folders with broken plugins, and a package that looks like PaddlePaddle.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable with the list of types that the package returns.
pub const FAKE_PADDLE: &str = "FAKE_PADDLE_LISTS";

/// The package `paddle`. Like the real one, it says on standard error which library it skipped.
const PACKAGE: &str = r#"
import json, os, sys
class device:
    @staticmethod
    def get_all_custom_device_type():
        listed = json.loads(os.environ.get("FAKE_PADDLE_LISTS", "[]"))
        if not listed:
            print("Skipped libone.so", file=sys.stderr)
        return listed
"#;

/// A folder for one test.
pub struct Setup {
    root: PathBuf,
}

impl Setup {
    pub fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor").join(name);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.path(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(&file, text).unwrap();
        file
    }

    /// Compiles `plugin.c` with a fault.
    pub fn plugin(&self, fault: &str) -> PathBuf {
        let library = self.path(&format!("{fault}.so"));
        compile(&source("plugin.c"), &library, &[&format!("-DFAULT_{fault}")]);
        library
    }

    /// Compiles a plugin that needs a library, and the library.
    pub fn plugin_that_needs_a_library(&self, name: &str) -> PathBuf {
        let (needed, library) = (self.path(name), self.path("plugin.so"));
        compile(&source("driver.c"), &needed, &[&format!("-Wl,-soname,{name}")]);
        // `-Wl` would split the path at its commas.
        let (folder, needed) = (self.root.to_string_lossy(), needed.to_string_lossy());
        let flags = ["-DFAULT_UNDEFINED", "-Xlinker", "-rpath", "-Xlinker", &*folder, &*needed];
        compile(&source("plugin.c"), &library, &flags);
        library
    }

    /// Compiles a plugin into the folder that the package's users install plugins in.
    pub fn install(&self, fault: &str, name: &str) {
        let library = self.plugin(fault);
        fs::rename(library, self.folder("site/paddle_custom_device").join(name)).unwrap();
    }

    pub fn doctor(&self) -> Doctor<'_> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
        command.arg("doctor").env_remove("CUSTOM_DEVICE_ROOT");
        Doctor { setup: self, command }
    }
}

/// The command, with its options.
pub struct Doctor<'a> {
    setup: &'a Setup,
    command: Command,
}

impl Doctor<'_> {
    pub fn plugin(mut self, file: &Path) -> Self {
        self.command.arg(file);
        self
    }

    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.command.args([name, value]);
        self
    }

    pub fn flag(mut self, name: &str) -> Self {
        self.command.arg(name);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Names a Python with the package in this version.
    pub fn paddle(self, version: &str) -> Self {
        let site = self.setup.folder("site");
        let package = self.setup.folder("site/paddle");
        fs::write(package.join("__init__.py"), PACKAGE).unwrap();
        let release = format!("full_version    = '{version}'\n");
        fs::write(self.setup.folder("site/paddle/version").join("__init__.py"), release).unwrap();
        let libpaddle = self.setup.folder("site/paddle/base").join("libpaddle.so");
        if !libpaddle.exists() {
            compile(&source("driver.c"), &libpaddle, &[]);
        }
        self.option("--paddle", "python3").env("PYTHONPATH", &site.to_string_lossy())
    }

    /// Names a Python that has only the packages of the folder `site`.
    pub fn onnxruntime(self) -> Self {
        let python = self.setup.path("python");
        fs::write(&python, "#!/bin/sh\nexec python3 -S \"$@\"\n").unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let site = self.setup.folder("site");
        self.option("--onnxruntime", &python.to_string_lossy()).env("PYTHONPATH", &site.to_string_lossy())
    }

    pub fn accepted(self) -> String {
        self.run(0)
    }

    pub fn refused(self) -> String {
        self.run(1)
    }

    /// Runs the command. Returns its output without line breaks that wrapping made.
    fn run(mut self, code: i32) -> String {
        let output = self.command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}{said}");
        text.replace("\n           ", " ")
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor").join(name)
}

fn compile(source: &Path, library: &Path, flags: &[&str]) {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk-c/include");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(headers)
        .arg(source)
        .args(flags)
        .arg("-o")
        .arg(library)
        .output()
        .expect("`cc` is not installed: apt-get install gcc libc6-dev");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

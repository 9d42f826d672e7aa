//! `cargo xtask install`: installs the C SDK below a prefix.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, at};
use crate::packages;
use crate::process::step;
use crate::project;

/// The version of the library, which is the version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The soname. It changes when a release breaks the ABI.
const SONAME: &str = "libtenon.so.0";
/// The library that programs for Ascend link, and its soname. Existing binaries load the library by this name.
const ASCEND: &str = "libascendcl.so";
/// The other name of that library, which build files of newer releases of CANN link.
const ASCEND_RUNTIME: &str = "libacl_rt.so";
/// The library name that hosts of DIOPI load.
const DIOPI: &str = "libdiopi_impl.so";
const CPU_OPERATORS: &str = "libtenon_cpu_operators.so";

/// Options of `cargo xtask install`.
#[derive(Args)]
pub struct Options {
    /// Destination folder of `include`, `lib` and `share`; `DESTDIR` is prepended
    #[arg(long)]
    prefix: PathBuf,
    /// Build without optimisation and with debug information
    #[arg(long)]
    debug: bool,
}

/// The build profile of the library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Optimised.
    Release,
    /// Not optimised, with debug information.
    Debug,
}

/// Installs the C SDK, and prints how to use it.
pub fn run(options: &Options) -> Result<(), Failure> {
    let prefix = staged(&options.prefix, std::env::var_os("DESTDIR").map(PathBuf::from).as_deref())?;
    let profile = if options.debug { Profile::Debug } else { Profile::Release };
    for path in install(&prefix, profile)? {
        println!("{}", path.display());
    }
    // The instructions name the final location, without `DESTDIR`.
    let home = std::path::absolute(&options.prefix).map_err(at(&options.prefix))?;
    let home = home.display();
    println!(
        "\npkg-config:  export PKG_CONFIG_PATH={home}/lib/pkgconfig; cc hello.c $(pkg-config --cflags --libs tenon)"
    );
    println!("CMake:       cmake -DCMAKE_PREFIX_PATH={home} …, with find_package(Tenon) and Tenon::tenon");
    println!("running:     export LD_LIBRARY_PATH={home}/lib, or link with -Wl,-rpath,{home}/lib");
    Ok(())
}

/// Returns the prefix below `DESTDIR`. Packagers write files there, and the package manager moves them to the prefix.
fn staged(prefix: &Path, destdir: Option<&Path>) -> Result<PathBuf, Failure> {
    let prefix = std::path::absolute(prefix).map_err(at(prefix))?;
    match destdir {
        Some(stage) if !stage.as_os_str().is_empty() => {
            let inside = prefix.strip_prefix("/").unwrap_or(&prefix);
            Ok(std::path::absolute(stage).map_err(at(stage))?.join(inside))
        }
        _ => Ok(prefix),
    }
}

/// Builds and installs the library. Returns all files and links that were written.
pub fn install(prefix: &Path, profile: Profile) -> Result<Vec<PathBuf>, Failure> {
    let built = build(profile)?;
    let mut tree = Tree { prefix, written: Vec::new() };

    tree.copy_all("sdk-c/include/tenon", "include/tenon")?;
    tree.copy_all("sdk-c/include/acl", "include/acl")?;
    tree.copy_all("sdk-c/include/acl/ops", "include/acl/ops")?;
    tree.copy_all("sdk-c/include/diopi", "include/diopi")?;

    let library = format!("lib/libtenon.so.{VERSION}");
    tree.copy(&built.shared, &library)?;
    tree.link(&format!("libtenon.so.{VERSION}"), &format!("lib/{SONAME}"))?;
    tree.link(SONAME, "lib/libtenon.so")?;
    tree.copy(&built.ascend, &format!("lib/{ASCEND}"))?;
    tree.link(ASCEND, &format!("lib/{ASCEND_RUNTIME}"))?;
    // On Ascend the libraries are in `lib64`. Some systems have a link to `lib` of that name.
    if !tree.is_same("lib", "lib64") {
        for name in [ASCEND, ASCEND_RUNTIME] {
            tree.link(&format!("../lib/{name}"), &format!("lib64/{name}"))?;
        }
    }
    tree.copy(&built.archive, "lib/libtenon.a")?;
    tree.copy(&built.diopi, &format!("lib/{DIOPI}"))?;
    tree.copy(&built.operators, "lib/libtenon_plugin.a")?;
    tree.copy(&built.cpu_operators, &format!("lib/{CPU_OPERATORS}"))?;

    for (template, to) in [
        ("tenon.pc.in", "lib/pkgconfig/tenon.pc"),
        ("tenon-static.pc.in", "lib/pkgconfig/tenon-static.pc"),
        ("tenon-plugin.pc.in", "lib/pkgconfig/tenon-plugin.pc"),
        ("ascendcl.pc.in", "lib/pkgconfig/ascendcl.pc"),
        ("TenonConfig.cmake.in", "lib/cmake/Tenon/TenonConfig.cmake"),
        ("TenonConfigVersion.cmake.in", "lib/cmake/Tenon/TenonConfigVersion.cmake"),
    ] {
        let template = project::path("sdk-c/install").join(template);
        let text = fs::read_to_string(&template).map_err(at(&template))?;
        tree.write(&filled(&text, &built.static_libraries), to)?;
    }

    // Keeps the relative paths of the repository, because one example builds files of another.
    tree.copy_all("examples/sdk-c", "share/tenon/examples/sdk-c")?;
    tree.copy_all("examples/acl", "share/tenon/examples/acl")?;
    tree.copy_all("examples/diopi", "share/tenon/examples/diopi")?;
    tree.copy_all("examples/c-plugin", "share/tenon/examples/c-plugin")?;
    tree.copy_all("examples/c-operators", "share/tenon/examples/c-operators")?;
    for notice in ["LICENSE", "THIRD-PARTY.txt"] {
        tree.copy(&project::path(notice), &format!("share/doc/tenon/{notice}"))?;
    }
    Ok(tree.written)
}

/// The build outputs of cargo.
struct Built {
    shared: PathBuf,
    archive: PathBuf,
    /// The functions of ACL.
    ascend: PathBuf,
    /// The CPU device as a library of operators for hosts of DIOPI.
    diopi: PathBuf,
    /// The static library with the operators of plugins in C.
    operators: PathBuf,
    /// The operators of the built-in device.
    cpu_operators: PathBuf,
    /// The linker flags that the static library needs: `-lpthread -ldl …`.
    static_libraries: String,
}

fn build(profile: Profile) -> Result<Built, Failure> {
    let (name, flags): (_, &[&str]) = match profile {
        Profile::Release => ("release", &["--release"]),
        Profile::Debug => ("debug", &[]),
    };
    let folder = project::target().join(name);
    let packages = [
        "tenon-sdk-c",
        "tenon-static",
        "tenon-ascendcl",
        "tenon-diopi-cpu",
        "tenon-plugin",
        "tenon-cpu-operators-library",
    ];
    packages::build(&packages).args(flags).run()?;
    let printed = static_libraries(&folder)?;
    Ok(Built {
        shared: folder.join("libtenon_sdk_c.so"),
        archive: folder.join("libtenon_static.a"),
        ascend: folder.join(ASCEND),
        diopi: folder.join(DIOPI),
        operators: folder.join("libtenon_plugin.a"),
        cpu_operators: folder.join(CPU_OPERATORS),
        static_libraries: printed.trim().to_owned(),
    })
}

/// Returns the system libraries that Rust's standard library needs in a static link. No crate of the workspace adds
/// any. If one did, the static links of `cargo xtask sdk` would fail.
fn static_libraries(scratch: &Path) -> Result<String, Failure> {
    let (list, archive) = (scratch.join("native-static-libs"), scratch.join("libempty.a"));
    step(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--crate-name", "empty", "--crate-type", "staticlib"])
        .arg(format!("--print=native-static-libs={}", list.display()))
        .arg("-o")
        .arg(&archive)
        // The source is standard input, which is empty.
        .arg("-")
        .quietly()
        .read()?;
    fs::remove_file(&archive).map_err(at(&archive))?;
    fs::read_to_string(&list).map_err(at(&list))
}

/// Replaces the placeholders `@NAME@` in a template.
fn filled(template: &str, static_libraries: &str) -> String {
    let list: Vec<&str> =
        static_libraries.split_whitespace().map(|flag| flag.strip_prefix("-l").unwrap_or(flag)).collect();
    template
        .replace("@VERSION@", VERSION)
        .replace("@SONAME@", SONAME)
        .replace("@STATIC_LIBS@", static_libraries)
        .replace("@STATIC_LIBS_LIST@", &list.join(";"))
}

/// A folder that is being populated.
struct Tree<'a> {
    prefix: &'a Path,
    written: Vec<PathBuf>,
}

impl Tree<'_> {
    /// Returns the path of a file to write, and creates its folder.
    ///
    /// An existing file is removed, not overwritten: a running program may have mapped it and would crash.
    fn place(&mut self, to: &str) -> Result<PathBuf, Failure> {
        let path = self.prefix.join(to);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => self.written.push(path.clone()),
        }
        Ok(path)
    }

    fn copy(&mut self, from: &Path, to: &str) -> Result<(), Failure> {
        let path = self.place(to)?;
        fs::copy(from, &path).map(drop).map_err(at(from))
    }

    fn write(&mut self, text: &str, to: &str) -> Result<(), Failure> {
        let path = self.place(to)?;
        fs::write(&path, text).map_err(at(&path))
    }

    /// Returns true if two folders exist and one is a link to the other.
    fn is_same(&self, folder: &str, other: &str) -> bool {
        let [folder, other] = [folder, other].map(|name| self.prefix.join(name).canonicalize().ok());
        folder.is_some() && folder == other
    }

    fn link(&mut self, target: &str, to: &str) -> Result<(), Failure> {
        let path = self.place(to)?;
        symlink(target, &path).map_err(at(&path))
    }

    /// Copies the files of a folder of the repository, in the order of their names.
    fn copy_all(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let folder = project::path(from);
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            files.push(entry.map_err(at(&folder))?.path());
        }
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            self.copy(file, &format!("{to}/{name}"))?;
        }
        Ok(())
    }
}

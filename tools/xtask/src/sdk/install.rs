//! `cargo xtask install`: what a C or C++ program is built against, laid down below a prefix.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::process::{Failure, at, cargo, step};
use crate::project;

/// The library has the version of the workspace, as all crates have.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What programs ask the system for. It changes when a release breaks the programs that were built before.
const SONAME: &str = "libtenon.so.0";
/// What programs written for Ascend are linked with. Those built elsewhere ask the system for this very name.
const ASCEND: &str = "libascendcl.so";

/// Where the library goes, and how it is built.
#[derive(Args)]
pub struct Options {
    /// The folder that gets `include`, `lib` and `share`; `DESTDIR` is put before it
    #[arg(long)]
    prefix: PathBuf,
    /// Without optimisation and with debug information
    #[arg(long)]
    debug: bool,
}

/// How the library is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// For use.
    Release,
    /// For looking into it.
    Debug,
}

/// Installs, and says what a user does next.
pub fn run(options: &Options) -> Result<(), Failure> {
    let prefix = staged(&options.prefix, std::env::var_os("DESTDIR").map(PathBuf::from).as_deref())?;
    let profile = if options.debug { Profile::Debug } else { Profile::Release };
    for path in install(&prefix, profile)? {
        println!("{}", path.display());
    }
    // The three lines name the place where the library is going to be, which `DESTDIR` is not part of.
    let home = std::path::absolute(&options.prefix).map_err(at(&options.prefix))?;
    let home = home.display();
    println!(
        "\npkg-config:  export PKG_CONFIG_PATH={home}/lib/pkgconfig; cc hello.c $(pkg-config --cflags --libs tenon)"
    );
    println!("CMake:       cmake -DCMAKE_PREFIX_PATH={home} …, with find_package(Tenon) and Tenon::tenon");
    println!("running:     export LD_LIBRARY_PATH={home}/lib, or link with -Wl,-rpath,{home}/lib");
    Ok(())
}

/// The prefix below `DESTDIR`, as packagers use it: files are put there, and found where the prefix says later.
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

/// Builds the library and lays it down; returns every file and link that was written.
pub fn install(prefix: &Path, profile: Profile) -> Result<Vec<PathBuf>, Failure> {
    let built = build(profile)?;
    let mut tree = Tree { prefix, written: Vec::new() };

    tree.copy_all("sdk-c/include/tenon", "include/tenon")?;
    tree.copy_all("sdk-c/include/acl", "include/acl")?;

    let library = format!("lib/libtenon.so.{VERSION}");
    tree.copy(&built.shared, &library)?;
    tree.link(&format!("libtenon.so.{VERSION}"), &format!("lib/{SONAME}"))?;
    tree.link(SONAME, "lib/libtenon.so")?;
    tree.link(SONAME, &format!("lib/{ASCEND}"))?;
    tree.copy(&built.archive, "lib/libtenon.a")?;

    for (template, to) in [
        ("tenon.pc.in", "lib/pkgconfig/tenon.pc"),
        ("tenon-static.pc.in", "lib/pkgconfig/tenon-static.pc"),
        ("ascendcl.pc.in", "lib/pkgconfig/ascendcl.pc"),
        ("TenonConfig.cmake.in", "lib/cmake/Tenon/TenonConfig.cmake"),
        ("TenonConfigVersion.cmake.in", "lib/cmake/Tenon/TenonConfigVersion.cmake"),
    ] {
        let template = project::path("sdk-c/install").join(template);
        let text = fs::read_to_string(&template).map_err(at(&template))?;
        tree.write(&filled(&text, &built.static_libraries), to)?;
    }

    // The folders stand to each other as in the repository, since one builds what lies in the other.
    tree.copy_all("examples/sdk-c", "share/tenon/examples/sdk-c")?;
    tree.copy_all("examples/acl", "share/tenon/examples/acl")?;
    tree.copy_all("examples/c-plugin", "share/tenon/examples/c-plugin")?;
    tree.copy(&project::path("LICENSE"), "share/doc/tenon/LICENSE")?;
    Ok(tree.written)
}

/// What cargo made.
struct Built {
    shared: PathBuf,
    archive: PathBuf,
    /// What else has to be linked with the archive, as flags: `-lpthread -ldl …`.
    static_libraries: String,
}

fn build(profile: Profile) -> Result<Built, Failure> {
    let (name, flags): (_, &[&str]) = match profile {
        Profile::Release => ("release", &["--release"]),
        Profile::Debug => ("debug", &[]),
    };
    let folder = project::target().join(name);
    // The same command as for the wheel, so that cargo optimises the library once for both.
    cargo().args(["build", "--quiet", "--package", "tenon-sdk-c", "--lib"]).args(flags).run()?;
    let printed = static_libraries(&folder)?;
    Ok(Built {
        shared: folder.join("libtenon_sdk_c.so"),
        archive: folder.join("libtenon_sdk_c.a"),
        static_libraries: printed.trim().to_owned(),
    })
}

/// The system's libraries that Rust's standard library needs in a static link. No crate of ours adds any; one that did
/// would fail the static links of `cargo xtask sdk`.
fn static_libraries(scratch: &Path) -> Result<String, Failure> {
    let (list, archive) = (scratch.join("native-static-libs"), scratch.join("libempty.a"));
    step(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--crate-name", "empty", "--crate-type", "staticlib"])
        .arg(format!("--print=native-static-libs={}", list.display()))
        .arg("-o")
        .arg(&archive)
        // The empty standard input is the source.
        .arg("-")
        .quietly()
        .read()?;
    fs::remove_file(&archive).map_err(at(&archive))?;
    fs::read_to_string(&list).map_err(at(&list))
}

/// A template with its `@NAME@`s filled in.
fn filled(template: &str, static_libraries: &str) -> String {
    let list: Vec<&str> =
        static_libraries.split_whitespace().map(|flag| flag.strip_prefix("-l").unwrap_or(flag)).collect();
    template
        .replace("@VERSION@", VERSION)
        .replace("@SONAME@", SONAME)
        .replace("@STATIC_LIBS@", static_libraries)
        .replace("@STATIC_LIBS_LIST@", &list.join(";"))
}

/// A folder that is being filled.
struct Tree<'a> {
    prefix: &'a Path,
    written: Vec<PathBuf>,
}

impl Tree<'_> {
    /// The place of a file, free for it to be put there.
    ///
    /// What was there is removed and not written over: a program may have it mapped, and would crash.
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

    fn link(&mut self, target: &str, to: &str) -> Result<(), Failure> {
        let path = self.place(to)?;
        symlink(target, &path).map_err(at(&path))
    }

    /// The files of a folder of the repository, in the order of their names.
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

//! Builds what users build: the examples and the C++ header, compiled by the system's compilers against the
//! library, and run with the validation layer, which detects double frees and leaks.

#[allow(dead_code, reason = "other tests compile plugins and programs of their own")]
#[path = "common/build.rs"]
mod build;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns a path in the repository.
fn repository(path: &str) -> PathBuf {
    build::here().join("..").join(path)
}

/// Compiles a source with the compiler and the standard that its name asks for, and without a warning.
fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let cxx = source.ends_with(".cpp");
    let (compiler, standard) = if cxx { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    // Tests run at the same time, and two of them may compile the same source.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let made = build::scratch("users").join(format!("{}_{number}", source.replace(['/', '.'], "_")));
    let mut command = Command::new(compiler);
    command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-I"]);
    command.arg(repository("sdk-c/include")).arg(repository(source)).args(flags).arg("-o").arg(&made);
    build::run(&mut command);
    made
}

/// Compiles a program with the library.
fn program(source: &str) -> PathBuf {
    let folder = format!("-L{}", build::library().display());
    let rpath = build::rpath(build::library());
    let [first, second, third, path] = rpath.each_ref().map(String::as_str);
    compile(source, &[&folder, "-ltenon", first, second, third, path])
}

fn example(name: &str) -> PathBuf {
    program(&format!("examples/sdk-c/{name}"))
}

/// Returns the standard output and standard error of a program. It has to succeed.
fn run(command: &mut Command) -> (String, String) {
    let output = build::run(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn validated(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("TENON_LAYERS", "validate").env_remove("TENON_PLUGIN_PATH");
    command
}

/// Returns a program without errors: validation has nothing to say.
fn faultless(command: &mut Command) -> String {
    let (out, err) = run(command);
    assert_eq!(err, "");
    out
}

#[test]
fn hello_comes_back() {
    assert_eq!(faultless(&mut validated(&example("hello.c"))), "hello from the device\n");
}

#[test]
fn vectors_are_added_in_c() {
    let printed = faultless(&mut validated(&example("vector_add.c")));
    assert_eq!(printed, "1048576 sums in 8 pieces, 0 wrong\n");
}

#[test]
fn vectors_are_added_in_cxx() {
    let printed = faultless(&mut validated(&example("vector_add.cpp")));
    assert_eq!(printed, "1048576 sums in 8 pieces, 0 wrong\n");
}

/// The smallest plugin has neither streams nor callbacks, and neither pinned nor unified memory.
#[test]
fn vectors_are_added_on_the_smallest_plugin() {
    let folder = build::scratch("smallest");
    let plugin = compile("examples/c-plugin/plugin.c", &["-shared", "-fPIC"]);
    fs::copy(plugin, folder.join("libc_plugin.so")).unwrap();
    for source in ["vector_add.c", "vector_add.cpp"] {
        let mut command = validated(&example(source));
        let printed = faultless(command.arg("c_plugin").env("TENON_PLUGIN_PATH", &folder));
        assert_eq!(printed, "1048576 sums in 8 pieces, 0 wrong\n");
    }
}

#[test]
fn numbers_of_several_processes_are_added() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let made = example("all_reduce.c");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let start = |rank: usize| {
        let mut member = validated(&made);
        member.args([&address, &rank.to_string(), "3"]).env("TENON_COMM_TIMEOUT", "60");
        member.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let members: Vec<Child> = (0..3).map(start).collect();
    for (rank, member) in members.into_iter().enumerate() {
        let output = member.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("rank {rank} of 3: 30 33 36 39\n"));
    }
}

#[test]
fn a_third_party_s_plugin_is_loaded_and_reported() {
    let plugin = compile("examples/c-plugin/plugin.c", &["-shared", "-fPIC"]);
    let (out, err) = run(validated(&example("third_party.c")).arg(plugin));
    assert!(out.contains("devices of the type `c_plugin`. It is built for release 3.3"), "{out}");
    assert!(out.contains("comes back as it should"), "{out}");
    for line in ["device_memory_set", "create_stream"] {
        let line = out.lines().find(|known| known.trim_start().starts_with(line)).unwrap();
        assert!(line.contains("fallback              1"), "{line}");
    }
    assert!(!err.contains("tenon: "), "{err}");
}

#[test]
fn a_plugin_that_is_none_is_refused_with_its_reason() {
    let output = validated(&example("third_party.c")).arg(repository("LICENSE")).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("TENON_LOAD_FAILED") && err.contains("LICENSE"), "{err}");
}

#[test]
fn a_layer_of_the_program_s_own_refuses_a_call() {
    let out = faultless(&mut validated(&example("custom_layer.c")));
    assert!(out.contains("allocation 2: TENON_SUCCESS\nallocation 3: TENON_OUT_OF_MEMORY\n"), "{out}");
    assert!(out.contains("layer `faults` refused `device_memory_allocate`"), "{out}");
    assert!(out.contains("4 of 5 allocations came through, 4096 bytes"), "{out}");
}

#[test]
fn handles_in_cxx_are_given_back_once() {
    let handles = program("sdk-c/tests/users/handles.cpp");
    let (out, err) = run(&mut validated(&handles));
    assert_eq!(out, "all as promised\n");
    // The one address that it makes up, and the one callback that throws.
    assert_eq!(err.matches("tenon: ").count(), 2, "{err}");
    assert!(err.contains("V020"), "{err}");
    assert!(err.contains("tenon: a callback of a stream failed: not today\n"), "{err}");
    run(Command::new(&handles).env_remove("TENON_LAYERS"));
}

#[test]
fn the_readme_shows_the_first_example() {
    let source = fs::read_to_string(repository("examples/sdk-c/hello.c")).unwrap();
    let program = &source[source.find("#include").unwrap()..];
    let readme = fs::read_to_string(repository("README.md")).unwrap();
    assert!(readme.contains(&format!("```c\n{program}```")), "README.md does not show hello.c as it is");
}

#[test]
fn variable_with_a_bad_value_is_refused_with_the_reason() {
    let hello = example("hello.c");
    for (variable, value, reason) in [
        ("TENON_LOG", "verbose", "expected `off`, `error` or `info`"),
        ("TENON_LAYERS", "validat", "did you mean `validate`? TENON_LAYERS takes"),
        ("TENON_CPU_DEVICES", "0", "expected a number from 1 to 64"),
        ("TENON_CPU_MEMORY", "lots", "expected bytes such as"),
        ("TENON_CPU_THREADS", "many", "expected a whole number from 1 to 1024"),
        ("TENON_VALIDATE_FATAL", "maybe", "expected 1 or 0"),
        ("TENON_VALIDATE_BACKTRACE", "maybe", "expected 1 or 0"),
        ("TENON_VALIDATE_IGNORE", "V999", "TENON_VALIDATE_IGNORE"),
        ("TENON_TRACE_FILE", "/nowhere/trace.json", "TENON_TRACE_FILE names another file"),
        ("TENON_TRACE_LIMIT", "0", "expected a whole number, at least 1"),
        ("TENON_TRACE_STREAMS", "some", "expected 1 or 0"),
    ] {
        let mut command = Command::new(&hello);
        for (known, _) in std::env::vars().filter(|(known, _)| known.starts_with("TENON_")) {
            command.env_remove(known);
        }
        if variable.starts_with("TENON_VALIDATE") {
            command.env("TENON_LAYERS", "validate");
        } else if variable.starts_with("TENON_TRACE") {
            command.env("TENON_LAYERS", "trace");
        }
        let output = command.env(variable, value).output().expect("the example runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{variable}={value}: {text}");
        assert!(text.contains(value) && text.contains(reason), "{variable}={value}: {text}");
    }
}

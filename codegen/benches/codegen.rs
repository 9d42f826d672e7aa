//! The time of runs of the command: of those that find nothing changed, one group changed or everything, and of a complete
//! run on specs of different sizes.
//!
//! The runs of a table are made in turns; the figures are medians of the rounds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io};

use tenon_testing::processor_time_of_children;

const ROUNDS: usize = 11;

/// Wall time and processor time.
type Times = (Duration, Duration);

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(path, target)?;
        }
    }
    Ok(())
}

/// Runs the generator in a folder.
fn generate(root: &Path) -> io::Result<Times> {
    // A run does not trust files that are as new as it is.
    std::thread::sleep(Duration::from_millis(40));
    let (start, before) = (Instant::now(), processor_time_of_children());
    let output = Command::new(env!("CARGO_BIN_EXE_codegen")).current_dir(root).output()?;
    let times = (start.elapsed(), processor_time_of_children().saturating_sub(before));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(times)
}

/// Appends a comment to a file.
fn change(path: &Path) -> io::Result<()> {
    let mut text = fs::read_to_string(path)?;
    text.push_str("# changed\n");
    fs::write(path, text)
}

fn forget(root: &Path) -> io::Result<()> {
    fs::remove_dir_all(root.join(".codegen/cache"))
}

fn print(name: &str, times: &[Times]) {
    let median = |of: fn(&Times) -> Duration| {
        let mut figures: Vec<Duration> = times.iter().map(of).collect();
        figures.sort();
        figures[figures.len() / 2].as_secs_f64() * 1e3
    };
    println!("{name:<44} {:>9.1} {:>9.1}", median(|times| times.0), median(|times| times.1));
}

/// Measures runs on the project's own spec.
fn own_spec(folder: &Path) -> io::Result<()> {
    let project = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    for path in ["spec", "sdk-c/src"] {
        copy(&project.join(path), &folder.join(path))?;
    }
    for path in ["sdk-c/cbindgen.toml", "docs/SUMMARY.md.in"] {
        fs::create_dir_all(folder.join(path).parent().unwrap_or(folder))?;
        fs::copy(project.join(path), folder.join(path))?;
    }
    generate(folder)?;
    generate(folder)?;
    let (mut nothing, mut comment, mut group, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let file = folder.join("spec/ops/activation.yaml");
    let text = fs::read_to_string(&file)?;
    for round in 0..ROUNDS {
        nothing.push(generate(folder)?);
        change(&file)?;
        comment.push(generate(folder)?);
        fs::write(&file, text.replacen("summary: ", &format!("summary: In change {round}, "), 1))?;
        group.push(generate(folder)?);
        forget(folder)?;
        all.push(generate(folder)?);
    }
    print("nothing changed", &nothing);
    print("a comment changed", &comment);
    print("a group of operators changed", &group);
    print("everything", &all);
    Ok(())
}

/// Writes a spec with a number of functions, in groups of 50.
fn write_spec(folder: &Path, functions: usize) -> io::Result<()> {
    let groups: Vec<String> = (0..functions / 50).map(|group| format!("group_{group}")).collect();
    let spec = folder.join("spec");
    fs::create_dir_all(spec.join("board"))?;
    fs::write(
        spec.join("spec.yaml"),
        "project: growth\nsummary: A spec of some size.\ninterfaces: [board]\n\
         outputs: { header: include, reference: reference, rust: rust }\n",
    )?;
    let head = "interface: board\nkind: export\ntitle: The board\nsummary: A library.\ntrait: Board\nheader: board.h\n\
                status: BoardStatus\nprefix: board_\n";
    fs::write(spec.join("board/interface.yaml"), format!("{head}groups: [{}]\n", groups.join(", ")))?;
    for (number, group) in groups.iter().enumerate() {
        let mut text = format!("group: {group}\ntitle: Group {number}\nsummary: Some functions.\n");
        if number == 0 {
            text.push_str(
                "types:\n  - name: BoardStatus\n    kind: enum\n    c: BoardStatus\n    summary: The result of a function.\n    values:\n\
                 \x20     - { name: done, c: BOARD_DONE, value: 0, summary: Done. }\n\
                 \x20     - { name: wrong, c: BOARD_WRONG, value: 1, means: invalid_argument, summary: An argument is wrong. }\n\
                 \x20     - { name: lacking, c: BOARD_LACKING, value: 2, means: unsupported, summary: The library lacks it. }\n\
                 \x20     - { name: broken, c: BOARD_BROKEN, value: 3, means: internal, summary: The library failed. }\n",
            );
        }
        text.push_str("functions:\n");
        for function in 0..50 {
            let _ = write!(
                text,
                "  - name: count_{number}_of_{function}\n    c: board_count_{number}_of_{function}\n    summary: Counts parts\n\
                 \x20   doc: Counts the parts of a kind.\n    params:\n\
                 \x20     kind: {{ type: u32, doc: Number of the kind. }}\n\
                 \x20     parts: {{ type: size, dir: out, doc: The number of parts. }}\n",
            );
        }
        fs::write(spec.join(format!("board/{group}.yaml")), text)?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("tenon-bench-{}", std::process::id()));
    println!("{:<44} {:>9} {:>9}", format!("the command, {ROUNDS} rounds"), "ms", "processor");
    own_spec(&folder.join("own"))?;
    const SIZES: [usize; 3] = [500, 1000, 2000];
    let mut times = [const { Vec::new() }; SIZES.len()];
    for (size, times) in SIZES.iter().zip(&mut times) {
        let folder = folder.join(size.to_string());
        write_spec(&folder, *size)?;
        generate(&folder)?;
        times.clear();
    }
    for _ in 0..ROUNDS {
        for (size, times) in SIZES.iter().zip(&mut times) {
            let folder = folder.join(size.to_string());
            forget(&folder)?;
            times.push(generate(&folder)?);
        }
    }
    for (size, times) in SIZES.iter().zip(&times) {
        print(&format!("everything of {size} functions"), times);
    }
    fs::remove_dir_all(folder)
}

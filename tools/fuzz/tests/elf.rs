//! Made libraries, without the engine.

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "../targets/elf.rs"]
mod target;

use std::path::Path;

#[test]
fn kept_inputs_find_nothing_any_more() {
    corpus::each("corpus/elf", target::run);
}

#[test]
fn libraries_with_one_other_byte_find_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/elf");
    for entry in std::fs::read_dir(folder).unwrap() {
        let sound = std::fs::read(entry.unwrap().path()).unwrap();
        for place in 0..sound.len().min(4096) {
            for byte in [0, 1, 0x1b, 0x7f, 0xff, sound[place] ^ 0x80] {
                let mut damaged = sound.clone();
                damaged[place] = byte;
                target::run(&damaged);
            }
        }
        for length in 0..sound.len().min(4096) {
            target::run(&sound[..length]);
        }
    }
}

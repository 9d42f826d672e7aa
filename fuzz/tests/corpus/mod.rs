//! Inputs that are kept in the repository.

use std::path::Path;

/// Runs a target on each kept input, and on inputs that were made up; the last name printed is the one that failed.
pub fn each(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut inputs: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for input in inputs {
        println!("{}", input.display());
        run(&std::fs::read(&input).unwrap());
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for length in 0..64 {
        println!("{length} bytes that look random");
        let bytes: Vec<u8> = (0..length * 16)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        run(&bytes);
    }
}

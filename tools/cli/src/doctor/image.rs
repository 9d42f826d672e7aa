//! Reads the header of a library without opening the library, because opening it runs its code.

use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn as _, ElfFile};
use object::{Architecture, Endianness, Object, ReadRef};
use tenon_loader::library_data;

use super::finding::Section;

/// Properties of a library, from its header.
#[derive(Debug)]
pub struct Image {
    pub architecture: Architecture,
    /// The newest version of glibc that a symbol needs.
    pub glibc: Option<Version>,
    /// The names of the libraries that the dynamic linker loads before this one.
    pub needed: Vec<String>,
}

/// Most versions that are looked at. A library needs some dozen.
const MOST_VERSIONS: usize = 1 << 16;

/// A version of glibc: the two numbers of `2.38`.
pub type Version = (u32, u32);

impl Image {
    /// Returns `None` for a file that cannot be read, or is damaged: the loader says what is wrong with it.
    pub fn read(path: &Path) -> Option<Self> {
        let data = library_data(path).ok()?;
        let file = object::File::parse(&data).ok()?;
        let (glibc, needed) = match &file {
            object::File::Elf64(elf) => (newest_glibc(elf, &data).ok()?, needed(elf, &data).ok()?),
            _ => (None, Vec::new()),
        };
        Some(Self { architecture: file.architecture(), glibc, needed })
    }

    /// Returns false, and says why, if the library is for other machines or other systems.
    pub fn runs_here(&self, section: &mut Section) -> bool {
        if self.architecture != own_architecture() {
            section.problem_with_advice(
                format!(
                    "it is a library for {:?} processors, and this is {:?}",
                    self.architecture,
                    own_architecture()
                ),
                "take the plugin's build for this machine",
            );
            return false;
        }
        if let (Some(needed), Some(system)) = (self.glibc, system_glibc())
            && needed > system
        {
            section.problem_with_advice(
                format!(
                    "it needs glibc {}.{}, and this system has {}.{}",
                    needed.0, needed.1, system.0, system.1
                ),
                "build the plugin on a system as old as this one, or take a newer system",
            );
            return false;
        }
        true
    }
}

/// Returns the newest version of glibc in the list of needed versions.
fn newest_glibc<'data, R: ReadRef<'data>>(
    elf: &ElfFile<'data, FileHeader64<Endianness>, R>,
    data: R,
) -> object::Result<Option<Version>> {
    let (endian, sections) = (elf.endian(), elf.elf_section_table());
    let Some((mut libraries, link)) = sections.gnu_verneed(endian, data)? else { return Ok(None) };
    let strings = sections.strings(endian, data, link)?;
    let (mut newest, mut left) = (None, MOST_VERSIONS);
    while let Some((_, mut versions)) = libraries.next()? {
        while let Some(version) = versions.next()? {
            // The lists of a made file may overlap.
            left -= 1;
            if left == 0 {
                return Ok(None);
            }
            newest = newest.max(parse(version.name(endian, strings)?));
        }
    }
    Ok(newest)
}

/// Returns the names of the libraries that a library needs.
fn needed<'data, R: ReadRef<'data>>(
    elf: &ElfFile<'data, FileHeader64<Endianness>, R>,
    data: R,
) -> object::Result<Vec<String>> {
    let (endian, sections) = (elf.endian(), elf.elf_section_table());
    let Some((entries, link)) = sections.dynamic(endian, data)? else { return Ok(Vec::new()) };
    let strings = sections.strings(endian, data, link)?;
    let mut names = Vec::new();
    for entry in entries.iter().filter(|entry| entry.d_tag(endian) == u64::from(DT_NEEDED)) {
        // A wrong offset is one of a damaged file, which the loader refuses.
        let name = u32::try_from(entry.d_val(endian)).ok().and_then(|offset| strings.get(offset).ok());
        names.extend(name.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    Ok(names)
}

/// Parses the name of a version, such as `GLIBC_2.38` or `GLIBC_2.2.5`.
fn parse(name: &[u8]) -> Option<Version> {
    let mut numbers = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns the version of glibc on this system; `None` for another C library.
pub fn system_glibc() -> Option<Version> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function returns a constant string.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        let mut numbers = version.to_str().ok()?.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

/// Returns the architecture of this program.
pub fn own_architecture() -> Architecture {
    match std::env::consts::ARCH {
        "x86_64" => Architecture::X86_64,
        "aarch64" => Architecture::Aarch64,
        "loongarch64" => Architecture::LoongArch64,
        "riscv64" => Architecture::Riscv64,
        _ => Architecture::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn parse_reads_two_numbers() {
        assert_eq!(parse(b"GLIBC_2.38"), Some((2, 38)));
        assert_eq!(parse(b"GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(parse(b"GLIBC_PRIVATE"), None);
        assert_eq!(parse(b"GCC_3.0"), None);
    }
}

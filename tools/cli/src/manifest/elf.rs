//! The parts of an ELF file that a manifest is in: notes, and a table of functions.

use std::collections::BTreeSet;

use object::elf::{FileHeader64, PT_NOTE};
use object::read::elf::{ElfFile, ProgramHeader as _, SectionHeader as _};
use object::{
    Architecture, Endian as _, Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, ReadRef,
    Relocation, RelocationTarget,
};
use tenon::device::{Function, Release};

use super::ManifestError;

/// The owner of the notes, and their type.
const OWNER: &[u8] = b"Tenon";
const KIND: u32 = 1;

/// Most bytes of all notes. A manifest has some hundred bytes, and its operators some thousand.
const LONGEST_NOTES: u64 = 1 << 20;
/// Most relocations that are looked at.
const MOST_RELOCATIONS: u64 = 1 << 26;

/// A library in the ELF format.
pub struct Elf<'data, R: ReadRef<'data>> {
    file: ElfFile<'data, FileHeader64<Endianness>, R>,
    data: R,
}

impl<'data, R: ReadRef<'data>> Elf<'data, R> {
    pub fn parse(data: R) -> object::Result<Self> {
        Ok(Self { file: ElfFile::parse(data)?, data })
    }

    pub fn architecture(&self) -> Architecture {
        self.file.architecture()
    }

    /// Returns the texts of the notes, without padding.
    ///
    /// # Errors
    /// If the file is damaged, or the notes are longer than any plugin's.
    pub fn notes(&self) -> Result<Vec<Vec<u8>>, ManifestError> {
        let endian = self.file.endian();
        let (mut texts, mut left) = (Vec::new(), LONGEST_NOTES);
        for segment in
            self.file.elf_program_headers().iter().filter(|header| header.p_type(endian) == PT_NOTE)
        {
            // Counted for each header: many headers may name the same bytes.
            left = left.checked_sub(segment.p_filesz(endian)).ok_or(ManifestError::TooLarge("notes"))?;
            let Some(mut notes) = segment.notes(endian, self.data)? else { continue };
            while let Some(note) = notes.next()? {
                if note.name() == OWNER && note.n_type(endian) == KIND {
                    let text = note.desc();
                    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                    texts.push(text[..end].to_vec());
                }
            }
        }
        Ok(texts)
    }

    /// Returns the functions whose slots are filled in the table that a symbol points to. `None` if the table is not a
    /// constant, or its layout is not known.
    ///
    /// # Errors
    /// If the file is damaged, or has more relocations than any plugin.
    pub fn functions(&self, symbol: &str, release: &str) -> Result<Option<Vec<String>>, ManifestError> {
        let release = Release::ALL.into_iter().find(|known| known.name() == release);
        let pointer = self.file.dynamic_symbols().find(|known| known.name() == Ok(symbol));
        let (Some(release), Some(pointer)) = (release, pointer) else { return Ok(None) };
        // The loader writes every pointer, so each has a relocation.
        let mut found = None;
        self.relocations(|address, relocated| {
            if address == pointer.address() {
                found = Some(relocated);
            }
        })?;
        let Some(table) = found.map(|found| self.target(pointer.address(), &found)).transpose()? else {
            return Ok(None);
        };
        let mut filled = BTreeSet::new();
        self.relocations(|address, _| {
            let offset = address.checked_sub(table).and_then(|offset| usize::try_from(offset).ok());
            filled.extend(offset.filter(|offset| *offset < release.table_size()));
        })?;
        let is_filled =
            |function: &Function| release.offset_of(*function).is_some_and(|offset| filled.contains(&offset));
        let names: Vec<String> =
            Function::ALL.into_iter().filter(is_filled).map(|function| function.name().to_owned()).collect();
        Ok((!names.is_empty()).then_some(names))
    }

    /// Passes to `look` each address that the loader writes a pointer to, and the form of the relocation.
    fn relocations(&self, mut look: impl FnMut(u64, Relocated)) -> Result<(), ManifestError> {
        let endian = self.file.endian();
        let mut left = MOST_RELOCATIONS;
        // Counted for each section: many sections may name the same bytes.
        let mut count = || {
            left = left.checked_sub(1).ok_or(ManifestError::TooLarge("relocations"))?;
            Ok::<(), ManifestError>(())
        };
        for (address, relocation) in self.file.dynamic_relocations().into_iter().flatten() {
            count()?;
            look(address, Relocated::Listed(relocation));
        }
        for section in self.file.elf_section_table().iter() {
            for address in section.relr(endian, self.data)?.into_iter().flatten() {
                count()?;
                look(address, Relocated::Compact);
            }
        }
        Ok(())
    }

    /// Returns the pointer that the loader writes to an address, relative to the library.
    fn target(&self, address: u64, relocated: &Relocated) -> object::Result<u64> {
        let Relocated::Listed(relocation) = relocated else {
            return Ok(self.word(address)?.unwrap_or_default());
        };
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => self.dynamic_symbol(index)?,
            _ => 0,
        };
        Ok(symbol.wrapping_add_signed(relocation.addend()))
    }

    fn dynamic_symbol(&self, index: object::SymbolIndex) -> object::Result<u64> {
        let Some(table) = self.file.dynamic_symbol_table() else { return Ok(0) };
        Ok(object::ObjectSymbolTable::symbol_by_index(&table, index)?.address())
    }

    /// Returns the word that the file has at an address.
    fn word(&self, address: u64) -> object::Result<Option<u64>> {
        for section in self.file.sections() {
            if let Some(bytes) = section.data_range(address, 8)? {
                let bytes = bytes.try_into().ok();
                return Ok(bytes.map(|bytes| self.file.endian().read_u64_bytes(bytes)));
            }
        }
        Ok(None)
    }
}

/// The form of a relocation.
enum Relocated {
    /// An entry of a list.
    Listed(Relocation),
    /// A bit of the compact form of `-z pack-relative-relocs`: the addend is in the memory that is written.
    Compact,
}

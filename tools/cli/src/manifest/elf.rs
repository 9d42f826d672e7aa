//! The parts of an ELF file that a manifest is in: notes, and a table of functions.

use std::collections::BTreeMap;

use object::elf::FileHeader64;
use object::read::elf::{ElfFile, ProgramHeader as _, SectionHeader as _};
use object::{
    Architecture, Endian as _, Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, ReadRef,
    RelocationTarget,
};
use tenon::device::{Function, Release};

/// The owner of the notes, and their type.
const OWNER: &[u8] = b"Tenon";
const KIND: u32 = 1;

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
    pub fn notes(&self) -> object::Result<Vec<Vec<u8>>> {
        let endian = self.file.endian();
        let mut texts = Vec::new();
        for segment in self.file.elf_program_headers() {
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
    pub fn functions(&self, symbol: &str, release: &str) -> object::Result<Option<Vec<String>>> {
        let release = Release::ALL.into_iter().find(|known| known.name() == release);
        let pointer = self.file.dynamic_symbols().find(|known| known.name() == Ok(symbol));
        let (Some(release), Some(pointer)) = (release, pointer) else { return Ok(None) };
        // The loader writes every pointer, so each has a relocation.
        let relocations = self.relocations()?;
        let Some(table) = relocations.get(&pointer.address()) else { return Ok(None) };
        let is_filled = |function: &Function| {
            let slot = release.offset_of(*function).and_then(|offset| table.checked_add(offset as u64));
            slot.is_some_and(|slot| relocations.contains_key(&slot))
        };
        let names: Vec<String> =
            Function::ALL.into_iter().filter(is_filled).map(|function| function.name().to_owned()).collect();
        Ok((!names.is_empty()).then_some(names))
    }

    /// Returns the addresses that the loader writes pointers to, with these pointers relative to the library.
    fn relocations(&self) -> object::Result<BTreeMap<u64, u64>> {
        let endian = self.file.endian();
        let mut pointers = BTreeMap::new();
        for (address, relocation) in self.file.dynamic_relocations().into_iter().flatten() {
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(index) => self.dynamic_symbol(index)?,
                _ => 0,
            };
            pointers.insert(address, symbol.wrapping_add_signed(relocation.addend()));
        }
        // The compact form of `-z pack-relative-relocs` has the addends in the memory that is written.
        for section in self.file.elf_section_table().iter() {
            for address in section.relr(endian, self.data)?.into_iter().flatten() {
                pointers.insert(address, self.word(address)?.unwrap_or_default());
            }
        }
        Ok(pointers)
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

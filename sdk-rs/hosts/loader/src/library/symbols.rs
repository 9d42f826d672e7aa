//! Reads the symbols of a library file without opening the library, because opening it runs its code.

use std::path::Path;

use object::elf::FileHeader64;
use object::read::elf::{ElfFile, ElfSymbolIterator};
use object::{Endianness, Object, ObjectSymbol};

use super::data::{LibraryData, library_data};
use crate::error::LoadError;

/// Returns true if a library exports a symbol; false for a file that is not a library.
///
/// # Errors
/// [`LoadError::NotFound`], [`LoadError::NotAFile`] and [`LoadError::Unreadable`].
pub fn exports(path: &Path, symbol: &str) -> Result<bool, LoadError> {
    read(path, |symbols| symbols.into_iter().any(|known| !known.is_undefined() && known.name() == Ok(symbol)))
}

/// Returns the symbols that a library imports, except weak ones.
pub(super) fn undefined(path: &Path) -> Result<Vec<String>, LoadError> {
    read(path, |symbols| {
        let imported = symbols.into_iter().filter(|symbol| symbol.is_undefined() && !symbol.is_weak());
        let names = imported.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
        names.filter(|name| !name.is_empty()).collect()
    })
}

/// Passes the library's symbols to `look`.
fn read<T: Default>(
    path: &Path,
    look: impl FnOnce(ElfSymbolIterator<'_, '_, FileHeader64<Endianness>, &LibraryData>) -> T,
) -> Result<T, LoadError> {
    let data = library_data(path).map_err(|error| LoadError::of_file(path, error))?;
    let Ok(library) = ElfFile::<FileHeader64<Endianness>, _>::parse(&data) else { return Ok(T::default()) };
    Ok(look(library.dynamic_symbols()))
}

/// Returns true if a symbol belongs to PaddlePaddle: to its kernel C API or its C++ namespaces.
pub(super) fn is_paddles(symbol: &str) -> bool {
    const NAMESPACES: [&str; 4] = ["3phi", "6paddle", "3pir", "6common"];
    if symbol.starts_with("PD_") {
        return true;
    }
    let Some(mangled) = symbol.strip_prefix("_Z") else { return false };
    // The mangled name of a vtable or typeinfo contains the name of its class.
    let of_class = ["TV", "TI", "TS", "TT"].iter().find_map(|table| mangled.strip_prefix(table));
    let Some(nested) = of_class.unwrap_or(mangled).strip_prefix('N') else { return false };
    let scope = nested.strip_prefix('K').unwrap_or(nested);
    NAMESPACES.iter().any(|namespace| scope.starts_with(namespace))
}

#[cfg(test)]
mod tests {
    use super::is_paddles;

    #[test]
    fn symbols_of_paddle_are_recognised_by_their_scope() {
        for symbol in [
            "PD_RegisterPhiKernel",
            "_ZN3phi13KernelFactory8InstanceEv",
            "_ZNK3phi11DenseTensor4dimsEv",
            "_ZTVN6paddle8platform5PlaceE",
            "_ZTIN3phi13DeviceContextE",
        ] {
            assert!(is_paddles(symbol), "{symbol}");
        }
        for symbol in
            ["pd_init", "memcpy", "_ZN6vendor3RunERKN3phi11DenseTensorE", "_Znwm", "_ZTVN6vendor3NpuE"]
        {
            assert!(!is_paddles(symbol), "{symbol}");
        }
    }
}

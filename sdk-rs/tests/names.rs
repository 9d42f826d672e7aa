//! Names of a spec that Rust, its standard library or the generated code use themselves: all that the rules let pass
//! compile, and each call arrives where it should.
#![deny(warnings, missing_docs, clippy::all)]

/// A table.
pub mod names {
    tenon_spec_macros::interface!("names", spec = "tests/names/spec");
}

/// A library.
pub mod offered {
    tenon_spec_macros::interface!("offered", spec = "tests/names/spec");
}

/// A host.
pub mod wanted {
    tenon_spec_macros::interface!("wanted", spec = "tests/names/spec");
}

use names::{Function, Layered, Loaded, Names, Release, Result, WithFallbacks};

#[derive(Default)]
struct Implementation;

#[tenon_spec_macros::device(spec = "tests/names/spec", module = crate::names, fallbacks = true)]
impl Names for Implementation {
    fn copy(&self, yielded: &mut [u8], this: &[u8]) -> Result<()> {
        yielded.copy_from_slice(this);
        Ok(())
    }
}

/// Functions that yield a number, each under the name of a method that something else in reach has, too.
#[derive(Clone, Copy, Debug)]
struct Counter;

#[tenon_spec_macros::device(spec = "tests/names/spec", module = crate::names, new = Counter)]
impl Names for Counter {
    fn copy(&self, _: &mut [u8], _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn deref(&self) -> Result<usize> {
        Ok(1)
    }
    fn clone(&self) -> Result<usize> {
        Ok(2)
    }
    fn drop(&self) -> Result<usize> {
        Ok(3)
    }
    fn has(&self) -> Result<usize> {
        Ok(4)
    }
    fn release(&self) -> Result<usize> {
        Ok(5)
    }
    fn before(&self) -> Result<usize> {
        Ok(6)
    }
    fn provides(&self) -> Result<usize> {
        Ok(7)
    }
    fn instance(&self) -> Result<usize> {
        Ok(8)
    }
    fn last_error(&self) -> Result<usize> {
        Ok(9)
    }
    fn ok(&self) -> Result<usize> {
        Ok(10)
    }
    fn some(&self) -> Result<usize> {
        Ok(11)
    }
    fn into(&self) -> Result<usize> {
        Ok(12)
    }
    fn from(&self) -> Result<usize> {
        Ok(13)
    }
    fn default(&self) -> Result<usize> {
        Ok(14)
    }
    fn load(&self) -> Result<usize> {
        Ok(15)
    }
    fn missing(&self) -> Result<usize> {
        Ok(16)
    }
    fn thunk(&self) -> Result<usize> {
        Ok(17)
    }
    fn call(&self) -> Result<usize> {
        Ok(18)
    }
    fn size_of(&self) -> Result<usize> {
        Ok(19)
    }
}

/// Returns the results of the functions, in the order of their numbers.
fn numbers(names: &dyn Names) -> Result<Vec<usize>> {
    Ok(vec![
        names.deref()?,
        names.clone()?,
        names.drop()?,
        names.has()?,
        names.release()?,
        names.before()?,
        names.provides()?,
        names.instance()?,
        names.last_error()?,
        names.ok()?,
        names.some()?,
        names.into()?,
        names.from()?,
        names.default()?,
        names.load()?,
        names.missing()?,
        names.thunk()?,
        names.call()?,
        names.size_of()?,
    ])
}

fn loaded<D: names::Plugin>() -> Loaded {
    // SAFETY: null is a value of each pointer in the table.
    let mut table: names::ffi::N_Table = unsafe { std::mem::zeroed() };
    names::fill::<D>(&mut table);
    // SAFETY: the table was filled in that layout, with functions of this binary.
    unsafe { Loaded::from_table(Release::Only, (&raw const table).cast(), None) }
}

#[test]
fn method_of_another_trait_is_not_called() {
    let expected: Vec<usize> = (1..=19).collect();
    assert_eq!(numbers(&Counter).expect("direct"), expected);
    assert_eq!(numbers(&WithFallbacks(&Counter)).expect("with fallbacks"), expected);
    assert_eq!(numbers(&loaded::<Counter>()).expect("through the table"), expected);
    let layered = Layered::new(loaded::<Counter>(), Vec::new());
    assert_eq!(numbers(&layered).expect("through the table and layers"), expected);
}

#[test]
fn fallback_with_names_of_variables_is_called() {
    let mut bytes = [0; 3];
    Names::fill(&loaded::<Implementation>(), &mut bytes, 7).expect("the fallback fills");
    assert_eq!(bytes, [7; 3]);
}

#[test]
fn function_of_each_name_is_known() {
    let loaded = loaded::<Counter>();
    for function in Function::ALL {
        assert_eq!(Function::of_name(function.name()), Some(function));
        assert_eq!(names::Partial::provides(&loaded, function), loaded.has(function));
    }
    assert!(loaded.has(Function::Clone) && !loaded.has(Function::Match));
}

struct Library;

impl offered::Offered for Library {
    fn this(&self) -> offered::Result<usize> {
        Ok(5)
    }

    fn instance(&self, instance: u16, api: u16) -> offered::Result<usize> {
        Ok(usize::from(instance) + usize::from(api))
    }

    fn api(&self) -> offered::Result<usize> {
        Ok(7)
    }
}

use offered as api;

fn instance() -> &'static Library {
    &Library
}

mod functions {
    tenon_spec_macros::exports!("offered", spec = "tests/names/spec");
}

// SAFETY: this binary exports it, with this signature.
unsafe extern "C" {
    fn offered_this() -> usize;
}

/// Exported functions whose names are also names in the module above them.
mod exported {
    // SAFETY: this binary exports them, with these signatures.
    unsafe extern "C" {
        pub fn instance(instance: u16, api: u16) -> usize;
        pub fn api() -> usize;
    }
}

#[test]
fn export_is_called() {
    // SAFETY: it takes nothing.
    assert_eq!(unsafe { offered_this() }, 5);
}

#[test]
fn export_named_like_the_module_above_is_called() {
    // SAFETY: they take numbers.
    assert_eq!(unsafe { (exported::instance(2, 4), exported::api()) }, (6, 7));
}

#[test]
fn import_is_looked_up() {
    // SAFETY: null, or this binary's function of the same signature.
    let host = unsafe {
        wanted::Wanted::load(|name| match name.to_bytes() {
            b"wanted_this" => offered_this as *const () as *mut _,
            _ => std::ptr::null_mut(),
        })
    };
    assert_eq!(host.missing(), ["wanted_deref", "wanted_clone", "wanted_type", "wanted_match"]);
    // SAFETY: it takes nothing.
    assert_eq!(unsafe { host.this() }.expect("it was found"), 5);
}

//! Rust: the module of an interface, as a file and as the expansion of `tenon_spec_macros::interface!`.
//!
//! The module of an interface has its types and the raw ABI in `ffi`. In addition, a table has a trait with thunks
//! and fallbacks, an export has a trait for each group, and an import has a struct of loaded symbols. `parts`
//! assembles it.

mod attribute;
mod compute;
mod context;
mod doc;
mod files;
mod kernels;
mod library;
mod method;
mod names;
mod nodes;
mod objects;
mod operators;
mod parts;
mod table;
mod text;
mod types;

use proc_macro2::TokenStream;

pub use compute::Computations;
pub use kernels::Kernels;
pub use method::traits::signature_text;
pub use nodes::Nodes;
pub use operators::{Formulas, OperatorAttributes, OperatorList, OperatorPlans, OperatorTraits};
pub use parts::{FileForm, RustFile};
pub use table::trait_table::{SlotFilled, TraitEntry, TraitFunction, TraitTable, traits};
pub(crate) use text::rustfmt;

use self::context::Context;
use self::files::output;
use self::library::c_api;
use self::table::trait_table;
use self::text::{comments, file, list};
use super::c::tally;
use super::emitter::{EmitError, Emitter, Job};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Interface, OutputPlace, Spec};
use crate::out::Output;
use crate::sdk::SdkApi;
use crate::text::count;

/// Returns the module of an interface, for a compiler.
pub fn expand_interface(spec: &Spec, interface: &Interface) -> TokenStream {
    list::expand(comments::remove(parts::interface(Context { spec, interface }).flat()))
}

/// Returns the exported C functions of an interface, for a compiler.
///
/// They expand in a module whose parent has the interface as `api`, and a function `instance` that returns the
/// implementation.
pub fn expand_exports(spec: &Spec, interface: &Interface) -> TokenStream {
    list::expand(comments::remove(parts::exports(Context { spec, interface }).flat()))
}

/// The module of each interface.
pub struct Modules;

impl Emitter for Modules {
    const KIND: &'static OutputKind = &outputs::RUST;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        match &place.interface {
            Some(id) => {
                let interface = &job.spec.interfaces[id.value.0];
                Ok(outputs(job, interface, module(job.spec, interface).files(form(place))))
            }
            None => {
                let file = |interface: &Interface| {
                    let text = file::text(module(job.spec, interface).file());
                    let marker = job.stamp.interface(interface);
                    output(format!("{}.rs", interface.name.value), text, &marker, tally(interface))
                };
                Ok(job.spec.interfaces.iter().map(file).collect())
            }
        }
    }
}

/// The C functions of an interface.
pub struct Exports;

impl Emitter for Exports {
    const KIND: &'static OutputKind = &outputs::RUST_EXPORTS;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(id) = &place.interface else { return Ok(Vec::new()) };
        let interface = &job.spec.interfaces[id.value.0];
        Ok(outputs(job, interface, export_files(job.spec, interface, form(place))))
    }
}

/// The C functions of an interface in a library of their own.
pub struct Forwarders;

impl Emitter for Forwarders {
    const KIND: &'static OutputKind = &outputs::RUST_FORWARDERS;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(id) = &place.interface else { return Ok(Vec::new()) };
        let interface = &job.spec.interfaces[id.value.0];
        let module = parts::forwarders(Context { spec: job.spec, interface });
        Ok(outputs(job, interface, module.files(form(place))))
    }
}

/// Returns the form of a place: a path that does not end in `.rs` is a folder.
fn form(place: &OutputPlace) -> FileForm {
    if place.path.value.ends_with(".rs") { FileForm::One } else { FileForm::Folder }
}

/// Writes the files of an interface, each with its marker.
fn outputs(job: &Job, interface: &Interface, files: Vec<RustFile>) -> Vec<Output> {
    let minor = files.len() > 1;
    let marker = job.stamp.interface(interface);
    let file = |RustFile { path, text }| Output { minor, ..output(path, text, &marker, tally(interface)) };
    files.into_iter().map(file).collect()
}

/// The table of traits that the attribute macros use.
pub struct Traits;

impl Emitter for Traits {
    const KIND: &'static OutputKind = &outputs::RUST_TRAITS;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let note = count(traits(job.spec).len(), "trait");
        Ok(vec![output(String::new(), file::text(trait_table::source(job.spec)), &job.stamp.spec(), note)])
    }
}

/// Returns the module of an interface as the text of one formatted file.
///
/// # Errors
/// If the expansion is not valid Rust, which is a bug in the generator, or rustfmt is not installed.
pub fn interface_text(spec: &Spec, interface: &Interface) -> Result<String, EmitError> {
    let mut output = Output::new("", file::text(module(spec, interface).file()), "");
    rustfmt::format(vec![&mut output])?;
    Ok(output.text)
}

fn module(spec: &Spec, interface: &Interface) -> parts::Module {
    parts::interface(Context { spec, interface })
}

/// Returns the C functions of an interface as files: those of the SDK for a table, or those of an export.
pub fn export_files(spec: &Spec, interface: &Interface, form: FileForm) -> Vec<RustFile> {
    match SdkApi::of(spec, interface) {
        Some(sdk_api) => parts::Module::of(c_api::expand(sdk_api)).files(form),
        None => parts::exports(Context { spec, interface }).files(form),
    }
}

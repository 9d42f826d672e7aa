//! The Python package of an export: its modules and functions.

use super::ParamId;
use crate::source::At;

/// A Python package with the functions of an interface.
#[derive(Debug)]
pub struct PythonPackage {
    /// Its name.
    pub name: At<String>,
    /// The file of the library that it loads; `None`: the package has the conventions of pyACL, and code for the calls that is
    /// written by hand.
    pub library: Option<String>,
    /// The modules in it, in the order of the docs.
    pub modules: Vec<PythonModule>,
}

impl PythonPackage {
    /// Returns true if the package has the usual conventions of Python.
    pub fn is_plain(&self) -> bool {
        self.library.is_some()
    }
}

/// A module of a package.
#[derive(Debug)]
pub struct PythonModule {
    /// Its name.
    pub name: At<String>,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// True if the whole file is hand-written.
    pub by_hand: bool,
}

/// The form of a function in Python.
#[derive(Debug)]
pub struct PythonFunction {
    /// Its name.
    pub name: At<String>,
    /// Index into [`PythonPackage::modules`]; `None`: it is in the package itself.
    pub module: Option<usize>,
    /// The parameters that it takes, in order.
    pub args: Vec<ParamId>,
    /// The parameters that it returns, in order, before the status.
    pub returns: Vec<ParamId>,
    /// True if its body is hand-written.
    pub by_hand: bool,
}

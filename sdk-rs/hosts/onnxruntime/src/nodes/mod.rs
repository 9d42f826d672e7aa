//! The kernels by operator, version and type.

mod list;
mod registry;
mod types;

use std::collections::HashMap;
use std::sync::LazyLock;

use tenon::device::Result;

pub(crate) use crate::kernel::HostKernel;
use crate::kernel::{Compute, Info};
use crate::session::Taken;
pub(crate) use registry::Registry;
use types::Elements;

/// The kernel for an operator in some versions of its domain.
pub(crate) struct Node {
    /// The domain; empty for ONNX itself.
    domain: &'static str,
    /// The name of the operator.
    pub(crate) operator: &'static str,
    /// The first and the last version.
    versions: (i32, i32),
    /// The types of elements for each type of the operator's schema. The methods must accept those of the first one.
    types: &'static [(&'static str, Elements)],
    /// The inputs in host memory.
    host_inputs: &'static [usize],
    /// True if the outputs are in host memory.
    is_host_output: bool,
    /// True if the first output may have the memory of the first input.
    is_in_place: bool,
    /// The methods of the device that it needs.
    methods: &'static [&'static str],
    pub(crate) work: Work,
}

/// What computes a node.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// A rule: reads the attributes of a node.
    Rule(fn(&Info) -> Result<Compute>),
    /// A kernel of the host.
    Host(HostKernel),
}

/// The newest version of ONNX's domain whose operators are known.
const NEWEST: i32 = 28;

/// What a kernel needs of the device, and the function that reads the attributes of a node.
type Computed = (&'static [&'static str], fn(&Info) -> Result<Compute>);

impl Node {
    const fn new(
        operator: &'static str,
        since: i32,
        types: &'static [(&'static str, Elements)],
        (methods, make): Computed,
    ) -> Self {
        Self::with(operator, since, types, methods, Work::Rule(make))
    }

    /// Describes a node that a kernel of the host computes.
    const fn of_the_host(
        operator: &'static str,
        since: i32,
        types: &'static [(&'static str, Elements)],
        (methods, kernel): (&'static [&'static str], HostKernel),
    ) -> Self {
        Self::with(operator, since, types, methods, Work::Host(kernel))
    }

    const fn with(
        operator: &'static str,
        since: i32,
        types: &'static [(&'static str, Elements)],
        methods: &'static [&'static str],
        work: Work,
    ) -> Self {
        Self {
            domain: "",
            operator,
            versions: (since, NEWEST),
            types,
            host_inputs: &[],
            is_host_output: false,
            is_in_place: false,
            methods,
            work,
        }
    }

    /// Says how the device takes the node.
    pub(crate) fn taken(&self) -> Taken {
        let is_light =
            matches!(self.work, Work::Rule(_)) && !self.methods.iter().any(|it| HEAVY.contains(it));
        Taken { is_light, host_inputs: self.host_inputs, is_host_output: self.is_host_output }
    }

    const fn until(self, last: i32) -> Self {
        Self { versions: (self.versions.0, last), ..self }
    }

    const fn host(self, host_inputs: &'static [usize]) -> Self {
        Self { host_inputs, ..self }
    }

    const fn host_output(self) -> Self {
        Self { is_host_output: true, ..self }
    }

    const fn in_place(self) -> Self {
        Self { is_in_place: true, ..self }
    }

    const fn of(self, domain: &'static str) -> Self {
        Self { domain, versions: (self.versions.0, 1), ..self }
    }
}

/// The methods whose work takes longer than a copy of their tensors.
const HEAVY: &[&str] = &["attention", "conv", "conv_transpose", "einsum", "matmul", "rnn"];

/// Returns the kernel for an operator of a version.
pub(crate) fn find(domain: &str, operator: &str, version: i32) -> Option<&'static Node> {
    static BY_NAME: LazyLock<HashMap<&str, Vec<&Node>>> = LazyLock::new(|| {
        let mut by_name: HashMap<&str, Vec<&Node>> = HashMap::new();
        list::all().for_each(|node| by_name.entry(node.operator).or_default().push(node));
        by_name
    });
    let domain = if domain == "ai.onnx" { "" } else { domain };
    let is_meant =
        |node: &&&Node| node.domain == domain && (node.versions.0..=node.versions.1).contains(&version);
    BY_NAME.get(operator)?.iter().find(is_meant).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_an_operator_do_not_overlap() {
        for node in list::all() {
            for version in node.versions.0..=node.versions.1 {
                let found = find(node.domain, node.operator, version).expect("the node is in the list");
                assert!(std::ptr::eq(found, node), "{} has two kernels in version {version}", node.operator);
            }
        }
    }

    #[test]
    fn heavy_methods_are_used() {
        for method in HEAVY {
            assert!(list::all().any(|node| node.methods.contains(method)), "{method}");
        }
    }

    #[test]
    fn methods_exist() {
        for node in list::all() {
            for method in node.methods {
                assert!(tenon_operators::by_name::exists(method), "{}: {method}", node.operator);
            }
        }
    }
}

//! The rank and the bytes of collectives.

use std::sync::LazyLock;

use tenon::device::reflection::FUNCTIONS;
use tenon::reflect::{FunctionInfo, Role};
use tenon::support::RwLock;

use crate::validate::{communicator, element_size};

/// The parameters of a function of a group, as indices.
#[derive(Clone, Copy)]
enum OfGroup {
    Join { comm: usize, rank: usize, ranks: usize },
    Leave { comm: usize },
    Collective { comm: usize, count: usize, data_type: usize },
}

static FUNCTIONS_OF_GROUPS: LazyLock<Vec<Option<OfGroup>>> =
    LazyLock::new(|| FUNCTIONS.iter().map(of).collect());

fn of(info: &FunctionInfo) -> Option<OfGroup> {
    let comm = communicator(info)?;
    let place = |name| info.params.iter().position(|param| param.name == name);
    match info.params[comm].role {
        Role::Creates => Some(OfGroup::Join { comm, rank: place("rank")?, ranks: place("ranks")? }),
        Role::Destroys => Some(OfGroup::Leave { comm }),
        Role::Uses => {
            Some(OfGroup::Collective { comm, count: place("count")?, data_type: place("data_type")? })
        }
    }
}

/// The memberships of a plugin: communicator, rank, and number of ranks.
#[derive(Default)]
pub(super) struct Memberships(RwLock<Vec<[u64; 3]>>);

impl Memberships {
    /// Notes a call that joins or leaves a group. Returns the rank, the number of ranks and the bytes of a collective.
    #[inline]
    pub(super) fn note(&self, function: usize, arguments: &[u64], is_failed: bool) -> Option<[u64; 3]> {
        match FUNCTIONS_OF_GROUPS[function]? {
            OfGroup::Join { .. } | OfGroup::Leave { .. } if is_failed => None,
            OfGroup::Join { comm, rank, ranks } => {
                let mut known = self.0.write();
                known.retain(|[known, ..]| *known != arguments[comm]);
                known.push([arguments[comm], arguments[rank], arguments[ranks]]);
                None
            }
            OfGroup::Leave { comm } => {
                self.0.write().retain(|[known, ..]| *known != arguments[comm]);
                None
            }
            OfGroup::Collective { comm, count, data_type } => {
                let known = self.0.read();
                let [_, rank, ranks] = *known.iter().find(|[known, ..]| *known == arguments[comm])?;
                let bytes = arguments[count].saturating_mul(element_size(arguments[data_type]));
                Some([rank, ranks, bytes])
            }
        }
    }
}

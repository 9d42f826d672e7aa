//! The checks of collectives: ranks, and what the members of a group call that are in the same process.

use std::sync::Arc;

use tenon::device::Result;
use tenon::reflect::{Direction, FunctionInfo, Kind, Length, Role};

use crate::clock;
use crate::validate::objects::groups::{CollectiveCall, Member, Series};
use crate::validate::rules::Rule;
use crate::validate::{CallCheck, Violation};

/// The parameters of a collective, as indices.
pub struct Collective {
    /// Ranks, which must be less than the number of members.
    pub ranks: Vec<usize>,
    /// Numbers and types that all members have in common.
    common: Vec<usize>,
    kind: CollectiveKind,
}

enum CollectiveKind {
    /// Joins a group.
    Join {
        ranks: usize,
        rank: usize,
        root_id: usize,
    },
    /// All members call it.
    OfAll,
    /// One member sends to another.
    Send {
        to: usize,
    },
    Receive {
        from: usize,
    },
}

/// The name of the handle of a member.
pub const COMMUNICATOR: &str = "CollectiveComm";

/// Returns the parameter that is the communicator, if a function has one.
pub fn communicator(info: &FunctionInfo) -> Option<usize> {
    info.params.iter().position(|param| matches!(param.kind, Kind::Handle { name: COMMUNICATOR, .. }))
}

impl Collective {
    /// Finds the parameters of a collective.
    pub fn of(info: &FunctionInfo) -> Option<Self> {
        let communicator = &info.params[communicator(info)?];
        let place = |name| info.params.iter().position(|param| param.name == name);
        let kind = match (communicator.role, place("dest_rank"), place("src_rank")) {
            (Role::Creates, ..) => {
                let (ranks, rank) = (place("ranks")?, place("rank")?);
                CollectiveKind::Join { ranks, rank, root_id: place("unique_id")? }
            }
            (Role::Uses, Some(to), _) => CollectiveKind::Send { to },
            (Role::Uses, _, Some(from)) => CollectiveKind::Receive { from },
            (Role::Uses, None, None) if info.stream_ordered.is_some() => CollectiveKind::OfAll,
            _ => return None,
        };
        let mut found = Self { ranks: Vec::new(), common: Vec::new(), kind };
        for (index, param) in info.params.iter().enumerate() {
            let is_single =
                param.direction == Direction::In && !matches!(param.length, Some(Length::Count(_)));
            match (param.name, param.kind) {
                ("rank" | "dest_rank" | "src_rank", _) => found.ranks.push(index),
                ("root", _) => {
                    found.ranks.push(index);
                    found.common.push(index);
                }
                (_, Kind::Int { .. } | Kind::Enum { .. }) if is_single => found.common.push(index),
                _ => {}
            }
        }
        Some(found)
    }

    /// Returns true for calls that are compared with those of other members.
    pub fn is_compared(&self) -> bool {
        !matches!(self.kind, CollectiveKind::Join { .. })
    }
}

impl CallCheck<'_> {
    /// Checks the ranks of a collective, and compares it with the calls of other members.
    pub fn collective(&self, member: Option<&Arc<Member>>) -> Result<()> {
        let Some(collective) = &self.checks.collective else { return Ok(()) };
        let ranks = match (&collective.kind, member) {
            (CollectiveKind::Join { ranks, .. }, _) => self.argument(*ranks),
            (_, Some(member)) => member.ranks,
            _ => return Ok(()),
        };
        for &param in &collective.ranks {
            let rank = self.argument(param);
            if rank >= ranks {
                let message = format!("there is no rank {rank} in a group of {ranks}");
                let name = self.call.function.params[param].name;
                self.report(Violation::new(Rule::UnknownRank, name, message))?;
            }
        }
        let Some(member) = member else { return Ok(()) };
        let series = match collective.kind {
            CollectiveKind::Join { .. } => return Ok(()),
            CollectiveKind::OfAll => Series::Collectives,
            CollectiveKind::Send { to } => Series::Messages { from: member.rank, to: self.argument(to) },
            CollectiveKind::Receive { from } => {
                Series::Messages { from: self.argument(from), to: member.rank }
            }
        };
        let call = CollectiveCall {
            rank: member.rank,
            function: self.call.function,
            common: &collective.common,
            values: collective.common.iter().map(|&param| self.argument(param)).collect(),
            by: self.call_site(),
        };
        member.call(series, &call).or_else(|other| {
            let message = format!(
                "rank {} calls {}, but rank {} called {} at this place, {:.1?} ago",
                call.rank,
                call.text(),
                other.rank,
                other.text(),
                other.by.age_at(clock::now())
            );
            let violation = Violation { parameter: None, ..Violation::new(Rule::Disagreement, "", message) };
            self.report(violation.with_place(other.by.place("called")))
        })
    }

    /// Returns the membership that a call has made.
    pub fn joined(&self) -> Option<Arc<Member>> {
        let Some(Collective { kind: CollectiveKind::Join { ranks, rank, root_id }, .. }) =
            &self.checks.collective
        else {
            return None;
        };
        let address = self.argument(*root_id) as usize;
        let size = self.next.xccl_get_unique_id_size().ok();
        // SAFETY: the plugin has accepted the bytes as a root id, and says that ids have this length.
        let id = size.map(|size| unsafe { std::slice::from_raw_parts(address as *const u8, size) }.to_vec());
        Some(self.plugin.groups.join(id, self.argument(*rank), self.argument(*ranks)))
    }
}

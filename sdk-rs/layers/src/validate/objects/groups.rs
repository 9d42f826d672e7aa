//! Groups of collectives, and what those of their members call that are in this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use tenon::reflect::{FunctionInfo, Kind};
use tenon::support::Mutex;

use crate::validate::call_site::CallSite;

/// Number of calls of a member that are remembered for the others.
const WINDOW: usize = 1024;

/// The membership for which a communicator stands.
pub struct Member {
    pub rank: u64,
    /// Number of members, in all processes.
    pub ranks: u64,
    /// None if the plugin does not say how long a root id is.
    group: Option<Arc<Group>>,
}

/// The groups of a plugin.
#[derive(Default)]
pub struct Groups(Mutex<Vec<Weak<Group>>>);

struct Group {
    root_id: Vec<u8>,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// Ranks in this process.
    here: Vec<u64>,
    series: HashMap<Series, Order>,
    /// True after a call that failed: members are no longer in step.
    is_stopped: bool,
}

/// Calls that must come in the same order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Series {
    /// The collectives of all members.
    Collectives,
    /// The messages from one member to another.
    Messages { from: u64, to: u64 },
}

/// The calls of a series.
#[derive(Default)]
struct Order {
    /// Number of calls that are forgotten.
    forgotten: usize,
    calls: VecDeque<CollectiveCall>,
    /// Number of calls of each rank.
    made: HashMap<u64, usize>,
}

/// A call of a member.
#[derive(Clone)]
pub struct CollectiveCall {
    pub rank: u64,
    pub function: &'static FunctionInfo,
    /// The parameters whose values all members must have in common.
    pub common: &'static [usize],
    /// Their values.
    pub values: Vec<u64>,
    pub by: CallSite,
}

impl CollectiveCall {
    /// Returns the call as a text, such as «xccl_all_reduce(count 4, data_type float32, op sum)».
    pub fn text(&self) -> String {
        let value = |(&param, &value): (&usize, &u64)| {
            let param = &self.function.params[param];
            match param.kind {
                Kind::Enum { values, .. } => {
                    let known = values.iter().find(|(number, _)| *number == value.cast_signed());
                    format!("{} {}", param.name, known.map_or("?", |(_, name)| name))
                }
                _ => format!("{} {value}", param.name),
            }
        };
        let values: Vec<String> = self.common.iter().zip(&self.values).map(value).collect();
        format!("{}({})", self.function.name, values.join(", "))
    }

    /// Returns true if two members may make these calls at the same place of a series.
    fn fits(&self, other: &Self, series: Series) -> bool {
        // A send and a receive fit each other.
        let is_message = matches!(series, Series::Messages { .. });
        (is_message || self.function.name == other.function.name) && self.values == other.values
    }
}

impl Groups {
    /// Adds a member with the root id of its group, if that is known.
    pub fn join(&self, root_id: Option<Vec<u8>>, rank: u64, ranks: u64) -> Arc<Member> {
        let group = root_id.map(|root_id| self.group(root_id, rank));
        Arc::new(Member { rank, ranks, group })
    }

    fn group(&self, root_id: Vec<u8>, rank: u64) -> Arc<Group> {
        let mut groups = self.0.lock();
        groups.retain(|group| group.strong_count() > 0);
        let known = groups.iter().filter_map(Weak::upgrade).find(|group| group.root_id == root_id);
        if let Some(group) = known {
            let mut calls = group.calls.lock();
            if !calls.here.contains(&rank) {
                calls.here.push(rank);
                drop(calls);
                return group;
            }
            // A rank cannot come twice, so this is another group that has the same id.
        }
        let calls = Calls { here: vec![rank], ..Calls::default() };
        let group = Arc::new(Group { root_id, calls: Mutex::new(calls) });
        groups.push(Arc::downgrade(&group));
        group
    }
}

impl Member {
    /// Notes a call of this member. Fails with the call of another member in its place, if that is another one.
    pub fn call(&self, series: Series, call: &CollectiveCall) -> Result<(), CollectiveCall> {
        let Some(group) = &self.group else { return Ok(()) };
        let mut calls = group.calls.lock();
        if calls.is_stopped {
            return Ok(());
        }
        let order = calls.series.entry(series).or_default();
        let made = order.made.entry(self.rank).or_default();
        let place = *made;
        if let Some(place) = place.checked_sub(order.forgotten)
            && let Some(known) = order.calls.get(place)
            && !known.fits(call, series)
        {
            return Err(known.clone());
        }
        *made += 1;
        if place == order.forgotten + order.calls.len() {
            if order.calls.len() == WINDOW {
                order.calls.pop_front();
                order.forgotten += 1;
            }
            order.calls.push_back(call.clone());
        }
        Ok(())
    }

    /// Stops the comparison: a call of this member failed.
    pub fn stop(&self) {
        if let Some(group) = &self.group {
            let mut calls = group.calls.lock();
            calls.is_stopped = true;
            calls.series.clear();
        }
    }
}

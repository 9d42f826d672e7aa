//! Executable graphs, with their nodes assigned to lanes.
//!
//! A lane is an internal stream; nodes on different lanes run side by side. A graph that does
//! not branch has no lanes and runs on the stream that it is launched on.

use super::{CapturedGraph, Node};
use crate::error::Result;
use crate::executor::progress::Progress;
use crate::executor::stream::StreamState;
use crate::executor::work::Work;
use crate::executor::work::join::Join;
use crate::executor::work::record::Record;
use crate::executor::{Load, Shared};
use crate::memory::Registry;
use crate::sync::Mutex;
use std::sync::Arc;
use tenon::device::DeviceId;

/// The maximum number of lanes. Further branches share them.
const MOST_LANES: usize = 32;

/// An executable graph.
pub(crate) struct ExecutableGraph {
    pub(crate) device: DeviceId,
    lanes: Vec<Arc<StreamState>>,
    lane_of: Vec<usize>,
    state: Mutex<State>,
}

struct State {
    nodes: Vec<Node>,
    /// The end of the latest launch: launches of one graph never overlap.
    last: Option<Arc<Record>>,
}

impl ExecutableGraph {
    pub(crate) fn new(
        handle: usize,
        graph: &CapturedGraph,
        shared: &Arc<Shared>,
        load: &Arc<Load>,
    ) -> Arc<Self> {
        let lane_of = assign_lanes(&graph.nodes);
        let count = lane_of.iter().max().map_or(0, |&most| most + 1);
        let lanes = if count > 1 {
            (0..count).map(|_| StreamState::new(handle, graph.device, shared, load)).collect()
        } else {
            Vec::new()
        };
        let state = Mutex::new(State { nodes: graph.nodes.clone(), last: None });
        Arc::new(Self { device: graph.device, lanes, lane_of, state })
    }

    /// Launches the graph in the order of the stream. Launches nothing if a pointer of a node has become invalid.
    pub(crate) fn launch(&self, stream: &Arc<StreamState>, registry: &Registry) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(capture) = stream.capture() {
            return capture.add_graph(stream, &state.nodes);
        }
        let works = prepare(&state.nodes, registry)?;
        let mut queued: Vec<Work> =
            state.last.take().filter(|last| !last.is_done()).map(Work::Wait).into_iter().collect();
        if self.lanes.is_empty() {
            queued.extend(works.into_iter().flatten());
        } else {
            let launch = self.lay_out(&state, works);
            queued.push(Work::Fork(Box::new(move |parent| launch.start(parent))));
        }
        stream.submit_all(queued);
        state.last = stream.mark();
        Ok(())
    }

    fn lay_out(&self, state: &State, works: Vec<Option<Work>>) -> Launch {
        let mut is_awaited = vec![false; works.len()];
        let mut steps: Vec<Step> = Vec::with_capacity(works.len());
        for (index, work) in works.into_iter().enumerate() {
            let lane = self.lane_of[index];
            // Steps of the same lane are already in order.
            let after: Vec<usize> = state.nodes[index]
                .after
                .iter()
                .copied()
                .filter(|&before| self.lane_of[before] != lane)
                .collect();
            after.iter().for_each(|&before| is_awaited[before] = true);
            steps.push(Step { lane, after, work, is_awaited: false });
        }
        steps.iter_mut().zip(is_awaited).for_each(|(step, awaited)| step.is_awaited = awaited);
        Launch { lanes: self.lanes.clone(), steps }
    }
}

fn prepare(nodes: &[Node], registry: &Registry) -> Result<Vec<Option<Work>>> {
    nodes.iter().map(|node| node.op.prepare(registry)).collect()
}

/// Puts each node after a node that it depends on, or on a new lane.
///
/// Any assignment would be correct, since the nodes are in an order that respects their dependencies. This one
/// keeps chains together.
fn assign_lanes(nodes: &[Node]) -> Vec<usize> {
    let mut tails: Vec<usize> = Vec::new();
    let mut lane_of: Vec<usize> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let behind = node.after.iter().map(|&before| (before, lane_of[before]));
        let lane = behind.filter(|&(before, lane)| tails[lane] == before).map(|(_, lane)| lane).min();
        let lane = lane.unwrap_or_else(|| {
            if tails.len() < MOST_LANES {
                tails.push(index);
                tails.len() - 1
            } else {
                index % MOST_LANES
            }
        });
        tails[lane] = index;
        lane_of.push(lane);
    }
    lane_of
}

/// One launch of a graph with several lanes.
struct Launch {
    lanes: Vec<Arc<StreamState>>,
    steps: Vec<Step>,
}

struct Step {
    lane: usize,
    /// Steps on other lanes that come before.
    after: Vec<usize>,
    is_awaited: bool,
    work: Option<Work>,
}

impl Launch {
    /// Queues the steps on their lanes. The last one resumes the parked `parent`.
    fn start(self, parent: Arc<dyn Progress>) {
        let mut ends: Vec<Option<Arc<Record>>> = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            let lane = &self.lanes[step.lane];
            for before in step.after {
                // No record means that the lane was idle after that step: it is done.
                if let Some(end) = &ends[before] {
                    lane.submit_internal(Work::Wait(end.clone()));
                }
            }
            if let Some(work) = step.work {
                lane.submit_internal(work);
            }
            ends.push(if step.is_awaited { lane.mark() } else { None });
        }
        let join = Join::new(parent, self.lanes.len());
        for lane in &self.lanes {
            lane.submit_internal(Work::Join(join.clone()));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::graph::Op;
    use tenon::device::Event;

    fn nodes(after: &[&[usize]]) -> Vec<Node> {
        after.iter().map(|after| Node::new(Op::Wait(Event::from_addr(1)), after.to_vec())).collect()
    }

    #[test]
    fn a_chain_has_one_lane() {
        assert_eq!(assign_lanes(&nodes(&[&[], &[0], &[1], &[2]])), [0, 0, 0, 0]);
    }

    #[test]
    fn branches_have_their_own() {
        assert_eq!(assign_lanes(&nodes(&[&[], &[0], &[0], &[1, 2], &[3]])), [0, 0, 1, 0, 0]);
    }

    #[test]
    fn lanes_are_bounded() {
        let roots: Vec<&[usize]> = vec![&[]; 1000];
        let lanes = assign_lanes(&nodes(&roots));
        assert_eq!(lanes.iter().max(), Some(&(MOST_LANES - 1)));
    }
}

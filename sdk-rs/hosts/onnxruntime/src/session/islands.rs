//! Nodes that the device could compute, but for which copies to the device and back would take longer.

use std::collections::{HashMap, HashSet};

/// A node of a graph, with the names of its values; those of absent ones are empty.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// The node as the device would take it; `None` if the device has no kernel for it.
    pub(super) taken: Option<Taken>,
}

/// A node that the device could compute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// True if a copy of its tensors takes about as long as its work.
    pub(crate) is_light: bool,
    /// The inputs that it reads in host memory.
    pub(crate) host_inputs: &'static [usize],
    /// True if its outputs are in host memory.
    pub(crate) is_host_output: bool,
}

/// Nodes that exchange tensors on the device with each other only.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Island {
    /// The indices of the nodes, from the first one on.
    pub(super) nodes: Vec<usize>,
    /// The number of tensors that would be copied between the device and nodes that run elsewhere.
    pub(super) copies: usize,
}

impl Described {
    /// Returns the inputs in memory of the device.
    fn device_inputs(&self, taken: Taken) -> impl Iterator<Item = &str> {
        let inputs = self.inputs.iter().enumerate();
        inputs
            .filter(move |(index, name)| !name.is_empty() && !taken.host_inputs.contains(index))
            .map(|(_, name)| name.as_str())
    }

    /// Returns the outputs in memory of the device.
    fn device_outputs(&self, taken: Taken) -> impl Iterator<Item = &str> {
        let outputs = if taken.is_host_output { &[][..] } else { &self.outputs[..] };
        outputs.iter().map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// Returns the islands of light nodes with no more nodes than tensors to copy.
///
/// Inputs and outputs of the graph do not count: the program may have them on the device.
pub(super) fn too_small(nodes: &[Described]) -> Vec<Island> {
    let mut producers = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        producers.extend(node.outputs.iter().map(|name| (name.as_str(), index)));
    }
    // The island of each node is the first node of it.
    let mut islands: Vec<usize> = (0..nodes.len()).collect();
    fn first(islands: &[usize], mut index: usize) -> usize {
        while islands[index] != index {
            index = islands[index];
        }
        index
    }
    let is_on_device = |producer: usize, name: &str| {
        nodes[producer].taken.is_some_and(|taken| nodes[producer].device_outputs(taken).any(|it| it == name))
    };
    for (index, node) in nodes.iter().enumerate() {
        let Some(taken) = node.taken else { continue };
        for name in node.device_inputs(taken) {
            if let Some(&producer) = producers.get(name).filter(|producer| is_on_device(**producer, name)) {
                let (one, other) = (first(&islands, index), first(&islands, producer));
                islands[one.max(other)] = one.min(other);
            }
        }
    }
    let mut found: HashMap<usize, (Vec<usize>, HashSet<&str>)> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        match node.taken {
            Some(taken) => {
                let (members, copies) = found.entry(first(&islands, index)).or_default();
                members.push(index);
                // Values without a producer are inputs of the graph or constants.
                let arrives = |name: &&str| {
                    producers.get(name).is_some_and(|producer| nodes[*producer].taken.is_none())
                };
                copies.extend(node.device_inputs(taken).filter(arrives));
            }
            None => {
                for name in node.inputs.iter().map(String::as_str) {
                    let producer = producers.get(name).filter(|producer| is_on_device(**producer, name));
                    if let Some(producer) = producer {
                        found.entry(first(&islands, *producer)).or_default().1.insert(name);
                    }
                }
            }
        }
    }
    let is_light = |index: &usize| nodes[*index].taken.is_some_and(|taken| taken.is_light);
    let mut small: Vec<Island> = (found.into_values())
        .filter(|(members, copies)| members.len() <= copies.len() && members.iter().all(is_light))
        .map(|(nodes, copies)| Island { nodes, copies: copies.len() })
        .collect();
    small.sort_by_key(|island| island.nodes.first().copied());
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIGHT: Option<Taken> = Some(Taken { is_light: true, host_inputs: &[], is_host_output: false });
    const HEAVY: Option<Taken> = Some(Taken { is_light: false, host_inputs: &[], is_host_output: false });

    /// Describes nodes of one input and one output: `a b` reads the value `a` and writes `b`.
    fn graph(nodes: &[(&str, Option<Taken>)]) -> Vec<Described> {
        let node = |(values, taken): &(&str, Option<Taken>)| {
            let (input, output) = values.split_once(' ').expect("two values");
            let inputs = input.split(',').map(str::to_owned).collect();
            Described { inputs, outputs: vec![output.to_owned()], taken: *taken }
        };
        nodes.iter().map(node).collect()
    }

    fn found(nodes: &[(&str, Option<Taken>)]) -> Vec<(Vec<usize>, usize)> {
        too_small(&graph(nodes)).into_iter().map(|island| (island.nodes, island.copies)).collect()
    }

    #[test]
    fn light_nodes_between_others_are_given_back() {
        assert_eq!(found(&[("x a", None), ("a b", LIGHT), ("b y", None)]), [(vec![1], 2)]);
        assert_eq!(found(&[("x a", None), ("a b", LIGHT), ("b c", LIGHT), ("c y", None)]), [(vec![1, 2], 2)]);
    }

    #[test]
    fn longer_chains_and_work_stay() {
        assert_eq!(
            found(&[("x a", None), ("a b", LIGHT), ("b c", LIGHT), ("c d", LIGHT), ("d y", None)]),
            []
        );
        assert_eq!(found(&[("x a", None), ("a b", HEAVY), ("b y", None)]), []);
        assert_eq!(found(&[("x a", None), ("a b", LIGHT), ("b c", HEAVY), ("c y", None)]), []);
    }

    #[test]
    fn nodes_without_copies_stay() {
        assert_eq!(found(&[("x y", LIGHT)]), []);
        // Another node that the device lacks exchanges nothing with it.
        assert_eq!(found(&[("x y", LIGHT), ("z w", None)]), []);
    }

    #[test]
    fn tensors_in_host_memory_are_not_copied() {
        let shape = Some(Taken { is_light: true, host_inputs: &[], is_host_output: true });
        assert_eq!(found(&[("x a", HEAVY), ("a s", shape), ("s y", None)]), []);
        let reshape = Some(Taken { is_light: true, host_inputs: &[1], is_host_output: false });
        assert_eq!(found(&[("x s", None), ("z,s y", reshape)]), []);
    }

    #[test]
    fn a_tensor_for_two_nodes_is_one_copy() {
        let nodes = [("x a", None), ("a b", LIGHT), ("a c", LIGHT), ("b,c d", LIGHT), ("d y", None)];
        assert_eq!(found(&nodes), []);
    }
}

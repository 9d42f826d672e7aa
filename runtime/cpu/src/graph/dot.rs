//! Graphs as Graphviz text.

use super::{Node, Op};
use std::fmt::Write;

/// Returns the graph in the DOT language; `verbose` adds addresses and sizes.
pub(super) fn render(nodes: &[Node], verbose: bool) -> String {
    let mut out = String::from("digraph graph_0 {\n  node [shape=box, fontname=monospace];\n");
    for (index, node) in nodes.iter().enumerate() {
        let label = escape(&label(&node.op, verbose));
        // Writing to a string cannot fail.
        _ = writeln!(out, "  n{index} [label=\"{index}: {label}\"];");
        for before in &node.after {
            _ = writeln!(out, "  n{before} -> n{index};");
        }
    }
    out.push_str("}\n");
    out
}

fn label(op: &Op, verbose: bool) -> String {
    let name = match op {
        Op::Copy(transfer) => transfer.kind.name(),
        Op::Kernel { name, .. } => name,
        _ => op.kind(),
    };
    if !verbose {
        return name.to_owned();
    }
    match op {
        Op::Copy(t) => {
            format!("{name}\n{:#x} <- {:#x}\n{} bytes", t.dst.address(), t.src.address(), t.size)
        }
        Op::Fill(fill) => {
            let element: String = fill.pattern.element().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{name}\n{:#x} = 0x{element}\n{} bytes", fill.ptr, fill.size)
        }
        Op::Record(event) | Op::Wait(event) => format!("{name}\n{:#x}", event.addr()),
        Op::Kernel { .. } | Op::Callback(_) => name.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::executor::work::task::SharedTask;
    use crate::memory::{Fill, Pattern};
    use tenon::device::DeviceId;

    #[test]
    fn nodes_edges_and_quotes() {
        let kernel = |name| Op::Kernel { name, task: SharedTask::new(Box::new(|| Ok(()))) };
        let fill = Op::Fill(Fill { device: DeviceId(0), ptr: 0x40, pattern: Pattern::new(&[7]), size: 9 });
        let nodes = [
            Node::new(kernel("say \"hi\""), vec![]),
            Node::new(fill, vec![0]),
            Node::new(kernel("c\\d"), vec![0, 1]),
        ];
        assert_eq!(
            render(&nodes, true),
            "digraph graph_0 {\n  node [shape=box, fontname=monospace];\n  \
             n0 [label=\"0: say \\\"hi\\\"\"];\n  \
             n1 [label=\"1: fill\\n0x40 = 0x07\\n9 bytes\"];\n  n0 -> n1;\n  \
             n2 [label=\"2: c\\\\d\"];\n  n0 -> n2;\n  n1 -> n2;\n}\n"
        );
        assert!(render(&nodes, false).contains("n1 [label=\"1: fill\"]"));
    }
}

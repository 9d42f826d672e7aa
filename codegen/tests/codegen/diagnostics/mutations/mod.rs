//! Measures how many slips in our own specs the rules detect.
//!
//! Functions and types are changed, each once, by one of [`kinds::KINDS`], and the spec is loaded. A slip is
//! chosen for an entry so that every kind is tried about as often, as far as it can occur. The
//! device table and the kernel API are tried at every second entry, ACL, which is larger than both, at every twelfth.
//! `cargo test -p codegen --test codegen mutations -- --nocapture` prints the figures; `ALL=1` takes every entry,
//! `NAMES=1` names the entries whose slips are accepted.

mod edit;
mod kinds;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use codegen::diagnostic::Diagnostics;
use codegen::load;
use codegen::source::FileId;
use codegen::yaml::{Node, parse};

use kinds::{Entry, HEADERS, KINDS};

use crate::root;
use crate::texts::Texts;

/// An interface whose entries are changed.
struct Subject {
    interface: &'static str,
    /// The interfaces that are loaded with it, whose types and names it uses.
    with: &'static [&'static str],
    /// Changes every `step`-th entry.
    step: usize,
}

const SUBJECTS: [Subject; 3] = [
    Subject { interface: "device", with: &["device", "paddle"], step: 2 },
    Subject { interface: "paddle", with: &["device", "paddle"], step: 2 },
    Subject { interface: "acl", with: &["acl"], step: 12 },
];

/// The highest accepted percentage of slips in information that only the spec has.
const MOST_ACCEPTED_ALONE: f64 = 36.0;

/// The same for all slips, including those that only a comparison with the headers can detect.
const MOST_ACCEPTED: f64 = 45.0;

/// A spec after a slip.
struct Mutant {
    kind: usize,
    name: String,
    texts: Texts,
}

/// Reduces the spec to some of its interfaces, without operators, which take most of the time to load.
fn part(spec: &Texts, interfaces: &[&str]) -> Texts {
    let mut part = spec.clone();
    part.0.retain(|path, _| {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        folder.is_none_or(|folder| interfaces.contains(&folder))
    });
    for text in part.0.values_mut() {
        *text = without_keys(text, &["operators", "kernels"]);
    }
    let head = part.0.get_mut("spec.yaml").expect("a spec has a head");
    // The outputs name interfaces and operators that the part lacks.
    let lines = head.lines().filter(|line| !line.starts_with("  rust") && !line.starts_with("  c_operators"));
    let lines = lines.map(|line| {
        if line.starts_with("interfaces:") {
            format!("interfaces: [{}]\n", interfaces.join(", "))
        } else {
            format!("{line}\n")
        }
    });
    *head = lines.collect();
    part
}

/// Removes some keys of the outermost mapping and their values from a text.
fn without_keys(text: &str, keys: &[&str]) -> String {
    let mut is_kept = true;
    text.lines()
        .filter(|line| {
            if let Some(key) = line.split_once(':').map(|(key, _)| key).filter(|key| !key.starts_with(' ')) {
                is_kept = !keys.contains(&key);
            }
            is_kept
        })
        .map(|line| format!("{line}\n"))
        .collect()
}

fn tree(text: &str) -> Node {
    parse(FileId(0), text, &mut Diagnostics::default()).expect("our own spec is YAML")
}

fn names(node: &Node, list: &str, name: &str, keep: impl Fn(&Node) -> bool) -> Vec<String> {
    let items = node.get(list).into_iter().flat_map(Node::items);
    items.filter(|item| keep(item)).filter_map(|item| Some(item.get(name)?.text()?.to_owned())).collect()
}

/// Creates the mutants of one interface. `used` counts how often each kind was chosen.
fn mutants(spec: &Texts, subject: &Subject, used: &mut [usize]) -> Vec<Mutant> {
    let (interface, base) = (subject.interface, part(spec, subject.with));
    let step = if std::env::var_os("ALL").is_some() { 1 } else { subject.step };
    if let Err(mistakes) = load(&base) {
        panic!("{}", mistakes.render(false));
    }
    let folder = format!("{interface}/");
    let head = tree(&base.0[&format!("{folder}interface.yaml")]);
    let releases = names(&head, "releases", "release", |_| true);
    let groups: Vec<(&String, &String, Node)> = base
        .0
        .iter()
        .filter(|(path, _)| path.starts_with(&folder) && !path.ends_with("/interface.yaml"))
        .map(|(path, text)| (path, text, tree(text)))
        .collect();
    let is_handle = |ty: &Node| ty.get("kind").and_then(Node::text) == Some("handle");
    let handles: Vec<String> =
        groups.iter().flat_map(|(_, _, group)| names(group, "types", "name", is_handle)).collect();
    let mut mutants = Vec::new();
    let mut number = 0;
    for (path, text, group) in &groups {
        let symbols: Vec<String> =
            ["types", "functions"].into_iter().flat_map(|list| names(group, list, "c", |_| true)).collect();
        let entries = ["types", "functions"].into_iter().filter_map(|list| group.get(list));
        for node in entries.flat_map(Node::items) {
            number += 1;
            if number % step != 0 {
                continue;
            }
            let entry = Entry { text, node, handles: &handles, symbols: &symbols, releases: &releases };
            let name = node.get("name").and_then(Node::text).unwrap_or_default();
            let possible: Vec<(usize, Vec<edit::Edit>)> = KINDS
                .iter()
                .enumerate()
                .map(|(index, kind)| (index, (kind.edits)(&entry)))
                .filter(|(_, edits)| !edits.is_empty())
                .collect();
            let Some((kind, edits)) = possible.iter().min_by_key(|(kind, _)| used[*kind]) else { continue };
            used[*kind] += 1;
            // Picks another place each time, so that a kind does not always change the first parameter.
            let edit = &edits[used[*kind] % edits.len()];
            let mut texts = base.clone();
            texts.0.insert((*path).clone(), edit.apply(text));
            mutants.push(Mutant { kind: *kind, name: format!("{interface}.{name}"), texts });
        }
    }
    mutants
}

/// Returns which mutants load. Uses all processors.
fn accepted(mutants: &[Mutant]) -> Vec<bool> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, mutant)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            mutants.get(index).map(|mutant| (index, mutant))
        } {
            done.push((index, load(&mutant.texts).is_ok()));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, bool)> = thread::scope(|scope| {
        let helpers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        helpers.into_iter().flat_map(|helper| helper.join().expect("loading does not panic")).collect()
    });
    done.sort_unstable();
    done.into_iter().map(|(_, accepted)| accepted).collect()
}

/// Prints the results of each kind.
fn report(mutants: &[Mutant], accepted: &[bool]) -> (Tally, Tally) {
    println!("{:<50} {:>8} {:>8}   held by", "slip", "refused", "accepted");
    for (index, kind) in KINDS.iter().enumerate() {
        let of_kind = mutants.iter().zip(accepted).filter(|(mutant, _)| mutant.kind == index);
        let (passed, refused): (Vec<_>, Vec<_>) = of_kind.partition(|(_, accepted)| **accepted);
        let held_by = if passed.is_empty() { "" } else { kind.held_by.unwrap_or("nothing yet") };
        println!("{:<50} {:>8} {:>8}   {held_by}", kind.name, refused.len(), passed.len());
        let names: Vec<&str> = passed.iter().map(|(mutant, _)| mutant.name.as_str()).collect();
        if std::env::var_os("NAMES").is_some() && !names.is_empty() {
            println!("    {}", names.join(", "));
        }
    }
    let alone = tally(mutants, accepted, |mutant| KINDS[mutant.kind].held_by != HEADERS);
    println!(
        "{} slips in what the spec alone knows, {} accepted: {:.1} %",
        alone.tried,
        alone.passed,
        alone.share()
    );
    let all = tally(mutants, accepted, |_| true);
    println!("{} slips, {} accepted: {:.1} %", all.tried, all.passed, all.share());
    (alone, all)
}

/// The number of mutations, and the number of those that were not detected.
struct Tally {
    tried: usize,
    passed: usize,
}

impl Tally {
    fn share(&self) -> f64 {
        100.0 * self.passed as f64 / self.tried.max(1) as f64
    }
}

fn tally(mutants: &[Mutant], accepted: &[bool], counts: impl Fn(&Mutant) -> bool) -> Tally {
    let counted = mutants.iter().zip(accepted).filter(|(mutant, _)| counts(mutant));
    let (passed, refused): (Vec<_>, Vec<_>) = counted.partition(|(_, accepted)| **accepted);
    Tally { tried: passed.len() + refused.len(), passed: passed.len() }
}

#[test]
fn slips_in_our_specs_are_refused() {
    let spec = Texts::of_folder(&root().join("spec"));
    let mut used = vec![0; KINDS.len()];
    let mut all = Vec::new();
    for subject in &SUBJECTS {
        all.extend(mutants(&spec, subject, &mut used));
    }
    let accepted = accepted(&all);
    let (alone, whole) = report(&all, &accepted);
    assert!(used.iter().all(|used| *used > 0), "a kind of slip never happens");
    assert!(alone.share() <= MOST_ACCEPTED_ALONE, "more than {MOST_ACCEPTED_ALONE} % are accepted");
    assert!(whole.share() <= MOST_ACCEPTED, "more than {MOST_ACCEPTED} % are accepted");
}

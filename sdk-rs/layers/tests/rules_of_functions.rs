//! The rules listed for a function are those that the layer reports for some call of it, and no others.
//!
//! Each call has valid arguments apart from one, in a process that has live, destroyed and foreign objects of each
//! kind, with and without pending work.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tenon::DevicePtr;
use tenon::device::*;
use tenon::reflect::{Call, Direction, Extent, Kind, Length, ParamInfo, Role, Space};
use tenon_layers::validate::{Checker, Options, Report, Rule, Validate, rules_of};
use tenon_testing::stub_device;

/// Two devices without `query_stream`, so that queued work counts as pending until a call waits for it.
#[derive(Default)]
struct TwoDevices;

stub_device! {
    #[tenon::device]
    impl TwoDevices {
        fn get_device_count(&self) -> Result<usize> {
            Ok(2)
        }
    }
    optional {
        fn xccl_get_unique_id_size(&self) -> Result<usize> {
            Ok(ROOT_ID.len())
        }
    }
}

/// The id of the group to which all communicators belong.
static ROOT_ID: [u8; 4] = *b"root";

static DEVICE: TwoDevices = TwoDevices;

/// The length of each allocation.
const SIZE: u64 = 64;

/// The rank of the second communicator, which is the fourth that is made, and that of the live one.
const SECOND_RANK: u64 = 4;
const LIVE_RANK: u64 = 5;

/// Objects of one device: handles by the name of their type, memory by its space.
type Objects = BTreeMap<&'static str, u64>;

struct World {
    own: Arc<Validate>,
    /// Keeps the objects of the other plugin alive.
    _other: Arc<Validate>,
    reports: Arc<Mutex<Vec<Report>>>,
    next_address: u64,
    next_rank: u64,
    destroyed: Objects,
    live: Objects,
    /// Other objects of the same kinds, on the same device.
    second: Objects,
    of_device_1: Objects,
    of_other_plugin: Objects,
}

fn kind_of(param: &ParamInfo) -> Option<&'static str> {
    match (param.kind, param.space) {
        (Kind::Handle { name, .. }, _) => Some(name),
        (Kind::Pointer, Some(Space::Device | Space::Any)) => Some("device memory"),
        (Kind::Pointer, Some(Space::Host)) => Some("host memory"),
        (Kind::Pointer, Some(Space::Unified)) => Some("unified memory"),
        _ => None,
    }
}

fn is_created(param: &ParamInfo) -> bool {
    param.role == Role::Creates
}

impl World {
    fn new(has_pending_work: bool) -> Self {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let collected = reports.clone();
        let sink = Arc::new(move |report: &Report| collected.lock().unwrap().push(report.clone()));
        let checker = Checker::new(Options { sink, ..Options::default() });
        let [own, other] = ["own", "other"].map(|name| checker.layer(name, &DEVICE));
        let mut world = World {
            own: own.clone(),
            _other: other.clone(),
            reports,
            next_address: 0x10_0000,
            next_rank: 0,
            destroyed: Objects::new(),
            live: Objects::new(),
            second: Objects::new(),
            of_device_1: Objects::new(),
            of_other_plugin: Objects::new(),
        };
        world.destroyed = world.create(&own, 0);
        world.call(&own, Function::Finalize, &[]);
        world.of_other_plugin = world.create(&other, 0);
        world.of_device_1 = world.create(&own, 1);
        world.second = world.create(&own, 0);
        world.live = world.create(&own, 0);
        if has_pending_work {
            world.queue_work();
        }
        world.reports.lock().unwrap().clear();
        world
    }

    /// Creates an object of each kind.
    fn create(&mut self, plugin: &Arc<Validate>, device: u64) -> Objects {
        let mut objects = Objects::new();
        // Some functions need an object that another one creates.
        for function in Function::ALL.into_iter().chain(Function::ALL) {
            let params = function.info().params;
            let created = params.iter().enumerate().filter(|(_, param)| is_created(param));
            let created: Vec<_> =
                created.filter_map(|(index, param)| Some((index, kind_of(param)?))).collect();
            if created.is_empty() || created.iter().any(|(_, kind)| objects.contains_key(kind)) {
                continue;
            }
            let words = self.arguments(function, &objects, device);
            if self.call(plugin, function, &words) {
                objects.extend(created.into_iter().map(|(index, kind)| (kind, words[index])));
            }
        }
        objects
    }

    /// Returns valid arguments.
    fn arguments(&mut self, function: Function, objects: &Objects, device: u64) -> Vec<u64> {
        let params = function.info().params;
        let is_size = |index: usize| {
            let by_param = |param: &ParamInfo| param.length == Some(Length::Bytes(Extent::Param(index)));
            params.iter().any(by_param)
        };
        // A copy takes half of an allocation, so that its source and destination can overlap within one.
        let is_whole = params.iter().any(|param| param.role != Role::Uses);
        let mut argument = |(index, param): (usize, &ParamInfo)| match param.kind {
            _ if is_created(param) => {
                self.next_address += 0x1000;
                self.next_address
            }
            Kind::Id("DeviceId") => device,
            Kind::Handle { .. } if param.direction == Direction::Out => 0,
            Kind::Enum { values, .. } => values[1].0.cast_unsigned(),
            Kind::Int { .. } if is_size(index) => {
                if is_whole {
                    SIZE
                } else {
                    SIZE / 2
                }
            }
            Kind::Int { .. } if function == Function::XcclCommInitRank && param.name == "rank" => {
                self.next_rank += 1;
                self.next_rank % 8
            }
            Kind::Int { .. } if matches!(param.name, "rank" | "root" | "dest_rank" | "src_rank") => {
                SECOND_RANK
            }
            Kind::Int { .. } => 8,
            Kind::Struct("CollectiveRootId") => ROOT_ID.as_ptr().addr() as u64,
            _ => kind_of(param).and_then(|kind| objects.get(kind).copied()).unwrap_or(1),
        };
        params.iter().enumerate().map(&mut argument).collect()
    }

    /// Makes a call that succeeds, unless the layer rejects it.
    fn call(&self, plugin: &Arc<Validate>, function: Function, words: &[u64]) -> bool {
        let call = Call { function: function.info(), index: function as usize, arguments: words };
        let next = WithFallbacks(&DEVICE);
        let Ok(note) = plugin.before(&call, &next) else { return false };
        plugin.after(&call, note, &Outcome { error: None, answer: None }, &next);
        true
    }

    /// Queues work on the second stream that uses all live memory, and waits for an event before its first record.
    fn queue_work(&mut self) {
        let (own, live, second) = (self.own.clone(), self.live.clone(), self.second.clone());
        for function in Function::ALL {
            let params = function.info().params;
            let Some(stream) = function.info().stream_ordered else { continue };
            if !params.iter().any(|param| param.held == Some(stream)) {
                continue;
            }
            for memory in ["device memory", "unified memory"] {
                let objects = Objects::from([
                    ("Stream", second["Stream"]),
                    ("device memory", live[memory]),
                    ("host memory", live["host memory"]),
                ]);
                let words = self.arguments(function, &objects, 0);
                self.call(&own, function, &words);
            }
        }
        let wait = Function::StreamWaitEvent;
        let words = self.arguments(wait, &live, 0);
        assert!(self.call(&own, wait, &words));
    }

    /// Makes the second member of the group call something else than `function`, or the other side of a message with
    /// another count.
    fn disagree(&mut self, function: Function) {
        let other = match function {
            Function::XcclAllReduce => Function::XcclBroadcast,
            Function::XcclSend => Function::XcclRecv,
            Function::XcclRecv => Function::XcclSend,
            _ => Function::XcclAllReduce,
        };
        let (own, second) = (self.own.clone(), self.second.clone());
        let mut words = self.arguments(other, &second, 0);
        for (word, param) in words.iter_mut().zip(other.info().params) {
            match param.name {
                "count" => *word = 2,
                "dest_rank" | "src_rank" => *word = LIVE_RANK,
                _ => {}
            }
        }
        assert!(self.call(&own, other, &words));
        self.reports.lock().unwrap().clear();
    }

    /// Returns invalid and unusual values of a parameter.
    fn values(&self, param: &ParamInfo, valid: u64) -> Vec<u64> {
        let Some(kind) = kind_of(param) else {
            return match param.kind {
                Kind::Pointer | Kind::Callback(_) => vec![0],
                // A plugin that accepts an id has read it.
                Kind::Struct("CollectiveRootId") => Vec::new(),
                _ => vec![7777, u64::MAX],
            };
        };
        if param.direction == Direction::Out && matches!(param.kind, Kind::Handle { .. }) {
            return vec![0];
        }
        if is_created(param) {
            return vec![self.live[kind]];
        }
        let mut values = vec![0, 5, u64::MAX - 8, valid + 8, valid + SIZE - 1];
        for objects in [&self.live, &self.second, &self.destroyed, &self.of_device_1, &self.of_other_plugin] {
            values.extend(objects.values().flat_map(|value| [*value, *value + 8]));
        }
        values
    }
}

/// Returns the rules that the layer reports for a function.
fn reported(function: Function) -> BTreeSet<Rule> {
    let params = function.info().params;
    let mut found = BTreeSet::new();
    for has_pending_work in [false, true] {
        let mut attempt = |change: Option<(usize, usize)>| {
            let mut world = World::new(has_pending_work);
            let live = world.live.clone();
            let mut words = world.arguments(function, &live, 0);
            if let Some((param, value)) = change {
                let values = world.values(&params[param], words[param]);
                let Some(value) = values.get(value) else { return false };
                words[param] = *value;
            }
            let own = world.own.clone();
            if has_pending_work && params.iter().any(|param| kind_of(param) == Some("CollectiveComm")) {
                world.disagree(function);
            }
            world.call(&own, function, &words);
            let reports = world.reports.lock().unwrap();
            found.extend(reports.iter().map(|report| report.rule));
            assert!(reports.iter().all(|report| report.function == function.info().name), "{reports:#?}");
            true
        };
        attempt(None);
        for param in 0..params.len() {
            (0..).find(|value| !attempt(Some((param, *value))));
        }
    }
    found
}

#[test]
fn rules_of_function_are_those_that_the_layer_reports() {
    let mut wrong = Vec::new();
    for function in Function::ALL {
        let (listed, found): (BTreeSet<Rule>, _) =
            (rules_of(function).into_iter().collect(), reported(function));
        let names = |rules: Vec<&Rule>| rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let (unreported, unlisted) = (listed.difference(&found), found.difference(&listed));
        let (unreported, unlisted) = (names(unreported.collect()), names(unlisted.collect()));
        if !(unreported.is_empty() && unlisted.is_empty()) {
            let name = function.info().name;
            wrong.push(format!("{name}: listed, never reported: {unreported}; not listed: {unlisted}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_belongs_to_a_function() {
    let listed: BTreeSet<Rule> = Function::ALL.into_iter().flat_map(rules_of).collect();
    let missing: Vec<_> = Rule::ALL.iter().filter(|rule| !listed.contains(rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

//! A bounded cache of plans.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::object::Context;
use crate::plan::Plan;
use crate::threads::{self, Threads};

/// The maximum number of plans in a cache. A network has one for each shape of its layers, three in training.
const CAPACITY: usize = 512;

/// Computations of a kind.
pub(crate) trait Planned {
    /// All that the code of a computation depends on.
    type Key: Copy + Eq + Hash;

    /// Makes a plan; `None` if the caller computes it faster.
    fn plan(context: &Context, key: &Self::Key) -> crate::api::Result<Option<Plan>>;
}

type Plans<K> = HashMap<(K, Threads), Option<Arc<Plan>>>;

/// The plans of the last computations.
pub(crate) struct Cache<P: Planned> {
    /// Code for a number of threads must not run with another.
    plans: Mutex<Plans<P::Key>>,
}

impl<P: Planned> Cache<P> {
    pub(crate) fn new() -> Self {
        Self { plans: Mutex::new(HashMap::new()) }
    }

    /// Returns the plan of a computation; `None` if the library does not compute it, or not fast.
    ///
    /// A full cache starts again: most programs never fill it.
    pub(crate) fn plan(&self, context: &Context, key: P::Key) -> Option<Arc<Plan>> {
        let key = (key, threads::now());
        let lock = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(&key) {
            return found.clone();
        }
        let plan = P::plan(context, &key.0).ok().flatten().map(Arc::new);
        let mut plans = lock();
        if plans.len() >= CAPACITY {
            plans.clear();
        }
        plans.insert(key, plan.clone());
        plan
    }
}

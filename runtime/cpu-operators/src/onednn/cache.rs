//! A bounded cache of plans.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use tenon::support::Mutex;

use crate::onednn::object::Context;
use crate::onednn::plan::Plan;
use crate::onednn::threads::{self, Threads};

/// The maximum number of plans in a cache. A network needs one for each shape of its layers, or three in
/// training.
const CAPACITY: usize = 512;

/// A kind of computation.
pub(crate) trait Planned {
    /// Everything that the code of a computation depends on.
    type Key: Copy + Eq + Hash;

    /// Creates a plan; `None` if the caller computes the result faster.
    fn plan(context: &Context, key: &Self::Key) -> crate::onednn::api::Result<Option<Plan>>;
}

type Plans<K> = HashMap<(K, Threads), Option<Arc<Plan>>>;

/// The plans of recent computations.
pub(crate) struct Cache<P: Planned> {
    /// Code that was created for one number of threads must not run with another.
    plans: Mutex<Plans<P::Key>>,
}

impl<P: Planned> Cache<P> {
    pub(crate) fn new() -> Self {
        Self { plans: Mutex::new(HashMap::new()) }
    }

    /// Returns the plan of a computation; `None` if the library does not support it, or is too slow.
    ///
    /// A full cache is cleared: most programs never fill it.
    pub(crate) fn plan(&self, context: &Context, key: P::Key) -> Option<Arc<Plan>> {
        let key = (key, threads::now());
        let lock = || self.plans.lock();
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

//! Access to the stream core for the model checker: without the thread pool, memory and handles.
//! The checker creates its own threads, which call [`Model::serve`].

use crate::executor::event::{EventState, Mark};
use crate::executor::progress::Progress;
use crate::executor::stream::StreamState;
use crate::executor::work::Work;
use crate::executor::work::join::Join;
use crate::executor::work::task::{Body, Task, TaskResult};
use crate::executor::{Load, Shared};
use std::sync::Arc;
use tenon::device::DeviceId;

#[derive(Clone)]
pub struct Model {
    shared: Arc<Shared>,
    load: Arc<Load>,
}

#[derive(Clone)]
pub struct ModelStream(Arc<StreamState>);

#[derive(Clone)]
pub struct ModelEvent(Arc<EventState>);

impl Default for Model {
    fn default() -> Self {
        let shared = Arc::new(Shared::new());
        shared.ready.open();
        shared.callbacks.open();
        Self { shared, load: Arc::new(Load::new()) }
    }
}

impl Model {
    pub fn stream(&self) -> ModelStream {
        ModelStream(StreamState::new(1, DeviceId(0), &self.shared, &self.load))
    }

    pub fn event(&self) -> ModelEvent {
        ModelEvent(EventState::new(1, DeviceId(0)))
    }

    pub fn serve(&self) {
        self.shared.ready.serve();
    }

    pub fn serve_callbacks(&self) {
        self.shared.callbacks.serve(&self.shared);
    }

    pub fn close(&self) {
        self.shared.ready.close();
    }

    pub fn close_callbacks(&self) {
        self.shared.callbacks.close();
    }

    pub fn is_idle(&self) -> bool {
        self.load.is_idle()
    }
}

impl ModelStream {
    pub fn kernel(&self, mut body: impl FnMut() + Send + 'static) {
        let body: Body = Box::new(move || {
            body();
            Ok(())
        });
        self.0.submit_internal(Work::Kernel { name: "kernel", task: Task::Owned(body) });
    }

    pub fn callback(&self, body: impl FnMut() -> TaskResult + Send + 'static) {
        self.0.submit_internal(Work::Callback { task: Task::Owned(Box::new(body)) });
    }

    pub fn record(&self, event: &ModelEvent) {
        assert!(self.0.record(&event.0).is_ok());
    }

    pub fn wait(&self, event: &ModelEvent) {
        if let Mark::Pending(record) = event.0.mark() {
            self.0.submit_internal(Work::Wait(record));
        }
    }

    /// Parks until each of the lanes has done its kernel.
    pub fn fork(&self, lanes: Vec<(ModelStream, Body)>) {
        self.0.submit_internal(Work::Fork(Box::new(move |parent| {
            let join = Join::new(parent, lanes.len());
            for (lane, body) in lanes {
                lane.0.submit_internal(Work::Kernel { name: "lane", task: Task::Owned(body) });
                lane.0.submit_internal(Work::Join(join.clone()));
            }
        })));
    }

    pub fn synchronize(&self) -> Option<String> {
        self.0.synchronize();
        self.0.take_failure().map(|error| error.to_string())
    }

    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Queues `body` behind the queued work. Returns false if there was none.
    pub fn leave_behind(&self, mut body: impl FnMut() + Send + 'static) -> bool {
        let mut left = false;
        self.0.leave_behind(|| {
            left = true;
            let body: Body = Box::new(move || {
                body();
                Ok(())
            });
            Work::Kernel { name: "left", task: Task::Owned(body) }
        });
        left
    }
}

impl ModelEvent {
    pub fn is_done(&self) -> bool {
        !matches!(self.0.mark(), Mark::Pending(_))
    }

    pub fn synchronize(&self) {
        if let Mark::Pending(record) = self.0.mark() {
            record.wait();
        }
    }
}

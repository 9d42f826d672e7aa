//! Every interleaving of the stream core, in models small enough to be searched.
//!
//! `RUSTFLAGS="--cfg loom" CARGO_PROFILE_DEV_OPT_LEVEL=2 cargo test -p tenon-cpu --test loom --target x86_64-unknown-linux-gnu`
#![cfg(loom)]

use loom::thread;
use std::sync::{Arc, Mutex};
use tenon_cpu::model::{Model, ModelStream};

/// Log of the work that ran, in order. Not a loom type: it observes, and takes no part in the model.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn writer(&self, value: u32) -> impl FnMut() + Send + 'static + use<> {
        let log = self.0.clone();
        move || log.lock().unwrap().push(value)
    }

    fn read(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }

    fn position(&self, value: u32) -> usize {
        self.read().iter().position(|&seen| seen == value).expect("it ran")
    }
}

/// Checks a model with a bound of preemptions.
///
/// Two preemptions find nearly all bugs; three take minutes for the larger models.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn with_workers(model: &Model, count: usize, body: impl FnOnce()) {
    let workers: Vec<_> = (0..count)
        .map(|_| {
            let model = model.clone();
            thread::spawn(move || model.serve())
        })
        .collect();
    body();
    model.close();
    for worker in workers {
        worker.join().unwrap();
    }
    assert!(model.is_idle(), "the load is counted down again");
}

#[test]
fn work_runs_once_in_order_and_is_done_after_synchronize() {
    check(3, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let stream = model.stream();
            stream.kernel(log.writer(1));
            stream.kernel(log.writer(2));
            stream.synchronize();
            assert_eq!(log.read(), [1, 2]);
            assert!(stream.is_done());
        });
    });
}

#[test]
fn a_stream_is_never_run_by_two_threads() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 2, || {
            let stream = model.stream();
            stream.kernel(log.writer(1));
            stream.kernel(log.writer(2));
            stream.synchronize();
            stream.kernel(log.writer(3));
            stream.synchronize();
            assert_eq!(log.read(), [1, 2, 3]);
        });
    });
}

#[test]
fn two_threads_may_submit_and_synchronize() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let stream = model.stream();
            let other = {
                let (stream, log) = (stream.clone(), log.clone());
                thread::spawn(move || {
                    stream.kernel(log.writer(1));
                    stream.synchronize();
                    assert!(log.read().contains(&1));
                })
            };
            stream.kernel(log.writer(2));
            stream.synchronize();
            assert!(log.read().contains(&2));
            other.join().unwrap();
            assert_eq!(log.read().len(), 2);
        });
    });
}

#[test]
fn a_wait_orders_two_streams() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 2, || {
            let (a, b, event) = (model.stream(), model.stream(), model.event());
            a.kernel(log.writer(1));
            a.record(&event);
            b.wait(&event);
            b.kernel(log.writer(2));
            b.synchronize();
            assert_eq!(log.read(), [1, 2]);
            assert!(event.is_done());
            a.synchronize();
        });
    });
}

#[test]
fn a_wait_in_the_middle_of_a_queue_parks_and_goes_on() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let (a, b, event) = (model.stream(), model.stream(), model.event());
            b.kernel(log.writer(1));
            a.kernel(log.writer(2));
            a.record(&event);
            b.wait(&event);
            b.kernel(log.writer(3));
            b.synchronize();
            assert!(log.position(2) < log.position(3) && log.position(1) < log.position(3));
            a.synchronize();
        });
    });
}

#[test]
fn waiting_for_an_event_of_a_busy_stream_ends() {
    check(3, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let (stream, event) = (model.stream(), model.event());
            stream.kernel(log.writer(1));
            stream.record(&event);
            event.synchronize();
            assert!(event.is_done());
            assert_eq!(log.read(), [1]);
            stream.synchronize();
        });
    });
}

#[test]
fn a_second_record_leaves_those_who_wait_for_the_first_alone() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let (a, b, event) = (model.stream(), model.stream(), model.event());
            a.kernel(log.writer(1));
            a.record(&event);
            b.wait(&event);
            b.kernel(log.writer(2));
            // Were the wait for this second record, it would wait for itself.
            b.record(&event);
            b.synchronize();
            assert_eq!(log.read(), [1, 2]);
            a.synchronize();
        });
    });
}

#[test]
fn streams_that_wait_for_each_other_in_turn_do_not_deadlock() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let (a, b) = (model.stream(), model.stream());
            let (first, second) = (model.event(), model.event());
            a.kernel(log.writer(1));
            a.record(&first);
            b.wait(&first);
            b.kernel(log.writer(2));
            b.record(&second);
            a.wait(&second);
            a.kernel(log.writer(3));
            a.synchronize();
            assert_eq!(log.read(), [1, 2, 3]);
            b.synchronize();
        });
    });
}

fn with_callback_thread(model: &Model, body: impl FnOnce()) {
    let caller = {
        let model = model.clone();
        thread::spawn(move || model.serve_callbacks())
    };
    with_workers(model, 1, body);
    model.close_callbacks();
    caller.join().unwrap();
}

#[test]
fn a_callback_runs_in_stream_order() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_callback_thread(&model, || {
            let stream = model.stream();
            stream.kernel(log.writer(1));
            let mut write = log.writer(2);
            stream.callback(move || {
                write();
                Err("refused".to_owned())
            });
            stream.kernel(log.writer(3));
            let failure = stream.synchronize();
            assert_eq!(log.read(), [1, 2, 3]);
            assert!(failure.is_some_and(|text| text.contains("refused")));
        });
    });
}

#[test]
fn a_callback_on_an_idle_stream_needs_no_worker() {
    check(3, || {
        let (model, log) = (Model::default(), Log::default());
        let caller = {
            let model = model.clone();
            thread::spawn(move || model.serve_callbacks())
        };
        let stream = model.stream();
        let mut write = log.writer(1);
        stream.callback(move || {
            write();
            Ok(())
        });
        stream.synchronize();
        assert_eq!(log.read(), [1]);
        model.close_callbacks();
        caller.join().unwrap();
        assert!(model.is_idle());
    });
}

#[test]
fn what_is_left_behind_runs_after_the_work_or_not_at_all() {
    check(3, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let stream = model.stream();
            stream.kernel(log.writer(1));
            let left = stream.leave_behind(log.writer(2));
            stream.synchronize();
            assert_eq!(log.read(), if left { vec![1, 2] } else { vec![1] });
        });
    });
}

#[test]
fn branches_join_before_the_stream_goes_on() {
    check(2, || {
        let (model, log) = (Model::default(), Log::default());
        with_workers(&model, 1, || {
            let parent = model.stream();
            let lane = |value| -> (ModelStream, Box<dyn FnMut() -> Result<(), String> + Send>) {
                let mut write = log.writer(value);
                (
                    model.stream(),
                    Box::new(move || {
                        write();
                        Ok(())
                    }),
                )
            };
            parent.fork(vec![lane(1), lane(2)]);
            parent.kernel(log.writer(3));
            parent.synchronize();
            assert_eq!(log.position(3), 2);
        });
    });
}

#[test]
fn work_that_races_with_the_shutdown_is_done_all_the_same() {
    check(3, || {
        let (model, log) = (Model::default(), Log::default());
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.serve())
        };
        let closer = {
            let model = model.clone();
            thread::spawn(move || model.close())
        };
        let stream = model.stream();
        stream.kernel(log.writer(1));
        closer.join().unwrap();
        worker.join().unwrap();
        assert_eq!(log.read(), [1]);
        assert!(stream.is_done() && model.is_idle());
    });
}

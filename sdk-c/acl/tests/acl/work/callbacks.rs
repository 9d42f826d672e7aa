//! Tests of callbacks, which run on threads of the program.

use std::sync::mpsc::channel;

use tenon_acl::api::*;

use crate::test_runtime::{Thread, callback, host_function, ready_runtime, refused, runtime};

const BLOCK: CallbackBlockType = CallbackBlockType::BLOCK;
const NO_BLOCK: CallbackBlockType = CallbackBlockType::NO_BLOCK;

#[test]
fn callback_needs_a_subscribed_thread() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    for kind in [BLOCK, NO_BLOCK] {
        refused(AclError::RT_STREAM_NO_CB_REG, runtime.rt_launch_callback(callback(|| {}), kind, stream));
    }
    runtime.rt_subscribe_report(1, stream).unwrap();
    refused(
        AclError::INVALID_PARAM,
        runtime.rt_launch_callback(callback(|| {}), CallbackBlockType(2), stream),
    );
    runtime.rt_un_subscribe_report(1, stream).unwrap();
    refused(AclError::RT_STREAM_NO_CB_REG, runtime.rt_launch_callback(callback(|| {}), NO_BLOCK, stream));
    runtime.reset_and_end();
}

#[test]
fn callback_runs_in_the_subscribed_thread() {
    let runtime = ready_runtime();
    let (thread, acl, ran) = (Thread::start(), runtime.shared(), channel());
    for stream in [Stream::NULL, runtime.rt_create_stream().unwrap()] {
        runtime.rt_subscribe_report(thread.number, stream).unwrap();
        for kind in [BLOCK, NO_BLOCK] {
            let sender = ran.0.clone();
            let function = callback(move || sender.send(std::thread::current().id()).unwrap());
            runtime.rt_launch_callback(function, kind, stream).unwrap();
            let acl = acl.clone();
            let served = thread.run(move || {
                acl.rt_process_report(60_000).unwrap();
                std::thread::current().id()
            });
            assert_eq!(ran.1.recv().unwrap(), served);
            runtime.rt_synchronize_stream(stream).unwrap();
        }
    }
    thread.end();
    runtime.reset_and_end();
}

#[test]
fn blocking_callback_holds_its_stream() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let thread = Thread::start();
    runtime.rt_subscribe_report(thread.number, stream).unwrap();
    runtime.rt_launch_callback(callback(|| {}), NO_BLOCK, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    let acl = runtime.shared();
    thread.run(move || acl.rt_process_report(60_000)).unwrap();
    runtime.rt_launch_callback(callback(|| {}), BLOCK, stream).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 10));
    let acl = runtime.shared();
    thread.run(move || acl.rt_process_report(60_000)).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    let acl = runtime.shared();
    refused(AclError::RT_REPORT_TIMEOUT, thread.run(move || acl.rt_process_report(5)));
    thread.end();
    runtime.reset_and_end();
}

#[test]
fn unsubscribed_thread_gets_an_error_at_once() {
    let runtime = runtime();
    refused(AclError::INVALID_PARAM, runtime.rt_process_report(0));
    refused(AclError::INVALID_PARAM, runtime.rt_process_report(-2));
    refused(AclError::RT_THREAD_SUBSCRIBE, runtime.rt_process_report(-1));
    refused(AclError::RT_THREAD_SUBSCRIBE, runtime.rt_process_report(60_000));
    runtime.end();
}

#[test]
fn subscriptions_are_checked() {
    let runtime = runtime();
    runtime.rt_set_device(1).unwrap();
    let far = runtime.rt_create_stream().unwrap();
    runtime.rt_subscribe_report(7, far).unwrap();
    runtime.rt_set_device(0).unwrap();
    let near = runtime.rt_create_stream().unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_subscribe_report(7, near));
    refused(AclError::RT_STREAM_SUBSCRIBE, runtime.rt_un_subscribe_report(7, near));
    runtime.rt_subscribe_report(8, near).unwrap();
    refused(AclError::REPEAT_SUBSCRIBE, runtime.rt_subscribe_report(8, near));
    refused(AclError::REPEAT_SUBSCRIBE, runtime.rt_subscribe_report(9, near));
    refused(AclError::RT_THREAD_SUBSCRIBE, runtime.rt_un_subscribe_report(9, near));
    // One thread, several streams of one device.
    let second = runtime.rt_create_stream().unwrap();
    runtime.rt_subscribe_report(8, second).unwrap();
    runtime.rt_un_subscribe_report(8, second).unwrap();
    runtime.rt_un_subscribe_report(8, near).unwrap();
    refused(AclError::RT_STREAM_SUBSCRIBE, runtime.rt_un_subscribe_report(8, near));
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_reset_device(1).unwrap();
    runtime.end();
}

#[test]
fn limit_of_subscribed_threads() {
    let runtime = ready_runtime();
    let streams: Vec<Stream> = (0..1025).map(|_| runtime.rt_create_stream().unwrap()).collect();
    for (thread, stream) in streams[..1024].iter().enumerate() {
        runtime.rt_subscribe_report(thread as u64 + 1, *stream).unwrap();
    }
    refused(AclError::RT_RESOURCE_ALLOC_FAIL, runtime.rt_subscribe_report(9999, streams[1024]));
    runtime.rt_subscribe_report(5, streams[1024]).unwrap();
    runtime.reset_and_end();
}

#[test]
fn unsubscribe_drops_callbacks_and_wakes_the_thread() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let thread = Thread::start();
    runtime.rt_subscribe_report(thread.number, stream).unwrap();
    let never = callback(|| panic!("no thread processes the report"));
    runtime.rt_launch_callback(never, BLOCK, stream).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 5));
    runtime.rt_un_subscribe_report(thread.number, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    runtime.rt_subscribe_report(thread.number, stream).unwrap();
    let (acl, (sender, receiver)) = (runtime.shared(), channel());
    let function = callback(move || sender.send(()).unwrap());
    runtime.rt_launch_callback(function, NO_BLOCK, stream).unwrap();
    let waiting = thread.begin(move || {
        acl.rt_process_report(-1).unwrap();
        acl.rt_process_report(-1)
    });
    receiver.recv().unwrap();
    runtime.rt_un_subscribe_report(thread.number, stream).unwrap();
    refused(AclError::RT_THREAD_SUBSCRIBE, waiting.recv().unwrap());
    thread.end();
    runtime.reset_and_end();
}

#[test]
fn ended_thread_is_unsubscribed() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let thread = Thread::start();
    runtime.rt_subscribe_report(thread.number, stream).unwrap();
    runtime.rt_launch_callback(callback(|| {}), NO_BLOCK, stream).unwrap();
    let acl = runtime.shared();
    thread.run(move || acl.rt_process_report(-1)).unwrap();
    let never = callback(|| panic!("the thread has ended"));
    runtime.rt_launch_callback(never, BLOCK, stream).unwrap();
    let number = thread.number;
    thread.end();
    runtime.rt_synchronize_stream(stream).unwrap();
    refused(AclError::RT_STREAM_NO_CB_REG, runtime.rt_launch_callback(callback(|| {}), BLOCK, stream));
    // Programs stop the thread before they unsubscribe it, or after.
    runtime.rt_un_subscribe_report(number, stream).unwrap();
    refused(AclError::RT_STREAM_SUBSCRIBE, runtime.rt_un_subscribe_report(number, stream));
    runtime.reset_and_end();
}

#[test]
fn callback_may_call_the_interface() {
    let runtime = ready_runtime();
    let context = runtime.rt_get_current_context().unwrap();
    let [one, two] = [(); 2].map(|()| runtime.rt_create_stream().unwrap());
    let threads = [(); 2].map(|()| Thread::start());
    runtime.rt_subscribe_report(threads[0].number, one).unwrap();
    runtime.rt_subscribe_report(threads[1].number, two).unwrap();
    let event = runtime.rt_create_event().unwrap();
    let acl = runtime.shared();
    // The first stream is blocked until the second one has passed a callback on another thread.
    let waits = callback(move || {
        acl.rt_set_current_context(context).unwrap();
        acl.rt_synchronize_event(event).unwrap();
        acl.rt_un_subscribe_report(0, one).unwrap_err();
    });
    runtime.rt_launch_callback(waits, BLOCK, one).unwrap();
    let serve = |thread: &Thread| {
        let acl = runtime.shared();
        thread.begin(move || acl.rt_process_report(-1))
    };
    let first = serve(&threads[0]);
    runtime.rt_launch_callback(callback(|| {}), BLOCK, two).unwrap();
    runtime.rt_record_event(event, two).unwrap();
    serve(&threads[1]).recv().unwrap().unwrap();
    first.recv().unwrap().unwrap();
    runtime.rt_synchronize_stream(one).unwrap();
    threads.into_iter().for_each(Thread::end);
    runtime.reset_and_end();
}

#[test]
fn host_functions_run_in_the_subscribed_thread() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let thread = Thread::start();
    let (sender, receiver) = channel();
    let ran = sender.clone();
    let function = host_function(move || ran.send(std::thread::current().id()).unwrap());
    runtime.rt_launch_host_func(stream, function).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    let library = receiver.recv().unwrap();
    runtime.rt_subscribe_host_func(thread.number, stream).unwrap();
    refused(AclError::REPEAT_SUBSCRIBE, runtime.rt_subscribe_host_func(thread.number, stream));
    // A subscription to host functions does not subscribe to callbacks.
    refused(AclError::RT_STREAM_NO_CB_REG, runtime.rt_launch_callback(callback(|| {}), BLOCK, stream));
    let function = host_function(move || sender.send(std::thread::current().id()).unwrap());
    runtime.rt_launch_host_func(stream, function).unwrap();
    let acl = runtime.shared();
    let served = thread.run(move || {
        acl.rt_process_host_func(-1).unwrap();
        std::thread::current().id()
    });
    assert_eq!(receiver.recv().unwrap(), served);
    assert_ne!(served, library);
    runtime.rt_un_subscribe_host_func(thread.number, stream).unwrap();
    runtime.rt_launch_host_func(stream, host_function(|| {})).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    thread.end();
    runtime.reset_and_end();
}

#[test]
fn callbacks_of_many_streams_all_run_once_and_in_order() {
    let runtime = ready_runtime();
    let streams: Vec<Stream> = (0..8).map(|_| runtime.rt_create_stream().unwrap()).collect();
    let thread = Thread::start();
    for stream in &streams {
        runtime.rt_subscribe_report(thread.number, *stream).unwrap();
    }
    let ran = channel();
    for round in 0..100 {
        for (index, stream) in streams.iter().enumerate() {
            let sender = ran.0.clone();
            let function = callback(move || sender.send((index, round)).unwrap());
            let kind = if (round + index) % 3 == 0 { BLOCK } else { NO_BLOCK };
            runtime.rt_launch_callback(function, kind, *stream).unwrap();
        }
    }
    let acl = runtime.shared();
    let serving = thread.begin(move || while acl.rt_process_report(-1).is_ok() {});
    let mut next = [0; 8];
    for _ in 0..800 {
        let (index, round) = ran.1.recv().unwrap();
        assert_eq!(next[index], round);
        next[index] += 1;
    }
    runtime.rt_synchronize_device().unwrap();
    for stream in &streams {
        runtime.rt_un_subscribe_report(thread.number, *stream).unwrap();
    }
    serving.recv().unwrap();
    thread.end();
    runtime.reset_and_end();
}

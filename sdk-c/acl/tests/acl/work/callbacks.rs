//! Tests of callbacks, which run on threads of the program.

use std::sync::mpsc::channel;

use tenon_acl::api::*;

use crate::world::{Thread, callback, host_function, ready_world, refused, world};

const BLOCK: CallbackBlockType = CallbackBlockType::BLOCK;
const NO_BLOCK: CallbackBlockType = CallbackBlockType::NO_BLOCK;

#[test]
fn callback_needs_a_subscribed_thread() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    for kind in [BLOCK, NO_BLOCK] {
        refused(AclError::RT_STREAM_NO_CB_REG, world.rt_launch_callback(callback(|| {}), kind, stream));
    }
    world.rt_subscribe_report(1, stream).unwrap();
    refused(AclError::INVALID_PARAM, world.rt_launch_callback(callback(|| {}), CallbackBlockType(2), stream));
    world.rt_un_subscribe_report(1, stream).unwrap();
    refused(AclError::RT_STREAM_NO_CB_REG, world.rt_launch_callback(callback(|| {}), NO_BLOCK, stream));
    world.reset_and_end();
}

#[test]
fn callback_runs_in_the_subscribed_thread() {
    let world = ready_world();
    let (thread, acl, ran) = (Thread::start(), world.shared(), channel());
    for stream in [Stream::NULL, world.rt_create_stream().unwrap()] {
        world.rt_subscribe_report(thread.number, stream).unwrap();
        for kind in [BLOCK, NO_BLOCK] {
            let sender = ran.0.clone();
            let function = callback(move || sender.send(std::thread::current().id()).unwrap());
            world.rt_launch_callback(function, kind, stream).unwrap();
            let acl = acl.clone();
            let served = thread.run(move || {
                acl.rt_process_report(60_000).unwrap();
                std::thread::current().id()
            });
            assert_eq!(ran.1.recv().unwrap(), served);
            world.rt_synchronize_stream(stream).unwrap();
        }
    }
    thread.end();
    world.reset_and_end();
}

#[test]
fn blocking_callback_holds_its_stream() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let thread = Thread::start();
    world.rt_subscribe_report(thread.number, stream).unwrap();
    world.rt_launch_callback(callback(|| {}), NO_BLOCK, stream).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    let acl = world.shared();
    thread.run(move || acl.rt_process_report(60_000)).unwrap();
    world.rt_launch_callback(callback(|| {}), BLOCK, stream).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, world.rt_synchronize_stream_with_timeout(stream, 10));
    let acl = world.shared();
    thread.run(move || acl.rt_process_report(60_000)).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    let acl = world.shared();
    refused(AclError::RT_REPORT_TIMEOUT, thread.run(move || acl.rt_process_report(5)));
    thread.end();
    world.reset_and_end();
}

#[test]
fn unsubscribed_thread_gets_an_error_at_once() {
    let world = world();
    refused(AclError::INVALID_PARAM, world.rt_process_report(0));
    refused(AclError::INVALID_PARAM, world.rt_process_report(-2));
    refused(AclError::RT_THREAD_SUBSCRIBE, world.rt_process_report(-1));
    refused(AclError::RT_THREAD_SUBSCRIBE, world.rt_process_report(60_000));
    world.end();
}

#[test]
fn subscriptions_are_checked() {
    let world = world();
    world.rt_set_device(1).unwrap();
    let far = world.rt_create_stream().unwrap();
    world.rt_subscribe_report(7, far).unwrap();
    world.rt_set_device(0).unwrap();
    let near = world.rt_create_stream().unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_subscribe_report(7, near));
    refused(AclError::RT_STREAM_SUBSCRIBE, world.rt_un_subscribe_report(7, near));
    world.rt_subscribe_report(8, near).unwrap();
    refused(AclError::REPEAT_SUBSCRIBE, world.rt_subscribe_report(8, near));
    refused(AclError::REPEAT_SUBSCRIBE, world.rt_subscribe_report(9, near));
    refused(AclError::RT_THREAD_SUBSCRIBE, world.rt_un_subscribe_report(9, near));
    // One thread, several streams of one device.
    let second = world.rt_create_stream().unwrap();
    world.rt_subscribe_report(8, second).unwrap();
    world.rt_un_subscribe_report(8, second).unwrap();
    world.rt_un_subscribe_report(8, near).unwrap();
    refused(AclError::RT_STREAM_SUBSCRIBE, world.rt_un_subscribe_report(8, near));
    world.rt_reset_device(0).unwrap();
    world.rt_reset_device(1).unwrap();
    world.end();
}

#[test]
fn limit_of_subscribed_threads() {
    let world = ready_world();
    let streams: Vec<Stream> = (0..1025).map(|_| world.rt_create_stream().unwrap()).collect();
    for (thread, stream) in streams[..1024].iter().enumerate() {
        world.rt_subscribe_report(thread as u64 + 1, *stream).unwrap();
    }
    refused(AclError::RT_RESOURCE_ALLOC_FAIL, world.rt_subscribe_report(9999, streams[1024]));
    world.rt_subscribe_report(5, streams[1024]).unwrap();
    world.reset_and_end();
}

#[test]
fn unsubscribe_drops_callbacks_and_wakes_the_thread() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let thread = Thread::start();
    world.rt_subscribe_report(thread.number, stream).unwrap();
    let never = callback(|| panic!("no thread processes the report"));
    world.rt_launch_callback(never, BLOCK, stream).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, world.rt_synchronize_stream_with_timeout(stream, 5));
    world.rt_un_subscribe_report(thread.number, stream).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    world.rt_subscribe_report(thread.number, stream).unwrap();
    let (acl, (sender, receiver)) = (world.shared(), channel());
    let function = callback(move || sender.send(()).unwrap());
    world.rt_launch_callback(function, NO_BLOCK, stream).unwrap();
    let waiting = thread.begin(move || {
        acl.rt_process_report(-1).unwrap();
        acl.rt_process_report(-1)
    });
    receiver.recv().unwrap();
    world.rt_un_subscribe_report(thread.number, stream).unwrap();
    refused(AclError::RT_THREAD_SUBSCRIBE, waiting.recv().unwrap());
    thread.end();
    world.reset_and_end();
}

#[test]
fn ended_thread_is_unsubscribed() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let thread = Thread::start();
    world.rt_subscribe_report(thread.number, stream).unwrap();
    world.rt_launch_callback(callback(|| {}), NO_BLOCK, stream).unwrap();
    let acl = world.shared();
    thread.run(move || acl.rt_process_report(-1)).unwrap();
    let never = callback(|| panic!("the thread has ended"));
    world.rt_launch_callback(never, BLOCK, stream).unwrap();
    let number = thread.number;
    thread.end();
    world.rt_synchronize_stream(stream).unwrap();
    refused(AclError::RT_STREAM_NO_CB_REG, world.rt_launch_callback(callback(|| {}), BLOCK, stream));
    // Programs stop the thread before they unsubscribe it, or after.
    world.rt_un_subscribe_report(number, stream).unwrap();
    refused(AclError::RT_STREAM_SUBSCRIBE, world.rt_un_subscribe_report(number, stream));
    world.reset_and_end();
}

#[test]
fn callback_may_call_the_interface() {
    let world = ready_world();
    let context = world.rt_get_current_context().unwrap();
    let [one, two] = [(); 2].map(|()| world.rt_create_stream().unwrap());
    let threads = [(); 2].map(|()| Thread::start());
    world.rt_subscribe_report(threads[0].number, one).unwrap();
    world.rt_subscribe_report(threads[1].number, two).unwrap();
    let event = world.rt_create_event().unwrap();
    let acl = world.shared();
    // The first stream is blocked until the second one has passed a callback on another thread.
    let waits = callback(move || {
        acl.rt_set_current_context(context).unwrap();
        acl.rt_synchronize_event(event).unwrap();
        acl.rt_un_subscribe_report(0, one).unwrap_err();
    });
    world.rt_launch_callback(waits, BLOCK, one).unwrap();
    let serve = |thread: &Thread| {
        let acl = world.shared();
        thread.begin(move || acl.rt_process_report(-1))
    };
    let first = serve(&threads[0]);
    world.rt_launch_callback(callback(|| {}), BLOCK, two).unwrap();
    world.rt_record_event(event, two).unwrap();
    serve(&threads[1]).recv().unwrap().unwrap();
    first.recv().unwrap().unwrap();
    world.rt_synchronize_stream(one).unwrap();
    threads.into_iter().for_each(Thread::end);
    world.reset_and_end();
}

#[test]
fn host_functions_run_in_the_subscribed_thread() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let thread = Thread::start();
    let (sender, receiver) = channel();
    let ran = sender.clone();
    let function = host_function(move || ran.send(std::thread::current().id()).unwrap());
    world.rt_launch_host_func(stream, function).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    let library = receiver.recv().unwrap();
    world.rt_subscribe_host_func(thread.number, stream).unwrap();
    refused(AclError::REPEAT_SUBSCRIBE, world.rt_subscribe_host_func(thread.number, stream));
    // A subscription to host functions does not subscribe to callbacks.
    refused(AclError::RT_STREAM_NO_CB_REG, world.rt_launch_callback(callback(|| {}), BLOCK, stream));
    let function = host_function(move || sender.send(std::thread::current().id()).unwrap());
    world.rt_launch_host_func(stream, function).unwrap();
    let acl = world.shared();
    let served = thread.run(move || {
        acl.rt_process_host_func(-1).unwrap();
        std::thread::current().id()
    });
    assert_eq!(receiver.recv().unwrap(), served);
    assert_ne!(served, library);
    world.rt_un_subscribe_host_func(thread.number, stream).unwrap();
    world.rt_launch_host_func(stream, host_function(|| {})).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    thread.end();
    world.reset_and_end();
}

#[test]
fn callbacks_of_many_streams_all_run_once_and_in_order() {
    let world = ready_world();
    let streams: Vec<Stream> = (0..8).map(|_| world.rt_create_stream().unwrap()).collect();
    let thread = Thread::start();
    for stream in &streams {
        world.rt_subscribe_report(thread.number, *stream).unwrap();
    }
    let ran = channel();
    for round in 0..100 {
        for (index, stream) in streams.iter().enumerate() {
            let sender = ran.0.clone();
            let function = callback(move || sender.send((index, round)).unwrap());
            let kind = if (round + index) % 3 == 0 { BLOCK } else { NO_BLOCK };
            world.rt_launch_callback(function, kind, *stream).unwrap();
        }
    }
    let acl = world.shared();
    let serving = thread.begin(move || while acl.rt_process_report(-1).is_ok() {});
    let mut next = [0; 8];
    for _ in 0..800 {
        let (index, round) = ran.1.recv().unwrap();
        assert_eq!(next[index], round);
        next[index] += 1;
    }
    world.rt_synchronize_device().unwrap();
    for stream in &streams {
        world.rt_un_subscribe_report(thread.number, *stream).unwrap();
    }
    serving.recv().unwrap();
    thread.end();
    world.reset_and_end();
}

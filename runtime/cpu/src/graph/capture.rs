//! A capture in progress: the nodes so far, and the position of each of its streams.

use super::{CaptureInfo, CapturedGraph, Node, Op};
use crate::error::{Error, Result};
use crate::executor::event::{EventState, Mark};
use crate::executor::stream::StreamState;
use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use tenon::device::{CaptureMode, CaptureStatus, DeviceId, Event};

/// A capture.
pub(crate) struct Capture {
    id: u64,
    mode: CaptureMode,
    thread: ThreadId,
    device: DeviceId,
    origin: usize,
    session: Mutex<Session>,
}

struct Session {
    nodes: Vec<Node>,
    members: Vec<Member>,
    /// The first error.
    fault: Option<&'static str>,
    over: bool,
}

/// A stream of the capture, and the nodes that its next node depends on.
struct Member {
    stream: Arc<StreamState>,
    frontier: Vec<usize>,
}

/// The state of an event whose last record was captured.
#[derive(Clone)]
pub(crate) struct CapturedMark {
    capture: Arc<Capture>,
    node: usize,
}

impl Capture {
    /// Begins to capture the stream.
    pub(crate) fn begin(stream: &Arc<StreamState>, mode: CaptureMode) -> Result<()> {
        check_mode(mode)?;
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let member = Member { stream: stream.clone(), frontier: Vec::new() };
        let capture = Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            mode,
            thread: std::thread::current().id(),
            device: stream.device,
            origin: stream.handle,
            session: Mutex::new(Session {
                nodes: Vec::new(),
                members: vec![member],
                fault: None,
                over: false,
            }),
        });
        if stream.join_capture(&capture) {
            Ok(())
        } else {
            Err(Error::AlreadyCapturing { stream: stream.handle })
        }
    }

    /// Ends the capture that began on the stream.
    pub(crate) fn end(stream: &Arc<StreamState>) -> Result<CapturedGraph> {
        let capture = stream.capture().ok_or(Error::NotCapturing { stream: stream.handle })?;
        if capture.origin != stream.handle {
            return Err(Error::CaptureWrongStream { stream: stream.handle, origin: capture.origin });
        }
        if capture.mode != CaptureMode::RELAXED && capture.thread != std::thread::current().id() {
            return Err(Error::CaptureWrongThread { stream: stream.handle });
        }
        let session = capture.dissolve();
        if let Some(reason) = session.fault {
            return Err(Error::CaptureInvalidated { reason });
        }
        if !session.is_joined(capture.origin) {
            return Err(Error::CaptureUnjoined);
        }
        Ok(CapturedGraph { device: capture.device, nodes: session.nodes })
    }

    /// Ends the capture for all of its streams. Returns its nodes.
    fn dissolve(self: &Arc<Self>) -> Session {
        let ended = Session { nodes: Vec::new(), members: Vec::new(), fault: None, over: true };
        let session = std::mem::replace(&mut *self.session.lock(), ended);
        for member in &session.members {
            member.stream.leave_capture(self);
        }
        session
    }

    /// Removes a stream that is about to be destroyed. The capture ends with its first stream.
    pub(crate) fn lose(self: &Arc<Self>, stream: &StreamState) {
        if stream.handle == self.origin {
            self.dissolve();
        } else {
            self.invalidate("one of its streams was destroyed");
            stream.leave_capture(self);
        }
    }

    /// Adds a node behind all nodes of the stream.
    pub(crate) fn add(&self, stream: &StreamState, op: Op) -> Result<()> {
        let mut session = self.active()?;
        session.append(stream, op, None)?;
        Ok(())
    }

    /// Adds all nodes of a launched graph behind all nodes of the stream.
    pub(crate) fn add_graph(&self, stream: &StreamState, nodes: &[Node]) -> Result<()> {
        let mut session = self.active()?;
        session.append_graph(stream, nodes)
    }

    /// Records the event as a point of the capture.
    pub(crate) fn record(self: &Arc<Self>, stream: &StreamState, event: &EventState) -> Result<()> {
        let mut session = self.active()?;
        let node = session.append(stream, Op::Record(Event::from_addr(event.handle)), None)?;
        event.set(Mark::Captured(CapturedMark { capture: self.clone(), node }));
        Ok(())
    }

    /// Makes the stream wait for a point of a capture. If it is not part of the capture, it joins it.
    pub(crate) fn wait(stream: &Arc<StreamState>, event: &EventState, mark: &CapturedMark) -> Result<()> {
        let capture = &mark.capture;
        match stream.capture() {
            None => {
                let mut session = capture.active_for(event)?;
                if !stream.join_capture(capture) {
                    return Err(Error::AlreadyCapturing { stream: stream.handle });
                }
                session.members.push(Member { stream: stream.clone(), frontier: Vec::new() });
            }
            Some(own) if Arc::ptr_eq(&own, capture) => {}
            Some(own) => {
                own.invalidate("it would have merged with another capture");
                capture.invalidate("it would have merged with another capture");
                return Err(Error::CaptureMerge { event: event.handle });
            }
        }
        let mut session = capture.active_for(event)?;
        session.append(stream, Op::Wait(Event::from_addr(event.handle)), Some(mark.node))?;
        Ok(())
    }

    /// Invalidates the capture, because the stream would wait for work that is not captured. Returns the error.
    pub(crate) fn isolate(&self, event: &EventState) -> Error {
        self.invalidate("it would have depended on work outside");
        Error::CaptureIsolation { event: event.handle }
    }

    /// Invalidates the capture, because a call of the stream cannot be captured. Returns the error.
    pub(crate) fn refuse(&self, call: &'static str) -> Error {
        self.invalidate("a call that cannot be captured was made");
        Error::CaptureUnsupported { call }
    }

    /// Returns true if this thread may not synchronise the device during the capture.
    pub(crate) fn forbids_waiting(&self, own: CaptureMode) -> bool {
        own != CaptureMode::RELAXED
            && match self.mode {
                CaptureMode::GLOBAL => {
                    own == CaptureMode::GLOBAL || self.thread == std::thread::current().id()
                }
                CaptureMode::THREAD_LOCAL => self.thread == std::thread::current().id(),
                _ => false,
            }
    }

    pub(crate) fn info(&self, stream: &StreamState) -> CaptureInfo {
        let session = self.session.lock();
        let frontier = session
            .members
            .iter()
            .find(|member| std::ptr::eq(&*member.stream, stream))
            .map_or(&[][..], |member| &member.frontier);
        CaptureInfo {
            status: if session.over {
                CaptureStatus::NONE
            } else if session.fault.is_some() {
                CaptureStatus::INVALIDATED
            } else {
                CaptureStatus::ACTIVE
            },
            id: self.id,
            dependencies: frontier.iter().map(|&index| session.nodes[index].handle).collect(),
        }
    }

    fn invalidate(&self, reason: &'static str) {
        self.session.lock().fault.get_or_insert(reason);
    }

    fn active(&self) -> Result<MutexGuard<'_, Session>> {
        let session = self.session.lock();
        if session.over {
            return Err(Error::CaptureInvalidated { reason: "it is over" });
        }
        match session.fault {
            Some(reason) => Err(Error::CaptureInvalidated { reason }),
            None => Ok(session),
        }
    }

    /// Returns the session like `active`. If the capture is over, the error names the event.
    fn active_for(&self, event: &EventState) -> Result<MutexGuard<'_, Session>> {
        if self.session.lock().over {
            return Err(Error::CapturedEvent { event: event.handle });
        }
        self.active()
    }
}

/// Returns an error if the interface does not define the mode.
pub(crate) fn check_mode(mode: CaptureMode) -> Result<()> {
    mode.name().map(drop).ok_or(Error::UnknownCaptureMode { mode: mode.0 })
}

impl Session {
    fn append(&mut self, stream: &StreamState, op: Op, also_after: Option<usize>) -> Result<usize> {
        let index = self.nodes.len();
        let member = self.member(stream)?;
        let mut after = std::mem::replace(&mut member.frontier, vec![index]);
        after.extend(also_after.filter(|node| !after.contains(node)));
        self.nodes.push(Node::new(op, after));
        Ok(index)
    }

    fn append_graph(&mut self, stream: &StreamState, nodes: &[Node]) -> Result<()> {
        let base = self.nodes.len();
        let member = self.member(stream)?;
        if nodes.is_empty() {
            return Ok(());
        }
        let mut is_end = vec![true; nodes.len()];
        nodes.iter().flat_map(|node| &node.after).for_each(|&index| is_end[index] = false);
        let ends = (0..nodes.len()).filter(|&index| is_end[index]).map(|index| base + index);
        let before = std::mem::replace(&mut member.frontier, ends.collect());
        for node in nodes {
            let after = if node.after.is_empty() {
                before.clone()
            } else {
                node.after.iter().map(|&index| base + index).collect()
            };
            self.nodes.push(Node::new(node.op.clone(), after));
        }
        Ok(())
    }

    fn member(&mut self, stream: &StreamState) -> Result<&mut Member> {
        self.members
            .iter_mut()
            .find(|member| std::ptr::eq(&*member.stream, stream))
            .ok_or(Error::NotCapturing { stream: stream.handle })
    }

    /// Returns true if all work comes before the end of the first stream.
    fn is_joined(&self, origin: usize) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut open: Vec<usize> = self
            .members
            .iter()
            .filter(|member| member.stream.handle == origin)
            .flat_map(|member| member.frontier.iter().copied())
            .collect();
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                open.extend(&self.nodes[index].after);
            }
        }
        self.nodes.iter().zip(reached).all(|(node, reached)| reached || node.op.is_marker())
    }
}

//! Collectives of several processes on memory of the host, computed by gloo.
//!
//! gloo is the library that PaddlePaddle and PyTorch use on CPUs. It is searched for when the first group is made: in the
//! libraries that the process has loaded, then where the variable `TENON_GLOO` says, then as `libgloo.so.0` of the system.
//! Without one, groups of more than one process cannot be made, and the error says what was looked for.
//!
//! One process makes a root id with [`new_root_id`] and sends it to the others by its own means, or at a known address with
//! [`meet`]. Each joins with a rank of its own. A [`Group`] runs an operation at once. A [`Communicator`] runs operations in
//! the order of the calls, each when a stream has come to it.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `TENON_GLOO` | path of a library that has gloo | none |
//! | `TENON_COMM_INTERFACE` | address or name of the interface that reaches the other members | the one on which the processes met; that of `PADDLE_CURRENT_ENDPOINT`; that which reaches `PADDLE_MASTER` or `MASTER_ADDR`; `127.0.0.1` |
//! | `TENON_COMM_TIMEOUT` | how long an operation may take, and how long members wait for each other, in seconds | 600 |
//!
//! **Failures.** If a member ends, leaves, calls something else or does not come in time, the operation of the others fails
//! with an error that names the member and the operation, and every later operation of the group fails. A new group can be
//! made at any time.
//!
//! ```
//! use tenon::DevicePtr;
//! use tenon::device::{DataType, ReduceOp};
//! use tenon_gloo::{Buffer, Group, Operation};
//!
//! # fn main() -> tenon_gloo::Result<()> {
//! let id = tenon_gloo::new_root_id()?;
//! // A group of one process, which needs no gloo; others would join with the same bytes.
//! let mut group = Group::join(&id, 0, 1)?;
//! let mut data = [1.5_f32, 2.5];
//! let place = DevicePtr::from_addr(data.as_mut_ptr() as usize);
//! let send = Buffer::new(place, data.len(), DataType::FLOAT32);
//! // SAFETY: the buffer has two elements, and nothing else uses it during the call.
//! unsafe { group.run(&[&Operation::AllReduce { send, receive: place, op: ReduceOp::SUM }])? };
//! assert_eq!(data, [1.5, 2.5]);
//! # Ok(())
//! # }
//! ```

#[allow(dead_code, reason = "the folder is generated, and has more than is used")]
mod api;
mod communicator;
mod device;
mod engine;
mod error;
mod group;
mod mesh;
mod operation;
mod reduction;
mod rendezvous;
mod settings;
mod watch;

pub use communicator::{Communicator, Done, Launch, Memory, Ticket, end_bracket, start_bracket};
pub use device::{FUNCTIONS, WithCollectives};
pub use error::{Error, NoEngine, Result};
pub use group::{Group, ROOT_ID_SIZE, new_root_id, write_root_id};
pub use operation::{Buffer, Operation, Use};
pub use rendezvous::meet;

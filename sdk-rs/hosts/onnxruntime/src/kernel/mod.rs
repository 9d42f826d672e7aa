//! What a kernel runs in: the node that it computes, and the arguments of its calls.

mod call;
mod control;
mod info;
mod kept;
mod object;
mod threads;
mod value;

pub(crate) use call::Call;
pub(crate) use control::HostKernel;
pub(crate) use info::Info;
pub(crate) use object::NodeKernel;
pub use threads::share;

use tenon::device::Result;

/// What a node computes, once its attributes were read.
pub(crate) type Compute = Box<dyn Fn(&Call<'_>) -> Result<()> + Send + Sync>;

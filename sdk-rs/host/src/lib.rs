//! Loads device plugins: finds a plugin, opens it, and detects the release whose table it fills.
//!
//! The result is a [`Device`](tenon::device::Device). The crate has no C exports and no layers, and does not initialise
//! devices: the caller calls `initialize`.
//!
//! ```
//! use tenon_host::Plugin;
//!
//! let plugin = Plugin::builtin();
//! let device = plugin.device();
//! assert!(device.get_device_count()? > 0);
//! # Ok::<(), tenon::device::Error>(())
//! ```
//!
//! # How the release is found
//!
//! A host passes two sizes to a plugin, that of the table and that of the params around it, and plugins
//! differ in the way they use them. Some compare both; the macro in the upstream header returns only if
//! *both* are wrong, and so takes any table of 3.x; some look at one size, some at none. A host that offers
//! the newest table, and treats no error as agreement, would call the wrong functions in most of them.
//!
//! So a plugin is first offered sizes that no release has, each together with a size that a release has, and
//! each time in memory that is large enough for all:
//!
//! 1. Neither size is that of a release: a plugin that accepts checks no size.
//! 2. The table's size is that of a release, the params' is not: a plugin that accepts checks the table's
//!    size, which identifies its release.
//! 3. The params' size is that of a release, the table's is not: a plugin that accepts checks the params'
//!    size.
//! 4. Both are those of a release, newest first: a plugin that accepts checks both.
//!
//! After the second and the fourth the release is known. After the first and the third it is derived from the
//! plugin's writes: the part of the table that it cleared, and the slots that it filled. If more than one
//! release remains, and they give the pointers different meanings, loading fails with
//! [`LoadError::UnknownRelease`] until the caller states the release. [`Recognition`] records how the release
//! was found.
//!
//! A plugin that exports `tenon_checks_both_sizes` promises that it compares both, and is offered the fourth
//! alone.

mod elf;
mod error;
mod library;
mod load;
mod manifest;
mod negotiate;
mod options;
mod paddle;
mod plugin;
mod recognition;
mod search;

pub use error::LoadError;
pub use library::{Binding, exports};
pub use manifest::Manifest;
pub use options::LoadOptions;
pub use paddle::{PaddleError, PaddleLibraries};
pub use plugin::{Availability, Plugin};
pub use recognition::{Clearing, Evidence, Recognition};
pub use search::{Candidate, PATH_VARIABLE, search, search_in};

//! Loads device plugins: finds a plugin, opens it, and detects the release whose table it fills.
//!
//! The result is a [`Device`](tenon::device::Device). The crate has no C exports and no layers, and does not initialise
//! devices: the caller calls `initialize`.
//!
//! ```
//! use tenon_loader::Plugin;
//!
//! let plugin = Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone());
//! let device = plugin.device();
//! assert!(device.get_device_count()? > 0);
//! # Ok::<(), tenon::device::Error>(())
//! ```
//!
//! # How the release is found
//!
//! A host passes two sizes to a plugin: the size of the table, and the size of the params struct around it. Plugins
//! use them differently. Some compare both. The macro in the upstream header returns only if *both* are wrong, so it
//! accepts any table of 3.x. Some compare only one size, some none. A host that offers the newest table, and takes
//! silence for acceptance, would call the wrong functions in most of these plugins.
//!
//! So the loader first offers pairs in which at least one size matches no release. Each offer uses memory that is
//! large enough for the table of every release:
//!
//! 1. Neither size matches a release: a plugin that accepts checks no size.
//! 2. Only the table's size matches a release: a plugin that accepts checks the table's size, which identifies its
//!    release.
//! 3. Only the params' size matches a release: a plugin that accepts checks the params' size.
//! 4. Both sizes match a release, newest first: a plugin that accepts checks both.
//!
//! After an accepted offer of step 2 or 4 the release is known. After step 1 or 3 it is derived from what the plugin
//! wrote: the part of the table that it cleared, and the slots that it filled. If several releases match, and they
//! give the pointers different meanings, loading fails with [`LoadError::UnknownRelease`] until the caller states the
//! release. [`Recognition`] records how the release was found.
//!
//! A plugin that exports `tenon_checks_both_sizes` promises that it compares both sizes, and gets only the offers of
//! step 4.

mod elf;
mod error;
mod exit;
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
pub use library::{Binding, LibraryData, LimitedFile, exports, foreign_kind, library_data};
pub use manifest::Manifest;
pub use options::LoadOptions;
pub use paddle::{InstalledPaddle, PaddleError, PaddleLibraries};
pub use plugin::{Availability, Plugin};
pub use recognition::{Clearing, Evidence, Recognition};
pub use search::{Candidate, PATH_VARIABLE, search, search_in};

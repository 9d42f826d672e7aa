//! Hand-written exports, as in a library. They are not compiled.

mod rig;
#[cfg(test)]
mod tests;

/// First number.
pub const VERSION_MAJOR: u32 = 1;
/// Second number.
pub const VERSION_MINOR: u32 = 2;
/// Third number.
pub const VERSION_PATCH: u32 = 3;
/// No whole number.
pub const NAME: &str = "bench";

/// `bench_device`: a board that was opened.
#[repr(transparent)]
pub struct BoardHandle(usize);

/// Begins the work. It need not be called: #bench_open_board does it, and may fail with #BENCH_INVALID_ARGUMENT or
/// #BENCH_BUSY.
///
/// Boards that are broken are none.
///
/// @param[in] options How; `null`: as usual.
/// @retval BENCH_SUCCESS On success.
/// @retval BENCH_INVALID_ARGUMENT `options` are not what they should be.
/// @par Threads
///     Any thread.
///
/// # Safety
/// `options` is null or can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bench_start(options: *const Options) -> Status {
    todo!()
}

/// How it begins. [C] Set `size` to `sizeof(bench_options)`; what is left zero is the usual.
/// [Python] What is left out is the usual.
#[repr(C)]
pub struct Options {
    /// Size of this struct in bytes.
    pub size: usize,
    /// Where to look.
    pub path: *const c_char,
    /// Called with what is to be known; may be `null`.
    pub notice: Notice,
    /// True to be quick.
    pub quick: bool,
    /// Three numbers.
    pub version: [usize; 3],
}

/// Called with what is to be known.
pub type Notice = Option<unsafe extern "C" fn(context: *mut c_void, level: Level, text: *const c_char)>;

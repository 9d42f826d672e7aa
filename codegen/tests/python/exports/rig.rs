//! Boards.

/// How much is to be known.
#[repr(C)]
pub enum Level {
    /// All of it.
    All = 0,
    /// A little.
    ALittle = 5,
}

/// The work of a board.
#[repr(C)]
pub struct Figures {
    /// How often.
    pub calls: u64,
    /// How loud.
    pub level: Level,
    /// Its name; `null` if it has none.
    pub name: *const c_char,
}

/// Opens a board.
///
/// @param[in] type The type; `null`: the first one.
/// @param[in] number Which one, from 0.
/// @param[out] board The board.
/// @retval BENCH_SUCCESS On success.
/// @retval BENCH_NOT_FOUND There is none.
/// @retval BENCH_INVALID_ARGUMENT It is too late.
///     [C] Or `board` is `null`.
/// @retval other What the plugin answered.
/// @par Threads
///     Any thread; they wait for each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bench_open_board(
    r#type: *const c_char,
    number: c_int,
    board: *mut BoardHandle,
) -> Status {
    todo!()
}

/// Lists the figures.
///
/// [C] If `figures` is `null`, `count` gets how many there are. Otherwise it holds for how many there is room.
///
/// @param[in] board The board, as #bench_open_board gave it.
/// @param[out] figures All of them. [C] May be `null`.
/// @param[in,out] count Their number.
/// @retval BENCH_SUCCESS On success.
/// @retval BENCH_INVALID_ARGUMENT [C] `count` is `null`, or the room is too small; then `count` gets what is needed.
/// @par Threads
///     Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bench_figures(board: BoardHandle, figures: *mut Figures, count: *mut usize) -> Status {
    todo!()
}

/// Returns the same as a text.
///
/// @param[in] board The board.
/// @param[out] text The text. [C] May be `null`.
/// @param[in,out] size Its length in bytes.
/// @retval BENCH_SUCCESS On success.
/// @par Threads
///     Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bench_figures_text(board: BoardHandle, text: *mut c_char, size: *mut usize) -> Status {
    todo!()
}

/// Returns the name of a level.
///
/// @param[in] level Any number.
/// @return A text that stays for ever.
/// @par Threads
///     Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn bench_level_name(level: Level) -> *const c_char {
    todo!()
}

/// Moves work to a queue that the spec describes.
///
/// @param[in] queue The queue.
/// @param[out] figures The figures.
/// @retval BENCH_SUCCESS On success.
/// @par Threads
///     Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn bench_move_to(queue: ffi::Queue, figures: *mut Figures) -> Status {
    todo!()
}

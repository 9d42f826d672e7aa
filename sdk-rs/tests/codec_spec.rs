//! A table that the plugin owns, with data members, error objects, structs of arguments and lists that are lent: a
//! codec in Rust called by a viewer in C and in C++, and a codec in C loaded in Rust.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, PoisonError};

mod codec {
    tenon_spec_macros::interface!("codec", spec = "../examples/codec-spec/spec");
}

use codec::{Codec, Error, ErrorCode, Function, Image, Loaded, Open, Release, Result, Tile};
use tenon::Lent;

/// Counts what is alive on the heap, of every thread.
struct Counting;

static ALIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: everything is left to the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The tests count allocations, so that they run one after the other.
static TURN: Mutex<()> = Mutex::new(());

struct Picture {
    width: u32,
    height: u32,
    tiles: Vec<Tile>,
}

#[derive(Default)]
struct RustCodec;

impl RustCodec {
    fn picture(image: Image) -> Result<&'static Picture> {
        if image.is_null() {
            return Err(Error::invalid("`image` is not open"));
        }
        // SAFETY: the viewer passes images that this codec opened and that are not closed.
        Ok(unsafe { &*std::ptr::with_exposed_provenance(image.addr()) })
    }
}

fn complete(table: &mut codec::ffi::CodecApi) {
    table.max_pixels = 64;
}

#[tenon_spec_macros::plugin(spec = "../examples/codec-spec/spec", module = crate::codec, complete = crate::complete)]
impl Codec for RustCodec {
    fn open(&self, data: &[u8], scale: u32) -> Result<Open> {
        let [b'I', b'M', b'G', width, height, alpha] = *data else {
            assert!(data != b"PANIC", "the codec gives up");
            let text = String::from_utf8_lossy(data);
            return Err(Error::new(ErrorCode::DAMAGED, format!("this is no image, but {text}")));
        };
        let (width, height) = (u32::from(width) / scale, u32::from(height) / scale);
        // A tile is a number here: how many rows it has, and one bit that makes it no null.
        let tiles = vec![
            Tile::from_addr(0x100 | (height as usize / 2)),
            Tile::from_addr(0x200 | (height as usize / 2)),
        ];
        let image = Box::into_raw(Box::new(Picture { width, height, tiles })).expose_provenance();
        Ok(Open { image: Image::from_addr(image), width, height, has_alpha: alpha != 0 })
    }

    fn image_close(&self, image: Image) -> Result<()> {
        Self::picture(image)?;
        // SAFETY: as above; the viewer gives the image up.
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Picture>(image.addr())) });
        Ok(())
    }

    fn decode(&self, image: Image, pixels: &mut [u8]) -> Result<usize> {
        let picture = Self::picture(image)?;
        let bytes = picture.width as usize * picture.height as usize * 4;
        let pixels = pixels.get_mut(..bytes).ok_or_else(|| Error::invalid("`pixels` is too short"))?;
        pixels.fill(0x7F);
        Ok(bytes)
    }

    fn tile_count(&self, image: Image) -> Result<usize> {
        Ok(Self::picture(image)?.tiles.len())
    }

    fn list_tiles(&self, image: Image) -> Result<Lent<Tile>> {
        Ok(Lent::of(&Self::picture(image)?.tiles))
    }

    fn tile_rows(&self, tiles: &[Tile]) -> Result<u64> {
        Ok(tiles.iter().map(|tile| tile.addr() as u64 & 0xFF).sum())
    }

    fn read_metadata(&self, _: Image, key: &CStr, text: &mut [u8]) -> Result<usize> {
        if key != c"author" {
            return Err(Error::invalid(format!("there is no text under {key:?}")));
        }
        text[..3].copy_from_slice(b"Ada");
        Ok(3)
    }
}

// SAFETY: these are the C library's, which every program is linked with.
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn example() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("a crate has a folder above it").join("examples/codec-spec")
}

/// Compiles a file of the example to a library, and returns the address of a symbol of it.
fn build(compiler: &str, options: &[&str], file: &str, name: &str, symbol: &CStr) -> *mut c_void {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(compiler)
        .args(options)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(example().join("include"))
        .arg(example().join("c").join(file))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap_or_else(|error| panic!("`{compiler}` does not start: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = CString::new(library.to_str().expect("the path is text")).expect("a path has no zero byte");
    // SAFETY: the library has no constructors; 2 binds every symbol at once, and locally.
    let address = unsafe { dlsym(dlopen(path.as_ptr(), 2), symbol.as_ptr()) };
    assert!(!address.is_null(), "{name} has {symbol:?}");
    address
}

type View = unsafe extern "C" fn(*const codec::ffi::CodecApi, bool) -> c_int;
type GetApi = unsafe extern "C" fn() -> *const codec::ffi::CodecApi;

fn viewer(compiler: &str, options: &[&str], name: &str) -> View {
    let address = build(compiler, options, "viewer.c", name, c"view");
    // SAFETY: the function has this signature in `viewer.h`.
    unsafe { std::mem::transmute::<*mut c_void, View>(address) }
}

#[test]
fn codec_in_rust_serves_viewers_in_c_and_cpp() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (compiler, options, name) in [
        ("gcc", &["-std=c11"] as &[&str], "libviewer_c.so"),
        ("g++", &["-std=c++17", "-x", "c++"], "libviewer_cpp.so"),
    ] {
        let view = viewer(compiler, options, name);
        let api = imaging_get_codec_api();
        // SAFETY: the table is complete; each call ends what it begins.
        let run = |panics| unsafe { view(api, panics) };
        assert_eq!(run(true), 0, "the line of viewer.c with the check that fails");
        // The first run leaves a message for the thread; later ones leave nothing more, but for what panics carry.
        let before = ALIVE.load(Ordering::Relaxed);
        for _ in 0..10 {
            assert_eq!(run(false), 0);
        }
        let after = ALIVE.load(Ordering::Relaxed);
        assert!(after - before < 10, "{} allocations of ten runs are still alive", after - before);
    }
}

fn load_c_codec(options: &[&str], name: &str) -> (*const codec::ffi::CodecApi, Loaded) {
    let address = build("gcc", &[&["-std=c11"], options].concat(), "codec.c", name, c"imaging_get_codec_api");
    // SAFETY: the function has this signature in `codec.h`; the library is never closed.
    unsafe {
        let api = std::mem::transmute::<*mut c_void, GetApi>(address)();
        (api, Loaded::from_own_table(api.cast()).expect("the table is of a known release"))
    }
}

#[test]
fn codec_in_c_serves_viewers_in_c_and_rust() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (api, loaded) = load_c_codec(&[], "libcodec.so");
    let view = viewer("gcc", &["-std=c11"], "libviewer_of_c.so");
    // SAFETY: the table is complete.
    assert_eq!(unsafe { view(api, false) }, 0, "the line of viewer.c with the check that fails");

    assert_eq!(loaded.release(), Release::V1_1);
    let Open { image, width, height, has_alpha } = loaded.open(b"IMG\x08\x04\x01", 2).unwrap();
    assert_eq!((width, height, has_alpha), (4, 2, true));
    let mut pixels = [0; 32];
    assert_eq!(loaded.decode(image, &mut pixels).unwrap(), 32);
    assert_eq!(pixels, [0x7F; 32]);
    let tiles = loaded.list_tiles(image).unwrap();
    assert_eq!(tiles.len(), 2);
    // SAFETY: the image is open, so that its list is there.
    assert_eq!(loaded.tile_rows(unsafe { tiles.as_slice() }).unwrap(), 2);
    let mut text = [0; 8];
    assert_eq!(loaded.read_metadata(image, c"author", &mut text).unwrap(), 3);
    loaded.image_close(image).unwrap();

    let error = loaded.open(b"GIF", 1).unwrap_err();
    assert_eq!((error.status, &*error.message), (ErrorCode::DAMAGED, "this is no image, but a GIF"));
    let error = loaded.image_close(Image::NULL).unwrap_err();
    assert_eq!(error.status, ErrorCode::BAD_ARGUMENT);
}

#[test]
fn codec_of_older_release_has_what_it_had() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, loaded) = load_c_codec(&["-DRELEASE_1_0"], "libcodec_1_0.so");
    assert_eq!(loaded.release(), Release::V1_0);
    assert!(loaded.has(Function::TileRows) && !loaded.has(Function::ReadMetadata));
    // The codec does not know the scale, and does not write whether there is alpha.
    let Open { image, width, has_alpha, .. } = loaded.open(b"IMG\x08\x04\x01", 2).unwrap();
    assert_eq!((width, has_alpha), (8, false));
    let error = loaded.read_metadata(image, c"author", &mut [0; 8]).unwrap_err();
    assert_eq!(error.status, ErrorCode::NOT_SUPPORTED);
    loaded.image_close(image).unwrap();
}

#[test]
fn table_that_is_null_or_too_short_is_refused() {
    let short = [96usize; 12];
    // SAFETY: null, or an array that begins with its size.
    unsafe {
        assert!(Loaded::from_own_table(std::ptr::null()).is_none());
        assert!(Loaded::from_own_table(short.as_ptr().cast()).is_none());
    }
}

//! The routines of the library as safe functions.
//!
//! A routine of Fortran takes the addresses of its arguments, and the lengths of its texts by value at the end. It is first
//! called with a workspace of the length -1, and returns the length that it needs.

use std::ffi::{CStr, c_void};
use std::sync::MutexGuard;
use tenon::support::Mutex;

use tenon_kernels::Complex;
use tenon_kernels::decomposition::lapack::{Lapack, Routines};

type Text = *const u8;
type Int = *const i32;

/// Libraries of some compilers keep work arrays in static memory.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// Converts a size. Matrices with larger sizes fit no memory.
fn int(size: usize) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

macro_rules! function {
    ($($ty:ty),* $(,)?) => {
        unsafe extern "C" fn($($ty),*)
    };
}

/// The singular value decomposition; complex types have a third workspace.
type ComplexGesdd<R> = function!(
    Text,
    Int,
    Int,
    *mut Complex<R>,
    Int,
    *mut R,
    *mut Complex<R>,
    Int,
    *mut Complex<R>,
    Int,
    *mut Complex<R>,
    Int,
    *mut R,
    *mut i32,
    *mut i32,
    usize,
);
type RealGesdd<R> = function!(
    Text,
    Int,
    Int,
    *mut R,
    Int,
    *mut R,
    *mut R,
    Int,
    *mut R,
    Int,
    *mut R,
    Int,
    *mut i32,
    *mut i32,
    usize,
);
type RealSyevd<R> =
    function!(Text, Text, Int, *mut R, Int, *mut R, *mut R, Int, *mut i32, Int, *mut i32, usize, usize,);
type ComplexHeevd<R> = function!(
    Text,
    Text,
    Int,
    *mut Complex<R>,
    Int,
    *mut R,
    *mut Complex<R>,
    Int,
    *mut R,
    Int,
    *mut i32,
    Int,
    *mut i32,
    usize,
    usize,
);
type RealGeev<R> = function!(
    Text,
    Text,
    Int,
    *mut R,
    Int,
    *mut R,
    *mut R,
    *mut R,
    Int,
    *mut R,
    Int,
    *mut R,
    Int,
    *mut i32,
    usize,
    usize,
);
type ComplexGeev<R> = function!(
    Text,
    Text,
    Int,
    *mut Complex<R>,
    Int,
    *mut Complex<R>,
    *mut Complex<R>,
    Int,
    *mut Complex<R>,
    Int,
    *mut Complex<R>,
    Int,
    *mut R,
    *mut i32,
    usize,
    usize,
);

struct Real<R> {
    gesdd: RealGesdd<R>,
    syevd: RealSyevd<R>,
    geev: RealGeev<R>,
}

struct ComplexOf<R> {
    gesdd: ComplexGesdd<R>,
    heevd: ComplexHeevd<R>,
    geev: ComplexGeev<R>,
}

/// The functions of a library.
pub(crate) struct Loaded {
    f32: Real<f32>,
    f64: Real<f64>,
    complex64: ComplexOf<f32>,
    complex128: ComplexOf<f64>,
}

impl Loaded {
    /// Loads the functions; fails with the name of a missing one.
    ///
    /// # Safety
    /// The addresses must be those of LAPACK's functions with 32-bit integers, or null.
    pub(crate) unsafe fn load(symbol: impl Fn(&CStr) -> *mut c_void) -> Result<Self, &'static str> {
        macro_rules! load {
            ($name:literal as $ty:ty) => {{
                let address = symbol(
                    const {
                        match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a name has no NUL"),
                        }
                    },
                );
                if address.is_null() {
                    return Err($name);
                }
                // SAFETY: the function has this name, which determines its parameters.
                unsafe { std::mem::transmute::<*mut c_void, $ty>(address) }
            }};
        }
        Ok(Self {
            f32: Real {
                gesdd: load!("sgesdd_" as RealGesdd<f32>),
                syevd: load!("ssyevd_" as RealSyevd<f32>),
                geev: load!("sgeev_" as RealGeev<f32>),
            },
            f64: Real {
                gesdd: load!("dgesdd_" as RealGesdd<f64>),
                syevd: load!("dsyevd_" as RealSyevd<f64>),
                geev: load!("dgeev_" as RealGeev<f64>),
            },
            complex64: ComplexOf {
                gesdd: load!("cgesdd_" as ComplexGesdd<f32>),
                heevd: load!("cheevd_" as ComplexHeevd<f32>),
                geev: load!("cgeev_" as ComplexGeev<f32>),
            },
            complex128: ComplexOf {
                gesdd: load!("zgesdd_" as ComplexGesdd<f64>),
                heevd: load!("zheevd_" as ComplexHeevd<f64>),
                geev: load!("zgeev_" as ComplexGeev<f64>),
            },
        })
    }

    pub(crate) fn routines(&'static self) -> Routines {
        Routines { f32: &self.f32, f64: &self.f64, complex64: &self.complex64, complex128: &self.complex128 }
    }
}

/// The sizes of a singular value decomposition.
struct Sizes {
    job: u8,
    rows: i32,
    columns: i32,
    /// The distances between the columns of `u` and of `vh`.
    apart: [i32; 2],
}

impl Sizes {
    /// # Panics
    /// If slices do not have the lengths that the sizes require.
    fn new<T>([rows, columns]: [usize; 2], a: &[T], s: usize, u: &[T], vh: &[T]) -> Self {
        let least = rows.min(columns);
        assert_eq!([a.len(), s], [rows * columns, least], "a matrix of {rows} x {columns}");
        let job = if u.is_empty() && vh.is_empty() {
            b'N'
        } else if [u.len(), vh.len()] == [rows * least, least * columns] {
            b'S'
        } else {
            assert_eq!([u.len(), vh.len()], [rows * rows, columns * columns], "whole factors");
            b'A'
        };
        let height = if job == b'A' { columns } else { least };
        Self { job, rows: int(rows), columns: int(columns), apart: [int(rows), int(height)] }
    }
}

macro_rules! routines {
    ($($real:ident)*) => {$(
        impl Lapack<$real, $real> for Real<$real> {
            fn svd(&self, a: &mut [$real], sizes: [usize; 2], s: &mut [$real], u: &mut [$real], vh: &mut [$real]) -> i32 {
                let least = sizes[0].min(sizes[1]);
                let Sizes { job, rows, columns, apart } = Sizes::new(sizes, a, s.len(), u, vh);
                let (mut work, mut integers, mut info) = (vec![0.0; 1], vec![0; 8 * least.max(1)], 0);
                let _turn = turn();
                for length in [-1, 0] {
                    let length = if length < 0 { length } else { resized(&mut work, |work| work as f64) };
                    // SAFETY: all slices have the lengths that `Sizes` has checked, and the workspaces those that the
                    // routine requires.
                    unsafe {
                        (self.gesdd)(
                            &job, &rows, &columns, a.as_mut_ptr(), &rows, s.as_mut_ptr(), u.as_mut_ptr(), &apart[0],
                            vh.as_mut_ptr(), &apart[1], work.as_mut_ptr(), &length, integers.as_mut_ptr(),
                            &mut info, 1,
                        );
                    }
                    if info != 0 {
                        break;
                    }
                }
                info
            }

            fn eigh(&self, a: &mut [$real], w: &mut [$real], upper: bool, vectors: bool) -> i32 {
                let n = w.len();
                assert_eq!(a.len(), n * n, "a square matrix of the order {n}");
                let (job, triangle) = (if vectors { b'V' } else { b'N' }, if upper { b'U' } else { b'L' });
                let (order, mut info) = (int(n), 0);
                let (mut work, mut integers) = (vec![0.0; 1], vec![0; 1]);
                let _turn = turn();
                for is_query in [true, false] {
                    let lengths = if is_query {
                        [-1, -1]
                    } else {
                        let length = integers[0].max(1);
                        integers.resize(length as usize, 0);
                        [resized(&mut work, |work| work as f64), length]
                    };
                    // SAFETY: as above; the matrix and the values have the order.
                    unsafe {
                        (self.syevd)(
                            &job, &triangle, &order, a.as_mut_ptr(), &order, w.as_mut_ptr(), work.as_mut_ptr(),
                            &lengths[0], integers.as_mut_ptr(), &lengths[1], &mut info, 1, 1,
                        );
                    }
                    if info != 0 {
                        break;
                    }
                }
                info
            }

            fn eig(&self, a: &mut [$real], w: &mut [Complex<$real>], v: &mut [Complex<$real>]) -> i32 {
                let n = w.len();
                assert_eq!(a.len(), n * n, "a square matrix of the order {n}");
                assert!(v.is_empty() || v.len() == n * n, "eigenvectors of the order {n}");
                let (no, job, order) = (b'N', if v.is_empty() { b'N' } else { b'V' }, int(n));
                let (mut real, mut imaginary) = (vec![0.0; n], vec![0.0; n]);
                let mut vectors = vec![0.0; v.len()];
                let (mut work, mut info) = (vec![0.0; 1], 0);
                let turn = turn();
                for length in [-1, 0] {
                    let length = if length < 0 { length } else { resized(&mut work, |work| work as f64) };
                    // SAFETY: as above. No left eigenvectors are computed.
                    unsafe {
                        (self.geev)(
                            &no, &job, &order, a.as_mut_ptr(), &order, real.as_mut_ptr(), imaginary.as_mut_ptr(),
                            std::ptr::null_mut(), &order, vectors.as_mut_ptr(), &order, work.as_mut_ptr(), &length,
                            &mut info, 1, 1,
                        );
                    }
                    if info != 0 {
                        return info;
                    }
                }
                drop(turn);
                for (w, (&re, &im)) in w.iter_mut().zip(real.iter().zip(&imaginary)) {
                    *w = Complex::new(re, im);
                }
                if v.is_empty() {
                    return 0;
                }
                let mut column = 0;
                while column < n {
                    let part = |column: usize, row: usize| vectors[column * n + row];
                    // The real and the imaginary part of a pair of conjugates are in neighbouring columns.
                    let is_pair = imaginary[column] != 0.0 && column + 1 < n;
                    for row in 0..n {
                        let im = if is_pair { part(column + 1, row) } else { 0.0 };
                        v[column * n + row] = Complex::new(part(column, row), im);
                        if is_pair {
                            v[(column + 1) * n + row] = Complex::new(part(column, row), -im);
                        }
                    }
                    column += if is_pair { 2 } else { 1 };
                }
                0
            }
        }

        impl Lapack<Complex<$real>, $real> for ComplexOf<$real> {
            fn svd(
                &self, a: &mut [Complex<$real>], sizes: [usize; 2], s: &mut [$real], u: &mut [Complex<$real>],
                vh: &mut [Complex<$real>],
            ) -> i32 {
                let (least, most) = (sizes[0].min(sizes[1]), sizes[0].max(sizes[1]));
                let Sizes { job, rows, columns, apart } = Sizes::new(sizes, a, s.len(), u, vh);
                let mut work = vec![Complex::new(0.0, 0.0); 1];
                let real_length = least * (5 * least + 7).max(2 * most + 2 * least + 1);
                let mut real = vec![0.0; real_length.max(7 * least).max(1)];
                let (mut integers, mut info) = (vec![0; 8 * least.max(1)], 0);
                let _turn = turn();
                for length in [-1, 0] {
                    let length = if length < 0 { length } else { resized(&mut work, |work| work.re as f64) };
                    // SAFETY: as above.
                    unsafe {
                        (self.gesdd)(
                            &job, &rows, &columns, a.as_mut_ptr(), &rows, s.as_mut_ptr(), u.as_mut_ptr(), &apart[0],
                            vh.as_mut_ptr(), &apart[1], work.as_mut_ptr(), &length, real.as_mut_ptr(),
                            integers.as_mut_ptr(), &mut info, 1,
                        );
                    }
                    if info != 0 {
                        break;
                    }
                }
                info
            }

            fn eigh(&self, a: &mut [Complex<$real>], w: &mut [$real], upper: bool, vectors: bool) -> i32 {
                let n = w.len();
                assert_eq!(a.len(), n * n, "a square matrix of the order {n}");
                let (job, triangle) = (if vectors { b'V' } else { b'N' }, if upper { b'U' } else { b'L' });
                let (order, mut info) = (int(n), 0);
                let (mut work, mut real) = (vec![Complex::new(0.0, 0.0); 1], vec![0.0; 1]);
                let mut integers = vec![0; 1];
                let _turn = turn();
                for is_query in [true, false] {
                    let lengths = if is_query {
                        [-1; 3]
                    } else {
                        let length = integers[0].max(1);
                        integers.resize(length as usize, 0);
                        [
                            resized(&mut work, |work| work.re as f64),
                            resized(&mut real, |work| work as f64),
                            length,
                        ]
                    };
                    // SAFETY: as above.
                    unsafe {
                        (self.heevd)(
                            &job, &triangle, &order, a.as_mut_ptr(), &order, w.as_mut_ptr(), work.as_mut_ptr(),
                            &lengths[0], real.as_mut_ptr(), &lengths[1], integers.as_mut_ptr(), &lengths[2],
                            &mut info, 1, 1,
                        );
                    }
                    if info != 0 {
                        break;
                    }
                }
                info
            }

            fn eig(
                &self, a: &mut [Complex<$real>], w: &mut [Complex<$real>], v: &mut [Complex<$real>],
            ) -> i32 {
                let n = w.len();
                assert_eq!(a.len(), n * n, "a square matrix of the order {n}");
                assert!(v.is_empty() || v.len() == n * n, "eigenvectors of the order {n}");
                let (no, job, order) = (b'N', if v.is_empty() { b'N' } else { b'V' }, int(n));
                let (mut work, mut real) = (vec![Complex::new(0.0, 0.0); 1], vec![0.0; 2 * n.max(1)]);
                let mut info = 0;
                let _turn = turn();
                for length in [-1, 0] {
                    let length = if length < 0 { length } else { resized(&mut work, |work| work.re as f64) };
                    // SAFETY: as above. No left eigenvectors are computed.
                    unsafe {
                        (self.geev)(
                            &no, &job, &order, a.as_mut_ptr(), &order, w.as_mut_ptr(), std::ptr::null_mut(), &order,
                            v.as_mut_ptr(), &order, work.as_mut_ptr(), &length, real.as_mut_ptr(), &mut info, 1, 1,
                        );
                    }
                    if info != 0 {
                        break;
                    }
                }
                info
            }
        }
    )*};
}
routines!(f32 f64);

/// Gives a workspace the length that is its first element, and returns it.
///
/// In float32 the length may have been rounded down.
fn resized<T: Copy>(work: &mut Vec<T>, length: impl Fn(T) -> f64) -> i32 {
    let first = work[0];
    let length = (length(first) * (1.0 + f64::from(f32::EPSILON))).ceil().max(1.0) as usize;
    work.resize(length, first);
    int(length)
}

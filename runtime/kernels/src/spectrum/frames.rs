//! Overlapping frames of a signal.

use crate::attributes::FrameAttributes;
use std::ops::Add;

use num_complex::Complex;

use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement::with_word;
use crate::loops::slices::{Slot, with_slices};
use crate::tensor::{View, ViewMut};

/// Cuts a signal into frames of `frame_length` elements, each `hop_length` after the one before.
///
/// With the axis -1, the signal is the last dimension, and the frames are the columns of the last two dimensions. With
/// the axis 0, it is the first one, and the frames are the rows of the first two.
///
/// # Errors
/// [`Error::Attribute`], [`Error::Shape`], [`Error::Rank`], and [`Error::Type`] if types differ.
pub fn frame(out: &mut ViewMut<'_>, x: &View<'_>, with: &FrameAttributes) -> Result<()> {
    let FrameAttributes { frame_length, hop_length, axis } = *with;
    let frames = Frames::new(x.dims(), out.dims(), hop_length, axis)?;
    crate::expect_length("frame_length", frame_length.max(0) as usize, frames.len)?;
    frames.cut(out, x)
}

/// Computes the gradient of [`frame`] with respect to `x`: the sums of overlapping frames.
///
/// # Errors
/// As [`frame`].
pub fn frame_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &FrameAttributes) -> Result<()> {
    let FrameAttributes { frame_length, hop_length, axis } = *with;
    let frames = Frames::new(dx.dims(), dout.dims(), hop_length, axis)?;
    crate::expect_length("frame_length", frame_length.max(0) as usize, frames.len)?;
    frames.add(dx, dout)
}

/// Adds up frames at their places in a signal: the transpose of [`frame`].
///
/// # Errors
/// As [`frame`].
pub fn overlap_add(out: &mut ViewMut<'_>, x: &View<'_>, hop_length: i64, axis: i64) -> Result<()> {
    Frames::new(out.dims(), x.dims(), hop_length, axis)?.add(out, x)
}

/// Computes the gradient of [`overlap_add`] with respect to `x`, as [`frame`] does.
///
/// # Errors
/// As [`frame`].
pub fn overlap_add_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, hop_length: i64, axis: i64) -> Result<()> {
    Frames::new(dout.dims(), dx.dims(), hop_length, axis)?.cut(dx, dout)
}

/// The sizes of a signal and of its frames.
struct Frames {
    /// The number of signals if they are rows, otherwise 1.
    rows: usize,
    /// The number of signals if they are columns, otherwise 1.
    columns: usize,
    signal: usize,
    len: usize,
    count: usize,
    hop: usize,
    /// True if the signal is the first dimension.
    is_first: bool,
}

impl Frames {
    fn new(signal: &[usize], frames: &[usize], hop_length: i64, axis: i64) -> Result<Self> {
        let hop = usize::try_from(hop_length).ok().filter(|&hop| hop > 0);
        let hop =
            hop.ok_or_else(|| Error::Attribute { name: "hop_length", value: hop_length.to_string() })?;
        let rank = || Error::Rank { dims: frames.len(), strides: signal.len() + 1 };
        let is_first = axis == 0;
        if !is_first && axis != -1 && axis != signal.len() as i64 - 1 {
            return Err(Error::Attribute { name: "axis", value: axis.to_string() });
        }
        let (length, others, len, count) = if is_first {
            let (&length, others) = signal.split_first().ok_or_else(rank)?;
            let [count, len, ..] = *frames else { return Err(rank()) };
            expect_shape(&[&[count, len], others].concat(), frames)?;
            (length, others, len, count)
        } else {
            let (&length, others) = signal.split_last().ok_or_else(rank)?;
            let [.., len, count] = *frames else { return Err(rank()) };
            expect_shape(&[others, &[len, count]].concat(), frames)?;
            (length, others, len, count)
        };
        let end = count.checked_sub(1).map_or(0, |last| last * hop + len);
        // The elements behind the last whole frame are in no frame.
        if len > length || end > length || length - end >= hop && count > 0 {
            return Err(Error::Length { what: "signal", expected: end, actual: length });
        }
        let others: usize = others.iter().product();
        let (rows, columns) = if is_first { (1, others) } else { (others, 1) };
        Ok(Self { rows, columns, signal: length, len, count, hop, is_first })
    }

    /// Calls a function with each place in the frames and the place in the signals.
    fn each(&self, mut visit: impl FnMut(usize, usize)) {
        for row in 0..self.rows {
            for place in 0..self.len {
                for frame in 0..self.count {
                    let (outer, inner) = if self.is_first {
                        (frame * self.len + place, row * self.len * self.count)
                    } else {
                        (place * self.count + frame, row * self.len * self.count)
                    };
                    let from = row * self.signal + frame * self.hop + place;
                    for column in 0..self.columns {
                        visit((inner + outer) * self.columns + column, from * self.columns + column);
                    }
                }
            }
        }
    }

    fn cut(&self, frames: &mut ViewMut<'_>, signal: &View<'_>) -> Result<()> {
        expect_type(frames, signal)?;
        with_word!(frames.dtype(), W => {
            with_slices::<W, 1, 1>([frames.reborrow()], [signal], |[frames], [signal]| {
                self.each(|to, from| frames[to] = signal[from]);
                Ok(())
            })
        })
    }

    fn add(&self, signal: &mut ViewMut<'_>, frames: &View<'_>) -> Result<()> {
        fn run<T: Slot + Add<Output = T>>(
            sizes: &Frames,
            signal: &mut ViewMut<'_>,
            frames: &View<'_>,
        ) -> Result<()> {
            with_slices::<T, 1, 1>([signal.reborrow()], [frames], |[signal], [frames]| {
                signal.fill(T::EMPTY);
                sizes.each(|from, to| signal[to] = signal[to] + frames[from]);
                Ok(())
            })
        }
        expect_type(signal, frames)?;
        match frames.dtype() {
            crate::DType::Complex64 => run::<Complex<f32>>(self, signal, frames),
            crate::DType::Complex128 => run::<Complex<f64>>(self, signal, frames),
            dtype => with_number!(dtype, T => run::<T>(self, signal, frames)),
        }
    }
}

fn expect_type(out: &ViewMut<'_>, x: &View<'_>) -> Result<()> {
    if out.dtype() == x.dtype() { Ok(()) } else { Err(Error::Type { dtype: x.dtype() }) }
}

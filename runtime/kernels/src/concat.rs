//! Tensors side by side, and apart again.

use crate::error::{Error, Result};

/// One of the tensors that lie side by side.
#[derive(Debug)]
pub struct Part<'a, T> {
    /// Number of elements that it has in each row: all of its dimensions from the axis on.
    pub width: usize,
    /// The destination, if the result is wanted.
    pub target: Option<&'a mut [T]>,
}

/// Splits concatenated data: each row of the source is a row of every part, one after the other.
///
/// # Errors
/// [`Error::Length`] if the rows of the parts do not fill those of the source.
pub fn split<T: Copy>(source: &[T], parts: &mut [Part<'_, T>]) -> Result<()> {
    let width =
        parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.width)).ok_or(Error::Overflow)?;
    let rows = source.len().checked_div(width).unwrap_or(0);
    crate::expect_length("source", rows * width, source.len())?;
    for part in &*parts {
        if let Some(target) = &part.target {
            crate::expect_length("part", rows * part.width, target.len())?;
        }
    }
    let mut start = 0;
    for Part { width: own, target } in parts {
        if let Some(target) = target.as_deref_mut().filter(|target| !target.is_empty()) {
            for (target, row) in target.chunks_exact_mut(*own).zip(source.chunks_exact(width)) {
                target.copy_from_slice(&row[start..start + *own]);
            }
        }
        start += *own;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_apart() {
        let source = [1, 2, 3, 4, 5, 6, 7, 8];
        let (mut left, mut right) = ([0; 2], [0; 4]);
        let mut parts = [
            Part { width: 1, target: Some(&mut left[..]) },
            Part { width: 0, target: Some(&mut []) },
            Part { width: 1, target: None },
            Part { width: 2, target: Some(&mut right) },
        ];
        split(&source, &mut parts).unwrap();
        assert_eq!((left, right), ([1, 5], [3, 4, 7, 8]));
    }

    #[test]
    fn widths_must_add_up() {
        let part = |width| Part::<u8> { width, target: None };
        assert!(split(&[0; 5], &mut [part(2)]).is_err());
        assert!(split(&[0; 5], &mut [part(0)]).is_err());
        assert!(split(&[], &mut [part(0)]).is_ok());
        assert_eq!(split(&[0; 4], &mut [part(usize::MAX), part(1)]), Err(Error::Overflow));
        let mut short = [0; 1];
        assert!(split(&[0; 4], &mut [Part { width: 2, target: Some(&mut short[..]) }]).is_err());
    }
}

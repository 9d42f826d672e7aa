use super::*;
use crate::DevicePtr;
use crate::device::DataType;
use crate::operators::{Compositions, Operators, Temporaries, TensorMut};

/// A device without operators.
struct Bare;

#[tenon::operators]
impl Operators for Bare {}

/// Rules compute nothing, so they need no memory.
struct NoMemory;

impl Temporaries for NoMemory {
    fn temporary(&self, _: DataType, _: &[usize]) -> Result<TensorMut<'_>> {
        Err(Error::unsupported("memory"))
    }

    fn constant(&self, _: DataType, _: f64) -> Result<TensorRef<'_>> {
        Err(Error::unsupported("memory"))
    }
}

fn with_device(test: impl FnOnce(&Composed<'_>)) {
    test(&Composed::new(&Bare, &Compositions::of(&Bare), &NoMemory));
}

fn tensor(dims: &[usize]) -> TensorRef<'static> {
    let strides = contiguous_strides(dims).unwrap();
    let layout = Layout::new(dims, &strides).unwrap();
    // SAFETY: the address is only a number here.
    unsafe { TensorRef::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }.unwrap()
}

#[test]
fn dimensions_count_from_the_end_and_none_stand_for_all() {
    with_device(|device| {
        let x = tensor(&[2, 3, 4]);
        assert_eq!(reduced(device, &x, &[-1]).unwrap(), [2, 3, 1]);
        assert_eq!(reduced(device, &x, &[]).unwrap(), [1, 1, 1]);
        assert_eq!(count(device, &x, &[0, 2]).unwrap(), 8.0);
        assert_eq!(axes_from(device, &x, 1).unwrap(), [1, 2]);
        assert!(axes_from(device, &x, 3).is_err(), "no dimensions would stand for all");
        assert!(reduced(device, &x, &[3]).is_err());
        assert_eq!(reduced(device, &tensor(&[]), &[-1]).unwrap(), []);
    });
}

#[test]
fn repeated_dimensions_are_those_of_the_stacked_tensor() {
    with_device(|device| {
        let whole = tensor(&[2, 3, 4]);
        assert_eq!(repeated_axes(device, &whole, &tensor(&[3, 1])).unwrap(), [0, 1, 3]);
        assert_eq!(repeated_axes(device, &whole, &whole).unwrap(), [0]);
        assert!(repeated_axes(device, &whole, &tensor(&[2])).is_err());
        assert_eq!(stacked(device, &whole).unwrap().dims(), [1, 2, 3, 4]);
    });
}

#[test]
fn products_of_vectors_become_products_of_matrices() {
    with_device(|device| {
        let (vector, matrices) = (tensor(&[3]), tensor(&[5, 3, 3]));
        let of = |product: &[usize], left, right| {
            product_of(device, &tensor(product), left, right).unwrap().dims().to_vec()
        };
        assert_eq!(of(&[5, 3], &vector, &matrices), [5, 1, 3]);
        assert_eq!(of(&[5, 3], &matrices, &vector), [5, 3, 1]);
        assert_eq!(of(&[], &vector, &vector), [1, 1]);
        assert_eq!(rows(device, &vector).unwrap().dims(), [1, 3]);
        assert_eq!(columns(device, &vector).unwrap().dims(), [3, 1]);
        assert_eq!(product(device, &tensor(&[2, 3]), &tensor(&[5, 2, 7]), &true, &false).unwrap(), [5, 3, 7]);
    });
}

#[test]
fn views_with_gaps_are_not_reshaped() {
    with_device(|device| {
        let layout = Layout::new(&[2, 2], &[4, 1]).unwrap();
        // SAFETY: the address is only a number here.
        let gaps = unsafe { TensorRef::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }.unwrap();
        assert!(reshaped(device, &gaps, &vec![4]).is_err());
        assert_eq!(reshaped(device, &tensor(&[2, 2]), &vec![4]).unwrap().strides(), [1]);
        assert!(reshaped(device, &tensor(&[2, 2]), &vec![3]).is_err());
    });
}

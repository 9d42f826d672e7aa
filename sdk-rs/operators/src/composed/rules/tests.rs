use super::*;
use tenon::DevicePtr;
use tenon::device::DataType;

fn tensor(dims: &[usize]) -> TensorRef<'static> {
    let strides = contiguous_strides(dims).unwrap();
    let layout = Layout::new(dims, &strides).unwrap();
    // SAFETY: the address is only a number here.
    unsafe { TensorRef::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }.unwrap()
}

#[test]
fn dimensions_count_from_the_end_and_none_stand_for_all() {
    let dims = [2, 3, 4];
    assert_eq!(reduced(&dims, &[-1]).unwrap(), [2, 3, 1]);
    assert_eq!(reduced(&dims, &[]).unwrap(), [1, 1, 1]);
    assert_eq!(count(&dims, &[0, 2]).unwrap(), 8.0);
    assert_eq!(axes_from(&dims, 1).unwrap(), [1, 2]);
    assert!(axes_from(&dims, 3).is_err(), "no dimensions would stand for all");
    assert!(reduced(&dims, &[3]).is_err());
    assert_eq!(reduced(&[], &[-1]).unwrap(), [0; 0]);
}

#[test]
fn repeated_dimensions_are_those_of_the_stacked_tensor() {
    let whole = [2, 3, 4];
    assert_eq!(repeated_axes(&whole, &[3, 1]).unwrap(), [0, 1, 3]);
    assert_eq!(repeated_axes(&whole, &whole).unwrap(), [0]);
    assert!(repeated_axes(&whole, &[2]).is_err());
    let stacked = call("stacked", &[Live::Tensor(tensor(&whole))]).unwrap();
    assert_eq!(stacked.shape().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn products_of_vectors_become_products_of_matrices() {
    let (vector, matrices) = (tensor(&[3]), tensor(&[5, 3, 3]));
    let of =
        |product: &[usize], left, right| product_of(&tensor(product), left, right).unwrap().dims().to_vec();
    assert_eq!(of(&[5, 3], &vector, &matrices), [5, 1, 3]);
    assert_eq!(of(&[5, 3], &matrices, &vector), [5, 3, 1]);
    assert_eq!(of(&[], &vector, &vector), [1, 1]);
    assert_eq!(rows(&vector).unwrap().dims(), [1, 3]);
    assert_eq!(columns(&vector).unwrap().dims(), [3, 1]);
    assert_eq!(product(&[2, 3], &[5, 2, 7], true, false).unwrap(), [5, 3, 7]);
}

#[test]
fn views_with_gaps_are_not_reshaped() {
    let layout = Layout::new(&[2, 2], &[4, 1]).unwrap();
    // SAFETY: the address is only a number here.
    let gaps = unsafe { TensorRef::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }.unwrap();
    assert!(reshaped(&gaps, &[4]).is_err());
    assert_eq!(reshaped(&tensor(&[2, 2]), &[4]).unwrap().strides(), [1]);
    assert!(reshaped(&tensor(&[2, 2]), &[3]).is_err());
}

#[test]
fn unknown_rules_and_wrong_values_are_errors() {
    assert!(call("no_rule", &[]).is_err());
    assert!(call("reduced", &[Live::Truth(true), Live::Integers(Vec::new())]).is_err());
}

//! Matrix products.

use tenon_kernels::DType;
use tenon_kernels::provider::{Factor, Operand, Target};

use crate::onednn::api::{MemoryDesc, Query, Result};
use crate::onednn::cache::Planned;
use crate::onednn::library::Library;
use crate::onednn::object::{Context, Description};
use crate::onednn::plan::{Plan, Tensor, role};

impl Library {
    /// Computes a matrix product, as [`Provider::multiply`] does.
    ///
    /// # Panics
    /// If a factor extends past its elements, the product has another shape, or its rows overlap.
    ///
    /// [`Provider::multiply`]: tenon_kernels::provider::Provider::multiply
    pub fn multiply(
        &self,
        dtype: DType,
        mut out: Target<'_>,
        [rows, inner, columns]: [usize; 3],
        [left, right]: [Factor<'_>; 2],
        is_added: bool,
    ) -> bool {
        let strides = out.strides();
        if strides[1] != 1 && strides[0] == 1 {
            // The library writes row-major results: the transposed product is row-major.
            let flipped = [right, left].map(|Factor { elements, strides: [row, column] }| Factor {
                elements,
                strides: [column, row],
            });
            return self.multiply(dtype, out.transposed(), [columns, inner, rows], flipped, is_added);
        }
        let (left_order, right_order) =
            (order(left.strides, [rows, inner]), order(right.strides, [inner, columns]));
        let (Some(left_order), Some(right_order), true) = (left_order, right_order, strides[1] == 1) else {
            return false;
        };
        if [rows, inner, columns].contains(&0) {
            return false;
        }
        let fits = |extent: usize, bytes: &[u8]| extent * dtype.size() <= bytes.len();
        assert_eq!(out.dims(), [rows, columns], "the product has another shape");
        assert!(strides[0] >= columns || rows == 1, "the rows of the product overlap");
        assert!(fits(extent([rows, inner], left.strides), left.elements), "a matrix past its memory");
        assert!(fits(extent([inner, columns], right.strides), right.elements), "a matrix past its memory");
        if dtype != DType::F32 {
            let key = Key {
                dtype,
                shape: [rows, inner, columns],
                factors: [left.strides, right.strides],
                row: strides[0],
            };
            let Some(plan) = self.products.plan(&self.context, key).filter(|_| !is_added) else {
                return false;
            };
            // SAFETY: the matrices lie in their slices, as just checked. The product is borrowed exclusively.
            return unsafe {
                plan.execute(
                    out.as_mut_ptr().cast(),
                    &[left, right].map(|factor| Operand::new(factor.elements)),
                )
            }
            .is_ok();
        }
        // SAFETY: the matrices lie in their slices, as just checked, in row-major or column-major order. The product is
        // borrowed exclusively.
        let done = unsafe {
            self.context.api.sgemm(
                left_order.letter,
                right_order.letter,
                rows as i64,
                columns as i64,
                inner as i64,
                1.0,
                left.elements.as_ptr().cast(),
                left_order.distance,
                right.elements.as_ptr().cast(),
                right_order.distance,
                if is_added { 1.0 } else { 0.0 },
                out.as_mut_ptr().cast(),
                strides[0].max(columns) as i64,
            )
        };
        done.is_ok()
    }
}

/// Products of types other than `f32`.
pub(crate) struct Products;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    dtype: DType,
    /// The numbers of rows, inner elements and columns.
    shape: [usize; 3],
    /// The strides of the factors.
    factors: [[usize; 2]; 2],
    /// The row stride of the product.
    row: usize,
}

impl Planned for Products {
    type Key = Key;

    fn plan(context: &Context, key: &Key) -> Result<Option<Plan>> {
        let Key { dtype, shape: [rows, inner, columns], factors: [left, right], row } = *key;
        let layout = |dims: [usize; 2], strides: [usize; 2]| {
            context.strided(dtype, &dims.map(|dim| dim as i64), &strides.map(|stride| stride as i64))
        };
        let left = layout([rows, inner], left)?;
        let right = layout([inner, columns], right)?;
        let out = layout([rows, columns], [row, 1])?;
        // SAFETY: the descriptors are live.
        let handle = unsafe {
            context.api.matmul_primitive_desc_create(
                context.engine,
                left.handle(),
                right.handle(),
                MemoryDesc::NULL,
                out.handle(),
                context.attributes,
            )
        }?;
        // SAFETY: the descriptor is new.
        let description = unsafe { Description::new(*context, handle) };
        if description.is_reference() {
            return Ok(None);
        }
        let tensor = |role, chosen, given| Tensor { role, chosen: Some(chosen), given };
        let factors =
            vec![tensor(role::SRC, Query::SRC_MD, left), tensor(role::WEIGHTS, Query::WEIGHTS_MD, right)];
        Plan::new(context, &description, tensor(role::DST, Query::DST_MD, out), factors).map(Some)
    }
}

/// Returns the number of elements from the first to the last of a matrix, gaps included.
fn extent([rows, columns]: [usize; 2], [row, column]: [usize; 2]) -> usize {
    1 + (rows - 1) * row + (columns - 1) * column
}

struct Order {
    letter: i8,
    /// The distance between rows of a row-major matrix, or between columns of a column-major one.
    distance: i64,
}

/// Returns the order of a matrix if it is row-major or column-major.
fn order([row, column]: [usize; 2], [rows, columns]: [usize; 2]) -> Option<Order> {
    // The stride of a dimension of length one has no effect, but the library checks it.
    if (column == 1 || columns == 1) && (row >= columns || rows == 1) {
        return Some(Order { letter: b'N' as i8, distance: row.max(columns) as i64 });
    }
    if (row == 1 || rows == 1) && (column >= rows || columns == 1) {
        return Some(Order { letter: b'T' as i8, distance: column.max(rows) as i64 });
    }
    None
}

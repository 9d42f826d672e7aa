//! Products with weights of a few bits, which have a scale for each block.

use tenon::device::{DataType, Error, Result};
use tenon_operators::TensorRef;

use super::products::{multiply, product_dims};
use crate::kernel::{Call, Compute, Info};

/// The form of the weights.
#[derive(Clone, Copy)]
struct Blocks {
    columns: usize,
    rows: usize,
    bits: usize,
    /// The number of weights of a row that have one scale.
    size: usize,
}

/// A product with a matrix whose rows are blocks of numbers with few bits, each with a scale and a zero point.
///
/// The source of the form is the description of `MatMulNBits` among the operators of ONNX Runtime.
pub(crate) fn matmul_nbits(info: &Info) -> Result<Compute> {
    let number = |name: &str| usize::try_from(info.int(name).unwrap_or(0)).unwrap_or(0);
    let bits = if info.int("bits").is_some() { number("bits") } else { 4 };
    let blocks = Blocks { columns: number("K"), rows: number("N"), bits, size: number("block_size") };
    if ![2, 4, 8].contains(&bits) || blocks.size < 16 || !blocks.size.is_power_of_two() {
        return info.refuse("blocks of this form");
    }
    if blocks.columns == 0 || blocks.rows == 0 {
        return info.refuse("a matrix without rows or columns");
    }
    Ok(Box::new(move |call| {
        let a = call.input(0)?;
        if call.optional(4)?.is_some() {
            return Err(Error::unsupported("columns in groups"));
        }
        let ty = a.data_type();
        let weights = call.kept(&[1, 2, 3], || Ok(vec![blocks.weights(call, ty)?]))?;
        let weights = weights[0].transposed(0, 1)?;
        let dims = product_dims(a.dims(), weights.dims())?;
        let mut out = call.output(0, &dims)?;
        multiply(call, &mut out, &a, &weights)?;
        match call.optional(5)? {
            Some(bias) if !out.is_empty() => {
                let product = out.as_input();
                call.run(|operators, launch| operators.add(launch, &mut out, &product, &bias))
            }
            _ => Ok(()),
        }
    }))
}

impl Blocks {
    /// Returns the number of blocks in a row.
    fn per_row(self) -> usize {
        self.columns.div_ceil(self.size)
    }

    /// Returns the number of bytes of some numbers in a row, which begins at a byte of its own.
    fn bytes(self, numbers: usize) -> usize {
        (numbers * self.bits).div_ceil(8)
    }

    /// Returns the number at an index of a row. The lowest bits of a byte are the first number.
    fn number(self, row: &[u8], index: usize) -> f32 {
        let bit = index * self.bits;
        let number = row[bit / 8] >> (bit % 8) & (0xFF_u8 >> (8 - self.bits));
        f32::from(number)
    }

    /// Computes the matrix of the weights, `[rows, columns]`.
    fn weights<'t>(self, call: &'t Call<'_>, ty: DataType) -> Result<TensorRef<'t>> {
        let Self { columns, rows, bits, size } = self;
        let per_row = self.per_row();
        let packed = call.download(&call.contiguous(&call.input(1)?)?)?;
        let scales = floats(call, 2)?.ok_or_else(|| Error::invalid("there are no scales"))?;
        let row_bytes = per_row * self.bytes(size);
        if packed.len() != rows * row_bytes || scales.len() != rows * per_row {
            return Err(Error::invalid(format!(
                "{} bytes and {} scales are not those of {rows} rows of {columns} numbers",
                packed.len(),
                scales.len()
            )));
        }
        let zeros = self.zeros(call)?;
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            let bytes = &packed[row * row_bytes..][..row_bytes];
            for column in 0..columns {
                let block = row * per_row + column / size;
                let zero = zeros.as_ref().map_or((1_u32 << (bits - 1)) as f32, |zeros| zeros[block]);
                values.push((self.number(bytes, column) - zero) * scales[block]);
            }
        }
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let values = call.upload(DataType::FLOAT32, &[rows, columns], &bytes)?;
        call.cast(&values, ty)
    }

    /// Returns the zero point of each block; `None` if it is the middle of the numbers.
    fn zeros(self, call: &Call<'_>) -> Result<Option<Vec<f32>>> {
        let Some(given) = call.optional(3)? else { return Ok(None) };
        let count = self.rows * self.per_row();
        let zeros = if given.data_type() == DataType::UINT8 {
            let (bytes, row) = (call.download(&given)?, self.bytes(self.per_row()));
            if bytes.len() != self.rows * row {
                return Err(Error::invalid("there are too few zero points, or too many"));
            }
            let of_row = |row: &[u8]| (0..self.per_row()).map(|n| self.number(row, n)).collect::<Vec<_>>();
            bytes.chunks_exact(row).flat_map(of_row).collect()
        } else {
            floats(call, 3)?.unwrap_or_default()
        };
        if zeros.len() != count {
            return Err(Error::invalid("there are too few zero points, or too many"));
        }
        Ok(Some(zeros))
    }
}

/// Reads the numbers of an input.
fn floats(call: &Call<'_>, index: usize) -> Result<Option<Vec<f32>>> {
    let Some(input) = call.optional(index)? else { return Ok(None) };
    let bytes = call.download(&call.cast(&input, DataType::FLOAT32)?)?;
    let number = |bytes: &[u8]| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(Some(bytes.chunks_exact(4).map(number).collect()))
}

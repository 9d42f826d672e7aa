//! Cases of the only operation of linear algebra.

use tenon::device::DataType;
use tenon::device::Function::{AsyncMemoryCopyD2d, BlasAxpby};

use crate::case::{Case, Level, Verdict, ensure};
use crate::plugin_under_test::{Memory, PluginUnderTest, id};

pub(super) fn cases() -> Vec<Case> {
    let case = |id, body| Case::written(id, Level::Promised, body).of([BlasAxpby]);
    vec![
        case("blas.axpby.float32", float32).spec(
            "blas_axpby",
            "Computes `y = alpha * x + beta * y`, element by element, in the order of a stream.",
        ),
        case("blas.axpby.float64", float64).spec(
            "blas_axpby",
            "Computes `y = alpha * x + beta * y`, element by element, in the order of a stream.",
        ),
        case("blas.axpby.beta-zero", beta_zero)
            .spec("blas_axpby", "If `beta` is 0, the old content of `y` is ignored, even a NaN."),
        case("blas.axpby.itself", itself)
            .spec("blas_axpby", "Second vector and result, `numel` elements of `dtype`; may be `x`."),
        case("blas.axpby.order", order)
            .uses([AsyncMemoryCopyD2d])
            .spec("blas_axpby", "in the order of a stream"),
    ]
}

const COUNT: usize = 1003;

struct Call<'a> {
    stream: u64,
    dtype: DataType,
    alpha: f64,
    x: &'a Memory,
    beta: f64,
    y: &'a Memory,
}

fn axpby(plugin: &PluginUnderTest, call: &Call<'_>) -> Verdict {
    let (alpha, beta) = (call.alpha.to_bits(), call.beta.to_bits());
    let (x, y) = (call.x.address, call.y.address);
    plugin.ok(BlasAxpby, &[id(0), call.stream, call.dtype.0 as u64, COUNT as u64, alpha, x, beta, y])
}

fn bytes_of(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}

fn floats(plugin: &PluginUnderTest, memory: &Memory) -> Verdict<Vec<f32>> {
    let bytes = plugin.read(memory, 0, memory.len)?;
    let (numbers, _) = bytes.as_chunks::<4>();
    Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// Creates small whole numbers, so that every order of rounding gives the same result.
fn x(index: usize) -> f32 {
    (index % 17) as f32 - 8.0
}

fn y(index: usize) -> f32 {
    (index % 23) as f32 - 11.0
}

fn check(found: &[f32], expected: impl Fn(usize) -> f32) -> Verdict {
    for (index, value) in found.iter().enumerate() {
        ensure!(*value == expected(index), "element {index} is {value} where {} belongs", expected(index));
    }
    Ok(())
}

fn vectors(plugin: &PluginUnderTest) -> Verdict<(Memory, Memory)> {
    Ok((plugin.filled(0, &bytes_of((0..COUNT).map(x)))?, plugin.filled(0, &bytes_of((0..COUNT).map(y)))?))
}

fn float32(plugin: &PluginUnderTest) -> Verdict {
    let (stream, (first, second)) = (plugin.stream(0)?, vectors(plugin)?);
    axpby(plugin, &Call { stream, dtype: DataType::FLOAT32, alpha: 2.0, x: &first, beta: -0.5, y: &second })?;
    plugin.synchronize_stream(0, stream)?;
    check(&floats(plugin, &second)?, |index| 2.0 * x(index) - 0.5 * y(index))?;
    check(&floats(plugin, &first)?, x)?;
    plugin.free(first)?;
    plugin.free(second)?;
    plugin.destroy_stream(0, stream)
}

fn float64(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let wide = |value: fn(usize) -> f32| {
        (0..COUNT).flat_map(|i| f64::from(value(i)).to_le_bytes()).collect::<Vec<u8>>()
    };
    let (first, second) = (plugin.filled(0, &wide(x))?, plugin.filled(0, &wide(y))?);
    axpby(plugin, &Call { stream, dtype: DataType::FLOAT64, alpha: 3.0, x: &first, beta: 1.0, y: &second })?;
    plugin.synchronize_stream(0, stream)?;
    let bytes = plugin.read(&second, 0, second.len)?;
    for (index, number) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let (found, expected) = (f64::from_le_bytes(*number), f64::from(3.0 * x(index) + y(index)));
        ensure!(found == expected, "element {index} is {found} where {expected} belongs");
    }
    plugin.free(first)?;
    plugin.free(second)?;
    plugin.destroy_stream(0, stream)
}

fn beta_zero(plugin: &PluginUnderTest) -> Verdict {
    let (stream, (first, second)) = (plugin.stream(0)?, vectors(plugin)?);
    plugin.write(&second, 0, &bytes_of((0..COUNT).map(|_| f32::NAN)))?;
    axpby(plugin, &Call { stream, dtype: DataType::FLOAT32, alpha: 4.0, x: &first, beta: 0.0, y: &second })?;
    plugin.synchronize_stream(0, stream)?;
    check(&floats(plugin, &second)?, |index| 4.0 * x(index))?;
    plugin.free(first)?;
    plugin.free(second)?;
    plugin.destroy_stream(0, stream)
}

fn itself(plugin: &PluginUnderTest) -> Verdict {
    let (stream, (first, second)) = (plugin.stream(0)?, vectors(plugin)?);
    axpby(plugin, &Call { stream, dtype: DataType::FLOAT32, alpha: 2.0, x: &first, beta: 1.0, y: &first })?;
    plugin.synchronize_stream(0, stream)?;
    check(&floats(plugin, &first)?, |index| 3.0 * x(index))?;
    plugin.free(first)?;
    plugin.free(second)?;
    plugin.destroy_stream(0, stream)
}

fn order(plugin: &PluginUnderTest) -> Verdict {
    let (stream, (first, second)) = (plugin.stream(0)?, vectors(plugin)?);
    let last = plugin.allocate(0, second.len)?;
    // Each step doubles and adds, so the result shows a step that is missing or late.
    for _ in 0..10 {
        axpby(
            plugin,
            &Call { stream, dtype: DataType::FLOAT32, alpha: 1.0, x: &first, beta: 2.0, y: &second },
        )?;
    }
    plugin.queue_copy(stream, &last, &second)?;
    plugin.synchronize_stream(0, stream)?;
    check(&floats(plugin, &last)?, |index| 1023.0 * x(index) + 1024.0 * y(index))?;
    for memory in [first, second, last] {
        plugin.free(memory)?;
    }
    plugin.destroy_stream(0, stream)
}

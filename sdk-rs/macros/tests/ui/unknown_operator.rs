use tenon::device::Result;
use tenon_operators::*;

struct MyNpu;

#[tenon_operators::operators]
impl Operators for MyNpu {
    fn rellu(&self, _: Launch, _: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
        Ok(())
    }

    #[data_types()]
    fn relu(&self, _: Launch, _: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
        Ok(())
    }
}

fn main() {}

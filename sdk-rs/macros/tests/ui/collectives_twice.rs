use tenon::device::*;

struct MyNpu;

#[tenon::plugin(device_type = "my_npu", collectives = tenon_gloo)]
impl Device for MyNpu {
    fn xccl_group_start(&self) -> Result<()> {
        Ok(())
    }
}

fn main() {}

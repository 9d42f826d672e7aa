mod device {
    tenon_interface::interface!("devices", spec = "../../../../spec");
}

fn main() {}

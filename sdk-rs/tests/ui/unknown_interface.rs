mod device {
    tenon::interface!("devices");
}

fn main() {}

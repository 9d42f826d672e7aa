mod bus {
    tenon_interface::interface!("bus", spec = "no/such/folder");
}

fn main() {}

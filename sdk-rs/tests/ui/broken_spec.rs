mod bus {
    tenon::interface!("bus", spec = "no/such/folder");
}

fn main() {}

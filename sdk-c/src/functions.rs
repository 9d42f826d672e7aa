//! The functions of the spec, one export each, and the statuses that all exports answer.

tenon::c_api!("device");

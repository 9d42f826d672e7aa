//! Rules for operators of MMCV.

pub mod clouds;
pub mod deformable;
pub mod detection;
pub mod features;
pub mod filters;
pub mod points;
pub mod polygons;
pub mod regions;
pub mod sparse;

//! Rules for operators of MMCV.

pub mod deformable;
pub mod detection;
pub mod filters;
pub mod points;
pub mod polygons;
pub mod regions;

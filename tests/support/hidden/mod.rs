//! Machines and kernels in arithmetic of their own, which shares nothing with the library's.

pub mod integers;
pub mod machine;
pub mod narrow;
pub mod number;
pub mod rdna;
pub mod scaled;

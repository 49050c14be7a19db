//! Which products a scale belongs to, and whose: every block has another.

use crate::builder::{CaseBuilder, K, SuiteBuilder};
use crate::emu::Scale;

pub const TELLS: &str = "size and order of blocks, scales of A and of B";

/// Every block has scales that no other has.
fn all_differ(mut case: CaseBuilder, scale: Scale, reach: i32) -> CaseBuilder {
    for block in 0..K / scale.block {
        let i = block as i32;
        let (x, y) = (i % (reach + 1) - reach / 2, i / (reach + 1) - 1);
        case = case.scale_exponents(block, [x, y]);
    }
    case
}

pub fn write(set: &mut SuiteBuilder, scale: Scale) {
    for k in 0..K {
        let case = set.case(format!("1 at k = {k} alone, other scales in every block"));
        all_differ(case.product(k, false, 1, 0), scale, 5).done();
    }
    for stride in [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33] {
        let case = set.case(format!(
            "1 at every {stride}th k, other scales in every block"
        ));
        let case = case.powers((0..K).step_by(stride), false, 0);
        all_differ(case, scale, 5).done();
    }
}

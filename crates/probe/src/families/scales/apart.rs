//! Terms that scales set apart: what a large pair swallows, by blocks, how deep a term counts beside it,
//! and which products are added before they are cut.

use crate::builder::{K, SuiteBuilder};
use crate::emu::Scale;

pub const TELLS: &str = "group, alignment and order of scaled terms; sums before they are scaled";

pub fn write(set: &mut SuiteBuilder, scale: Scale) {
    let (block, blocks) = (scale.block, K / scale.block);
    // As far as scales of any format reach.
    let big = 12;
    for i in 0..blocks {
        for j in 0..blocks {
            // Beside the pair smaller terms are lost by their group; C takes the place of one.
            for small in [-4, -12] {
                let mut case = set.case(format!(
                    "2^{big} in block {i}, -2^{big} in block {j}, 2^{small} in every other"
                ));
                for other in (0..blocks).filter(|other| *other != i && *other != j) {
                    case = case
                        .product(other * block, false, 1, 0)
                        .scaled(other, small);
                }
                case = case.product(i * block, false, 1, 0).scaled(i, big);
                case = if i == j {
                    case.c(true, 1, big)
                } else {
                    case.product(j * block + block / 2, true, 1, 0)
                        .scaled(j, big)
                };
                case.tag("block-swamp", i as i32, (j as i32) * 100 - small)
                    .done();
            }
        }
    }
    depths(set, block);
    parts(set, block);
}

/// A term of another block, and of C, at every depth below a pair.
fn depths(set: &mut SuiteBuilder, block: usize) {
    let (least, most) = set.scale_reach();
    for d in 1..=70 {
        // Between the ends of the scales' range.
        let small = (-d / 2).max(2 * least);
        let top = small + d;
        for (m, negative) in [(1, false), (1, true), (3, false), (3, true)] {
            let sign = if negative { "-" } else { "" };
            let name = if negative {
                "block-depth-negative"
            } else {
                "block-depth"
            };
            for (i, other) in [(0, 1), (1, 0), (0, 2), (0, 3), (2, 3)] {
                let case = set.case(format!(
                    "C = 2^{top}, -2^{top} in block {i}, {sign}{m} * 2^{small} in block {other}"
                ));
                case.c(false, 1, top)
                    .large(i * block, true, top)
                    .product(other * block + 1, negative, m, 0)
                    .scaled(other, small)
                    .tag(name, m as i32, 100 * (4 * i + other) as i32 + d)
                    .done();
                let case = set.case(format!(
                    "-2^{top} and 2^{top} in blocks {i} and {other}, C = {sign}{m} * 2^{small}"
                ));
                case.c(negative, m, small)
                    .large(i * block, true, top)
                    .large(other * block, false, top)
                    .done();
            }
            if top <= 2 * most {
                let case = set.case(format!(
                    "2^{top} and -2^{top} in block 0, C = {sign}{m} * 2^{small}"
                ));
                case.c(negative, m, small)
                    .product(0, true, 1, 0)
                    .product(1, false, 1, 0)
                    .scaled(0, top)
                    .done();
            }
        }
    }
}

/// Two small terms, each of which is lost alone, at two places of a block.
fn parts(set: &mut SuiteBuilder, block: usize) {
    let (least, _) = set.scale_reach();
    for d in 20..=44 {
        let small = (-d / 2).max(2 * least);
        let top = small + d;
        for (first, j) in [1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31]
            .into_iter()
            .filter(|j| *j < block)
            .flat_map(|j| [(0, j), (block - 1 - j, j)])
        {
            for other in [0, 1] {
                let pair = 1 - other;
                let base = other * block + first;
                let case = set.case(format!(
                    "C = 2^{top}, -2^{top} in block {pair}, 2^{small} at k = {base} and {}",
                    base + j
                ));
                case.c(false, 1, top)
                    .large(pair * block, true, top)
                    .powers([base, base + j], false, 0)
                    .scaled(other, small)
                    .done();
            }
        }
    }
}

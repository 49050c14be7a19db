//! Random subsets of D's elements, the same for everybody who knows the seed, and what agreement on one proves.

use std::collections::HashSet;
use std::ops::Range;

use sha2::{Digest, Sha256};

use tcverify_emu::Element;
use tcverify_num::random::SplitMix64;
use tcverify_num::{Class, Format};

/// A draw that nobody could know before a public value was known, of what was fixed before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicDraw {
    /// SHA-256 of the text that names commitment and beacon.
    pub sha256: [u8; 32],
    pub seed: u64,
}

impl PublicDraw {
    /// Of a commitment's file, by its SHA-256 in lower-case hexadecimal, and a beacon's value. What is
    /// hashed is the text
    ///
    /// ```text
    /// tcverify.draw/1
    /// commitment=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    /// beacon=1b35a8b2...
    /// ```
    ///
    /// with a newline after each of its lines; the seed is the first eight bytes of the hash, the first the
    /// highest.
    ///
    /// # Errors
    /// If the value is not 1 to 256 characters of ASCII that can be seen.
    pub fn new(commitment_sha256: &str, beacon: &str) -> Result<PublicDraw, String> {
        let visible = beacon.bytes().all(|byte| byte.is_ascii_graphic());
        if !(1..=256).contains(&beacon.len()) || !visible {
            return Err(
                "a beacon's value must be 1 to 256 ASCII characters without spaces, such as hexadecimal digits"
                    .into(),
            );
        }
        let text = format!("tcverify.draw/1\ncommitment={commitment_sha256}\nbeacon={beacon}\n");
        let sha256: [u8; 32] = Sha256::digest(text).into();
        let (first, _) = sha256.split_first_chunk().expect("32 bytes");
        Ok(PublicDraw {
            seed: u64::from_be_bytes(*first),
            sha256,
        })
    }
}

/// A part of D: some rows and columns of every matrix of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub batches: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl Region {
    /// All of a result of this shape, whose last two axes are rows and columns.
    pub fn of(shape: &[usize]) -> Region {
        let axis = |from_last: usize| {
            let at = shape.len().checked_sub(from_last);
            at.map_or(1, |at| shape[at])
        };
        let leading = shape.len().saturating_sub(2);
        Region {
            batches: shape[..leading].iter().product(),
            rows: 0..axis(2),
            columns: 0..axis(1),
        }
    }

    /// Elements.
    pub fn len(&self) -> u64 {
        self.batches as u64 * self.rows.len() as u64 * self.columns.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a position, counted in index order.
    pub fn element(&self, position: u64) -> Element {
        let (rows, columns) = (self.rows.len() as u64, self.columns.len() as u64);
        Element {
            batch: (position / (rows * columns)) as usize,
            row: self.rows.start + (position / columns % rows) as usize,
            column: self.columns.start + (position % columns) as usize,
        }
    }

    /// Every element, in index order.
    pub fn elements(&self) -> impl Iterator<Item = Element> {
        (0..self.len()).map(|position| self.element(position))
    }

    /// `count` different elements of the region, every subset of that size as likely as any other (all
    /// of them, if it has no more), in index order.
    ///
    /// Positions are drawn with SplitMix64 from `seed`: the next word w gives w mod n, n the region's
    /// size, unless w is at or above the largest multiple of n that 64 bits hold, or that position has
    /// been drawn before; then the word is skipped. Of more than half the region, it is the elements
    /// left out that are drawn so.
    pub fn sample(&self, count: u64, seed: u64) -> Vec<Element> {
        let all = self.len();
        if count >= all {
            return self.elements().collect();
        }
        let few = count <= all / 2;
        let drawn = draw(all, if few { count } else { all - count }, seed);
        if few {
            let mut positions: Vec<_> = drawn.into_iter().collect();
            positions.sort_unstable();
            positions.into_iter().map(|p| self.element(p)).collect()
        } else {
            let kept = (0..all).filter(|position| !drawn.contains(position));
            kept.map(|position| self.element(position)).collect()
        }
    }
}

/// `count` different numbers below `all`, as [`Region::sample`] draws them.
pub fn draw(all: u64, count: u64, seed: u64) -> HashSet<u64> {
    // Words from here on would make low positions likelier.
    let end = u64::MAX - (u64::MAX % all + 1) % all;
    let mut random = SplitMix64(seed);
    let mut drawn = HashSet::with_capacity(count as usize);
    while (drawn.len() as u64) < count {
        let word = random.word();
        if word <= end {
            drawn.insert(word % all);
        }
    }
    drawn
}

/// The probability that a random sample of `count` of `all` elements misses every one of `tampered`:
/// hypergeometric, C(all - tampered, count) / C(all, count).
pub fn miss_probability(all: u64, count: u64, tampered: u64) -> f64 {
    if tampered == 0 {
        return 1.0;
    }
    if tampered > all.saturating_sub(count) {
        return 0.0;
    }
    // The same quotient with the roles of sample and tampering exchanged: the shorter product.
    let (short, long) = if tampered < count {
        (tampered, count)
    } else {
        (count, tampered)
    };
    let mut probability = 1.0;
    for i in 0..short {
        probability *= (all - long - i) as f64 / (all - i) as f64;
        if probability < 1e-300 {
            return 0.0;
        }
    }
    probability
}

/// The fewest tampered elements that a sample misses with a probability of at most `risk`.
pub fn smallest_caught(all: u64, count: u64, risk: f64) -> u64 {
    // The probability falls as the number grows.
    let (mut missed, mut caught) = (0, all - count + 1);
    while caught - missed > 1 {
        let middle = missed + (caught - missed) / 2;
        if miss_probability(all, count, middle) <= risk {
            caught = middle;
        } else {
            missed = middle;
        }
    }
    caught
}

/// The larger, the nearer a code is to the middle between two neighbours of a format of fewer fraction
/// bits. An estimate: it orders elements and decides nothing.
pub fn nearness(code: u64, [from, to]: [Format; 2]) -> u64 {
    let dropped = from.fraction_bits().saturating_sub(to.fraction_bits());
    if dropped == 0 || from.unpack(code).class != Class::Finite {
        return 0;
    }
    let low = code & ((1 << dropped) - 1);
    let middle = 1u64 << (dropped - 1);
    middle - low.abs_diff(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(rows: Range<usize>, columns: Range<usize>) -> Region {
        Region {
            batches: 2,
            rows,
            columns,
        }
    }

    #[test]
    fn samples_are_distinct_sorted_and_inside() {
        let region = region(3..9, 10..17);
        assert_eq!(region.len(), 84);
        for count in [1, 20, 42, 43, 80, 84, 1000] {
            let sample = region.sample(count, 5);
            assert_eq!(sample.len() as u64, count.min(84));
            let keys: Vec<_> = sample.iter().map(|e| (e.batch, e.row, e.column)).collect();
            assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] != pair[1]));
            assert!(sample.iter().all(|e| e.batch < 2
                && region.rows.contains(&e.row)
                && region.columns.contains(&e.column)));
        }
        assert_eq!(region.sample(20, 5), region.sample(20, 5));
        assert_ne!(region.sample(20, 5), region.sample(20, 6));
    }

    /// Every element is drawn about as often as any other, by few and by many.
    #[test]
    fn no_element_is_favoured() {
        let region = region(0..5, 0..4);
        for count in [8, 30] {
            let mut drawn = [0u32; 40];
            for seed in 0..4000 {
                for e in region.sample(count, seed) {
                    drawn[e.batch * 20 + e.row * 4 + e.column] += 1;
                }
            }
            let expected = 4000.0 * count as f64 / 40.0;
            // Five standard deviations.
            let spread = 5.0 * (expected * (1.0 - count as f64 / 40.0)).sqrt();
            let far = |&n: &u32| (f64::from(n) - expected).abs() > spread;
            assert!(!drawn.iter().any(far), "{drawn:?}");
        }
    }

    /// Binomial coefficients in exact integers.
    #[test]
    fn probabilities_are_hypergeometric() {
        let choose =
            |n: u64, k: u64| (0..k).fold(1u128, |c, i| c * u128::from(n - i) / u128::from(i + 1));
        for all in [5, 12, 40] {
            for count in 1..all {
                for tampered in 0..=all {
                    let exact = if tampered > all - count {
                        0.0
                    } else {
                        choose(all - tampered, count) as f64 / choose(all, count) as f64
                    };
                    let found = miss_probability(all, count, tampered);
                    assert!(
                        (found - exact).abs() <= 1e-13,
                        "{all} {count} {tampered}: {found} {exact}"
                    );
                }
            }
        }
        // 1 - 10^5 / 2^26 for one tampered element.
        let one = miss_probability(1 << 26, 100_000, 1);
        assert!((one - (1.0 - 1e5 / f64::from(1 << 26))).abs() < 1e-15);
    }

    #[test]
    fn the_smallest_tampering_that_is_caught() {
        for (all, count) in [
            (100, 10),
            (1 << 26, 100_000),
            (10, 9),
            (7, 7),
            (1_000_000, 1),
        ] {
            let k = smallest_caught(all, count, 0.01);
            assert!(miss_probability(all, count, k) <= 0.01, "{all} {count} {k}");
            assert!(
                k == 1 || miss_probability(all, count, k - 1) > 0.01,
                "{all} {count} {k}"
            );
        }
        assert_eq!(smallest_caught(7, 7, 0.01), 1);
        // ln 0.01 / ln (1 - n/N), nearly.
        assert!((3085..3092).contains(&smallest_caught(1 << 26, 100_000, 0.01)));
    }

    #[test]
    fn halfway_is_nearest() {
        let near = |code| nearness(code, [Format::Fp32, Format::Bf16]);
        let (halfway, above, exact) = (0x3f80_8000, 0x3f80_8001, 0x3f80_0000);
        assert!(near(halfway) > near(above) && near(above) > near(exact));
        assert_eq!(near(0x7f80_8000), 0, "a NaN");
        assert_eq!(nearness(halfway, [Format::Fp32; 2]), 0);
    }
}

//! SplitMix64 (Steele, Lea, Flood 2014): words that are the same on every machine, for samples, for
//! generated operands and for benchmarks.

pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator's output function: a word for every state.
pub fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The sequence from a seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequence from 1234567, as its authors' reference prints it.
    #[test]
    fn known_words() {
        let mut random = SplitMix64(1_234_567);
        let words = [(); 3].map(|()| random.word());
        assert_eq!(
            words,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}

//! Leaves of a D that arrives row by row.

use sha2::{Digest, Sha256};

use super::{Hash, Rows};

/// Hashes blocks as their rows come.
pub struct StreamingLeaves {
    /// Bytes of a block, except the last.
    block: u64,
    begun: u64,
    hash: Sha256,
    leaves: Vec<Hash>,
}

impl StreamingLeaves {
    /// From the first row of some block on.
    pub fn new(rows: &Rows) -> StreamingLeaves {
        let row = (rows.columns() * rows.format.bytes()) as u64;
        StreamingLeaves {
            block: rows.block_rows.saturating_mul(row),
            begun: 0,
            hash: StreamingLeaves::start(),
            leaves: Vec::new(),
        }
    }

    /// A hash into which the prefix of leaves has gone.
    fn start() -> Sha256 {
        Sha256::new_with_prefix([0])
    }

    /// The next bytes of the canonical payload.
    pub fn update(&mut self, mut payload: &[u8]) {
        while !payload.is_empty() {
            let room = usize::try_from(self.block - self.begun).unwrap_or(usize::MAX);
            let (now, rest) = payload.split_at(room.min(payload.len()));
            self.hash.update(now);
            self.begun += now.len() as u64;
            if self.begun == self.block {
                self.end();
            }
            payload = rest;
        }
    }

    fn end(&mut self) {
        let hash = std::mem::replace(&mut self.hash, StreamingLeaves::start());
        self.leaves.push(Hash(hash.finalize().into()));
        self.begun = 0;
    }

    /// The leaves; one that has begun ends here.
    pub fn finish(mut self) -> Vec<Hash> {
        if self.begun > 0 {
            self.end();
        }
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::super::leaf;
    use super::*;
    use crate::num::Format;

    #[test]
    fn leaves_do_not_depend_on_the_pieces() {
        let rows = Rows::new(Format::Fp16, vec![7, 3], 2).unwrap();
        let payload: Vec<u8> = (0..42).collect();
        let expected: Vec<_> = payload.chunks(12).map(|block| leaf([block])).collect();
        for step in 1..=42 {
            let mut streaming = StreamingLeaves::new(&rows);
            payload
                .chunks(step)
                .for_each(|piece| streaming.update(piece));
            assert_eq!(streaming.finish(), expected, "pieces of {step}");
        }
    }
}

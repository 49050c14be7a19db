//! Bytes, taken from the front; zeros follow the last one.

pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    pub fn byte(&mut self) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first.into()
    }

    pub fn word(&mut self) -> usize {
        self.byte() | self.byte() << 8
    }

    pub fn code(&mut self) -> u64 {
        (0..8).fold(0, |code, at| code | (self.byte() as u64) << (8 * at))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

//! How far a check is.

/// Told how far a check is; `()` does not listen.
pub trait Progress: Sync {
    /// There will be so many multiply-adds.
    fn begin(&self, _work: u64) {}

    /// So many more are done.
    fn advance(&self, _work: u64) {}

    /// Whether it shall end without a verdict; asked now and then.
    fn stopped(&self) -> bool {
        false
    }
}

impl Progress for () {}

//! Bounded memory for the sizes that files and specifications request; too large a request is an
//! error.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use memmap2::MmapMut;
use thiserror::Error;

/// The bytes that all operands may take together. What a replay needs besides (packed copies, D) does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub max_bytes: u64,
}

impl Default for Limits {
    /// Three quarters of the machine's memory, or of what its control group leaves this process; no limit
    /// where neither is known (anything but Linux).
    fn default() -> Limits {
        static MACHINE: OnceLock<u64> = OnceLock::new();
        let all = *MACHINE.get_or_init(machine);
        Limits {
            max_bytes: all - all / 4,
        }
    }
}

impl Limits {
    /// The default, or another limit if that is less.
    pub fn within(most: Option<u64>) -> Limits {
        let Limits { max_bytes } = Limits::default();
        Limits {
            max_bytes: most.map_or(max_bytes, |most| most.min(max_bytes)),
        }
    }
}

/// Bytes of memory that this process may have.
fn machine() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let first = |text: String| text.split_whitespace().next()?.parse::<u64>().ok();
    let total = read("/proc/meminfo").and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        Some(first(line.to_owned())?.saturating_mul(1024))
    });
    // "max" is no number: no limit.
    let own = read("/proc/self/cgroup").and_then(|text| {
        Some(
            text.lines()
                .find_map(|line| line.strip_prefix("0::"))?
                .to_owned(),
        )
    });
    let own = own.map(|group| format!("/sys/fs/cgroup{}/memory.max", group.trim_end()));
    let groups = [
        own.as_deref().unwrap_or_default(),
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let groups = groups.into_iter().filter_map(|path| first(read(path)?));
    total.into_iter().chain(groups).min().unwrap_or(u64::MAX)
}

/// Why memory is refused.
#[derive(Debug, Error)]
pub enum MemoryError {
    #[error(
        "needs {needed} bytes of memory; {left} of the allowed {} are left",
        limits.max_bytes
    )]
    Limit {
        needed: u64,
        left: u64,
        limits: Limits,
    },
    #[error("has {has} bytes; limit: {most}")]
    File { has: u64, most: u64 },
    #[error("needs {needed} bytes of memory, which the system does not provide")]
    System { needed: u64, source: std::io::Error },
}

/// Hands out memory; clones share one account.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Account>);

#[derive(Debug, Default)]
struct Account {
    limits: Limits,
    used: AtomicU64,
    /// For untrusted files: what is mapped counts, too, as all of it may be touched.
    strict: bool,
    /// The most bytes that a file may have.
    largest: Option<u64>,
}

impl Memory {
    pub fn new(limits: Limits) -> Memory {
        Memory(Arc::new(Account {
            limits,
            ..Account::default()
        }))
    }

    /// For untrusted files: what is mapped counts as what is read does, and no file may have more bytes than `largest`.
    pub fn strict(limits: Limits, largest: Option<u64>) -> Memory {
        Memory(Arc::new(Account {
            limits,
            strict: true,
            largest,
            ..Account::default()
        }))
    }

    /// Refuses a file that is too large.
    pub fn admit(&self, has: u64) -> Result<(), MemoryError> {
        match self.0.largest {
            Some(most) if has > most => Err(MemoryError::File { has, most }),
            _ => Ok(()),
        }
    }

    /// Reserves what is mapped, where that counts.
    pub fn mapped(&self, bytes: u64) -> Result<Option<Reserved>, MemoryError> {
        let counts = self.0.strict.then(|| Reserved::new(self, bytes));
        counts.transpose()
    }

    /// Bytes that are handed out now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// So many bytes, all 0, that nobody else can change.
    ///
    /// # Errors
    /// If that is more than is left, or the system has none.
    pub fn zeroed(&self, length: usize) -> Result<Block, MemoryError> {
        let account = Reserved::new(self, length as u64)?;
        let bytes = if length <= FEW {
            Held::Few(vec![0; length])
        } else {
            let failed = |source| MemoryError::System {
                needed: length as u64,
                source,
            };
            let map = MmapMut::map_anon(length).map_err(failed)?;
            // Fewer, larger pages, where the system has them.
            #[cfg(target_os = "linux")]
            if length >= 4 << 20 {
                let _ = map.advise(memmap2::Advice::HugePage);
            }
            Held::Map(map)
        };
        Ok(Block {
            bytes,
            length,
            _account: account,
        })
    }
}

/// A share of the account, until it is dropped.
#[derive(Debug)]
pub struct Reserved {
    account: Arc<Account>,
    bytes: u64,
}

impl Reserved {
    fn new(memory: &Memory, bytes: u64) -> Result<Reserved, MemoryError> {
        let Account { limits, used, .. } = &*memory.0;
        let more = |used: u64| {
            let sum = used.checked_add(bytes)?;
            (sum <= limits.max_bytes).then_some(sum)
        };
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Reserved {
                account: memory.0.clone(),
                bytes,
            }),
            Err(used) => Err(MemoryError::Limit {
                needed: bytes,
                left: limits.max_bytes.saturating_sub(used),
                limits: *limits,
            }),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory of this process alone.
#[derive(Debug)]
pub struct Block {
    bytes: Held,
    length: usize,
    _account: Reserved,
}

/// So many bytes or fewer come from the heap: a process may have some ten thousand maps, a batch has more small files.
const FEW: usize = 1 << 16;

#[derive(Debug)]
enum Held {
    Few(Vec<u8>),
    /// An anonymous map fails instead of ending the process, costs nothing until it is written, and goes back to the
    /// system whole.
    Map(MmapMut),
}

impl Block {
    /// Forgets all but the first bytes.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        match &self.bytes {
            Held::Few(bytes) => &bytes[..self.length],
            Held::Map(map) => &map[..self.length],
        }
    }
}

impl AsMut<[u8]> for Block {
    fn as_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            Held::Few(bytes) => &mut bytes[..self.length],
            Held::Map(map) => &mut map[..self.length],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_out_comes_back() {
        let memory = Memory::new(Limits { max_bytes: 1000 });
        let mut first = memory.zeroed(600).unwrap();
        first.as_mut().fill(1);
        assert_eq!(first.as_ref(), [1; 600]);
        let why = memory.clone().zeroed(401).unwrap_err().to_string();
        assert!(
            why.contains("401 bytes") && why.contains("400 of the allowed 1000 are left"),
            "{why}"
        );
        let second = memory.zeroed(400).unwrap();
        assert_eq!((memory.used(), second.as_ref()), (1000, &[0; 400][..]));
        drop(first);
        assert_eq!(memory.used(), 400);
        assert!(memory.zeroed(0).unwrap().as_ref().is_empty());
    }

    #[test]
    fn what_is_mapped_counts_where_nobody_is_trusted() {
        let limits = Limits { max_bytes: 1000 };
        let strict = Memory::strict(limits, Some(800));
        let share = strict.mapped(600).unwrap();
        assert!(share.is_some() && strict.mapped(401).is_err());
        drop(share);
        assert!(strict.admit(800).is_ok());
        let why = strict.admit(801).unwrap_err().to_string();
        assert!(why.contains("801 bytes") && why.contains("800"), "{why}");
        let free = Memory::new(limits);
        assert!(free.mapped(5000).unwrap().is_none() && free.admit(5000).is_ok());
    }

    #[test]
    fn what_no_machine_has_is_an_error() {
        let memory = Memory::new(Limits {
            max_bytes: u64::MAX,
        });
        for length in [isize::MAX as usize, usize::MAX, 1 << 60] {
            assert!(matches!(
                memory.zeroed(length),
                Err(MemoryError::System { .. })
            ));
        }
        assert_eq!(memory.used(), 0);
        assert!(Limits::default().max_bytes > 1 << 20);
    }
}

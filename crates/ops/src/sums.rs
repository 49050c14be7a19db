//! How a block of threads adds a row: which thread has which elements, lanes of a warp, warps.

use super::float32::Arith;
use super::row_kernel::OpError;
use super::rule::{Few, Lanes, Square, Sum, Threads, Warps};

/// Threads of a block, for rows of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub threads: usize,
    /// Elements that a thread takes at a time.
    pub vector: usize,
    /// PyTorch's four accumulators, instead of one.
    pub accumulators: usize,
}

/// Elements of a vector: the greatest common divisor of those in `bytes` bytes and those of a row.
fn dividing(bytes: usize, element: usize, columns: usize) -> usize {
    let (mut x, mut y) = ((bytes / element).max(1), columns);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    x
}

fn limit(most: usize, few: &Option<Few>, rows: usize) -> usize {
    match few {
        Some(few) if rows < few.below => few.most,
        _ => most,
    }
}

/// The largest power of two that is not larger.
fn power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

impl Block {
    /// The block for `rows` rows of `columns` elements of `bytes` bytes.
    pub fn of(
        threads: &Threads,
        rows: usize,
        columns: usize,
        bytes: usize,
    ) -> Result<Block, OpError> {
        let refuse = |reason: String| Err(OpError::new("x", reason));
        let block = |threads: usize, vector: usize| Block {
            threads: threads.max(1),
            vector,
            accumulators: 1,
        };
        Ok(match threads {
            Threads::Reduce {
                threads,
                width,
                shortest,
                shared,
                most,
            } => {
                if columns < *shortest {
                    return refuse(format!(
                        "rows of {columns} elements: this reduction is known for at least {shortest} (shorter rows \
                         are not vectorised, which is not modelled)"
                    ));
                }
                if rows > 1 && !columns.is_multiple_of(4) {
                    return refuse(format!(
                        "rows of {columns} elements are not a multiple of four: rows after the first are not \
                         aligned, which is not modelled"
                    ));
                }
                // Threads take four elements at a time, and so many of them are worth a thread.
                let dim = power_of_two((columns / 4).min(*threads));
                let narrow = dim.min(*width);
                let height = power_of_two(rows.min(*threads)).min(threads / narrow);
                let width = dim.min(threads / height);
                // Rows below each other become one; both are halved through shared memory, those first.
                let joined = columns.div_ceil(width) >= (shared * height).min(*most);
                let threads = if joined { width * height } else { width };
                if joined && columns.div_ceil(threads) >= *most {
                    return refuse(format!(
                        "rows of {columns} elements: this reduction is known up to {} (longer rows are split over as \
                         many blocks as the GPU has room for, which is not modelled)",
                        threads * (most - 1)
                    ));
                }
                Block {
                    threads,
                    vector: 4,
                    accumulators: 4,
                }
            }
            Threads::Fixed { threads, vector } => {
                if !columns.is_multiple_of(*vector) {
                    return refuse(format!(
                        "rows of {columns} elements are not a multiple of {vector}: the kernel for such rows is not \
                        modelled"
                    ));
                }
                block(*threads, *vector)
            }
            Threads::Single { most, few } => block(columns.min(limit(*most, few, rows)), 1),
            Threads::Vectors {
                bytes: of,
                most,
                few,
            } => {
                let vector = dividing(*of, bytes, columns);
                block((columns / vector).min(limit(*most, few, rows)), vector)
            }
            Threads::Wide { vector, most, few } => {
                if bytes != 2 || !columns.is_multiple_of(*vector) {
                    return refuse(format!(
                        "rows of {columns} elements of {bytes} bytes: this variant takes 2-byte elements, a multiple \
                         of {vector} per row; use another variant"
                    ));
                }
                block(columns.min(limit(*most, few, rows)), *vector)
            }
            Threads::WholeWarps { bytes: of, most } => {
                let vector = dividing(*of, bytes, columns);
                block((columns / vector).min(*most).next_multiple_of(32), vector)
            }
        })
    }

    /// What every thread has added up, from zero.
    pub fn squares<A: Arith>(&self, a: A, square: &Square, x: &[u32]) -> Vec<u32> {
        let mut sums = vec![0u32; self.threads];
        if self.accumulators == 4 {
            return self.fours(a, x);
        }
        for (i, vector) in x.chunks(self.vector).enumerate() {
            let sum = &mut sums[i % self.threads];
            match square {
                Square::Fused => vector.iter().for_each(|&x| *sum = a.fma(x, x, *sum)),
                Square::Rounded => vector.iter().for_each(|&x| *sum = a.add(*sum, a.mul(x, x))),
                Square::Pairs => {
                    let pairs = vector.chunks(2).map(|pair| match *pair {
                        [x, y] => a.fma(x, x, a.mul(y, y)),
                        _ => a.mul(pair[0], pair[0]),
                    });
                    let all = pairs.fold(0, |all, pair| a.add(all, pair));
                    *sum = a.add(*sum, all);
                }
            }
        }
        sums
    }

    /// Rounded squares in groups of four, an accumulator a place; what is left over goes to the first.
    fn fours<A: Arith>(&self, a: A, x: &[u32]) -> Vec<u32> {
        let mut sums = vec![[0u32; 4]; self.threads];
        let (whole, tail) = x.split_at(x.len() - x.len() % 4);
        let square = |x: u32| a.mul(x, x);
        for (i, group) in whole.chunks(4).enumerate() {
            let sums = &mut sums[i % self.threads];
            for (sum, &x) in sums.iter_mut().zip(group) {
                *sum = a.add(*sum, square(x));
            }
        }
        for (sums, &x) in sums.iter_mut().zip(tail) {
            sums[0] = a.add(sums[0], square(x));
        }
        let joined = sums
            .into_iter()
            .map(|[x, y, z, w]| a.add(a.add(a.add(x, y), z), w));
        joined.collect()
    }
}

/// The sum over a block, of what its threads have.
pub fn joined<A: Arith>(a: A, order: &Sum, mut sums: Vec<u32>) -> u32 {
    if order.warps == Warps::HalvedFirst {
        while sums.len() > 32 {
            let half = sums.len() / 2;
            let (low, high) = sums.split_at_mut(half);
            for (x, &y) in low.iter_mut().zip(&*high) {
                *x = a.add(*x, y);
            }
            sums.truncate(half);
        }
        a.stage(format_args!("the first warp, lane by lane"));
        return lanes(a, &order.lanes, &sums);
    }
    a.stage(format_args!(
        "{} warps, lane by lane",
        sums.len().div_ceil(32)
    ));
    let mut warps: Vec<u32> = sums
        .chunks(32)
        .map(|warp| lanes(a, &order.lanes, warp))
        .collect();
    a.stage(format_args!("the warps' sums"));
    match order.warps {
        Warps::HalvedFirst | Warps::Serial => {
            let first = warps[0];
            warps[1..].iter().fold(first, |sum, &next| a.add(sum, next))
        }
        Warps::AsLanes => {
            // Lanes without a warp have zero.
            warps.resize(warps.len().next_multiple_of(32), 0);
            lanes(a, &order.lanes, &warps)
        }
        Warps::Halves => {
            while warps.len() > 1 {
                let half = warps.len().div_ceil(2);
                for i in half..warps.len() {
                    warps[i - half] = a.add(warps[i - half], warps[i]);
                }
                warps.truncate(half);
            }
            warps[0]
        }
    }
}

/// What the first lane of a warp ends with.
pub fn lanes<A: Arith>(a: A, order: &Lanes, warp: &[u32]) -> u32 {
    let mut lanes = warp.to_vec();
    let ascending = matches!(order, Lanes::Up | Lanes::UpInside);
    // A block of fewer threads than a warp has as many lanes as threads; only its powers of two shuffle.
    let width = match order {
        Lanes::UpInside => 32,
        _ => lanes.len().next_power_of_two(),
    };
    let steps = width.ilog2();
    for step in 0..steps {
        let by = 1 << if ascending { step } else { steps - 1 - step };
        let before = lanes.clone();
        for (lane, sum) in lanes.iter_mut().enumerate() {
            let other = match order {
                Lanes::Exchange => lane ^ by,
                _ => lane + by,
            };
            // Lanes from which the first one takes nothing need not be right.
            if let Some(&other) = before.get(other) {
                *sum = a.add(*sum, other);
            }
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_depend_on_rows_where_the_libraries_let_them() {
        let reduce = Threads::Reduce {
            threads: 512,
            width: 32,
            shortest: 128,
            shared: 16,
            most: 256,
        };
        let threads = |rule: &Threads, rows, columns| {
            Block::of(rule, rows, columns, 2).map(|block| block.threads)
        };
        for (rows, columns, expected) in [
            (16, 4096, 32),
            (1000, 4096, 32),
            (8, 4096, 64),
            (3, 4096, 256),
            (1, 4096, 512),
            (1, 2048, 512),
            (1, 896, 128),
            (1, 200, 32),
            (3, 400, 64),
            (8, 1024, 64),
            (1, 131, 32),
            // Enough for a thread of every warp: 8,160 leave a thread 255.
            (16, 8160, 32),
            (16, 8164, 512),
            (2, 7936, 256),
            (2, 7940, 512),
            (1, 8192, 512),
            (4096, 8192, 512),
            (16, 130_560, 512),
        ] {
            assert_eq!(
                threads(&reduce, rows, columns),
                Ok(expected),
                "{rows} x {columns}"
            );
        }
        assert!(threads(&reduce, 16, 127).is_err() && threads(&reduce, 16, 130_564).is_err());
        // Rows after the first would not begin aligned.
        assert!(threads(&reduce, 2, 131).is_err());
        let few = Some(Few {
            below: 256,
            most: 1024,
        });
        let vectors = Threads::Vectors {
            bytes: 16,
            most: 256,
            few,
        };
        assert_eq!(threads(&vectors, 255, 4096), Ok(512));
        assert_eq!(threads(&vectors, 256, 4096), Ok(256));
        // Vectors of what divides a row.
        assert_eq!(
            Block::of(&vectors, 1, 900, 2).map(|block| block.vector),
            Ok(4)
        );
        let warps = Threads::WholeWarps {
            bytes: 16,
            most: 1024,
        };
        assert_eq!(threads(&warps, 1, 400), Ok(64));
    }
}

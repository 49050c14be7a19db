//! Orders of addition as lists of single additions.

use std::ops::Range;

use super::{Fold, FoldKind, Order};

/// Additions `x[into] = x[into] + x[from]` of sums, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Additions {
    /// Sums, those included that are missing and count as +0.
    pub width: usize,
    /// Pairs of `into` and `from`.
    pub steps: Vec<[usize; 2]>,
    /// Which one is the result.
    pub result: usize,
}

impl Order {
    /// For so many sums, at least one.
    pub fn additions(&self, count: usize) -> Additions {
        let mut all = Additions {
            width: count,
            steps: Vec::new(),
            result: 0,
        };
        let steps = &mut all.steps;
        match self {
            Order::Serial => steps.extend((1..count).map(|from| [0, from])),
            Order::Reverse => {
                all.result = count - 1;
                steps.extend((0..count - 1).rev().map(|from| [count - 1, from]));
            }
            Order::Pairwise => {
                all.result = count - 1;
                let half = count.div_ceil(2);
                let pairs = (0..half).filter(|i| i + half < count - 1);
                steps.extend(pairs.map(|i| [i, i + half]));
                let slots = (0..half).filter(|&i| i != count - 1);
                steps.extend(slots.map(|i| [count - 1, i]));
            }
            Order::Adjacent => {
                let mut apart = 1;
                while apart < count {
                    let pairs = (0..count - apart).step_by(2 * apart);
                    steps.extend(pairs.map(|i| [i, i + apart]));
                    apart *= 2;
                }
            }
            Order::Halved => halved(0..count, steps),
            Order::RunsThenAdjacent => {
                let mut run = count;
                while run > 2 && run.is_multiple_of(2) {
                    run /= 2;
                }
                let starts = (0..count).step_by(run);
                steps.extend(starts.flat_map(|start| (1..run).map(move |i| [start, start + i])));
                let mut apart = run;
                while apart < count {
                    let pairs = (0..count - apart).step_by(2 * apart);
                    steps.extend(pairs.map(|i| [i, i + apart]));
                    apart *= 2;
                }
            }
            Order::Butterfly => {
                let (how, to) = (FoldKind::Halve, 1);
                all.fold(count, Fold { how, to });
            }
            Order::Folds(folds) => {
                let fold = |left, fold: &Fold| all.fold(left, *fold);
                folds.iter().fold(count, fold);
            }
            Order::Listed(pairs) => steps.extend(pairs),
        }
        all
    }

    /// Whether sums can be added as they come.
    pub fn is_serial(&self) -> bool {
        matches!(self, Order::Serial)
    }
}

/// The additions of a tree of halves, whose sum is where its first one was.
fn halved(of: Range<usize>, steps: &mut Vec<[usize; 2]>) {
    if of.len() > 1 {
        let middle = of.start + of.len() / 2;
        halved(of.start..middle, steps);
        halved(middle..of.end, steps);
        steps.push([of.start, middle]);
    }
}

impl Additions {
    /// Folds the first `count` sums; returns how many are left.
    fn fold(&mut self, count: usize, Fold { how, to }: Fold) -> usize {
        let mut padded = count.next_multiple_of(to);
        match how {
            FoldKind::Stride => {
                let sums = (0..to).flat_map(|i| (i + to..padded).step_by(to).map(move |j| [i, j]));
                self.steps.extend(sums);
            }
            FoldKind::Halve => {
                padded = to * count.div_ceil(to).next_power_of_two();
                let mut left = padded;
                while left > to {
                    left /= 2;
                    self.steps.extend((0..left).map(|i| [i, i + left]));
                }
            }
        }
        self.width = self.width.max(padded);
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is added to whom, written out.
    fn text(order: &Order, count: usize) -> String {
        let Additions {
            width,
            steps,
            result,
        } = order.additions(count);
        let mut sums: Vec<String> = (0..width).map(|i| format!("p{i}")).collect();
        for [into, from] in steps {
            sums[into] = format!("({}+{})", sums[into], sums[from]);
        }
        sums.swap_remove(result)
    }

    #[test]
    fn pairwise_is_as_the_library_adds() {
        for (count, want) in [
            (1, "p0"),
            (2, "(p1+p0)"),
            (3, "((p2+p0)+p1)"),
            (4, "((p3+(p0+p2))+p1)"),
            (5, "(((p4+(p0+p3))+p1)+p2)"),
            (7, "((((p6+(p0+p4))+(p1+p5))+p2)+p3)"),
        ] {
            assert_eq!(text(&Order::Pairwise, count), want);
        }
    }

    #[test]
    fn other_orders() {
        for (order, count, want) in [
            (Order::Serial, 4, "(((p0+p1)+p2)+p3)"),
            (Order::Reverse, 3, "((p2+p1)+p0)"),
            (Order::Adjacent, 5, "(((p0+p1)+(p2+p3))+p4)"),
            (Order::Halved, 5, "((p0+p1)+(p2+(p3+p4)))"),
            (Order::Halved, 6, "((p0+(p1+p2))+(p3+(p4+p5)))"),
            (Order::RunsThenAdjacent, 3, "((p0+p1)+p2)"),
            (Order::RunsThenAdjacent, 6, "(((p0+p1)+p2)+((p3+p4)+p5))"),
            (
                Order::RunsThenAdjacent,
                8,
                "(((p0+p1)+(p2+p3))+((p4+p5)+(p6+p7)))",
            ),
            (Order::Butterfly, 4, "((p0+p2)+(p1+p3))"),
            // Missing ones are there, as zeros.
            (Order::Butterfly, 3, "((p0+p2)+(p1+p3))"),
            (Order::Listed(vec![[2, 1], [0, 2]]), 3, "(p0+(p2+p1))"),
        ] {
            assert_eq!(text(&order, count), want, "{order:?}");
            if !matches!(order, Order::Listed(_)) {
                assert_eq!(text(&order, 1), "p0", "{order:?}");
            }
        }
    }

    /// The second kernel of a dot product, of 64 blocks and of 4.
    #[test]
    fn folds_follow_each_other() {
        let fold = |how, to| Fold { how, to };
        let order = Order::Folds(vec![
            fold(FoldKind::Stride, 128),
            fold(FoldKind::Halve, 32),
            fold(FoldKind::Stride, 4),
            fold(FoldKind::Stride, 1),
        ]);
        let additions = order.additions(64);
        assert_eq!(additions.width, 128);
        // Of whole numbers any order is right; every sum counts once.
        for count in [1, 4, 64, 128, 129, 300] {
            let Additions { width, steps, .. } = order.additions(count);
            let mut sums: Vec<u64> = (0..width as u64).collect();
            sums[count..].fill(0);
            steps
                .iter()
                .for_each(|&[into, from]| sums[into] += sums[from]);
            let count = count as u64;
            assert_eq!(sums[0], count * (count - 1) / 2, "{count}");
        }
        let shown = text(&order, 64);
        assert!(shown.contains("((p0+p64)+(p32+p96))"), "{shown}");
    }
}

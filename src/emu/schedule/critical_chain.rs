//! Additions as runs: of two sums the later one is added to the one that is there first. f32 additions commute, those of
//! NaN (one code) and zeros included, so a kernel can add chains to the sum that it holds.

use super::order::Additions;

/// A sum to which others are added, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CriticalChain {
    pub first: usize,
    pub then: Vec<Operand>,
}

/// An addend of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Sum(usize),
    CriticalChain(CriticalChain),
}

impl Additions {
    /// These additions of so many sums; none where missing ones take part.
    pub(super) fn critical_chain(&self, count: usize) -> Option<CriticalChain> {
        if self.width != count {
            return None;
        }
        let bare = |first| CriticalChain {
            first,
            then: Vec::new(),
        };
        let mut chains: Vec<CriticalChain> = (0..count).map(bare).collect();
        for &[into, from] in &self.steps {
            let from = std::mem::replace(&mut chains[from], bare(from));
            let into = &mut chains[into];
            if from.then.is_empty() {
                into.then.push(Operand::Sum(from.first));
            } else if into.then.is_empty() {
                let first = std::mem::replace(into, from).first;
                into.then.push(Operand::Sum(first));
            } else {
                into.then.push(Operand::CriticalChain(from));
            }
        }
        Some(chains.swap_remove(self.result))
    }
}

impl CriticalChain {
    /// The first sum and those that follow before any that is itself added up.
    pub fn run(&self) -> Vec<usize> {
        let rest = self.then.iter().map_while(|operand| match operand {
            Operand::Sum(sum) => Some(*sum),
            Operand::CriticalChain(_) => None,
        });
        std::iter::once(self.first).chain(rest).collect()
    }

    /// The most sums that are there at once.
    pub fn kept(&self) -> usize {
        let inside = self.then.iter().map(|operand| match operand {
            Operand::Sum(_) => 1,
            Operand::CriticalChain(chain) => chain.kept(),
        });
        1 + inside.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Order;
    use super::*;

    fn text(chain: &CriticalChain) -> String {
        let operand = |operand: &Operand| match operand {
            Operand::Sum(sum) => format!("p{sum}"),
            Operand::CriticalChain(chain) => text(chain),
        };
        let rest: Vec<_> = chain.then.iter().map(operand).collect();
        format!("(p{} {})", chain.first, rest.join(" "))
    }

    #[test]
    fn few_sums_wait() {
        for (order, count, run, want, kept) in [
            (Order::Pairwise, 5, 5, "(p0 p3 p4 p1 p2)", 2),
            (Order::Pairwise, 7, 3, "(p0 p4 p6 (p1 p5) p2 p3)", 3),
            (Order::Reverse, 3, 3, "(p2 p1 p0)", 2),
            (Order::Butterfly, 4, 2, "(p0 p2 (p1 p3))", 3),
            (Order::Adjacent, 8, 2, "(p0 p1 (p2 p3) (p4 p5 (p6 p7)))", 4),
        ] {
            let chain = order
                .additions(count)
                .critical_chain(count)
                .expect("none is missing");
            assert_eq!(text(&chain), want, "{order:?}");
            assert_eq!((chain.run().len(), chain.kept()), (run, kept), "{order:?}");
        }
        // Sums that are missing count as +0, which changes a -0.
        assert_eq!(Order::Butterfly.additions(3).critical_chain(3), None);
    }

    /// Every tree of f32 additions comes to the same bits as the single additions.
    #[test]
    fn no_bit_changes() {
        fn value(chain: &CriticalChain, sums: &[f32]) -> f32 {
            chain.then.iter().fold(sums[chain.first], |total, operand| {
                total
                    + match operand {
                        Operand::Sum(sum) => sums[*sum],
                        Operand::CriticalChain(chain) => value(chain, sums),
                    }
            })
        }
        let mut serial_differs = false;
        for order in [Order::Pairwise, Order::Reverse, Order::Adjacent] {
            for count in 1..40 {
                let sums: Vec<f32> = (0..count)
                    .map(|i| ((i * 37 % 41) as f32 - 20.3).powi(3) * 1.1)
                    .collect();
                let additions = order.additions(count);
                let mut one_by_one = sums.clone();
                for &[into, from] in &additions.steps {
                    one_by_one[into] += one_by_one[from];
                }
                let want = one_by_one[additions.result].to_bits();
                let chain = additions.critical_chain(count).expect("none is missing");
                assert_eq!(value(&chain, &sums).to_bits(), want, "{order:?} of {count}");
                let serial = sums.iter().copied().reduce(|x, y| x + y).unwrap();
                serial_differs |= serial.to_bits() != want;
            }
        }
        assert!(serial_differs);
    }
}

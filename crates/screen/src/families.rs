//! Which operands a suite is made of, and what each kind of them exercises.

use crate::generate::Class;
use crate::words::words;

words! {
    /// How much a suite runs.
    pub enum Level {
        /// Every family once an instruction, short chains
        Quick = "quick",
        /// Longer chains, and products that fill the GPU
        Standard = "standard",
        /// Long chains of two seeds, and large products
        Thorough = "thorough",
        /// Products of a workload
        Recorded = "recorded",
    }
}

/// A kind of operands.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub name: &'static str,
    /// Of A and B, and of C, if it has one.
    pub class: Class,
    pub addend: Option<Class>,
    pub exercises: &'static str,
}

/// How many families, the first, products of two different formats have.
pub const OF_PAIRS: usize = 5;

/// How many products of a family there are for a seed where a step takes one product.
const OF_A_CHAIN: usize = 4;

impl Family {
    /// K of the products of a seed, in a unit whose steps take `span` products, in chains of `k`. `turns`: several
    /// multipliers take the products of a chain in turn.
    ///
    /// What rounding took from a product shows in D only in the last pair of a chain, where nothing follows the pair that
    /// cancels. So chains end at every multiplier of four: `residue` with k - 1 and k - 3, `stagger`, whose pairs lie one
    /// later, with k - 2 and k - 4.
    pub fn lengths(&self, span: usize, k: usize, turns: bool) -> Vec<usize> {
        let pairs = self.addend.is_none() && matches!(self.class, Class::Cancel | Class::Stagger);
        match (self.class, pairs && span == 1, turns) {
            // Longer ones have a NaN in every element.
            (Class::Special, ..) => vec![4],
            (Class::Stagger, true, true) => (0..OF_A_CHAIN).map(|i| k - 1 - 2 * (i % 2)).collect(),
            (Class::Stagger, ..) => Vec::new(),
            (_, true, true) => (0..OF_A_CHAIN).map(|i| k - 2 * (i % 2)).collect(),
            (_, true, false) => vec![k; OF_A_CHAIN],
            _ => vec![k],
        }
    }
}

/// Every family, the most telling first.
pub const FAMILIES: [Family; 10] = [
    Family {
        name: "toggle",
        class: Class::Toggle,
        addend: Some(Class::Toggle),
        exercises: "every significand bit of A, B and C alone and all but it: partial products and operand registers",
    },
    Family {
        name: "carry",
        class: Class::Carry,
        addend: Some(Class::Carry),
        exercises: "significands of ones: the longest carries of multipliers and adder",
    },
    Family {
        name: "align",
        class: Class::Align,
        addend: Some(Class::Align),
        exercises: "terms up to 62 binades apart: every distance of the aligner",
    },
    Family {
        name: "wide",
        class: Class::Wide,
        addend: Some(Class::Wide),
        exercises: "every exponent of the formats: exponent adders, overflow and underflow",
    },
    Family {
        name: "residue",
        class: Class::Cancel,
        addend: None,
        exercises: "products that cancel in pairs, with nothing beside: the second brings out what rounding took of the first",
    },
    Family {
        name: "alternate",
        class: Class::Alternate,
        addend: None,
        exercises: "bits in turn, 0101 against 1010, in neighbouring products: the most wires switch",
    },
    Family {
        name: "cancel",
        class: Class::Cancel,
        addend: Some(Class::Normal),
        exercises: "products that cancel in pairs: borrows, and the normalising shift over every distance",
    },
    Family {
        name: "special",
        class: Class::Special,
        addend: Some(Class::Special),
        exercises: "zeros, subnormal numbers, infinities and NaNs: the logic beside the arithmetic",
    },
    Family {
        name: "random",
        class: Class::Normal,
        addend: Some(Class::Normal),
        exercises: "numbers as of activations and weights: the load that wears and heats",
    },
    Family {
        name: "stagger",
        class: Class::Stagger,
        addend: None,
        exercises: "as residue, one product later: the other multipliers of those that take products in turn",
    },
];

/// Families that are not a kind of operands, but of sizes: name, and what they exercise.
pub const LOAD: [&str; 2] = [
    "load",
    "products of random numbers over all SMs at once: heat, supply voltage, shared memory and caches",
];
pub const LIBRARY: [&str; 2] = [
    "library",
    "products of a library in the order of its kernel: the kernels and paths of memory that work uses",
];
pub const RECORDED: [&str; 2] = [
    "recorded",
    "products of a workload: its operands, in the order of its kernels",
];

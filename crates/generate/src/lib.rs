//! Operands from a counter: whoever knows seed, class and shape can make them, so that a big product can be verified from
//! the digest of its D alone. `docs/generator.md` specifies it.

mod on_gpu;
mod torch;

use tcverify_common::deadline;
use tcverify_common::role::Role;
use tcverify_common::words::{Word as _, words};
use tcverify_io::memory::{Memory, MemoryError};
use tcverify_io::{GENERATED, Generated, Generator};
use tcverify_num::random::{GOLDEN, mix};
use tcverify_num::{self as num, Class as Number, Format, Kind};
use tcverify_tensor::{self as tensor, Tensor, parallel};

pub use torch::{Law, Pairs, Torch};

/// Makes the operands that texts specify.
#[derive(Clone, Copy, Debug)]
pub struct Specified;

impl Generator for Specified {
    fn read(&self, text: &str) -> Result<Box<dyn Generated>, String> {
        Ok(Box::new(Spec::read(text)?))
    }
}

words! {
    /// Which numbers.
    pub enum Class {
        /// Eight binades below 2, as activations and weights are.
        Normal = "normal",
        /// Every exponent of finite numbers.
        Wide = "wide",
        /// Subnormal numbers and zeros.
        Subnormal = "subnormal",
        /// As `Wide`, and one in sixteen each a zero, an infinity and a NaN.
        Special = "special",
        /// Pairs of products that cancel, one in sixteen except the last bit.
        Cancel = "cancel",
        /// One bit of the fraction, or all but one: every bit takes its turn.
        Toggle = "toggle",
        /// Fractions of ones in two binades, three in four positive: long carries.
        Carry = "carry",
        /// Up to 32 binades below 2: terms lie every distance apart.
        Align = "align",
        /// Fractions of alternating bits, either way, in the two binades whose fields differ most.
        Alternate = "alternate",
        /// As `Cancel` behind a product of zero: units that take products in turn change parts.
        Stagger = "stagger",
    }
}

/// An operand to generate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub numbers: Numbers,
    pub shape: Vec<usize>,
}

/// Where its numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// A seed's, of a class.
    Class(u64, Class),
    /// Those that torch draws on a GPU.
    Torch(Torch),
}

/// The most elements: a path must not allocate more than a machine has.
const MAX_ELEMENTS: usize = 1 << 32;

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shape = tensor::shape_text(&self.shape);
        match &self.numbers {
            Numbers::Class(seed, class) => write!(f, "{GENERATED}{seed}:{}:{shape}", class.word()),
            Numbers::Torch(torch) => write!(f, "{GENERATED}{torch}:{shape}{}", torch.steps()),
        }
    }
}

impl Spec {
    pub fn new(seed: u64, class: Class, shape: Vec<usize>) -> Spec {
        let numbers = Numbers::Class(seed, class);
        Spec { numbers, shape }
    }

    /// Reads `generate:SEED:CLASS:SHAPE`, such as `generate:7:normal:4096x4096`, or
    /// `generate:torch-cuda-randn:SEED:OFFSET:SMS:SHAPE` (`rand`, `randint:LOW:HIGH`) with steps behind it.
    ///
    /// # Errors
    /// What is wrong with it, and what it should be like.
    pub fn read(text: &str) -> Result<Spec, String> {
        let rest = text.strip_prefix(GENERATED);
        let rest = rest.ok_or_else(|| format!("it begins with {GENERATED}"))?;
        let (read, form) = match rest.strip_prefix(torch::WORD) {
            Some(rest) => (
                Spec::parse_torch(&rest.split(':').collect::<Vec<_>>()),
                if rest.starts_with("randint") {
                    "torch-cuda-randint:LOW:HIGH:SEED:OFFSET:SMS:ROWSxCOLUMNS"
                } else {
                    "torch-cuda-randn:SEED:OFFSET:SMS:ROWSxCOLUMNS"
                },
            ),
            None => (Spec::parse_rest(rest), "SEED:CLASS:ROWSxCOLUMNS"),
        };
        read.map_err(|reason| format!("{reason}; expected {GENERATED}{form}"))
    }

    fn parse_torch(parts: &[&str]) -> Result<Spec, String> {
        let before = if parts[0] == "randint" { 6 } else { 4 };
        let Some((before, [shape, steps @ ..])) = parts.split_at_checked(before) else {
            return Err(format!("it has {} parts, and no shape", parts.len()));
        };
        let torch = Torch::parse(before, steps)?;
        let shape = shape_of(shape)?;
        torch.check(shape.iter().product())?;
        Ok(Spec {
            shape,
            numbers: Numbers::Torch(torch),
        })
    }

    fn parse_rest(text: &str) -> Result<Spec, String> {
        let parts: Vec<_> = text.split(':').collect();
        let [seed, class, shape] = parts[..] else {
            return Err(format!(
                "it has {} parts after the prefix, not three",
                parts.len()
            ));
        };
        let seed = seed
            .parse()
            .map_err(|_| format!("{seed:?} is not a seed (a number below 2^64)"))?;
        let class = Class::of_word(class).ok_or_else(|| {
            let names: Vec<_> = Class::ALL.iter().map(|(_, name, _)| *name).collect();
            format!("{class:?} is not a class ({})", names.join(", "))
        })?;
        Ok(Spec::new(seed, class, shape_of(shape)?))
    }

    /// Takes another seed.
    pub fn reseed(&mut self, other: u64) {
        match &mut self.numbers {
            Numbers::Class(seed, _) => *seed = other,
            Numbers::Torch(torch) => torch.seed = other,
        }
    }

    /// How many: at most 2^32.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The operand.
    ///
    /// # Panics
    /// If it does not take the format: see [`Generated::takes`].
    pub fn tensor(
        &self,
        format: Format,
        role: Role,
        memory: &Memory,
    ) -> Result<Tensor, MemoryError> {
        let mut payload = memory.zeroed(self.elements() * format.bytes())?;
        self.fill(format, role, payload.as_mut());
        Ok(Tensor::from_payload(format, self.shape.clone(), payload))
    }
}

impl Generated for Spec {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn takes(&self, format: Format) -> Result<(), String> {
        match &self.numbers {
            Numbers::Class(..) => Ok(()),
            Numbers::Torch(torch) => torch.takes(format),
        }
    }

    fn fill(&self, format: Format, role: Role, payload: &mut [u8]) {
        let width = format.bytes();
        assert_eq!(payload.len(), self.elements() * width);
        let columns = self.shape[self.shape.len() - 1];
        let (seed, class) = match &self.numbers {
            Numbers::Class(seed, class) => (*seed, *class),
            Numbers::Torch(torch) => {
                let elements = self.elements();
                return parallel::chunks_mut(payload, columns * width, &|row, bytes| {
                    deadline::poll();
                    on_gpu::fill(torch, format, [row, columns], elements, bytes);
                });
            }
        };
        parallel::chunks_mut(payload, columns * width, &|row, bytes| {
            for (column, bytes) in bytes.chunks_exact_mut(width).enumerate() {
                // Some milliseconds.
                if column % (1 << 18) == 0 {
                    deadline::poll();
                }
                let code = code((seed, class), format, role, [row, column], columns);
                bytes.copy_from_slice(&code.to_le_bytes()[..width]);
            }
        });
    }
}

/// The shape of a matrix or a batch.
fn shape_of(text: &str) -> Result<Vec<usize>, String> {
    let axes: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    let shape = match axes {
        Ok(axes) if axes.len() >= 2 && !axes.contains(&0) => axes,
        _ => return Err(format!("{text:?} is not the shape of a matrix or a batch")),
    };
    let elements = shape
        .iter()
        .try_fold(1usize, |n, &axis| n.checked_mul(axis));
    if elements.is_none_or(|n| n > MAX_ELEMENTS) {
        return Err(format!("it has more than {MAX_ELEMENTS} elements"));
    }
    Ok(shape)
}

fn word(seed: u64, role: Role, index: usize) -> u64 {
    let stream = mix(seed.wrapping_add(GOLDEN.wrapping_mul(role.stream() + 1)));
    mix(stream.wrapping_add(GOLDEN.wrapping_mul(index as u64 + 1)))
}

/// The code of an element; rows count through the batch.
fn code(
    (seed, class): (u64, Class),
    format: Format,
    role: Role,
    [row, column]: [usize; 2],
    columns: usize,
) -> u64 {
    let index = row * columns + column;
    let own = word(seed, role, index);
    match class {
        Class::Cancel | Class::Stagger if matches!(role, Role::A | Role::B) => {
            // k runs along the rows of A and down the columns of B.
            let (k, apart) = match role {
                Role::A => (column, 1),
                _ => (row, columns),
            };
            let staggered = usize::from(class == Class::Stagger);
            if role == Role::A && k < staggered {
                return 0;
            }
            let second = k > staggered && (k - staggered) % 2 == 1;
            let partner = if second { index - apart } else { index };
            let code = number(format, Class::Normal, word(seed, role, partner));
            let last = u64::from(second && role == Role::A && own >> 32 & 15 == 0);
            let negative = if second && role == Role::A {
                format.sign_mask()
            } else {
                0
            };
            finite(format, code ^ negative ^ last << format.ignored_bits())
        }
        Class::Cancel | Class::Stagger => number(format, Class::Normal, own),
        class => number(format, class, own),
    }
}

/// A number of a class (not of those with pairs) from a random word: its sign from bit 63, its exponent field
/// from bits 32 to 47, its fraction from the lowest.
fn number(format: Format, class: Class, word: u64) -> u64 {
    if format.is_integer() {
        return integer(format, class, word);
    }
    let bits = format.fraction_bits();
    let (fields, random) = (1u64 << format.exponent_bits(), word >> 32 & 0xffff);
    let bias = format.bias() as u64;
    if format.kind() == Kind::Scale {
        let field = (bias + random % 8).saturating_sub(4).min(fields - 2);
        return field << bits | word & ((1 << bits) - 1);
    }
    let sign = match class {
        Class::Carry => format.sign(word >> 62 == 3),
        _ => format.sign(word >> 63 == 1),
    };
    let fraction = fraction(class, word, bits);
    // The largest field of IEEE formats is that of infinities.
    let largest = fields - 1 - u64::from(format.infinity(false).is_some());
    let special = |magnitude: u64| sign | magnitude << format.ignored_bits();
    let field = match class {
        Class::Subnormal => 0,
        Class::Carry => bias - random % 2,
        Class::Align => bias - random % (bias + 1).min(32),
        Class::Alternate => bias + random % 2,
        // Short formats have no eight binades below 2.
        Class::Normal | Class::Toggle if format.exponent_bits() > 3 => {
            bias.saturating_sub(random % 8)
        }
        Class::Special if random % 16 == 0 => return format.zero(word >> 63 == 1),
        Class::Special if random % 16 == 1 => {
            let infinity = format.infinity(word >> 63 == 1);
            return infinity.unwrap_or_else(|| format.max_finite(word >> 63 == 1));
        }
        Class::Special if random % 16 == 2 && format.infinity(false).is_some() => {
            return special((fields - 1) << bits | fraction | 1 << (bits - 1));
        }
        Class::Special if random % 16 == 2 => return format.max_code(),
        _ => random % (largest + 1),
    };
    finite(format, special(field << bits | fraction))
}

/// `0101…`, or `1010…` if the word's bit 62 is set.
fn alternating(word: u64) -> u64 {
    0x5555_5555_5555_5555 << (word >> 62 & 1)
}

/// The lowest `bits` bits of a float.
fn fraction(class: Class, word: u64, bits: u32) -> u64 {
    let ones = (1u64 << bits) - 1;
    let which = word >> 48 & 0xff;
    match class {
        Class::Toggle => {
            // In the last of the turns no bit is set.
            let one = 1u64 << (which % (u64::from(bits) + 1)) & ones;
            one ^ if word >> 62 & 1 == 1 { ones } else { 0 }
        }
        Class::Carry => ones ^ u64::from(which.is_multiple_of(4)),
        Class::Alternate => alternating(word) & ones,
        _ => word & ones,
    }
}

fn integer(format: Format, class: Class, word: u64) -> u64 {
    let ones = format.max_code();
    let which = word >> 48 & 0xff;
    match class {
        Class::Toggle => {
            let one = 1u64 << (which % u64::from(format.width()));
            one ^ if word >> 62 & 1 == 1 { ones } else { 0 }
        }
        // The largest; of signed ones, a quarter the smallest.
        Class::Carry => {
            let smallest = format.sign_mask() != 0 && word >> 62 == 3;
            let extreme = ones ^ format.sign_mask() ^ if smallest { ones } else { 0 };
            extreme ^ u64::from(which.is_multiple_of(4))
        }
        Class::Alternate => alternating(word) & ones,
        _ => word & ones,
    }
}

/// A code that is not a NaN: where the largest numbers' neighbours are, the last bit is cleared.
fn finite(format: Format, code: u64) -> u64 {
    match format.unpack(code).class {
        Number::Finite => code,
        _ if format.zero(true) != format.sign_mask() => 0, // FNUZ: the code of -0
        _ => code & !(1 << format.ignored_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read() {
        let spec = Spec::read("generate:7:normal:2x3x4").unwrap();
        assert_eq!(spec.numbers, Numbers::Class(7, Class::Normal));
        assert_eq!(spec.shape, [2, 3, 4]);
        for (text, words) in [
            ("a.npy", "begins with"),
            ("generate:", "three"),
            ("generate:x:normal:2x2", "seed"),
            ("generate:1:odd:2x2", "subnormal"),
            ("generate:1:normal:22", "shape"),
            ("generate:1:normal:2x0", "shape"),
            ("generate:1:normal:99999999999x99999999999", "elements"),
            ("generate:1:normal:70000x70000", "elements"),
            ("generate:torch-cuda-randn:1:0:132", "parts"),
            ("generate:torch-cuda-randn:1:2:132:2x2", "offset"),
            ("generate:torch-cuda-randn:1:0:0:2x2", "SMs"),
            ("generate:torch-cuda-randn:1:0:132:4", "shape"),
            ("generate:torch-cuda-randn:1:0:132:32768x16384", "parts"),
            ("generate:torch-cuda-randn:1:0:132:2x2:times-1", "digits"),
            (
                "generate:torch-cuda-randn:1:0:132:2x2:times-7f800000",
                "finite",
            ),
            ("generate:torch-cuda-randn:1:0:132:2x2:halved", "step"),
            (
                "generate:torch-cuda-rand-of-format:1:0:132:2x2:pairs-negated",
                "no steps",
            ),
            ("generate:torch-cuda-randint:1:0:132:2x2", "LOW:HIGH"),
            ("generate:torch-cuda-randint:0:1.5:1:0:132:2x2", "bound"),
            ("generate:torch-cuda-randint:0:32768:1:0:132:2x2", "bound"),
            ("generate:torch-cuda-randint:3:3:1:0:132:2x2", "below"),
            (
                "generate:torch-cuda-randint:0:9:1:0:132:16384x16384",
                "parts",
            ),
            ("generate:torch-cuda-randperm:1:0:132:2x2", "randint"),
            (
                "generate:torch-cuda-randn:1:0:132:2x2:pairs-negated:times-3f800000",
                "late",
            ),
            (
                "generate:torch-cuda-randn:1:0:132:2x2:times-3f800000:times-3f800000",
                "late",
            ),
        ] {
            let reason = Spec::read(text).unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }

    /// Every format and class: codes in range, finite except `special`, and both signs.
    #[test]
    fn numbers_are_of_their_class() {
        for format in Format::ALL {
            for &(class, ..) in Class::ALL {
                let shape = vec![40, 50];
                let spec = Spec::new(3, class, shape);
                let tensor = spec.tensor(format, Role::A, &Memory::default()).unwrap();
                let plane = tensor.planes();
                let plane = plane.plane(0);
                let mut specials = 0;
                for at in 0..2000 {
                    let code = plane.code(at / 50, at % 50);
                    assert!(code <= format.max_code(), "{format}");
                    let n = format.unpack(code);
                    specials += usize::from(n.class != Number::Finite);
                    if class == Class::Subnormal && format.kind() == Kind::Float {
                        assert!(n.significand >> format.fraction_bits() == 0, "{format}");
                    }
                }
                if class != Class::Special {
                    assert_eq!(specials, 0, "{format} {class:?}");
                } else if format.infinity(false).is_some() {
                    assert!((150..400).contains(&specials), "{format} {specials}");
                }
            }
        }
    }

    /// Fixed for ever, and computed by scripts/capture/tcgenerate.py: other programs generate the same.
    #[test]
    fn first_codes() {
        let spec = |class| Spec::new(1, class, vec![1, 4]);
        let codes = |class, format, role| -> Vec<u64> {
            let tensor = spec(class)
                .tensor(format, role, &Memory::default())
                .unwrap();
            let planes = tensor.planes();
            (0..4)
                .map(|column| planes.plane(0).code(0, column))
                .collect()
        };
        use Class::{Cancel, Normal, Special, Stagger, Subnormal, Wide};
        use Format::{Bf16, E4m3, E5m2fnuz, Fp16, Fp32, Int8, Tf32, Ue4m3};
        use Role::{A, B, C, ScaleA};
        for (class, format, role, expected) in [
            (Normal, Fp16, A, [0x3d1e, 0xb9ee, 0x2978, 0xb3a9]),
            (Wide, Bf16, B, [0x61e8, 0x1957, 0x73fa, 0xfed6]),
            (Special, E4m3, A, [0x46, 0xce, 0x68, 0xd9]),
            (
                Cancel,
                Tf32,
                A,
                [0x3fa3c000, 0xbfa3c000, 0x3d2f0000, 0xbd2f0000],
            ),
            // From k = 1 on, 0xb9ee and what undoes it.
            (Stagger, Fp16, A, [0, 0xb9ee, 0x39ee, 0xb3a9]),
            (
                Subnormal,
                Fp32,
                C,
                [0x8051111e, 0x0073635c, 0x807494ee, 0x001e297b],
            ),
            (Normal, Int8, B, [0x68, 0xd7, 0x7a, 0x56]),
            (Special, E5m2fnuz, B, [0x24, 0x1b, 0x66, 0xbe]),
            (Normal, Ue4m3, ScaleA, [0x38, 0x56, 0x19, 0x24]),
        ] {
            let found = codes(class, format, role);
            assert_eq!(found, expected, "{class:?} {format} {role:?}");
        }
    }

    /// The first product of a pair undoes the second, mostly.
    #[test]
    fn products_cancel_in_pairs() {
        let spec = |shape: [usize; 2]| Spec::new(5, Class::Cancel, shape.to_vec());
        let tensor = |shape, role| {
            let made = spec(shape).tensor(Format::Fp16, role, &Memory::default());
            made.unwrap()
        };
        let (a, b) = (tensor([8, 64], Role::A), tensor([64, 8], Role::B));
        let (a, b) = (a.planes().plane(0), b.planes().plane(0));
        let mut exact = 0;
        for k in (0..64).step_by(2) {
            for i in 0..8 {
                assert_eq!(b.code(k, i), b.code(k + 1, i));
                exact += usize::from(a.code(i, k) == a.code(i, k + 1) ^ 0x8000);
                assert_eq!(a.code(i, k) | 1, a.code(i, k + 1) ^ 0x8000 | 1);
            }
        }
        assert!((220..254).contains(&exact), "{exact} of 256");
    }
}

//! What a product costs on paper: operations of naga's intermediate form, each number of a vector counted.

use tcverify_num::{Format, Formats, Rounding};
use wgpu::naga::valid::{Capabilities, FunctionInfo, ValidationFlags, Validator};
use wgpu::naga::{
    Block, Expression, Function, Handle, Literal, Module, Scalar, ScalarKind, Statement, TypeInner,
    front,
};

use super::plan::{CutRule, FewUnit, FloorUnit, FusedUnit, ShaderPlan};
use super::shader::source;

fn plan(format: Format, accumulator: Format, group: usize, fraction_bits: u32) -> ShaderPlan {
    let half = accumulator == Format::Fp16;
    let unit = FusedUnit {
        group,
        fraction_bits,
        alignment: Rounding::TowardZero,
        zero_exponent: if half { -21 } else { -133 },
        precision: accumulator.fraction_bits() + 1,
        rounding: if half {
            Rounding::NearestEven
        } else {
            Rounding::TowardZero
        },
        nan: 0x7fff,
        sum_bits: None,
        minus_zero: false,
    };
    let formats = formats(format, accumulator);
    ShaderPlan::fused(unit, formats).expect("32 bits hold it")
}

fn formats(format: Format, accumulator: Format) -> Formats {
    Formats {
        a: format,
        b: format,
        accumulator,
        addend: accumulator,
        scale: None,
    }
}

fn cdna3() -> ShaderPlan {
    let unit = FloorUnit {
        group: 8,
        sums: 1,
        fraction_bits: 24,
        sum_fraction_bits: 32,
        addend_window: None,
        zero_exponent: -126,
        result_fraction_bits: 31,
        rounding: Rounding::NearestEven,
    };
    ShaderPlan::floor(unit, formats(Format::Fp16, Format::Fp32)).expect("32 bits hold it")
}

fn rdna(size: usize, rule: CutRule) -> ShaderPlan {
    let unit = FewUnit {
        size,
        product_bits: 24,
        leading_bits: 26,
        least_leading: Some(-126),
        rule,
    };
    let formats = formats(Format::Fp16, Format::Fp32);
    ShaderPlan::few(unit, &[0, 2, 1, 3], formats).expect("32 bits hold it")
}

/// Arithmetic of one function, calls to others not counted: how many numbers are computed.
fn arithmetic(function: &Function, info: &FunctionInfo, module: &Module) -> usize {
    let counted = |expression: &Expression| {
        matches!(
            expression,
            Expression::Unary { .. }
                | Expression::Binary { .. }
                | Expression::Select { .. }
                | Expression::Math { .. }
        )
    };
    let width = |handle: Handle<Expression>| match info[handle].ty.inner_with(&module.types) {
        &TypeInner::Vector { size, .. } => size as usize,
        _ => 1,
    };
    let own = function
        .expressions
        .iter()
        .filter(|(_, expression)| counted(expression));
    own.map(|(handle, _)| width(handle)).sum()
}

/// A module, and the types of its expressions.
struct Counted {
    module: Module,
    info: wgpu::naga::valid::ModuleInfo,
}

impl Counted {
    /// A function with those that it calls; each loop counts once.
    fn function(&self, handle: Handle<Function>) -> usize {
        let function = &self.module.functions[handle];
        let own = arithmetic(function, &self.info[handle], &self.module);
        own + self.block(function, &function.body)
    }

    /// The calls of a block.
    fn block(&self, function: &Function, block: &Block) -> usize {
        let of = |statement: &Statement| match statement {
            Statement::Call { function, .. } => self.function(*function),
            Statement::Block(block) => self.block(function, block),
            Statement::Loop {
                body, continuing, ..
            } => self.block(function, body) + self.block(function, continuing),
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                let [accept, reject] = [accept, reject].map(|block| self.block(function, block));
                match function.expressions[*condition] {
                    Expression::Literal(Literal::Bool(true)) => accept,
                    Expression::Literal(Literal::Bool(false)) => reject,
                    _ => accept.max(reject),
                }
            }
            _ => 0,
        };
        block.iter().map(of).sum()
    }
}

/// Operations a product of a plan, with its share of what `products` of them cost together.
fn operations(plan: &ShaderPlan, products: usize) -> f64 {
    let module = front::wgsl::parse_str(&source(plan)).unwrap();
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).unwrap();
    let counted = Counted { module, info };
    let mut functions = counted.module.functions.iter();
    let step = functions.find(|(_, f)| f.name.as_deref() == Some("step"));
    let (step, _) = step.expect("every shader has steps");
    counted.function(step) as f64 / products as f64
}

#[test]
fn a_product_costs_about_twenty_operations_or_less() {
    for (name, plan, group) in [
        (
            "Ampere TF32, groups of 4",
            plan(Format::Tf32, Format::Fp32, 4, 24),
            4,
        ),
        (
            "Ampere FP16, groups of 8",
            plan(Format::Fp16, Format::Fp32, 8, 24),
            8,
        ),
        (
            "Hopper FP16, groups of 16",
            plan(Format::Fp16, Format::Fp32, 16, 25),
            16,
        ),
        (
            "Hopper FP16 to FP16",
            plan(Format::Fp16, Format::Fp16, 16, 25),
            16,
        ),
        (
            "Hopper FP8, groups of 32",
            plan(Format::E4m3, Format::Fp32, 32, 13),
            32,
        ),
    ] {
        let operations = operations(&plan, group);
        println!("{name}: {operations:.1}");
        assert!((5.0..40.0).contains(&operations), "{name}: {operations}");
    }
}

/// A sum that is rounded after few products costs more.
#[test]
fn a_product_of_amd_costs_up_to_a_hundred() {
    let complement = CutRule::Complement {
        flush_operands: false,
        flush_sums: true,
    };
    let floored = CutRule::Floored { vanishing_c: None };
    for (name, plan, products) in [
        ("CDNA 3 FP16", cdna3(), 8),
        // Loops over fours of k count once.
        ("RDNA 3 FP16", rdna(2, complement), 4),
        ("RDNA 4 FP16", rdna(4, floored), 4),
    ] {
        let operations = operations(&plan, products);
        println!("{name}: {operations:.1}");
        assert!((20.0..100.0).contains(&operations), "{name}: {operations}");
    }
}

/// The condition under which any GPU gives the same bits.
#[test]
fn no_number_of_a_shader_is_a_float() {
    for plan in [
        plan(Format::Fp16, Format::Fp32, 16, 25),
        plan(Format::E5m2, Format::Fp16, 32, 13),
        cdna3(),
        rdna(
            2,
            CutRule::Complement {
                flush_operands: true,
                flush_sums: true,
            },
        ),
        rdna(
            4,
            CutRule::Floored {
                vanishing_c: Some(-14),
            },
        ),
    ] {
        let module = front::wgsl::parse_str(&source(&plan)).unwrap();
        let float = |inner: &TypeInner| match inner {
            TypeInner::Scalar(Scalar { kind, .. })
            | TypeInner::Vector {
                scalar: Scalar { kind, .. },
                ..
            } => !matches!(kind, ScalarKind::Sint | ScalarKind::Uint | ScalarKind::Bool),
            _ => false,
        };
        assert!(module.types.iter().count() > 5);
        assert!(!module.types.iter().any(|(_, kind)| float(&kind.inner)));
    }
}

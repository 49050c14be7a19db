//! What a product costs on paper: operations of naga's intermediate form, each number of a vector counted.

use tcverify_num::{Format, Formats, Rounding};
use wgpu::naga::valid::{Capabilities, FunctionInfo, ValidationFlags, Validator};
use wgpu::naga::{Expression, Function, Handle, Scalar, ScalarKind, TypeInner, front};

use super::plan::{FusedUnit, ShaderPlan};
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
    let formats = Formats {
        a: format,
        b: format,
        accumulator,
        addend: accumulator,
        scale: None,
    };
    ShaderPlan::fused(unit, formats).expect("32 bits hold it")
}

/// Arithmetic of one function, calls to others not counted: how many numbers are computed.
fn arithmetic(function: &Function, info: &FunctionInfo, module: &wgpu::naga::Module) -> usize {
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

/// Operations a product of a plan of fused dot-adds, with its share of what a group costs.
fn operations(plan: &ShaderPlan, group: usize) -> f64 {
    let module = front::wgsl::parse_str(&source(plan)).unwrap();
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).unwrap();
    let of = |name: &str| {
        let found = module
            .functions
            .iter()
            .find(|(_, f)| f.name.as_deref() == Some(name));
        let (handle, function) = found.unwrap_or_else(|| panic!("no function {name}"));
        arithmetic(function, &info[handle], &module)
    };
    let aligned = group / 4 * of("aligned");
    let around = of("addend") + of("rounded") + 2 * of("added") + 2 * of("largest");
    (of("fused") + aligned + around) as f64 / group as f64
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

/// The condition under which any GPU gives the same bits.
#[test]
fn no_number_of_a_shader_is_a_float() {
    for plan in [
        plan(Format::Fp16, Format::Fp32, 16, 25),
        plan(Format::E5m2, Format::Fp16, 32, 13),
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

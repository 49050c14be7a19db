//! Kernels pass their own products, and wrong ones do not.

mod plans;

use tcverify_num::{Format, Formats};

use self::plans::{lanes, plans};
use super::{Run, agree, runs};
use crate::config::KernelConfig;
use crate::group::GroupPlan;
use crate::platform::Platform;
use crate::rounded::Toward;

fn products(plan: &KernelConfig, platform: Platform, formats: Formats) -> Vec<Option<u64>> {
    let of = |run: Run| run.by(plan, platform).codes;
    runs(formats).flat_map(of).collect()
}

#[test]
fn kernels_answer_themselves() {
    let portable = Platform::available()[0];
    for (plan, formats) in plans() {
        let codes = products(&plan, portable, formats);
        let own = codes.iter().flatten().count();
        assert!(8 * own > codes.len(), "{plan:?}: {own} of {}", codes.len());
    }
}

#[test]
fn a_kernel_of_other_constants_fails() {
    let portable = Platform::with_emulated()[0];
    let of = |plan: &KernelConfig, formats| products(plan, portable, formats);
    for (plan, formats) in plans() {
        let mut wrong = plan.clone();
        match &mut wrong {
            KernelConfig::Group(plan) => plan.fraction_bits -= 8,
            KernelConfig::Block(plan) => plan.fraction_bits -= 8,
            KernelConfig::Sum(plan) if plan.accumulator == Format::Fp64 => continue,
            KernelConfig::Sum(plan) => plan.group = Some(plan.group.map_or(8, |group| group + 1)),
            KernelConfig::Pairs(plan) => plan.group = 6 - plan.group,
            KernelConfig::Rounded(plan) if plan.toward == Toward::Odd => {
                (plan.toward, plan.fused) = (Toward::Zero, true)
            }
            KernelConfig::Rounded(plan) if plan.accumulator == Format::Fp32 => {
                (plan.toward, plan.fused, plan.flush) = (Toward::Odd, false, true)
            }
            KernelConfig::Ordered(plan) if plan.from_zero => plan.chains.rotate_left(1),
            KernelConfig::Ordered(plan) => plan.chains[0].reverse(),
            KernelConfig::Few(plan) => plan.product_bits -= 8,
            KernelConfig::Slices(plan) => plan.phases[0] ^= 1,
            KernelConfig::Lanes(plan) => {
                let rule = plan.rule;
                wrong = lanes(formats.a, rule, formats.scale, 23).0;
            }
            _ => continue,
        }
        assert_ne!(of(&plan, formats), of(&wrong, formats), "{plan:?}");
    }
}

#[test]
fn every_platform_agrees_with_the_portable_one() {
    let portable = Platform::with_emulated()[0];
    let platforms = Platform::with_emulated().into_iter();
    for platform in platforms.chain([Platform::portable_down()]) {
        for (plan, formats) in plans() {
            let name = platform.name();
            assert!(
                agree(&plan, formats, [platform, portable]),
                "{name} {plan:?}"
            );
        }
    }
}

/// The portable platform knows no nudge.
#[test]
fn a_wrong_nudge_is_refused() {
    let platforms = [Platform::portable_down(), Platform::available()[0]];
    let mut nudged = 0;
    for (plan, formats) in plans() {
        let KernelConfig::Group(plan) = plan else {
            continue;
        };
        let Some(nudge) = plan.nudge else { continue };
        nudged += 1;
        for wrong in [nudge - 3, nudge - 1, 100] {
            let plan = GroupPlan {
                nudge: Some(wrong),
                ..plan.clone()
            };
            let plan = KernelConfig::Group(plan);
            assert!(!agree(&plan, formats, platforms), "{plan:?}");
        }
    }
    assert_eq!(nudged, 8);
}

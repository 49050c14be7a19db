//! What a result is made of beside its operands as they are, and how it is stored: said with every verdict, because
//! whoever chose it may have chosen the result.

use super::{Factors, Product, ProductRule, Report, Rule, VariantRule};
use tcverify_common::role::Role;
use tcverify_num::Format;

impl Report {
    /// What the result is made of beside its operands, and how it is stored.
    pub fn terms(&self) -> Vec<String> {
        self.rule.terms(self.inputs.keys(), self.reproduced.format)
    }
}

impl Rule {
    /// `plus C`, `B transposed`, `D bf16` ...: a phrase each. `roles` are the arrays that are there.
    pub fn terms<'r>(
        &self,
        roles: impl IntoIterator<Item = &'r Role>,
        format: Format,
    ) -> Vec<String> {
        let roles = roles.into_iter().copied().filter(|role| !role.is_result());
        match self {
            Rule::Product(rule) => rule.terms(roles, format),
            Rule::Operation(rule) => {
                let needed = rule.needed();
                let beside = roles.filter(|role| !needed.iter().any(|name| name == role.field()));
                beside.map(with).collect()
            }
        }
    }
}

impl VariantRule {
    /// The arrays that it always has.
    fn needed(&self) -> &[String] {
        &self.arrays
    }
}

impl ProductRule {
    fn terms(&self, roles: impl Iterator<Item = Role>, format: Format) -> Vec<String> {
        let arithmetic = &self.model.arithmetic;
        let schedule = self.schedule.as_ref();
        // An instruction that takes scales always has them.
        let own = arithmetic.scale.is_some() && schedule.is_none_or(|of| of.spec.scales.is_none());
        let plain = |role: &Role| match role {
            Role::A | Role::B => true,
            Role::ScaleA | Role::ScaleB => own,
            _ => false,
        };
        let mut all: Vec<String> = roles.filter(|role| !plain(role)).map(with).collect();
        let Product {
            batch: _,
            m: _,
            n: _,
            k: _,
            transpose_a,
            transpose_b,
            // The line of the product says it.
            sparse: _,
            ref weights,
        } = self.product;
        all.extend(weights.as_ref().map(|kind| format!("B of {kind} weights")));
        for (transposed, name) in [(transpose_a, "A"), (transpose_b, "B")] {
            all.extend(transposed.then(|| format!("{name} transposed")));
        }
        if let Some(Factors {
            alpha,
            beta,
            scale_result,
            one_scale_of: _,
        }) = schedule.and_then(|of| of.factors.as_ref())
        {
            let factors = [("alpha", Some(alpha)), ("beta", Some(beta))];
            let factors = factors
                .into_iter()
                .chain([("scale of D", scale_result.as_ref())]);
            let factors = factors.filter_map(|(name, factor)| Some((name, factor?)));
            let factors = factors.filter(|(_, factor)| factor.value != "1");
            all.extend(factors.map(|(name, factor)| format!("{name} {}", factor.value)));
        }
        let function = schedule.and_then(|of| of.spec.epilogue.function);
        let function = function.and_then(|of| serde_json::to_value(of).ok());
        all.extend(function.and_then(|of| of.as_str().map(|word| format!("activation {word}"))));
        all.extend((format != arithmetic.accumulator).then(|| format!("D {format}")));
        all
    }
}

fn with(role: Role) -> String {
    match role {
        Role::C => "plus C".to_owned(),
        other => format!("with {}", other.called()),
    }
}

//! Whether two kernel texts mean the same order of sums.

use super::{IfKnown, KernelError, KernelReading, Plan, Token};
use crate::emu::Catalogue;
use crate::emu::schedule::WithoutC;

/// How two plans differ, as far as models can tell.
///
/// # Errors
/// If one of the plans cannot be completed.
pub fn differing(
    readings: &[KernelReading; 2],
    plans: &[Plan; 2],
    gpu: Option<&str>,
) -> Result<Vec<String>, KernelError> {
    let mut all = Vec::new();
    let [one, other] = readings
        .each_ref()
        .map(|reading| reading.unknown().map(Token::text).collect::<Vec<_>>());
    let only_one = one.iter().filter(|word| !other.contains(word));
    let only_other = other.iter().filter(|word| !one.contains(word));
    let words: Vec<_> = only_one.chain(only_other).map(String::as_str).collect();
    if !words.is_empty() {
        all.push(format!("words that are not known ({})", words.join(", ")));
    }
    let [one, other] = plans;
    let operands = |plan: &Plan| plan.settings.operands.value();
    if operands(one) != operands(other) {
        all.push("the operands' formats".to_owned());
    }
    let [a, b] = [one, other].map(|plan| {
        let result = plan.settings.result.value();
        result.map_or("any".into(), |format| format.to_string())
    });
    if a != b {
        all.push(format!("D's format ({a}, {b})"));
    }
    let finished = |plan: &Plan| {
        let mut spec = plan.spec()?;
        // A tensor core's sum that starts from +0 is never -0, so adding +0 to it changes nothing.
        let of_a_matrix = |name| ["mma", "wgmma", "tcgen05"].contains(&name);
        if plan.model().instruction.is_some_and(of_a_matrix) {
            spec.epilogue.without_c = WithoutC::default();
        }
        Ok::<_, KernelError>((spec.epilogue, spec.addend, spec.scales))
    };
    match (finished(one), finished(other)) {
        (Ok(one), Ok(other)) if one == other => {}
        (Ok(_), Ok(_)) => all.push("the operations on the finished sum".into()),
        (Err(error), _) | (_, Err(error)) => all.push(error.to_string()),
    }
    let [a, b] = [one, other].map(|plan| match &plan.settings.epilogue {
        Some(setting) => setting.value.replace("DEFAULT", "NONE"),
        None => "NONE".to_owned(),
    });
    if a != b {
        all.push(format!("the epilogue ({a}, {b})"));
    }
    let [name, other_name] = [one, other].map(|plan| plan.model().instruction.unwrap_or("any"));
    if name != other_name {
        let model = |plan: &Plan, name: &str| {
            let architecture = Catalogue::builtin().find(gpu?).ok()?;
            let choice = architecture
                .select(Some(name), operands(plan)?, None)
                .ok()?;
            Some(choice.arithmetic.sha256())
        };
        let [a, b] = [model(one, name), model(other, other_name)];
        if a.is_none() || a != b {
            let hint = if gpu.is_none() {
                "; --arch tells whether they compute the same there"
            } else {
                ""
            };
            all.push(format!("the instruction ({name}, {other_name}{hint})"));
        }
    }
    if !one.is_equivalent_to(other)? {
        all.push("the order of the sums, or their intermediate rounding".into());
    }
    Ok(all)
}

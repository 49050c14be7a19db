//! By which rule a product would be judged, before anything is computed.

use serde::Serialize;

use crate::check::{Prepared, Subject};
use crate::emu::{Evidence, shape_text};
use crate::num::Format;
use crate::report::{Conversion, ProductRule, Rule, Tool};
use crate::role::Role;
use tcverify_forms::View;
use tcverify_forms::view::{
    Fact, Section, Tone, model_line, model_section, product_line, schedule_section,
};

/// By which rule a product would be judged, before anything is computed.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    pub tool: Tool,
    /// The lower of the model's and the schedule's.
    pub evidence: Evidence,
    pub rule: ProductRule,
    /// D's.
    pub shape: Vec<usize>,
    pub format: Format,
    /// Whether C is added.
    pub with_c: bool,
    /// What else D is made of, and how it is stored.
    pub terms: Vec<String>,
    pub conversion: Option<Conversion>,
}

impl Planned {
    /// By which rule it would be judged; nothing is computed.
    pub fn of(prepared: &Prepared) -> Planned {
        let rule = prepared.product_rule();
        let model = rule.model.evidence;
        let schedule = rule.schedule.as_ref().map(|schedule| schedule.evidence);
        let (arrays, format) = (prepared.arrays().by_role(), prepared.format());
        Planned {
            tool: Tool::default(),
            evidence: schedule.map_or(model, |other| other.min(model)),
            shape: prepared.problem().d_shape(),
            format,
            with_c: arrays.contains_key(&Role::C),
            terms: Rule::Product(Box::new(rule.clone())).terms(arrays.keys(), format),
            conversion: prepared.conversion(),
            rule,
        }
    }

    /// The rule as every form shows it, without a verdict.
    pub fn view(&self) -> View {
        let ProductRule {
            model: unit,
            schedule,
            product,
            ..
        } = &self.rule;
        let model = model_line(unit, self.conversion.as_ref());
        let product = product_line(product, self.with_c, &self.terms);
        let order = match schedule {
            Some(schedule) => format!("{}: {}", schedule.name, schedule.title),
            None => "one chain over K".to_owned(),
        };
        let mut figures = vec![("model".to_owned(), unit.evidence.to_string())];
        let schedule = match schedule {
            Some(schedule) => {
                figures.push(("order of sums".to_owned(), schedule.evidence.to_string()));
                schedule_section(schedule)
            }
            None => Section {
                facts: vec![Fact::caution(
                    "order",
                    "one chain over K, because no kernel was named; a library's kernel may split K or add in another \
                    order",
                )],
                ..Section::default()
            },
        };
        let about = Section {
            facts: vec![
                Fact::new("product", &product),
                Fact::new("D", format!("{} {}", shape_text(&self.shape), self.format)),
            ],
            ..Section::default()
        };
        View {
            tone: Tone::Unsure,
            word: "Plan".to_owned(),
            sentence: format!(
                "D would be judged by {} {}, {order}; the weakest evidence is {}",
                unit.architecture, unit.instruction, self.evidence
            ),
            about: vec![model.clone(), product, order],
            evidence: self.evidence.to_string(),
            figures,
            sections: vec![about, model_section(unit, model, None), schedule],
            proves: "Nothing was computed or compared.".to_owned(),
            ..View::default()
        }
    }
}

//! By which rule a product would be judged, before anything is computed.

use serde::Serialize;

use super::view::{Fact, Section, Tone, View};
use super::{Conversion, Model, Product, Scheduled, Tool};
use crate::emu::{Evidence, shape_text};
use crate::num::Format;

/// Model and schedule of a product, and how well they are known.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    pub tool: Tool,
    /// The lower of the model's and the schedule's.
    pub evidence: Evidence,
    pub product: Product,
    /// D's.
    pub shape: Vec<usize>,
    pub format: Format,
    /// Whether C is added.
    pub with_c: bool,
    pub conversion: Option<Conversion>,
    pub model: Model,
    /// None of one chain over K.
    pub schedule: Option<Scheduled>,
}

impl Rule {
    /// What it says.
    pub fn view(&self) -> View {
        let model = self.model.line(self.conversion.as_ref());
        let product = self.product.line(self.with_c);
        let order = match &self.schedule {
            Some(schedule) => format!("{}: {}", schedule.name, schedule.title),
            None => "one chain over K".to_owned(),
        };
        let mut figures = vec![("model".to_owned(), self.model.evidence.to_string())];
        let schedule = match &self.schedule {
            Some(schedule) => {
                figures.push(("order of sums".to_owned(), schedule.evidence.to_string()));
                schedule.section()
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
                self.model.architecture, self.model.instruction, self.evidence
            ),
            about: vec![model.clone(), product, order],
            evidence: self.evidence.to_string(),
            figures,
            sections: vec![about, self.model.section(model, None), schedule],
            proves: "Nothing was computed or compared.".to_owned(),
            ..View::default()
        }
    }
}

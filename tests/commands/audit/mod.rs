//! Audits: what the program opens and verifies, what another program says of it, and what is refused.

mod honest;
mod hostile;
mod operations;
mod stated;

use serde_json::Value;

use crate::support::{Folder, Run, ran};

const BEACON: &str = "8430af44c2b90c8d";

/// A product, as `replay` and its like are told of it: the model, and the rest.
struct Product {
    model: &'static str,
    /// What `audit verify` is told beside the model.
    schedule: &'static str,
    operands: &'static str,
    d: &'static str,
}

const PLAIN: Product = Product {
    model: "--arch h100 --dtype bf16",
    schedule: "",
    operands: "generate:1:normal:24x70 generate:2:normal:70x9",
    d: "",
};

impl Product {
    fn said(&self) -> String {
        let Product {
            model,
            schedule,
            operands,
            d,
        } = self;
        format!("{model} {schedule} {d} {operands}")
    }

    /// D, and a commitment to it.
    fn committed(&self, blocks: &str) -> Folder {
        let folder = Folder::new();
        let said = self.said();
        folder.passes(&format!("replay {said} -o d.npy"));
        self.commit(&folder, blocks);
        folder
    }

    fn commit(&self, folder: &Folder, blocks: &str) {
        let said = self.said();
        folder.passes(&format!("commit {said} d.npy {blocks} -o c.json"));
    }

    fn open(&self, folder: &Folder, options: &str) -> Run {
        folder.tcverify(&format!(
            "audit open {} d.npy --commitment c.json --challenge ch.json -o o.bin {options}",
            self.said()
        ))
    }

    fn verify(&self, folder: &Folder, options: &str) -> Run {
        folder.tcverify(&format!(
            "audit verify {} {} {} --commitment c.json --own-challenge ch.json o.bin {options}",
            self.model,
            self.schedule,
            self.stated()
        ))
    }

    /// What else the auditor states: arrays, how A and B are stored, and D's format.
    fn stated(&self) -> String {
        let given = |option: &str| self.operands.split(' ').any(|word| word == option);
        let arrays = ["c", "bias", "scale_a", "scale_b"];
        let option = |array: &str| format!("--{}", array.replace('_', "-"));
        let arrays = arrays.into_iter().filter(|array| given(&option(array)));
        let with = match arrays.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => none,
            arrays => format!("--with {arrays}"),
        };
        let stored = ["--transpose-a", "--transpose-b"].into_iter();
        let stored: String = stored
            .filter(|option| given(option))
            .collect::<Vec<_>>()
            .join(" ");
        format!("{} {with} {stored}", self.d)
    }

    /// A challenge of so many elements, and its opening.
    fn opened(&self, folder: &Folder, elements: u64, options: &str) {
        challenge(folder, BEACON, elements).expect(0);
        self.open(folder, options).expect(0);
    }
}

fn challenge(folder: &Folder, beacon: &str, elements: u64) -> Run {
    ran! {folder, "audit challenge c.json --beacon {beacon} --elements {elements} -o ch.json"}
}

fn json(folder: &Folder, name: &str) -> Value {
    folder.document(name)
}

/// Flips the lowest bit of an element of `d.npy`.
fn tamper(folder: &Folder, element: usize, width: usize) {
    folder.with_payload("d.npy", "d.npy", |d| d[width * element] ^= 1);
}

/// What the auditor of [`PLAIN`] asks.
const VERIFY: &str =
    "audit verify --arch h100 --dtype bf16 --commitment c.json --own-challenge ch.json o.bin";

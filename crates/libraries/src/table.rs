//! Tables of what a library chose, recorded on a GPU: shape and settings to configuration.

use serde::{Deserialize, Serialize};

use super::text::of_words;
use super::{Capability, KernelError, KernelReading, Shape, Sourced, TextKind};
use crate::io::printable;
use crate::num::Format;

/// Value of the `schema` field.
pub const TABLE_SCHEMA: &str = "tcverify.kernel-table/1";

/// What one GPU and one version of a library chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelTable {
    pub schema: String,
    /// The GPU's name, as its driver says it.
    pub gpu: String,
    /// `9.0`.
    pub capability: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiprocessors: Option<u32>,
    pub library: TableLibrary,
    pub entries: Vec<TableEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TableLibrary {
    pub name: String,
    pub version: String,
}

/// One question to the library, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TableEntry {
    /// Of the row-major product D (m x n) = A (m x k) * B (k x n).
    pub m: usize,
    /// Likewise.
    pub n: usize,
    /// Likewise.
    pub k: usize,
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of D.
    pub d: Format,
    /// How the library, which works column-major, sees its operands: `tn`, `nn` ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Only of FP8: whether it accumulates fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_accumulation: Option<bool>,
    /// Bytes that the library was allowed.
    pub workspace: u64,
    /// As in logs, without `EPILOGUE_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epilogue: Option<String>,
    /// Ids of `algo`, `tile`, `stages`, `split_k`, `reduction`, `swizzle`, `custom`, `inner_shape` and `cluster_shape`, as
    /// `cublasLtMatmulAlgoConfigGetAttribute` gives them.
    pub configuration: Configuration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub algo: u32,
    pub tile: u32,
    pub stages: u32,
    pub split_k: u32,
    pub reduction: u32,
    pub swizzle: u32,
    pub custom: u32,
    #[serde(default)]
    pub inner_shape: u32,
    #[serde(default)]
    pub cluster_shape: u32,
}

/// A query; absent fields match anything, unless matching entries differ in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableQuery {
    pub shape: Shape,
    pub operands: Option<[Format; 2]>,
    pub result: Option<Format>,
    pub fast_accumulation: Option<bool>,
    pub workspace: Option<u64>,
}

impl KernelTable {
    /// Reads a table.
    pub fn from_json(text: &str) -> Result<KernelTable, KernelError> {
        let table: KernelTable =
            crate::words::from_json(text).map_err(|error| wrong(printable(&error)))?;
        if table.schema != TABLE_SCHEMA {
            return Err(wrong(format!(
                "its schema is \"{}\"; expected \"{TABLE_SCHEMA}\"",
                printable(&table.schema)
            )));
        }
        if Capability::parse(&table.capability).is_none() {
            return Err(wrong(format!(
                "its capability is \"{}\"; expected a number such as 9.0",
                printable(&table.capability)
            )));
        }
        Ok(table)
    }

    /// What the library chose for a product.
    ///
    /// # Errors
    /// If the table has no answer, or several that differ in something that was not asked for.
    pub fn find(&self, query: &TableQuery) -> Result<KernelReading, KernelError> {
        let shape = query.shape;
        let fits = |entry: &&TableEntry| {
            [entry.m, entry.n, entry.k] == [shape.m, shape.n, shape.k]
                && query
                    .operands
                    .is_none_or(|formats| formats == [entry.a, entry.b])
                && query.result.is_none_or(|format| format == entry.d)
                && query.workspace.is_none_or(|bytes| bytes == entry.workspace)
                && (query.fast_accumulation.is_none()
                    || entry.fast_accumulation.is_none()
                    || query.fast_accumulation == entry.fast_accumulation)
        };
        let mut found = self.entries.iter().filter(fits);
        let Some(first) = found.next() else {
            return Err(wrong(self.nothing(query)));
        };
        if let Some(other) = found.find(|entry| !entry.answers_as(first)) {
            return Err(wrong(format!(
                "it has several entries for {shape}, which differ in {}; specify these",
                first.differences(other).join(" and ")
            )));
        }
        self.reading(first)
    }

    fn nothing(&self, query: &TableQuery) -> String {
        let shape = query.shape;
        let same = |entry: &&TableEntry| [entry.m, entry.n, entry.k] == [shape.m, shape.n, shape.k];
        match self.entries.iter().find(same) {
            None => format!("it has no entry for {shape}"),
            Some(entry) => format!(
                "it has no matching entry for {shape}; it has one with operands {} and {}, D {}, and a workspace of \
                {} bytes",
                entry.a, entry.b, entry.d, entry.workspace
            ),
        }
    }

    fn reading(&self, entry: &TableEntry) -> Result<KernelReading, KernelError> {
        let Configuration {
            algo,
            tile,
            stages,
            split_k,
            reduction,
            swizzle,
            custom,
            inner_shape,
            cluster_shape,
        } = entry.configuration;
        let fields = [
            ("algo", algo),
            ("tile", tile),
            ("stages", stages),
            ("splitK", split_k),
            ("reduction", reduction),
            ("swizzle", swizzle),
            ("custom", custom),
            ("innerShape", inner_shape),
            ("clusterShape", cluster_shape),
        ];
        let mut words: Vec<(String, String)> = fields
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.to_string()))
            .collect();
        words.push(("arch".into(), self.capability.clone()));
        if let Some(layout) = &entry.layout {
            words.push(("layout".into(), layout.clone()));
        }
        if let Some(fast) = entry.fast_accumulation {
            words.push(("fastAccumulation".into(), u8::from(fast).to_string()));
        }
        let mut reading = of_words(TextKind::Attributes, &words)?;
        let TableEntry { m, n, k, .. } = *entry;
        reading.product = Some(Shape { m, n, k });
        let settings = &mut reading.settings;
        settings.operands = Some(Sourced::stated([entry.a, entry.b], "kernel table"));
        settings.result = Some(Sourced::stated(entry.d, "kernel table"));
        settings.workspace = Some(Sourced::stated(entry.workspace, "kernel table"));
        settings.multiprocessors = self
            .multiprocessors
            .map(|count| Sourced::stated(count, "kernel table"));
        settings.epilogue = entry
            .epilogue
            .as_ref()
            .map(|name| Sourced::stated(printable(name), "kernel table"));
        reading.notes.push(format!(
            "recorded on {} with {} {}",
            printable(&self.gpu),
            printable(&self.library.name),
            printable(&self.library.version)
        ));
        Ok(reading)
    }
}

impl TableEntry {
    fn answers_as(&self, other: &TableEntry) -> bool {
        self.configuration == other.configuration && self.differences(other).is_empty()
    }

    /// What two entries of one shape differ in.
    fn differences(&self, other: &TableEntry) -> Vec<&'static str> {
        let all = [
            (
                [self.a, self.b] != [other.a, other.b],
                "the operands' format",
            ),
            (self.d != other.d, "D's format"),
            (self.layout != other.layout, "the layouts"),
            (
                self.fast_accumulation != other.fast_accumulation,
                "fast accumulation",
            ),
            (self.workspace != other.workspace, "the workspace"),
            (self.epilogue != other.epilogue, "the epilogue"),
        ];
        let differing: Vec<_> = all.iter().filter(|row| row.0).map(|row| row.1).collect();
        if differing.is_empty() && self.configuration != other.configuration {
            vec!["the configuration alone (the table contradicts itself)"]
        } else {
            differing
        }
    }
}

fn wrong(why: String) -> KernelError {
    KernelError::Table { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> KernelTable {
        let entry = |workspace, split_k, algo| TableEntry {
            m: 64,
            n: 128,
            k: 8192,
            a: Format::E4m3,
            b: Format::E4m3,
            d: Format::Bf16,
            layout: Some("tn".into()),
            fast_accumulation: Some(algo == 60),
            workspace,
            epilogue: None,
            configuration: Configuration {
                algo,
                tile: 15,
                stages: 16,
                split_k,
                reduction: if split_k > 1 { 2 } else { 0 },
                swizzle: 0,
                custom: 1,
                inner_shape: 0,
                cluster_shape: 0,
            },
        };
        KernelTable {
            schema: TABLE_SCHEMA.into(),
            gpu: "NVIDIA GeForce RTX 4060".into(),
            capability: "8.9".into(),
            multiprocessors: Some(24),
            library: TableLibrary {
                name: "cublasLt".into(),
                version: "12.8.3.14".into(),
            },
            entries: vec![
                entry(0, 1, 60),
                entry(1 << 20, 5, 60),
                entry(1 << 20, 4, 35),
            ],
        }
    }

    fn query() -> TableQuery {
        TableQuery {
            shape: Shape {
                m: 64,
                n: 128,
                k: 8192,
            },
            operands: None,
            result: None,
            fast_accumulation: None,
            workspace: None,
        }
    }

    #[test]
    fn an_answer_is_found_where_it_is_one() {
        let json = serde_json::to_string(&table()).unwrap();
        let table = KernelTable::from_json(&json).unwrap();
        let exact = TableQuery {
            workspace: Some(1 << 20),
            fast_accumulation: Some(true),
            ..query()
        };
        let reading = table.find(&exact).unwrap();
        assert_eq!(reading.family.value.id, "ada-fp8");
        let plan = reading.plan(&exact.shape, &crate::Options::default());
        assert_eq!(plan.unwrap().slices.len(), 5);
        let error = |query: &TableQuery| table.find(query).unwrap_err().to_string();
        assert!(error(&query()).contains("differ in the workspace"));
        let open = TableQuery {
            workspace: Some(1 << 20),
            ..query()
        };
        assert!(error(&open).contains("differ in fast accumulation"));
        let other = TableQuery {
            result: Some(Format::Fp32),
            ..query()
        };
        assert!(error(&other).contains("D bf16"));
        let shape = Shape { m: 1, n: 2, k: 3 };
        assert!(error(&TableQuery { shape, ..query() }).contains("no entry for 1x2x3"));
    }

    #[test]
    fn other_files_are_refused() {
        let mut wrong = table();
        wrong.schema = "tcverify.kernel-table/9".into();
        let json = serde_json::to_string(&wrong).unwrap();
        let error = KernelTable::from_json(&json).unwrap_err().to_string();
        assert!(error.contains("tcverify.kernel-table/9"), "{error}");
        assert!(KernelTable::from_json("[]").is_err());
        wrong = table();
        wrong.capability = "hopper".into();
        let json = serde_json::to_string(&wrong).unwrap();
        assert!(KernelTable::from_json(&json).is_err());
    }
}

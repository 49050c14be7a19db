//! From flat fields to a check, and back.

use super::choices::{EngineChoice, Strictness, Tf32Input};
use super::error::CheckError;
use super::fields::RequestFields;
use super::fpmr::FpmrRequest;
use super::kernel_answers::KernelAnswers;
use super::product::{
    Check, Draw, Expected, KernelRequest, KernelSource, MAX_MISMATCHES, ModelRequest, ModelSource,
    Naming, Operands, ScheduleRequest, ScheduleSource, Seed, Selection,
};
use super::span::Span;
use super::ttnn::TtnnRequest;
use crate::emu::SparseLayout;
use crate::emu::schedule::Overrides;
use crate::report::Tolerance;
use crate::role::Role;

/// A struct with fields that another one has by the same names.
macro_rules! taken {
    ($kind:ident of $from:ident: $($name:ident)*; $($rest:tt)*) => {
        $kind { $($name: $from.$name,)* $($rest)* }
    };
}

impl RequestFields {
    /// The request for a schedule.
    pub fn schedule_request(&self) -> ScheduleRequest {
        let said = match (&self.kernel, &self.kernel_log, &self.kernel_table) {
            (Some(text), ..) => Some(KernelSource::Text(text.clone())),
            (_, Some(path), _) => Some(KernelSource::Log(path.clone())),
            (_, _, Some(file)) => Some(KernelSource::Table {
                file: file.clone(),
                workspace: self.workspace,
            }),
            (None, None, None) => None,
        };
        let kernel = said.map(|said| {
            Box::new(KernelRequest {
                source: said,
                answers: taken!(KernelAnswers of self: reduction partition custom accumulation multiprocessors rotation;
                    whole_remainder: self.whole_remainder == Some(true)),
            })
        });
        let from = match (&self.schedule, &self.schedule_file, kernel) {
            (_, _, Some(kernel)) => ScheduleSource::Kernel(kernel),
            (Some(name), _, _) => ScheduleSource::Preset(name.clone()),
            (None, Some(path), _) => ScheduleSource::File(path.clone()),
            (None, None, _) => ScheduleSource::Plain,
        };
        ScheduleRequest {
            from,
            overrides: taken!(Overrides of self: tile_k residue instruction_k slices split_k split grain partials sum_order workers
                promote alpha beta scale_result activation;),
        }
    }

    fn draw(&self) -> Result<Seed, CheckError> {
        match (self.seed, &self.seed_from, &self.beacon) {
            (Some(seed), ..) => Ok(Seed::Number(seed)),
            (None, Some(commitment), Some(beacon)) => {
                // Whatever the commitment is: the value must be one.
                let valid = crate::sample::PublicDraw::new("", beacon);
                valid.map_err(CheckError::in_field("beacon"))?;
                Ok(Seed::Beacon {
                    commitment: commitment.clone(),
                    beacon: beacon.clone(),
                })
            }
            _ => Err(CheckError::request(
                "sample",
                "`sample` needs `seed_from` and `beacon`, which nobody can know when the result is made, or a `seed` \
                 that you chose after receiving the result; there is no default, because everyone would know it",
            )),
        }
    }

    /// How bits are compared.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance {
            any_nan: self.nan == Some(Strictness::Any),
            any_zero: self.zero == Some(Strictness::Any),
        }
    }

    /// Which digest names the reproduced result.
    pub fn naming(&self) -> Naming {
        match self.tree {
            Some(true) => Naming::Tree {
                block_rows: self.block_rows,
            },
            _ => Naming::Payload,
        }
    }

    /// Which part of the result is compared.
    pub fn selection(&self) -> Result<Selection, CheckError> {
        let (rows, columns) = match &self.region {
            None => (self.rows.unwrap_or_default(), self.cols.unwrap_or_default()),
            Some(text) => {
                let fail = |reason: &str| {
                    let reason = format!("`region` {text:?}: {reason}");
                    CheckError::request("region", reason)
                };
                let (rows, columns) = text
                    .split_once(',')
                    .ok_or_else(|| fail("expected ROWS,COLUMNS, such as 0..128,64.."))?;
                let span = |text: &str| text.parse().map_err(|reason: String| fail(&reason));
                (span(rows)?, span(columns)?)
            }
        };
        let sample = match self.sample {
            Some(0) => return Err(CheckError::zero("sample")),
            Some(elements) => Some(Draw {
                elements,
                seed: self.draw()?,
            }),
            None => None,
        };
        Ok(Selection {
            rows,
            columns,
            sample,
        })
    }

    /// What is multiplied.
    pub fn operands(&self) -> Result<Operands, CheckError> {
        let mut arrays = self.arrays();
        arrays.remove(&Role::D);
        for role in [Role::A, Role::B] {
            if !arrays.contains_key(&role) {
                return Err(CheckError::missing(role.field()));
            }
        }
        Ok(Operands {
            arrays,
            bias_dtype: self.bias_dtype,
            weights: self.weights,
            transpose_a: self.transpose_a.unwrap_or(false),
            transpose_b: self.transpose_b.unwrap_or(false),
            tf32_input: self.tf32_input.unwrap_or(Tf32Input::Truncate),
            sparse_layout: self.sparse_layout.unwrap_or(SparseLayout::Words),
        })
    }
}

impl TryFrom<RequestFields> for Check {
    type Error = CheckError;

    fn try_from(fields: RequestFields) -> Result<Check, CheckError> {
        fields.validate()?;
        let operands = fields.operands();
        let selection = fields.selection()?;
        let schedule = fields.schedule_request();
        let (tolerance, naming) = (fields.tolerance(), fields.naming());
        let from = match (fields.model, fields.arch) {
            (Some(path), _) => ModelSource::File(path),
            (None, Some(name)) => ModelSource::Catalogue(name),
            (None, None) => {
                return Err(CheckError::request(
                    "arch",
                    "`arch` (or `model`) is missing: name the GPU, such as h100 ('tcverify archs' lists them); 'check' \
                     finds an unknown one from D with auto",
                ));
            }
        };
        let expected = match (fields.d, fields.d_digest) {
            (Some(d), _) => Expected::Tensor(d),
            (None, Some(digest)) => {
                let digest =
                    crate::io::parse_sha256(&digest).map_err(CheckError::in_field("d_digest"))?;
                Expected::PayloadSha256(digest)
            }
            (None, None) => Expected::Nothing,
        };
        if fields.block_rows == Some(0) {
            return Err(CheckError::zero("block_rows"));
        }
        Ok(Check {
            operands: operands?,
            model: taken!(ModelRequest of fields: dtype_b acc c_dtype scale_dtype instruction scale_block;
            from,
            dtype: fields.dtype.ok_or_else(|| CheckError::missing("dtype"))?,
            ttnn: TtnnRequest {
                text: fields.ttnn,
                in0_block_w: fields.in0_block_w,
                packer_l1_acc: fields.packer_l1_acc == Some(true),
                reload: fields.reload,
            },
            fpmr: FpmrRequest {
                lscale: fields.lscale,
                osm: fields.osm,
            }),
            schedule,
            expected,
            d_dtype: fields.d_dtype,
            tolerance,
            selection,
            naming,
            against: fields.against,
            engine: fields.engine.unwrap_or(EngineChoice::Fast),
            max_mismatches: fields.max_mismatches.unwrap_or(MAX_MISMATCHES),
            causes: fields.no_causes != Some(true),
            ambiguity: fields.no_ambiguity != Some(true),
        })
    }
}

impl From<Check> for RequestFields {
    fn from(check: Check) -> RequestFields {
        let Check {
            operands,
            model,
            schedule,
            ..
        } = check;
        let some = |given: bool| given.then_some(true);
        let any = |given: bool| given.then_some(Strictness::Any);
        let part = |span: Span| (span != Span::ALL).then_some(span);
        let overrides = schedule.overrides;
        let fields = taken!(RequestFields of overrides: tile_k residue instruction_k slices split_k split grain partials sum_order workers
            promote alpha beta scale_result activation;
            ..RequestFields::default());
        let fields = taken!(RequestFields of model: dtype_b acc c_dtype scale_dtype instruction scale_block; ..fields);
        let mut fields = RequestFields {
            dtype: Some(model.dtype),
            ttnn: model.ttnn.text,
            in0_block_w: model.ttnn.in0_block_w,
            packer_l1_acc: some(model.ttnn.packer_l1_acc),
            reload: model.ttnn.reload,
            lscale: model.fpmr.lscale,
            osm: model.fpmr.osm,
            bias_dtype: operands.bias_dtype,
            weights: operands.weights,
            d_dtype: check.d_dtype,
            nan: any(check.tolerance.any_nan),
            zero: any(check.tolerance.any_zero),
            against: check.against,
            rows: part(check.selection.rows),
            cols: part(check.selection.columns),
            max_mismatches: (check.max_mismatches != MAX_MISMATCHES)
                .then_some(check.max_mismatches),
            no_causes: some(!check.causes),
            no_ambiguity: some(!check.ambiguity),
            engine: (check.engine != EngineChoice::Fast).then_some(check.engine),
            transpose_a: some(operands.transpose_a),
            transpose_b: some(operands.transpose_b),
            tf32_input: (operands.tf32_input != Tf32Input::Truncate).then_some(operands.tf32_input),
            sparse_layout: (operands.sparse_layout != SparseLayout::Words)
                .then_some(operands.sparse_layout),
            ..fields
        };
        match model.from {
            ModelSource::Catalogue(name) => fields.arch = Some(name),
            ModelSource::File(path) => fields.model = Some(path),
        }
        match schedule.from {
            ScheduleSource::Plain => {}
            ScheduleSource::Preset(name) => fields.schedule = Some(name),
            ScheduleSource::File(path) => fields.schedule_file = Some(path),
            ScheduleSource::Kernel(kernel) => {
                let KernelRequest {
                    source: said,
                    answers,
                } = *kernel;
                fields = taken!(RequestFields of answers: reduction partition custom accumulation multiprocessors rotation;
                    whole_remainder: some(answers.whole_remainder),
                    ..fields);
                match said {
                    KernelSource::Text(text) => fields.kernel = Some(text),
                    KernelSource::Log(path) => fields.kernel_log = Some(path),
                    KernelSource::Table { file, workspace } => {
                        (fields.kernel_table, fields.workspace) = (Some(file), workspace);
                    }
                }
            }
        }
        match check.expected {
            Expected::Nothing => {}
            Expected::Tensor(d) => fields.d = Some(d),
            Expected::PayloadSha256(digest) => fields.d_digest = Some(digest),
        }
        if let Naming::Tree { block_rows } = check.naming {
            (fields.tree, fields.block_rows) = (Some(true), block_rows);
        }
        if let Some(draw) = check.selection.sample {
            fields.sample = Some(draw.elements);
            match draw.seed {
                Seed::Number(seed) => fields.seed = Some(seed),
                Seed::Beacon { commitment, beacon } => {
                    (fields.seed_from, fields.beacon) = (Some(commitment), Some(beacon));
                }
            }
        }
        for (role, source) in operands.arrays {
            if let Some(field) = fields.array(role) {
                *field = Some(source);
            }
        }
        fields
    }
}

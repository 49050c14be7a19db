//! The groups of options that commands take together.

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::fields::{
    CapturedArgs, ChangeArgs, EngineArgs, FormatArgs, JudgeArgs, KernelArgs, LayoutArgs,
    MatrixArgs, ModelArgs, PresetArgs, ResultArgs,
};
use super::in_options;
use super::set::SetArgs;
use crate::check::{Check, CheckError, Operands, RequestFields, Source};
use crate::libraries;
use crate::num::Format;

/// A struct of groups that are filled one after another.
macro_rules! groups {
    ($($(#[doc = $doc:tt])+ $all:ident { $($group:ident: $kind:ty,)* })*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Args, Clone)]
            pub struct $all {
                $(#[command(flatten)] pub $group: $kind,)*
            }

            impl $all {
                /// Sets the fields of a request.
                pub fn fill(&self, fields: &mut RequestFields) -> Result<(), CheckError> {
                    $(self.$group.fill(fields)?;)*
                    Ok(())
                }
            }
        )*
    };
}

groups! {
    /// Which files.
    OperandArgs {
        matrices: MatrixArgs,
        layout: LayoutArgs,
        engine: EngineArgs,
    }

    /// Which schedule.
    ScheduleArgs {
        preset: PresetArgs,
        changes: ChangeArgs,
    }

    /// Which product: what every command that replays is told.
    ProductArgs {
        operands: OperandArgs,
        model: ModelArgs,
        schedule: ScheduleArgs,
        kernel: KernelArgs,
        set: SetArgs,
    }

    /// A whole check.
    CheckArgs {
        product: ProductArgs,
        captured: CapturedArgs,
        format: FormatArgs,
        result: ResultArgs,
        judge: JudgeArgs,
    }
}

impl OperandArgs {
    /// The operands, for commands without a schedule.
    pub fn operands(&self) -> Result<Operands, CheckError> {
        let mut fields = RequestFields::default();
        self.fill(&mut fields)?;
        fields.validate()?;
        fields.operands()
    }
}

impl ProductArgs {
    pub fn fields(&self) -> Result<RequestFields, CheckError> {
        let mut fields = RequestFields::default();
        self.fill(&mut fields)?;
        libraries::complete(&mut fields, &())?;
        Ok(fields)
    }

    /// The product's fields, with a D and its format.
    pub fn naming(
        &self,
        d: Option<&Path>,
        d_dtype: Option<Format>,
    ) -> Result<RequestFields, CheckError> {
        Ok(RequestFields {
            d: d.map(|d| Source::of(d.as_os_str())),
            d_dtype,
            ..self.fields()?
        })
    }
}

impl CheckArgs {
    pub fn fields(&self) -> Result<RequestFields, CheckError> {
        if self.captured.d.is_none() && self.result.d_digest.is_none() {
            let reason = "D.npy is missing: name the captured D after A and B, or give the SHA-256 of its payload with \
                          `d_digest`";
            return Err(CheckError::request("d", reason));
        }
        let mut fields = RequestFields::default();
        self.fill(&mut fields)?;
        libraries::complete(&mut fields, &())?;
        Ok(fields)
    }

    pub fn check(&self) -> Result<Check> {
        in_options(self.fields().and_then(Check::try_from))
    }
}

/// The fields of a model and a schedule, without operands.
pub fn arithmetic(model: &ModelArgs, schedule: &ScheduleArgs) -> Result<RequestFields, CheckError> {
    let mut fields = RequestFields::default();
    model.fill(&mut fields)?;
    schedule.fill(&mut fields)?;
    Ok(fields)
}

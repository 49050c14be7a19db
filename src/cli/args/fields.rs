//! The options of requests, from the one declaration of their fields.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::check::{
    CheckError, EngineChoice, Field, RequestFields, Source, Span, Strictness, Tf32Input,
    product_fields,
};
use crate::cli::values::{
    accumulator_format, any_float, any_format, arch_names, instruction_names, operand_format,
    result_format, scale_format, schedule_names, word,
};
use crate::emu::SparseLayout;
use crate::emu::schedule::{
    ActivationChoice, OrderChoice, PartialsChoice, PromoteChoice, ResidueChoice, SplitChoice,
};
use crate::emu::step::Reload;
use crate::io::parse_sha256;
use crate::libraries::{Accumulation, Partition, Scheme, Weights};
use crate::num::{F32, Factor, Format};
use crate::operation::{Operation, operation_fields};
use crate::ops::Layout;

/// A struct of options for every group of fields.
macro_rules! options {
    ($request:ident; $(
        $(#[doc = $about:tt])+
        #[command($($command:tt)*)]
        $group:ident {
            $($(#[doc = $doc:tt])+ #[arg($($arg:tt)*)] $name:ident: $kind:ty,)*
        }
    )*) => {
        $(
            $(#[doc = $about])+
            #[derive(Args, Clone, Default)]
            #[command($($command)*)]
            pub struct $group {
                $(
                    $(#[doc = $doc])+
                    #[arg($($arg)*)]
                    pub $name: Option<<$kind as Field>::Word>,
                )*
            }

            impl $group {
                /// Sets the fields of a request.
                pub fn fill(&self, fields: &mut $request) -> Result<(), CheckError> {
                    $(
                        let word = self.$name.clone();
                        let value = word.map(|word| <$kind>::of_word(stringify!($name), word));
                        fields.$name = value.transpose()?.filter(Field::says);
                    )*
                    Ok(())
                }
            }
        )*
    };
}

product_fields!(options);
operation_fields!(options);

/// Parses a reduction scheme's name or number.
fn parse_scheme(text: &str) -> Result<Scheme, String> {
    Scheme::parse(text)
        .ok_or_else(|| "NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4".into())
}

/// Parses a partition's name.
fn parse_partition(text: &str) -> Result<Partition, String> {
    Partition::parse(text).ok_or_else(|| "universal, serial-tiles or parallel-tiles".into())
}

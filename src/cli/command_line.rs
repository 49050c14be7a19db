//! Arguments as the words of a command line again.

use std::path::Path;

use super::args::{EngineName, ModelArgs, OperandArgs, Tf32Input};
use super::judge::Judge;
use crate::emu::Arithmetic;
use crate::identify::Name;
use crate::num::Format;

impl ModelArgs {
    /// The options that choose this model.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(name) = &self.arch {
            words.extend(["--arch".to_owned(), quoted(name)]);
        }
        if let Some(path) = &self.model {
            words.extend(["--model".to_owned(), quoted_path(path)]);
        }
        words.extend(["--dtype".to_owned(), self.dtype.to_string()]);
        let formats = [
            ("--dtype-b", self.dtype_b),
            ("--acc", self.acc),
            ("--c-dtype", self.c_dtype),
            ("--scale-dtype", self.scale_dtype),
        ];
        for (option, format) in formats {
            if let Some(format) = format {
                words.extend([option.to_owned(), format.to_string()]);
            }
        }
        if let Some(instruction) = &self.instruction {
            words.extend(["--instruction".to_owned(), quoted(instruction)]);
        }
        if let Some(block) = self.scale_block {
            words.extend(["--scale-block".to_owned(), block.to_string()]);
        }
        words
    }
}

impl OperandArgs {
    /// The option that says who computes.
    pub fn engine_words(&self) -> Vec<String> {
        match self.engine {
            EngineName::Fast => Vec::new(),
            EngineName::Exact => vec!["--engine".to_owned(), "exact".to_owned()],
        }
    }

    /// The options and files of the operands. Who computes makes no difference to the bits.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let files = [
            ("--c", &self.c),
            ("--scale-a", &self.scale_a),
            ("--scale-b", &self.scale_b),
        ];
        for (option, path) in files {
            if let Some(path) = path {
                words.extend([option.to_owned(), quoted_path(path)]);
            }
        }
        for (option, given) in [
            ("--transpose-a", self.transpose_a),
            ("--transpose-b", self.transpose_b),
        ] {
            words.extend(given.then(|| option.to_owned()));
        }
        if self.tf32_input != Tf32Input::Truncate {
            words.extend(["--tf32-input".to_owned(), self.tf32_input.name().to_owned()]);
        }
        for path in [&self.a, &self.b] {
            words.push(quoted_path(path));
        }
        words
    }
}

impl Judge {
    /// The words that [`Judge::parse`] makes this of, but for those that a plan refuses.
    pub fn words(&self) -> Vec<String> {
        let mut words = self.model.words();
        words.extend(self.schedule.words());
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(format) = self.d_dtype {
            option("--d-dtype", format.to_string());
        }
        option("--nan", self.nan.name().to_owned());
        option("--zero", self.zero.name().to_owned());
        option("--max-mismatches", self.max_mismatches.to_string());
        if let Some(rows) = self.tree.block_rows {
            option("--block-rows", rows.to_string());
        }
        if self.no_causes {
            words.push("--no-causes".to_owned());
        }
        words.extend(self.operands.engine_words());
        words.push("--tree".to_owned());
        words.extend(self.operands.words());
        let d = self.d.as_deref();
        words.extend(d.map(quoted_path));
        words.iter().map(|word| unquoted(word)).collect()
    }
}

/// The options that choose a rule of the catalogue, and D's format where it is rounded to it.
pub fn rule_words(name: &Name, arithmetic: &Arithmetic, convert_to: Option<Format>) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |option: &str, value: String| words.extend([option.to_owned(), value]);
    option("--arch", quoted(&name.architecture));
    option("--instruction", quoted(&name.instruction));
    option("--dtype", arithmetic.a.to_string());
    if arithmetic.b != arithmetic.a {
        option("--dtype-b", arithmetic.b.to_string());
    }
    let short = |format| match format {
        Format::Fp16 => "f16",
        Format::Fp64 => "f64",
        Format::Int32 => "s32",
        _ => "f32",
    };
    option("--acc", short(arithmetic.accumulator).to_owned());
    if let Some(addend) = arithmetic.addend {
        option("--c-dtype", short(addend).to_owned());
    }
    if let Some(scale) = arithmetic.scale {
        option("--scale-dtype", scale.format.to_string());
        option("--scale-block", scale.block.to_string());
    }
    if let Some(format) = convert_to {
        option("--d-dtype", format.to_string());
    }
    words
}

/// A path as one word of a POSIX shell. One that begins with a dash is no option then, either.
pub fn quoted_path(path: &Path) -> String {
    let text = path.display().to_string();
    match text.starts_with('-') {
        true => quoted(&format!("./{text}")),
        false => quoted(&text),
    }
}

/// One word of a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+,:=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What a shell makes of one word of [`quoted`].
pub fn unquoted(word: &str) -> String {
    let inside = word.strip_prefix('\'').and_then(|w| w.strip_suffix('\''));
    inside.map_or(word.to_owned(), |inside| inside.replace(r"'\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_a_shell_would_split_are_quoted() {
        for (path, word) in [
            ("a.npy", "a.npy"),
            ("out dir/a.npy", "'out dir/a.npy'"),
            ("it's", r"'it'\''s'"),
            ("-a.npy", "./-a.npy"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted_path(Path::new(path)), word);
            assert_eq!(unquoted(word).trim_start_matches("./"), path);
        }
    }
}

//! Fields that contradict each other, or say something of one that is not there.

use super::error::CheckError;
use super::fields::Fields;
use super::words::Strictness;

impl Fields {
    /// Refuses two fields that exclude each other.
    fn one_of(&self, pairs: &[[(&'static str, bool); 2]]) -> Result<(), CheckError> {
        for [(one, given), (other, too)] in pairs {
            if *given && *too {
                return Err(CheckError::request(
                    other,
                    format!("`{one}` and `{other}` exclude each other; give one of them"),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a field that says something of another one that is not there.
    fn needs(&self, pairs: &[[(&'static str, bool); 2]]) -> Result<(), CheckError> {
        for [(one, given), (other, there)] in pairs {
            if *given && !there {
                return Err(CheckError::request(
                    one,
                    format!("`{one}` needs `{other}`, which is missing"),
                ));
            }
        }
        Ok(())
    }

    /// Refuses what cannot be asked together.
    pub(super) fn validate(&self) -> Result<(), CheckError> {
        let digest = ("d_digest", self.d_digest.is_some());
        let tree = ("tree", self.tree == Some(true));
        let sample = ("sample", self.sample.is_some());
        let region = ("region", self.region.is_some());
        let rows = ("rows", self.rows.is_some());
        let cols = ("cols", self.cols.is_some());
        let nan = ("nan", self.nan == Some(Strictness::Any));
        let zero = ("zero", self.zero == Some(Strictness::Any));
        let against = ("against", self.against.is_some());
        let seed_from = ("seed_from", self.seed_from.is_some());
        let beacon = ("beacon", self.beacon.is_some());
        self.one_of(&[
            [
                ("arch", self.arch.is_some()),
                ("model", self.model.is_some()),
            ],
            [("d", self.d.is_some()), digest],
            [digest, nan],
            [digest, zero],
            [digest, against],
            [digest, tree],
            [digest, sample],
            [digest, rows],
            [digest, cols],
            [digest, region],
            [tree, sample],
            [tree, rows],
            [tree, cols],
            [tree, region],
            [region, rows],
            [region, cols],
            [("seed", self.seed.is_some()), seed_from],
            // Which makes sure of the same.
            [against, seed_from],
        ])?;
        self.validate_kernel()?;
        let [scale_a, scale_b] = [
            ("scale_a", self.scale_a.is_some()),
            ("scale_b", self.scale_b.is_some()),
        ];
        self.needs(&[
            [scale_a, scale_b],
            [scale_b, scale_a],
            [
                ("split", self.split.is_some()),
                ("split_k", self.split_k.is_some()),
            ],
            [("beta", self.beta.is_some()), ("c", self.c.is_some())],
            [
                ("bias_dtype", self.bias_dtype.is_some()),
                ("bias", self.bias.is_some()),
            ],
            [
                ("azp", self.azp.is_some()),
                ("azp_adj", self.azp_adj.is_some()),
            ],
            [("seed", self.seed.is_some()), sample],
            [seed_from, sample],
            [seed_from, beacon],
            [beacon, seed_from],
            [("block_rows", self.block_rows.is_some()), tree],
        ])
    }

    /// The order comes from one place, and what completes a kernel's words needs some.
    fn validate_kernel(&self) -> Result<(), CheckError> {
        let orders = [
            ("schedule", self.schedule.is_some()),
            ("schedule_file", self.schedule_file.is_some()),
            ("kernel", self.kernel.is_some()),
            ("kernel_log", self.kernel_log.is_some()),
            ("kernel_table", self.kernel_table.is_some()),
        ];
        for (i, one) in orders.iter().enumerate() {
            for other in &orders[i + 1..] {
                self.one_of(&[[*one, *other]])?;
            }
        }
        let words = orders[2..].iter().find(|(_, given)| *given).copied();
        if let Some(words) = words {
            // The words say these, or leave them open: a change would be another kernel.
            self.one_of(&[
                [words, ("residue", self.residue.is_some())],
                [words, ("split", self.split.is_some())],
                [words, ("grain", self.grain.is_some())],
                [words, ("partials", self.partials.is_some())],
                [words, ("sum_order", self.sum_order.is_some())],
                [words, ("workers", self.workers.is_some())],
                [words, ("promote", self.promote.is_some())],
            ])?;
        }
        let there = ("kernel", words.is_some());
        let table = ("kernel_table", self.kernel_table.is_some());
        self.needs(&[
            [("reduction", self.reduction.is_some()), there],
            [("partition", self.partition.is_some()), there],
            [("custom", self.custom.is_some()), there],
            [("accumulation", self.accumulation.is_some()), there],
            [("multiprocessors", self.multiprocessors.is_some()), there],
            [("rotation", self.rotation.is_some()), there],
            [("whole_tail", self.whole_tail == Some(true)), there],
            [("workspace", self.workspace.is_some()), table],
        ])
    }
}

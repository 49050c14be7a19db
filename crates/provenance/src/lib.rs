//! Who said what, and when: digests that fix a product before an audit, logs of them, and verdicts that other tools
//! read. A proof holds for the bytes that it names. Nothing here replays a product or knows whom to trust.
//!
//! * [`commit`]: commitments to operands and a result, and proofs of their lines.
//! * [`tlog`]: logs of commitments that witnesses cosign.
//! * [`attest`]: verdicts as in-toto statements in DSSE envelopes.

pub mod attest;
pub mod commit;
pub mod tlog;

use tcverify_common::{role, words};
use tcverify_emu as emu;
use tcverify_io as io;
use tcverify_num as num;
use tcverify_report as report;
use tcverify_sealed::{envelope, sign};
use tcverify_tensor as tensor;

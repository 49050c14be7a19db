//! `tcverify audit`: replays elements of a committed D from the rows and columns that a prover opens.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::args::{
    FormatArgs, LayoutArgs, MemoryArgs, ModelArgs, OperationHint, ParameterArgs, RequestArgs,
    RuleArgs, ScheduleArgs, SetArgs, WholeOperation, arithmetic, in_options, operation,
};
use super::commit::WholeArgs;
use super::log::{WitnessArgs, bytes, unproven};
use super::reports::{PageArgs, ReportArgs};
use super::show::{self, write_pretty};
use super::{Ending, refuted};
use crate::audit::{AuditError, AuditModel, AuditReport, Challenge, Opening, OwnCopies, Proven};
use crate::check::{Check, Source, Tf32Input};
use crate::commit::Commitment;
use crate::compose::{Request, read_commitment};
use crate::engines;
use crate::forms::grouped;
use crate::io::tree::Hash;
use crate::io::{Files, MappedFile, Outputs, escaped_path, parse_sha256};
use crate::role::Role;
use crate::tlog::Published;

commands! {
    /// Audit a committed product from a few of its rows and columns
    ///
    /// The prover has committed to operands, model and D ('tcverify commit'). A beacon, a public value that nobody
    /// could know at that time, draws elements of D. The prover opens the rows of A and columns of B that these
    /// elements need, with proofs that they are the committed ones. The auditor replays the elements from these rows
    /// and columns alone. docs/audits.md specifies the documents, and which beacons are suitable.
    #[command(after_long_help = "\
Examples:
  First the prover commits, and publishes c.json with a date that others can confirm:
    tcverify commit --arch h100 --dtype bf16 a.npy b.npy d.npy -o c.json

  Anyone, once the beacon's next value is known (drand, NIST, a block of a chain):
    tcverify audit challenge c.json --beacon 8430af44... --elements 1000 -o challenge.json

  The prover; B are public weights, so the opening omits them:
    tcverify audit open --arch h100 --dtype bf16 a.npy b.npy d.npy \\
        --commitment c.json --challenge challenge.json --without b -o opening.bin

  The auditor, with weights from another source:
    tcverify audit verify --arch h100 --dtype bf16 --commitment c.json --commitment-sha256 c782eb7e... \\
        --beacon 8430af44... --elements 1000 --b weights.npy opening.bin

  With a C and a bias, B stored NxK, and D in BF16, all of which the auditor must state:
    tcverify audit verify --arch h100 --dtype bf16 --with c,bias --transpose-b --d-dtype bf16 ...

Exit codes: challenge and open: 0 done, 1 differs from the commitment, 2 anything else; verify: 0 all
opened elements are reproduced, 1 one is not, or the opening proves nothing, 2 anything else.")]
    pub enum Audit {
        Challenge(MakeChallenge),
        Open(Box<Open<WholeArgs>>),
        Verify(Box<Verify<AuditedProduct>>),
    }
}

commands! {
    /// The steps that an operation has options of its own for.
    pub enum OperationStep {
        Open(Box<Open<WholeOperation>>),
        Verify(Box<Verify<AuditedOperation>>),
    }
}

/// Draw elements of a committed D by a public beacon
#[derive(Args)]
pub struct MakeChallenge {
    /// Commitment written by 'tcverify commit'
    #[arg(value_name = "C.json")]
    commitment: PathBuf,

    /// Published value of the beacon: 1 to 256 visible ASCII characters
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    beacon: String,

    /// Number of elements of D to draw
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    elements: u64,

    /// Where to write the challenge; "-" is standard output
    #[arg(long, short, value_name = "CHALLENGE.json", default_value = "-")]
    output: PathBuf,
}

/// Open the lines that a challenge names, with proofs that they are the committed ones
#[derive(Args)]
pub struct Open<A: RequestArgs> {
    /// Commitment written by 'tcverify commit'
    #[arg(long, value_name = "C.json")]
    commitment: PathBuf,

    /// Challenge written by 'tcverify audit challenge'
    #[arg(long, value_name = "CHALLENGE.json")]
    challenge: PathBuf,

    /// Arrays to omit because the auditor has them: a, b, c, scale_a, scale_b, bias, azp, azp_adj
    #[arg(long, value_name = "ARRAYS", value_delimiter = ',')]
    without: Vec<String>,

    /// Where to write the opening
    #[arg(long = A::OUTPUT, short = 'o', value_name = "OPENING")]
    file: PathBuf,

    /// Do not print the size
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    args: A,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// What the auditor must know from elsewhere than the prover: the published commitment, the agreed beacon, and the
/// number of elements.
#[derive(Args)]
#[command(next_help_heading = "Agreed values")]
struct Agreed {
    /// SHA-256 of the commitment's file, as published before the beacon's value was known
    #[arg(long, value_name = "HEX", required_unless_present = "own_challenge")]
    commitment_sha256: Option<String>,

    /// Value of the beacon, from its publisher
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        required_unless_present = "own_challenge"
    )]
    beacon: Option<String>,

    /// Number of elements of D that the beacon draws
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        required_unless_present = "own_challenge"
    )]
    elements: Option<u64>,

    /// A challenge that you made yourself ('tcverify audit challenge'), instead of these three. Never use one that
    /// the prover sent
    #[arg(
        long,
        value_name = "CHALLENGE.json",
        conflicts_with_all = ["commitment_sha256", "beacon", "elements"]
    )]
    own_challenge: Option<PathBuf>,
}

impl Agreed {
    fn challenge(&self, path: &Path, committed: &(Commitment, Hash)) -> Result<Challenge> {
        if let Some(own) = &self.own_challenge {
            return challenge(own, committed);
        }
        let [sha256, beacon] =
            [&self.commitment_sha256, &self.beacon].map(|text| text.as_deref().unwrap_or_default());
        let agreed = parse_sha256(sha256).map_err(anyhow::Error::msg);
        let agreed = agreed.context("--commitment-sha256")?;
        ensure!(
            agreed == committed.1.to_string(),
            "{}: is not the agreed commitment: its SHA-256 is {}, not {agreed}",
            escaped_path(path),
            committed.1
        );
        let drawn = Challenge::new(
            (&committed.0, committed.1),
            beacon,
            self.elements.unwrap_or(0),
        );
        answered(drawn, path)
    }
}

/// Check the proofs of an opening and replay its elements
///
/// State all that decides the result, as for 'check': model, schedule, factors, activation, which arrays there are,
/// whether A and B are stored transposed, and D's format. What is committed and not stated is refused. The file of an
/// array is your own copy of it; --with names arrays that you have no copy of.
#[derive(Args)]
pub struct Verify<A: AuditArgs> {
    /// Opening written by 'tcverify audit open'
    #[arg(value_name = "OPENING", help_heading = None::<&str>)]
    opening: PathBuf,

    /// Commitment written by 'tcverify commit'
    #[arg(long, value_name = "C.json")]
    commitment: PathBuf,

    #[command(flatten)]
    args: A,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    agreed: Agreed,

    /// Proof that the commitment is in a log, with its checkpoint and witnesses' cosignatures. With --log-key,
    /// --witness, --quorum and --before it shows that the commitment was published before the beacon
    #[arg(
        long,
        value_name = "C.tlog-proof",
        help_heading = "Time of the commitment"
    )]
    checkpoint: Option<PathBuf>,

    #[command(flatten)]
    witnesses: WitnessArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    page: PageArgs,
}

/// What the auditor states: all that decides the result, and the arrays that the auditor has.
pub trait AuditArgs: Args {
    /// The request. Own copies of arrays are files, the others are in no file of the auditor's.
    fn request(&self) -> Result<Request>;
}

/// All that decides a product.
#[derive(Args)]
pub struct AuditedProduct {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    schedule: ScheduleArgs,

    #[command(flatten)]
    layout: LayoutArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    set: SetArgs,

    /// Your own copy of A, stored like the committed one; it must have the committed root
    #[arg(long, value_name = "A.npy", help_heading = "Own copies")]
    a: Option<PathBuf>,

    /// Your own copy of B, such as public weights
    #[arg(long, value_name = "B.npy", help_heading = "Own copies")]
    b: Option<PathBuf>,

    #[command(flatten)]
    with: WithArgs,
}

/// Arrays that are only opened.
#[derive(Args)]
struct WithArgs {
    /// Arrays that the result is made of beside the usual ones, and of which you have no copy: c, bias, scale_a,scale_b
    /// ... A committed array that you do not state, by this or as your own copy, is refused
    #[arg(
        long,
        value_name = "ARRAYS",
        value_delimiter = ',',
        help_heading = "Own copies"
    )]
    with: Vec<String>,
}

impl WithArgs {
    /// The roles, which must be among these.
    fn roles(&self, of: &[Role]) -> Result<Vec<Role>> {
        let role = |name: &String| {
            let role = Role::of_field(name).filter(|role| of.contains(role) && !role.is_result());
            role.with_context(|| {
                let known = of.iter().filter(|role| !role.is_result());
                let known: Vec<_> = known.map(|role| role.field()).collect();
                format!(
                    "--with: {name:?} is no array; there are {}",
                    known.join(", ")
                )
            })
        };
        self.with.iter().map(role).collect()
    }
}

impl AuditArgs for AuditedProduct {
    fn request(&self) -> Result<Request> {
        let mut fields = in_options(arithmetic(&self.model, &self.schedule))?;
        in_options(self.layout.fill(&mut fields))?;
        in_options(self.format.fill(&mut fields))?;
        in_options(self.set.fill(&mut fields))?;
        for (role, own) in [(Role::A, &self.a), (Role::B, &self.b)] {
            let own = own.as_ref().map(|path| Source::of(path.as_os_str()));
            if let Some(field) = fields.array(role) {
                *field = Some(own.unwrap_or(Source::Memory));
            }
        }
        for role in self.with.roles(Role::PRODUCT)? {
            if let Some(field @ None) = fields.array(role) {
                *field = Some(Source::Memory);
            }
        }
        in_options(Check::try_from(fields)).map(Request::from)
    }
}

/// A variant of an operation.
#[derive(Args)]
pub struct AuditedOperation {
    #[command(flatten)]
    parameters: ParameterArgs,

    #[command(flatten)]
    rule: RuleArgs,

    /// Your own copy of an array, such as public weights; it must have the committed root. May be given several times
    #[arg(long, value_name = "NAME=FILE", help_heading = "Own copies")]
    own: Vec<OsString>,

    #[command(flatten)]
    with: WithArgs,
}

impl AuditArgs for AuditedOperation {
    fn request(&self) -> Result<Request> {
        let mut request = operation(&self.parameters, &self.rule)?;
        for role in self.with.roles(Role::OPERATION)? {
            if let Some(field) = request.array(role) {
                *field = Some(Source::Memory);
            }
        }
        for word in &self.own {
            let named = word.to_str().and_then(|text| text.split_once('='));
            let named = named.and_then(|(name, path)| Some((Role::of_field(name)?, path)));
            let (role, path) = named.context("--own is NAME=FILE, such as weight=weight.npy")?;
            let own = Source::of(path.as_ref());
            let field = request.array(role);
            *field.with_context(|| format!("--own: operations have no {}", role.field()))? =
                Some(own);
        }
        Ok(Request::from(request))
    }
}

/// The files that own copies are in.
fn copies(request: &Request) -> Result<Vec<(Role, PathBuf)>> {
    let named = request.sources().into_iter();
    let named = named.filter(|(_, source)| *source != Source::Memory);
    let copy = |(role, source): (Role, Source)| {
        let path = source.path().map(Path::to_owned);
        let path = path.with_context(|| format!("{source}: your own copy must be a file"))?;
        Ok((role, path))
    };
    named.map(copy).collect()
}

/// A commitment and the SHA-256 of its file.
fn commitment(path: &Path) -> Result<(Commitment, Hash)> {
    let (commitment, sha256) = read_commitment(path)?;
    Ok((commitment, Hash::parse(&sha256).expect("a SHA-256")))
}

fn challenge(path: &Path, commitment: &(Commitment, Hash)) -> Result<Challenge> {
    let name = || escaped_path(path);
    let file = MappedFile::open(path).with_context(name)?;
    let challenge = Challenge::parse(file.bytes(), (&commitment.0, commitment.1));
    let challenge = challenge.with_context(name)?;
    file.confirm_unchanged()?;
    Ok(challenge)
}

/// An opening that proves nothing is an answer, and a wrong option is no fault of a file.
fn answered<T>(result: Result<T, AuditError>, path: &Path) -> Result<T> {
    let name = || escaped_path(path);
    match result {
        Err(error @ AuditError::ProvesNothing(_)) => refuted(format!("{}: {error}", name())),
        Err(AuditError::Check(error)) => in_options(Err(error)),
        other => other.with_context(name),
    }
}

impl MakeChallenge {
    pub fn run(self) -> Result<()> {
        let mut outputs = Outputs::new();
        outputs.protect("the commitment", &self.commitment);
        let output = outputs.open("the challenge", &self.output)?;
        let (commitment, sha256) = commitment(&self.commitment)?;
        let challenge = Challenge::new((&commitment, sha256), &self.beacon, self.elements);
        let challenge = answered(challenge, &self.commitment)?;
        output.commit(|out| write_pretty(&challenge, out))?;
        Ok(())
    }
}

impl<A: RequestArgs> Open<A> {
    pub fn run(self) -> Result<()> {
        let committed = commitment(&self.commitment)?;
        let challenge = challenge(&self.challenge, &committed)?;
        let request = self.args.request()?;
        let prepared = self.memory.prepare(&request)?;
        let mut outputs = Outputs::new();
        request.protect(&mut outputs);
        outputs
            .protect("the commitment", &self.commitment)
            .protect("the challenge", &self.challenge);
        let output = outputs.open("the opening", &self.file)?;
        let opening = Opening::new(&*prepared, &committed.0, &challenge, &self.without);
        let opening = answered(opening, &self.commitment)?;
        output.commit(|out| {
            opening.write(out)?;
            let unchanged = prepared.confirm_unchanged();
            unchanged.map_err(|error| std::io::Error::other(error.to_string()))
        })?;
        show::unless(self.quiet || show::is_stdout(&self.file), |out| {
            let elements = grouped(challenge.elements.len() as u64);
            let (called, bytes) = (request.called(), grouped(opening.bytes()));
            writeln!(
                out,
                "opened  {elements} elements of {called} in {bytes} bytes"
            )
        })
    }
}

impl<A: AuditArgs> Verify<A> {
    pub fn run(self) -> Result<Ending> {
        let committed = commitment(&self.commitment)?;
        let challenge = self.agreed.challenge(&self.commitment, &committed)?;
        let request = self.args.request()?;
        let copies = copies(&request)?;
        let mut outputs = Outputs::new();
        let inputs = [&self.commitment, &self.opening];
        for path in inputs
            .into_iter()
            .chain(&self.agreed.own_challenge)
            .chain(copies.iter().map(|(_, path)| path))
        {
            outputs.protect("what is verified", path);
        }
        for (_, path) in request.documents() {
            outputs.protect("the model or schedule", &path);
        }
        if let Some(path) = &self.checkpoint {
            outputs.protect("the checkpoint", path);
        }
        let reports = self.report.open(&mut outputs, self.page.html.as_deref())?;
        let proof = self.checkpoint.as_deref().unwrap_or(&self.commitment);
        let published = self.published(&committed);
        let published = published.map_err(|error| unproven(error, proof))?;
        let (commitment, sha256) = &committed;
        let model = answered(
            AuditModel::new(&request, commitment, engines::here()),
            &self.commitment,
        )?;
        let files = self.memory.files();
        let nearest = match &request {
            Request::Product(check) => check.operands.tf32_input == Tf32Input::Nearest,
            Request::Operation(_) => false,
        };
        let (own, opened) = own(&copies, nearest, &files, commitment)?;
        let name = || escaped_path(&self.opening);
        let opening = files.file(&self.opening).with_context(name)?;
        let proven = Proven::new(commitment, &challenge, opening.bytes(), &own);
        let proven = answered(proven, &self.opening)?;
        let found = answered(proven.replay(&model), &self.opening)?;
        opening.confirm_unchanged()?;
        for source in &opened {
            source.file().confirm_unchanged()?;
        }
        let report = AuditReport::new(
            (commitment, *sha256),
            &challenge,
            (&request, &model),
            &proven,
            &found,
        );
        let report = report.published(published);
        let name = self.commitment.display().to_string();
        let claims = || Ok(Some(report.claims(&name)));
        let forms = &self.report.forms;
        forms.tell(reports, &report.view(&name), &report, claims)?;
        Ok(report.verdict.into())
    }

    /// What the log and the witnesses say about the time of the commitment.
    fn published(&self, committed: &(Commitment, Hash)) -> Result<Option<Published>> {
        let Some(path) = &self.checkpoint else {
            anyhow::ensure!(
                !self.witnesses.is_given(),
                "--log-key, --witness, --quorum and --before need --checkpoint"
            );
            return Ok(None);
        };
        let file = bytes(&self.commitment)?;
        anyhow::ensure!(
            Hash::of([&file[..]]) == committed.1,
            "{}: changed while it was read",
            escaped_path(&self.commitment)
        );
        self.witnesses.published(&file, path).map(Some)
    }
}

/// The auditor's own arrays, in the committed formats, and the files that they are in. Those that are multiplied may
/// have been rounded to the nearest TF32.
fn own(
    copies: &[(Role, PathBuf)],
    nearest: bool,
    files: &Files,
    commitment: &Commitment,
) -> Result<(OwnCopies, Vec<crate::io::Source>)> {
    let mut own = OwnCopies::new();
    let mut opened = Vec::new();
    for (role, path) in copies {
        let Some(input) = commitment.inputs.get(role) else {
            anyhow::bail!(
                "{}: the commitment has no {}, so this cannot be a copy of it",
                escaped_path(path),
                role.field()
            );
        };
        let source = files.source(path)?;
        let tensor = source.tensor(input.format)?;
        let rounded = nearest && matches!(role, Role::A | Role::B);
        own.insert(
            *role,
            if rounded {
                tensor.rounding_tf32()
            } else {
                tensor
            },
        );
        opened.push(source);
    }
    Ok((own, opened))
}

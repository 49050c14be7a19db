use std::process::ExitCode;

fn main() -> ExitCode {
    tcverify::cli::main()
}

//! An operand from a pipe: standard input, or what a shell passes as `/dev/fd/63`.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;

use super::console::Console;
use super::{Fault, FaultKind, STDIN};
use crate::memory::{Block, Memory};

/// The stream that a path means, if it means one: `-`, or a pipe that this process has got. A named pipe
/// is not one, because it may never get a writer.
pub fn open(path: &Path) -> Result<Option<Box<dyn Read>>, Fault> {
    if path == Path::new(STDIN) {
        if let Some(console) = Console::current() {
            return Ok(Some(Box::new(console.take_stdin())));
        }
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            let phrase = "is a terminal; pass a file, or pipe one in";
            return Err(Fault::new(FaultKind::Unreadable, phrase));
        }
        return Ok(Some(Box::new(stdin)));
    }
    if !is_own(path) || !std::fs::metadata(path).is_ok_and(|about| is_pipe(&about)) {
        return Ok(None);
    }
    let file = File::open(path).map_err(Fault::unreadable("cannot be opened"))?;
    Ok(Some(Box::new(file)))
}

/// Opens a file to read from it. A named pipe is refused, without waiting for somebody to write to it.
pub fn opened(path: &Path) -> Result<File, Fault> {
    let failed = Fault::unreadable("cannot be opened");
    let mut options = File::options();
    options.read(true);
    if is_own(path) {
        return options.open(path).map_err(failed);
    }
    // The opened file is examined, not the name, which may lead elsewhere a moment later.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NONBLOCK);
    let file = options.open(path).map_err(failed)?;
    if file.metadata().is_ok_and(|about| is_pipe(&about)) {
        Err(Fault::new(
            FaultKind::Unreadable,
            "is a named pipe, which may never deliver data; save it to a file first",
        ))
    } else {
        Ok(file)
    }
}

/// Whether it names a stream that this process inherited.
fn is_own(path: &Path) -> bool {
    let text = path.to_str().unwrap_or_default();
    let folders = ["/dev/fd/", "/proc/self/fd/"];
    text == "/dev/stdin" || folders.iter().any(|folder| text.starts_with(folder))
}

#[cfg(unix)]
fn is_pipe(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

/// Reads a stream to its end.
///
/// # Errors
/// If it is empty, cannot be read, or has more bytes than memory may hold.
pub fn read(mut stream: Box<dyn Read>, memory: &Memory) -> Result<Block, Fault> {
    let mut block = memory.zeroed(1 << 16)?;
    let mut length = 0;
    loop {
        match stream.read(&mut block.as_mut()[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::unreadable("cannot be read")(error)),
        }
        if length == block.as_ref().len() {
            let mut larger = memory.zeroed(2 * length)?;
            larger.as_mut()[..length].copy_from_slice(block.as_ref());
            block = larger;
        }
    }
    if length == 0 {
        return Err(Fault::new(FaultKind::Unreadable, "is empty"));
    }
    block.truncate(length);
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Limits;

    /// Gives a few bytes at a time.
    struct Dripping(Vec<u8>);

    impl Read for Dripping {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(out.len()).min(7777);
            out[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn a_stream_is_read_to_its_end_or_to_the_limit() {
        let read = |length: usize, max_bytes| {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let stream = Box::new(Dripping(bytes.clone()));
            let memory = Memory::new(Limits { max_bytes });
            read(stream, &memory).map(|block| assert!(block.as_ref() == bytes))
        };
        for length in [1, 100, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 200_000] {
            read(length, 1 << 20).unwrap();
        }
        assert_eq!(read(0, 1 << 20).unwrap_err().kind, FaultKind::Unreadable);
        assert_eq!(read(1 << 20, 1 << 20).unwrap_err().kind, FaultKind::Memory);
    }
}

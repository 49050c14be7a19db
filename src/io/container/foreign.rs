//! Files that hold arrays in other ways, or none: what they are by their first bytes, and what to do.

use std::path::Path;

/// How a format begins, what it is, and what to do.
const BY_BYTES: [(&[u8], &str, &str); 15] = [
    (b"\x1f\x8b", "is compressed by gzip", UNPACK),
    (b"\x28\xb5\x2f\xfd", "is compressed by Zstandard", UNPACK),
    (b"\xfd7zXZ\0", "is compressed by xz", UNPACK),
    (b"BZh", "is compressed by bzip2", UNPACK),
    (b"\x04\x22\x4d\x18", "is compressed by LZ4", UNPACK),
    (
        b"\x89HDF\r\n\x1a\n",
        "is an HDF5 file",
        "save the array: numpy.save('a.npy', h5py.File('FILE')['NAME'][()])",
    ),
    (
        b"MATLAB 7.3 MAT-file",
        "is a MATLAB 7.3 file (HDF5)",
        "save the array: numpy.save('a.npy', h5py.File('FILE')['NAME'][()].T)",
    ),
    (
        b"MATLAB 5.0 MAT-file",
        "is a MATLAB file",
        "save the array: numpy.save('a.npy', scipy.io.loadmat('FILE')['NAME'])",
    ),
    (
        b"GGUF",
        "is a GGUF file, whose weights are stored in blocks",
        "save what was multiplied: numpy.save of gguf.quants.dequantize(tensor.data, tensor.tensor_type)",
    ),
    (
        b"PAR1",
        "is a Parquet file",
        "save the numbers: numpy.save('a.npy', pandas.read_parquet('FILE').to_numpy())",
    ),
    (
        b"ARROW1",
        "is an Arrow file",
        "save the numbers: numpy.save('a.npy', pandas.read_feather('FILE').to_numpy())",
    ),
    (
        b"SQLite format 3\0",
        "is an SQLite database, as Nsight Systems exports them",
        "it names kernels (--kernel takes their names), but holds no arrays",
    ),
    (
        b"\x7fELF",
        "is a program or a library",
        "give the arrays that it wrote",
    ),
    (b"%PDF", "is a PDF document", "give arrays"),
    (b"\x89PNG\r\n\x1a\n", "is a picture", "give arrays"),
];

const UNPACK: &str = "unpack it first; only the members of a .npz may be compressed";

/// Names of files whose format has no first bytes of its own.
const BY_NAME: [(&str, &str, &str); 5] = [
    (
        "onnx",
        "is named like an ONNX model",
        "save the tensor: numpy.save('a.npy', onnx.numpy_helper.to_array(initializer))",
    ),
    (
        "nsys-rep",
        "is named like a profile of Nsight Systems",
        PROFILE,
    ),
    (
        "ncu-rep",
        "is named like a profile of Nsight Compute",
        PROFILE,
    ),
    (
        "qdrep",
        "is named like a profile of Nsight Systems",
        PROFILE,
    ),
    (
        "tflite",
        "is named like a TensorFlow Lite model",
        "save the tensor that was multiplied with numpy.save",
    ),
];

const PROFILE: &str = "it names kernels (--kernel takes their names), but holds no arrays";

/// Bytes that are looked at.
const LOOKED_AT: usize = 4096;

/// What a file is that is no array known here, and what to do: a sentence to follow its name.
pub fn sentence(bytes: &[u8], path: &Path) -> Option<String> {
    if bytes.is_empty() {
        return Some("is empty".to_owned());
    }
    let begins = BY_BYTES.iter().find(|(start, ..)| bytes.starts_with(start));
    let extension = path.extension().and_then(|extension| extension.to_str());
    let named = BY_NAME
        .iter()
        .filter(|(name, ..)| extension.is_some_and(|own| own.eq_ignore_ascii_case(name)));
    let named = named.map(|(_, what, todo)| (what, todo)).next();
    let known = begins.map(|(_, what, todo)| (what, todo)).or(named);
    if let Some((what, todo)) = known {
        return Some(format!("{what}, not an array; {todo}"));
    }
    let start = &bytes[..bytes.len().min(LOOKED_AT)];
    let text = match str::from_utf8(start) {
        Ok(text) => text,
        // A character may be cut.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    if !text.is_empty() && text.chars().all(|c| !c.is_control() || c.is_whitespace()) {
        return Some(of_text(text));
    }
    None
}

/// What a text is.
fn of_text(text: &str) -> String {
    let first = text.trim_start().chars().next();
    if matches!(first, Some('{' | '[')) && text.contains("\"tcverify.") {
        return "is a document of tcverify, not an array; give the array that it is about"
            .to_owned();
    }
    if matches!(first, Some('{' | '[')) {
        return "is JSON, not an array; save the numbers: \
                numpy.save('a.npy', numpy.array(json.load(open('FILE'))))"
            .to_owned();
    }
    let mut words = text
        .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|word| !word.is_empty())
        .take(16)
        .peekable();
    let is_hex = |word: &str| {
        let digits = word.trim_start_matches("0x").trim_start_matches("0X");
        !digits.is_empty() && digits.len() <= 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let there = words.peek().is_some();
    let all: Vec<&str> = words.collect();
    if there && all.iter().all(|word| word.parse::<f64>().is_ok()) {
        let delimiter = if text.contains(',') {
            ", delimiter=','"
        } else {
            ""
        };
        // As FP64, in which every format's numbers are; a number that the format lacks is refused later.
        return format!(
            "is text; save its numbers: numpy.save('a.npy', numpy.loadtxt('FILE'{delimiter}, ndmin=2))"
        );
    }
    if there && all.iter().all(|word| is_hex(word)) {
        return "is text; save its codes: numpy.save('a.npy', numpy.array([[int(x, 16) for x in \
                line.replace(',', ' ').split()] for line in open('FILE')], 'uint16')) (uint8 or uint32, by the \
                format's width)"
            .to_owned();
    }
    "is text, not an array; a .npy, .npz or .safetensors file is expected".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_are() {
        for (bytes, name, said) in [
            (&b"\x1f\x8b\x08rest"[..], "a.npy.gz", "compressed by gzip"),
            (b"GGUF\x03", "w.gguf", "GGUF"),
            (b"\x08\x07", "m.onnx", "ONNX"),
            (b"", "a.npy", "is empty"),
            (b"1.5,2e3\n-inf,nan\n", "a.csv", "delimiter=','"),
            (b"1.5 2e3\n", "a.txt", "numpy.loadtxt('FILE', ndmin=2)"),
            (b"0x3c00 0xbc00\n", "a.hex", "uint16"),
            (b"3c00 bc00\n", "a.hex", "uint16"),
            (b"{\"a\": 1}", "a.json", "is JSON"),
            (
                b"{\"schema\": \"tcverify.report/1\"}",
                "r.json",
                "document of tcverify",
            ),
            (b"once upon a time", "a.npy", "is text, not an array"),
        ] {
            let sentence = sentence(bytes, Path::new(name)).unwrap();
            assert!(sentence.contains(said), "{name}: {sentence}");
        }
        assert_eq!(sentence(b"\x00\x3c\x00\xbc", Path::new("a.bin")), None);
    }
}

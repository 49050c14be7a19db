//! What most tests begin with: arrays in files, made, computed and damaged.

use super::{Folder, Npy, floats, halves, le16, le32};

/// Where an array's elements begin in its file.
fn start(file: &[u8]) -> usize {
    10 + usize::from(u16::from_le_bytes([file[8], file[9]]))
}

impl Folder {
    /// Generates arrays, `ROLE FORMAT SEED:DISTRIBUTION:SHAPE` each, as `ROLE.npy`, or as what a fourth word says.
    #[track_caller]
    pub fn generate(&self, arrays: &str) {
        for array in super::listed(arrays) {
            let mut words = array.split_whitespace();
            let [role, format, spec] = [(); 3].map(|()| words.next().expect("ROLE FORMAT SPEC"));
            let name = words
                .next()
                .map_or(format!("{}.npy", role.replace("scale-", "s")), String::from);
            self.passes(&format!(
                "generate generate:{spec} --dtype {format} --role {role} -q -o {name}"
            ));
        }
    }

    /// Replays a product into a file.
    #[track_caller]
    pub fn replay(&self, product: &str, d: &str) {
        self.passes(&format!("replay {product} -q -o {d}"));
    }

    /// Adds FP16 numbers.
    pub fn f16(&self, name: &str, shape: &[usize], numbers: &[f32]) {
        self.save(name, &Npy::new("<f2", shape, halves(numbers)));
    }

    /// Adds FP32 numbers.
    pub fn f32(&self, name: &str, shape: &[usize], numbers: &[f32]) {
        self.save(name, &Npy::new("<f4", shape, floats(numbers)));
    }

    /// Adds FP16 codes.
    pub fn f16_codes(&self, name: &str, shape: &[usize], codes: &[u16]) {
        self.save(name, &Npy::new("<f2", shape, le16(codes)));
    }

    /// Adds FP32 codes.
    pub fn f32_codes(&self, name: &str, shape: &[usize], codes: &[u32]) {
        self.save(name, &Npy::new("<f4", shape, le32(codes)));
    }

    /// An array's elements as they lie in its file.
    #[track_caller]
    pub fn payload(&self, name: &str) -> Vec<u8> {
        let file = self.read(name);
        file[start(&file)..].to_vec()
    }

    /// An array's codes of 32 bits.
    #[track_caller]
    pub fn codes32(&self, name: &str) -> Vec<u32> {
        let all = self.payload(name);
        let words = all.as_chunks::<4>().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// An array's codes of 16 bits.
    #[track_caller]
    pub fn codes16(&self, name: &str) -> Vec<u16> {
        let all = self.payload(name);
        let words = all.as_chunks::<2>().0.iter();
        words.map(|word| u16::from_le_bytes(*word)).collect()
    }

    /// Copies an array with other elements.
    #[track_caller]
    pub fn with_payload(&self, from: &str, to: &str, change: impl FnOnce(&mut [u8])) {
        let mut file = self.read(from);
        let start = start(&file);
        change(&mut file[start..]);
        self.write(to, file);
    }

    /// Copies an array with other codes of 32 bits.
    #[track_caller]
    pub fn with_codes32(&self, from: &str, to: &str, change: impl FnOnce(&mut Vec<u32>)) {
        let mut codes = self.codes32(from);
        change(&mut codes);
        self.with_payload(from, to, |all| all.copy_from_slice(&le32(&codes)));
    }

    /// Copies an array with other codes of 16 bits.
    #[track_caller]
    pub fn with_codes16(&self, from: &str, to: &str, change: impl FnOnce(&mut Vec<u16>)) {
        let mut codes = self.codes16(from);
        change(&mut codes);
        self.with_payload(from, to, |all| all.copy_from_slice(&le16(&codes)));
    }
}

//! `.npy` files made by hand, so that any header can be had, right or wrong.

/// An array as a file would hold it.
#[derive(Clone, Debug)]
pub struct Npy {
    version: [u8; 2],
    header: String,
    data: Vec<u8>,
}

impl Npy {
    /// Version 1.0, C order. The elements follow in storage order, in the byte order of `descr`.
    pub fn new(descr: &str, shape: &[usize], data: Vec<u8>) -> Npy {
        Npy::with_header(&dictionary(descr, false, shape), data)
    }

    /// The same in Fortran order: the first index of the elements varies fastest.
    pub fn fortran(descr: &str, shape: &[usize], data: Vec<u8>) -> Npy {
        Npy::with_header(&dictionary(descr, true, shape), data)
    }

    /// Any header text.
    pub fn with_header(header: &str, data: Vec<u8>) -> Npy {
        Npy {
            version: [1, 0],
            header: header.to_owned(),
            data,
        }
    }

    /// Version 2.0 and later have a longer length field.
    pub fn version(mut self, major: u8, minor: u8) -> Npy {
        self.version = [major, minor];
        self
    }

    /// The file. As NumPy does it, spaces and a newline fill the header to a multiple of 64.
    pub fn bytes(&self) -> Vec<u8> {
        let field = if self.version == [1, 0] { 2 } else { 4 };
        let mut header = self.header.clone();
        while !(8 + field + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY".to_vec();
        file.extend(self.version);
        file.extend(&(header.len() as u32).to_le_bytes()[..field]);
        file.extend(header.as_bytes());
        file.extend(&self.data);
        file
    }

    /// Length of everything before the elements.
    pub fn data_start(&self) -> usize {
        self.bytes().len() - self.data.len()
    }
}

fn dictionary(descr: &str, fortran: bool, shape: &[usize]) -> String {
    let order = if fortran { "True" } else { "False" };
    let axes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({axes}), }}")
        .replace(", )", ",)")
}

//! Containers made by hand, so that any can be had, right or wrong.

use std::io::Write;

/// A `.safetensors` file with this header.
pub fn with_header(json: &str, data: &[u8]) -> Vec<u8> {
    let length = (json.len() as u64).to_le_bytes();
    [&length, json.as_bytes(), data].concat()
}

/// A `.safetensors` file of these tensors: name, dtype, shape and bytes.
pub fn safetensors(tensors: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), serde_json::json!({"format": "pt"}));
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        let about = serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        header.insert((*name).into(), about);
        data.extend_from_slice(bytes);
    }
    let mut json = serde_json::Value::Object(header).to_string();
    while !json.len().is_multiple_of(8) {
        json.push(' ');
    }
    with_header(&json, &data)
}

/// A member of a ZIP archive. The fields can be made to lie.
#[derive(Clone)]
pub struct Member {
    pub name: Vec<u8>,
    /// The name at the data, if it is another.
    pub local_name: Option<Vec<u8>>,
    pub flags: u16,
    pub method: u16,
    pub crc: u32,
    /// As the directory has it.
    pub size: u64,
    /// As they lie in the archive.
    pub data: Vec<u8>,
    pub extra: Vec<u8>,
    /// Sizes and place in an extra field of 64 bits.
    pub zip64: bool,
    /// Where the directory says that it is, if it lies.
    pub place: Option<u64>,
}

impl Member {
    pub fn stored(name: &str, data: &[u8]) -> Member {
        Member {
            name: name.into(),
            local_name: None,
            flags: 0,
            method: 0,
            crc: crc32fast::hash(data),
            size: data.len() as u64,
            data: data.to_vec(),
            extra: Vec::new(),
            zip64: false,
            place: None,
        }
    }

    pub fn deflated(name: &str, data: &[u8]) -> Member {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        Member {
            method: 8,
            data: encoder.finish().unwrap(),
            ..Member::stored(name, data)
        }
    }
}

fn word(value: u64, width: usize) -> Vec<u8> {
    value.to_le_bytes()[..width].to_vec()
}

/// An archive with a directory. `zip64` gives it the records of 64 bits.
pub fn zip_as(members: &[Member], zip64: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for m in members {
        let place = m.place.unwrap_or(file.len() as u64);
        let packed = m.data.len() as u64;
        let (mut local_extra, mut extra) = (m.extra.clone(), m.extra.clone());
        let shown = |value: u64| if m.zip64 { u64::from(u32::MAX) } else { value };
        if m.zip64 {
            let sizes = [word(1, 2), word(16, 2), word(m.size, 8), word(packed, 8)].concat();
            local_extra.extend(sizes);
            let all = [
                word(1, 2),
                word(24, 2),
                word(m.size, 8),
                word(packed, 8),
                word(place, 8),
            ];
            extra.extend(all.concat());
        }
        let local = m.local_name.as_ref().unwrap_or(&m.name);
        let common = [
            word(20, 2),
            word(m.flags.into(), 2),
            word(m.method.into(), 2),
            word(0, 4),
            word(m.crc.into(), 4),
            word(shown(packed), 4),
            word(shown(m.size), 4),
        ]
        .concat();
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(word(local.len() as u64, 2));
        file.extend(word(local_extra.len() as u64, 2));
        file.extend(local);
        file.extend(&local_extra);
        file.extend(&m.data);
        directory.extend(b"PK\x01\x02");
        directory.extend(word(20, 2));
        directory.extend(&common);
        directory.extend(word(m.name.len() as u64, 2));
        directory.extend(word(extra.len() as u64, 2));
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(word(shown(place), 4));
        directory.extend(&m.name);
        directory.extend(&extra);
    }
    let start = file.len() as u64;
    let (count, size) = (members.len() as u64, directory.len() as u64);
    file.extend(&directory);
    if zip64 {
        let record = file.len() as u64;
        file.extend(b"PK\x06\x06");
        file.extend(word(44, 8));
        file.extend(word(45, 2));
        file.extend(word(45, 2));
        file.extend([0; 8]);
        for value in [count, count, size, start] {
            file.extend(word(value, 8));
        }
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend(word(record, 8));
        file.extend(word(1, 4));
    }
    let shown = |value: u64, width: usize| {
        if zip64 {
            vec![0xff; width]
        } else {
            word(value, width)
        }
    };
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(shown(count, 2));
    file.extend(shown(count, 2));
    file.extend(shown(size, 4));
    file.extend(shown(start, 4));
    file.extend([0, 0]);
    file
}

pub fn zip(members: &[Member]) -> Vec<u8> {
    zip_as(members, false)
}

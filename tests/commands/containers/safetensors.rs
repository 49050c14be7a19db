//! `.safetensors` headers that lie.

use super::write::{safetensors, with_header};
use super::{read_all, refused};
use crate::support::{Folder, rows, table};

fn raw(bytes: Vec<u8>) -> Folder {
    let folder = Folder::new();
    folder.write("x.safetensors", bytes);
    folder
}

#[track_caller]
fn header(json: &str, words: &[&str]) {
    refused(&raw(with_header(json, &[0; 8])), "x.safetensors#a", words);
}

#[test]
fn lengths_that_no_header_has() {
    let whole = safetensors(&[("a", "F32", &[2], &[0; 8])]);
    let declared = |length: u64| [&length.to_le_bytes(), &whole[8..]].concat();
    for length in [100_000_001, u64::MAX, 1 << 63, 1 << 32] {
        let words = format!("declares a header of {length} bytes");
        refused(&raw(declared(length)), "x.safetensors#a", &[&words]);
    }
    for (bytes, words) in table! {
        (declared(99_999_999), &["is truncated", "byte 100000007"][..]),
        (vec![0; 7], &["first 8 bytes"]),
        (vec![0; 8], &["does not begin with '{'"]),
    } {
        refused(&raw(bytes), "x.safetensors#a", words);
    }
}

#[test]
fn headers_that_are_none() {
    let whole = "its header is not a valid .safetensors header";
    header("[]", &["does not begin with '{'"]);
    header(" {}", &["does not begin with '{'"]);
    header("{", &[whole, "EOF"]);
    header("{}x", &[whole, "trailing"]);
    header("{\"a\": 1}", &[whole]);
    header("{\"a\": {}}", &[whole, "missing field `dtype`"]);
    for [json, words] in rows! {r#"
        {{"a":{{"dtype":"F32","shape":[2]}}}} | missing field `data_offsets`
        {{"a":{{"dtype":"F32","data_offsets":[0,8]}}}} | missing field `shape`
        {{"a":{{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}}}} | duplicate field
        {{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8],"\u001b[31m":1}}}} | unknown field
        {{"a":{{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}}} | -2
        {{"a":{{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}}} | 2.0
        {{"a":{{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}}} | invalid type
        {{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0]}}}} | invalid length
        {{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}}}} | x.safetensors
        {{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]}}}}
            | x.safetensors
        {{"a":{{"dtype":4,"shape":[2],"data_offsets":[0,8]}}}} | invalid type
        {{"__metadata__":{{"a":1}}}} | invalid type
        {{"__metadata__":[]}} | invalid type
        {{"__metadata__":{{}},"__metadata__":{{}}}} | __metadata__ twice
    "#}
    {
        header(json, &[whole, words]);
    }
    let deep = format!("{{\"a\":{}", "[".repeat(50_000));
    header(&deep, &[whole]);
    let deep = format!("{{\"a\":{{\"shape\":{}", "[".repeat(50_000));
    header(&deep, &[whole]);
    let mut file = safetensors(&[("a", "F32", &[2], &[0; 8])]);
    file[20] = 0xff;
    refused(&raw(file), "x.safetensors#a", &[whole]);
}

#[test]
fn offsets_that_lie() {
    let one = |shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    header(&one("[2]", "[0,9]"), &["\"a\"", "bytes 0 to 9, but 8"]);
    header(&one("[2]", "[8,0]"), &["\"a\"", "bytes 8 to 0"]);
    header(
        &one("[1]", "[4,8]"),
        &["\"a\"", "begins at byte 4", "ends at 0"],
    );
    header(&one("[1]", "[0,4]"), &["too long", "4 bytes", "8 follow"]);
    header(&one("[1]", "[0,8]"), &["\"a\"", "which does not match"]);
    header(&one("[3]", "[0,8]"), &["\"a\"", "which does not match"]);
    header(&one("[]", "[0,8]"), &["\"a\"", "which does not match"]);
    header(&one("[0]", "[0,8]"), &["\"a\"", "which does not match"]);
    header(
        &one("[4294967296,4294967296]", "[0,8]"),
        &["no memory can hold"],
    );
    header(&one("[0,4611686018427387904]", "[0,0]"), &["\"a\""]);
    let many = format!("[{}1]", "1,".repeat(64));
    header(&one(&many, "[0,8]"), &["more than 64 axes"]);
    let two = |first: &str, second: &str| {
        format!(
            r#"{{"a":{{"dtype":"F32","shape":[1],"data_offsets":{first}}},"b":{{"dtype":"F32","shape":[1],"data_offsets":{second}}}}}"#
        )
    };
    header(&two("[0,4]", "[0,4]"), &["begins at byte 0", "ends at 4"]);
    header(&two("[0,4]", "[2,6]"), &["begins at byte 2", "ends at 4"]);
    header(
        &two("[0,4]", "[4,8]").replace("\"b\"", "\"a\""),
        &["the tensor \"a\" twice"],
    );
    raw(with_header(&two("[4,8]", "[0,4]"), &[0; 8]))
        .passes("digest x.safetensors#a x.safetensors#b");
}

#[test]
fn types_that_hold_no_numbers_known_here() {
    let file = safetensors(&[
        ("c", "C64", &[1], &[0; 8]),
        ("f4", "F4", &[3], &[0; 2]),
        ("f6", "F6_E2M3", &[4], &[0; 3]),
        ("t", "BOOL", &[2], &[0; 2]),
        ("new", "F3_X", &[7], &[0; 5]),
        ("good", "F8_E8M0", &[2], &[127, 0]),
    ]);
    let folder = raw(file);
    let not =
        |name: &str, words: &[&str]| refused(&folder, &format!("x.safetensors#{name}"), words);
    not("c", &["C64", "complex"]);
    not("f4", &["F4", "store one code per byte"]);
    not("f6", &["F6_E2M3", "store one code per byte"]);
    not("t", &["BOOL", "which are not numbers"]);
    not("new", &["\"F3_X\" is unknown", "BF16"]);
    folder.passes("digest --dtype ue8m0 x.safetensors#good");
}

#[test]
fn scalars_and_empty_tensors() {
    let folder = raw(safetensors(&[
        ("empty", "F32", &[0, 3], &[]),
        ("a", "F32", &[], &[0; 4]),
        ("last", "I64", &[0], &[]),
    ]));
    let names: Vec<_> = read_all(&folder.path("x.safetensors")).unwrap();
    let names: Vec<_> = names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["empty", "a", "last"]);
}

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tcverify_fuzz::attestation(data));

//! Every rule of the catalogue, on every kind of input.

use super::operands::{Dot, Inputs, arithmetics};
use super::products::compare;
use crate::support::random::Random;

const DOTS: usize = 250;

fn verify(inputs: Inputs) {
    let mut random = Random::named(&format!("{inputs:?}"));
    let arithmetics = arithmetics();
    assert!(arithmetics.len() >= 85, "{} arithmetics", arithmetics.len());
    for (place, arithmetic) in &arithmetics {
        for _ in 0..DOTS {
            let dot = Dot::random(arithmetic, inputs, &mut random);
            compare(place, arithmetic, &dot);
        }
    }
}

#[test]
fn near() {
    verify(Inputs::Near);
}

#[test]
fn wide() {
    verify(Inputs::Wide);
}

#[test]
fn tiny() {
    verify(Inputs::Tiny);
}

#[test]
fn cancelling() {
    verify(Inputs::Cancelling);
}

#[test]
fn faint() {
    verify(Inputs::Faint);
}

#[test]
fn halfway() {
    verify(Inputs::Halfway);
}

#[test]
fn largest() {
    verify(Inputs::Largest);
}

#[test]
fn special() {
    verify(Inputs::Special);
}

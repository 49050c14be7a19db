//! `tcverify identify`: results find their makers, made-up ones find none.

mod bias;
mod emulations;
mod files;
mod hidden;
mod honest;
mod kernels;
mod output;
mod schedules;
mod separations;
mod weights;

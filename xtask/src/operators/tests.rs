//! The tables in the source are those that the timings give, and as good as claimed.

use std::path::Path;

use sim_core::hardware::measured::gpu::{A100, B200, B300, GB200, GB300, H100, H200};

use super::*;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}

fn timings() -> Timings {
    Timings::read(&root().join("validation/ops")).expect("the timings are there")
}

#[test]
fn the_tables_are_made_from_the_timings() {
    for (name, text) in files(&timings()) {
        let stored = std::fs::read_to_string(root().join(TABLES).join(&name)).unwrap_or_default();
        assert!(stored == text, "{TABLES}/{name} is not what `cargo xtask operators` makes");
    }
}

#[test]
fn left_out_products_of_data_centre_gpus_are_met() {
    let timings = timings();
    let mut all = Vec::new();
    for gpu in [&A100, &H100, &H200, &B200, &B300, &GB200, &GB300] {
        let family = gpu.family();
        let index = family.iter().position(|other| other == gpu).expect("in its family");
        let errors =
            leave_out::gemm(family, GemmFormat::Bf16, &timings.gemm(family, GemmFormat::Bf16));
        all.push(leave_out::mean(&errors[index]));
        assert!(leave_out::median(&errors[index]) < 0.06, "{}", gpu.name);
    }
    let mean = leave_out::mean(&all);
    assert!(mean < 0.065, "{mean}: {all:?}");
}

#[test]
fn left_out_messages_are_met() {
    let timings = timings();
    let mut all = Vec::new();
    for gpu in gpus() {
        for operation in NcclOperation::ALL {
            let errors = leave_out::nccl(operation, &timings.nccl(gpu, operation));
            all.push(leave_out::mean(&errors));
        }
    }
    let mean = leave_out::mean(&all);
    assert!(mean < 0.06, "{mean}: {all:?}");
}

#[test]
fn every_timing_is_left_out_once() {
    let timings = timings();
    let of_gpu = timings.nccl(&H100, NcclOperation::AllGather);
    assert_eq!(leave_out::nccl(NcclOperation::AllGather, &of_gpu).len(), of_gpu.len());
}

//! The tables, one file a GPU; made by `cargo xtask operators`, not by hand.

mod a100_sxm;
mod b200_sxm;
mod b300_sxm;
mod gb200;
mod gb300;
mod h100_sxm;
mod h200_sxm;
mod l40s;
mod rtx_pro_6000_server;

use super::attention::AttentionTable;
use super::gemm::GemmTable;
use super::nccl::NcclTable;

#[rustfmt::skip]
pub const GEMM: [&[GemmTable]; 9] = [
    &a100_sxm::GEMM,
    &b200_sxm::GEMM,
    &b300_sxm::GEMM,
    &gb200::GEMM,
    &gb300::GEMM,
    &h100_sxm::GEMM,
    &h200_sxm::GEMM,
    &l40s::GEMM,
    &rtx_pro_6000_server::GEMM,
];

#[rustfmt::skip]
pub const ATTENTION: [&[AttentionTable]; 9] = [
    &a100_sxm::ATTENTION,
    &b200_sxm::ATTENTION,
    &b300_sxm::ATTENTION,
    &gb200::ATTENTION,
    &gb300::ATTENTION,
    &h100_sxm::ATTENTION,
    &h200_sxm::ATTENTION,
    &l40s::ATTENTION,
    &rtx_pro_6000_server::ATTENTION,
];

#[rustfmt::skip]
pub const NCCL: [&[NcclTable]; 9] = [
    &a100_sxm::NCCL,
    &b200_sxm::NCCL,
    &b300_sxm::NCCL,
    &gb200::NCCL,
    &gb300::NCCL,
    &h100_sxm::NCCL,
    &h200_sxm::NCCL,
    &l40s::NCCL,
    &rtx_pro_6000_server::NCCL,
];

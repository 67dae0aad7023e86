//! How far shapes are predicted that a fit has not seen: ten parts, each predicted from the others.

use sim_core::hardware::measured::attention::AttentionFit;
use sim_core::hardware::measured::gemm::FamilyFit;
use sim_core::hardware::measured::gpu::Gpu;
use sim_core::hardware::measured::nccl::NcclFit;
use sim_core::hardware::measured::{
    AttentionPhase, AttentionShape, AttentionSurface, GemmFormat, GemmShape, GemmSurface,
    NcclOperation, NcclShape, NcclSurface, Weights,
};

const PARTS: usize = 10;

/// The part that the timing at a position is in: a fixed scatter, so that neighbours in a file fall
/// into different parts.
fn part(position: usize) -> usize {
    // Fibonacci hashing.
    (position.wrapping_mul(0x9E37_79B9) >> 7) % PARTS
}

fn split<T: Copy>(timings: &[T], left_out: usize) -> (Vec<T>, Vec<T>) {
    let in_part = |i: usize| part(i) == left_out;
    let kept = timings.iter().enumerate().filter(|(i, _)| !in_part(*i)).map(|(_, t)| *t);
    let out = timings.iter().enumerate().filter(|(i, _)| in_part(*i)).map(|(_, t)| *t);
    (kept.collect(), out.collect())
}

/// Absolute relative errors of left-out products, by GPU of the family.
pub fn gemm(
    family: &'static [Gpu],
    format: GemmFormat,
    timings: &[Vec<(GemmShape, f64)>],
) -> Vec<Vec<f64>> {
    let mut errors = vec![Vec::new(); family.len()];
    for left_out in 0..PARTS {
        let (kept, out): (Vec<_>, Vec<_>) =
            timings.iter().map(|timings| split(timings, left_out)).unzip();
        if kept.iter().all(Vec::is_empty) {
            continue;
        }
        let fit = FamilyFit::of(family, format, &kept);
        for (index, out) in out.iter().enumerate() {
            if kept[index].is_empty() {
                continue;
            }
            let surface = GemmSurface::from_fit(&fit, index);
            let error = |(shape, seconds): &(GemmShape, f64)| {
                (surface.estimate(*shape, Weights::TakeTurns).seconds / seconds - 1.0).abs()
            };
            errors[index].extend(out.iter().map(error));
        }
    }
    errors
}

/// Absolute relative errors of left-out attention, by GPU of the family, each with the window that
/// the form finds in its own time.
pub fn attention(
    family: &'static [Gpu],
    phase: AttentionPhase,
    timings: &[Vec<(AttentionShape, f64)>],
) -> Vec<Vec<f64>> {
    let mut errors = vec![Vec::new(); family.len()];
    for left_out in 0..PARTS {
        let (kept, out): (Vec<_>, Vec<_>) =
            timings.iter().map(|timings| split(timings, left_out)).unzip();
        let fit = AttentionFit::of(family, phase, &kept);
        for (index, out) in out.iter().enumerate() {
            let surface = AttentionSurface::from_fit(&fit, index);
            let error = |(shape, seconds): &(AttentionShape, f64)| {
                let shape = surface.form.with_window(&family[index], phase, *shape, *seconds);
                (surface.estimate(shape).seconds / seconds - 1.0).abs()
            };
            errors[index].extend(out.iter().map(error));
        }
    }
    errors
}

/// Absolute relative errors of left-out messages.
pub fn nccl(operation: NcclOperation, timings: &[(NcclShape, f64)]) -> Vec<f64> {
    let mut errors = Vec::new();
    for left_out in 0..PARTS {
        let (kept, out) = split(timings, left_out);
        let surface = NcclSurface::from_fit(operation, &NcclFit::of(operation, &kept));
        errors.extend(out.iter().filter_map(|(shape, seconds)| {
            Some((surface.estimate(*shape)?.seconds / seconds - 1.0).abs())
        }));
    }
    errors
}

/// Mean error of the larger of FLOPs over the peak and bytes over the bandwidth.
pub fn roofline(gpu: &Gpu, format: GemmFormat, timings: &[(GemmShape, f64)]) -> f64 {
    let errors: Vec<f64> = timings
        .iter()
        .map(|(shape, seconds)| (format.roofline(gpu, *shape) / seconds - 1.0).abs())
        .collect();
    mean(&errors)
}

/// Mean error of the larger of FLOPs over the peak and bytes over the bandwidth, full attention.
pub fn attention_roofline(
    gpu: &Gpu,
    phase: AttentionPhase,
    timings: &[(AttentionShape, f64)],
) -> f64 {
    let errors: Vec<f64> = timings
        .iter()
        .map(|(shape, seconds)| (phase.roofline(gpu, *shape) / seconds - 1.0).abs())
        .collect();
    mean(&errors)
}

/// Mean error of bytes over the best bandwidth that any message reached.
pub fn largest_bandwidth(operation: NcclOperation, timings: &[(NcclShape, f64)]) -> f64 {
    let moved = |shape: &NcclShape| operation.moved(shape);
    let best = timings.iter().map(|(shape, seconds)| moved(shape) / seconds).fold(0.0, f64::max);
    let errors: Vec<f64> = timings
        .iter()
        .map(|(shape, seconds)| (moved(shape) / best / seconds - 1.0).abs())
        .collect();
    mean(&errors)
}

pub fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len() as f64
}

pub fn median(errors: &[f64]) -> f64 {
    let mut sorted = errors.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

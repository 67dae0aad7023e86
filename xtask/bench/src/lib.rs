//! Holds nothing: the benchmarks are in `benches/`.

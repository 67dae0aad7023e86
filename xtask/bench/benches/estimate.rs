//! Benchmarks of one whole estimate.

fn main() {
    divan::main();
}

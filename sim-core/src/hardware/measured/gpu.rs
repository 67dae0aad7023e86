//! The GPUs whose operators somebody has timed.

use crate::hardware::device::Device;

/// A GPU of the tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Its name in the tables.
    pub name: &'static str,
    /// Catalogue ids of the devices with its kernels and rates.
    pub devices: &'static [&'static str],
    /// Streaming multiprocessors.
    pub processors: f64,
    /// Second-level cache, bytes.
    pub cache_bytes: f64,
    /// Rates that the fitted shares are shares of: dense bf16 FLOP/s, bytes/s.
    pub bf16_flops: f64,
    pub bandwidth: f64,
    /// What one GPU sends to its node's other GPUs at most, bytes/s, one way.
    pub link_bytes_per_s: f64,
}

/// Sizes of the caches and numbers of processors: NVIDIA's architecture white papers (A100, H100,
/// Ada, RTX Blackwell); B200's cache and the processors of GB200 and GB300 as tools report them.
const fn gpu(
    name: &'static str,
    devices: &'static [&'static str],
    processors: f64,
    cache_mb: f64,
    tflops: f64,
    gb_per_s: f64,
    link_gb_per_s: f64,
) -> Gpu {
    Gpu {
        name,
        devices,
        processors,
        cache_bytes: cache_mb * 1e6,
        bf16_flops: tflops * 1e12,
        bandwidth: gb_per_s * 1e9,
        link_bytes_per_s: link_gb_per_s * 1e9,
    }
}

pub const A100: Gpu = gpu("a100_sxm", &["a100-sxm4-80"], 108.0, 40.0, 312.0, 2039.0, 300.0);
pub const H100: Gpu = gpu("h100_sxm", &["h100-sxm5-80"], 132.0, 50.0, 989.5, 3350.0, 450.0);
pub const H200: Gpu = gpu("h200_sxm", &["h200-sxm-141"], 132.0, 50.0, 989.5, 4800.0, 450.0);
pub const B200: Gpu = gpu("b200_sxm", &["b200-180"], 148.0, 126.0, 2250.0, 8000.0, 900.0);
pub const B300: Gpu = gpu("b300_sxm", &["b300-288"], 148.0, 126.0, 2250.0, 8000.0, 900.0);
pub const GB200: Gpu = gpu("gb200", &["gb200-186"], 152.0, 126.0, 2500.0, 8000.0, 900.0);
pub const GB300: Gpu = gpu("gb300", &["gb300-288"], 152.0, 126.0, 2500.0, 8000.0, 900.0);
pub const L40S: Gpu = gpu("l40s", &["l40s-48"], 142.0, 96.0, 362.0, 864.0, 31.5);
/// The Server Edition, which has slower memory than the workstation card of the catalogue.
pub const RTX_PRO_6000: Gpu = gpu("rtx_pro_6000_server", &[], 188.0, 128.0, 503.8, 1597.0, 63.0);

/// Families of GPUs that run the same kernels: what one's table says helps the others.
pub const FAMILIES: [&[Gpu]; 5] =
    [&[A100], &[H100, H200], &[B200, B300, GB200, GB300], &[L40S], &[RTX_PRO_6000]];

impl Gpu {
    /// True for the device, or another with the same chip, clocks and memory.
    pub fn is(&self, device: &Device) -> bool {
        self.devices.contains(&device.id)
    }

    /// The family it is in.
    pub fn family(&self) -> &'static [Self] {
        FAMILIES
            .into_iter()
            .find(|family| family.iter().any(|other| other.name == self.name))
            .expect("every GPU is in a family")
    }
}

/// The GPU of the tables that a device is.
pub fn of_device(device: &Device) -> Option<&'static Gpu> {
    FAMILIES.into_iter().flatten().find(|gpu| gpu.is(device))
}

/// The GPU of the tables with a name.
pub fn named(name: &str) -> Option<&'static Gpu> {
    FAMILIES.into_iter().flatten().find(|gpu| gpu.name == name)
}

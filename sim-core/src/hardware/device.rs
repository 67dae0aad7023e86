//! One accelerator: memory, dense peak rates, host interface, price.

use super::basis::Basis;

/// Who sells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    Nvidia,
    Amd,
    Intel,
    Huawei,
    Google,
    Apple,
}

/// Its generation, where kernels behave alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Pascal,
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
    BlackwellUltra,
    Cdna2,
    Cdna3,
    Cdna4,
    Gaudi,
    DaVinci,
    Tpu,
    AppleGpu,
}

/// What it is sold for: decides peer access over PCIe and the accumulation rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    DataCenter,
    Workstation,
    /// GeForce: matrix rates with 32-bit accumulation run at half the advertised rate, and the
    /// driver gives no peer access over PCIe.
    Consumer,
    /// A chip that shares its memory with the CPU.
    Integrated,
}

/// Dense peak rates, TFLOP/s (int8: TOP/s), with 32-bit accumulation; `None` where the device has
/// no such mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensePeaks {
    /// Plain fp32 on ordinary cores.
    pub fp32_tflops: Option<f64>,
    pub tf32_tflops: Option<f64>,
    pub fp16_tflops: Option<f64>,
    pub bf16_tflops: Option<f64>,
    pub fp8_tflops: Option<f64>,
    pub fp4_tflops: Option<f64>,
    pub int8_tops: Option<f64>,
}

impl DensePeaks {
    /// No mode at all: the rest of a table row says which there are.
    pub const NONE: Self = Self {
        fp32_tflops: None,
        tf32_tflops: None,
        fp16_tflops: None,
        bf16_tflops: None,
        fp8_tflops: None,
        fp4_tflops: None,
        int8_tops: None,
    };
}

/// The interface to the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcie {
    pub generation: u8,
    pub lanes: u8,
    /// One way, GB/s, before protocol overhead.
    pub gb_per_s: f64,
}

impl Pcie {
    /// Sixteen lanes of PCIe 3.
    pub const GEN3_X16: Self = Self { generation: 3, lanes: 16, gb_per_s: 15.75 };
    /// Eight lanes of PCIe 4.
    pub const GEN4_X8: Self = Self { generation: 4, lanes: 8, gb_per_s: 15.75 };
    /// Sixteen lanes of PCIe 4.
    pub const GEN4_X16: Self = Self { generation: 4, lanes: 16, gb_per_s: 31.51 };
    /// Sixteen lanes of PCIe 5.
    pub const GEN5_X16: Self = Self { generation: 5, lanes: 16, gb_per_s: 63.01 };
    /// Sixteen lanes of PCIe 6.
    pub const GEN6_X16: Self = Self { generation: 6, lanes: 16, gb_per_s: 121.0 };
}

/// The basis of each group of a device's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBasis {
    /// Usable memory.
    pub memory: Basis,
    pub bandwidth: Basis,
    pub peaks: Basis,
    pub launch_price: Basis,
    pub cloud_price: Basis,
}

/// One accelerator of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// Stable id, lower case.
    pub id: &'static str,
    /// Other names; see [`crate::hardware::catalog::find`] for the spellings that need no alias.
    pub aliases: &'static [&'static str],
    /// Name to show.
    pub name: &'static str,
    pub vendor: Vendor,
    pub family: Family,
    pub segment: Segment,
    /// Year of its release.
    pub year: u16,
    /// The size on the box, GB as the vendor counts them.
    pub memory_marketing_gb: f64,
    /// What `nvidia-smi` (or the vendor's tool) shows as total, MiB, with a current driver and ECC
    /// in its default setting. `None` where nobody's output is at hand: see
    /// [`Device::memory_usable_gib`].
    pub memory_smi_mib: Option<u64>,
    /// Usable memory, GiB, where `memory_smi_mib` is unknown: the total a framework reports, else
    /// an assumption; ignored otherwise.
    pub memory_fallback_gib: f64,
    /// What PyTorch reports as total, GiB: a little less than the tool.
    pub memory_torch_gib: Option<f64>,
    /// Peak, GB/s.
    pub memory_bandwidth_gb_per_s: f64,
    pub peaks: DensePeaks,
    /// Streaming multiprocessors (or compute units) in use.
    pub sm_count: Option<u32>,
    /// Boost clock of the arithmetic behind the peaks, MHz.
    pub boost_mhz: Option<u32>,
    /// Best bf16 GEMM that was measured, TFLOP/s (S. Bekman, ml-engineering, August 2026).
    pub measured_bf16_tflops: Option<f64>,
    /// Id of the link that comes with the board: a switch or a mesh to every peer.
    pub intra_link: Option<&'static str>,
    /// Id of a bridge that can be bought for two (or four) cards.
    pub bridge_link: Option<&'static str>,
    pub pcie: Option<Pcie>,
    /// Board power, W.
    pub tdp_w: Option<f64>,
    /// Price at release, USD.
    pub launch_price_usd: Option<f64>,
    /// On demand, USD an hour, one vendor in March 2026 (deploybase.ai).
    pub cloud_usd_per_hour: Option<f64>,
    pub basis: DeviceBasis,
    /// Where the numbers come from.
    pub source: &'static str,
}

impl Device {
    /// Memory that a process can see, GiB: the tool's MiB / 1024, else the fallback.
    ///
    /// The CUDA context, NCCL and fragmentation come off this.
    ///
    /// ```
    /// let h100 = sim_core::hardware::catalog::find("h100").expect("listed");
    /// assert_eq!(h100.memory_usable_gib(), 81_559.0 / 1024.0);
    /// ```
    pub fn memory_usable_gib(&self) -> f64 {
        match self.memory_smi_mib {
            Some(mib) => mib as f64 / 1024.0,
            None => self.memory_fallback_gib,
        }
    }
}

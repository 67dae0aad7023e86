//! Names of GPUs.

use super::{clean, quoted};
use sim_core::hardware::Device;
use sim_core::hardware::catalog::find;

/// Signs that a name stands for no single known device.
const SEVERAL: [&str; 8] = [" + ", " or ", " / ", "not stated", "not named", "class", "cpu", " x "];

/// Names of devices that were sold with memory of several sizes: alone they say too little.
const SIZE_NEEDED: [&str; 5] = ["a100", "h100", "v100", "rtx 3080", "gh200"];

/// How far a stated memory may be from the one on the box, as a fraction: GB and GiB differ by 7 %.
const SAME_MEMORY: f64 = 0.08;

/// The device that a table calls `name`, with `memory_gb` GB where the table states it.
///
/// # Errors
/// The reason why it is none of the catalogue.
pub fn device(name: &str, memory_gb: Option<f64>) -> Result<&'static Device, String> {
    let lower = name.to_lowercase();
    let key = clean(name);
    let stated = key.split([' ', '-']).any(|word| {
        word.trim_end_matches("gb").parse::<u32>().is_ok_and(|n| n > 0 && word.ends_with("gb"))
    });
    if SEVERAL.iter().any(|sign| lower.contains(sign)) {
        return Err(format!("no single device is named: {}", quoted(name)));
    }
    // `A100` with 80 GB in another column.
    let sized = match memory_gb {
        Some(gb) if !stated && SIZE_NEEDED.contains(&key.as_str()) => format!("{key}-{gb:.0}gb"),
        None if !stated && SIZE_NEEDED.contains(&key.as_str()) => {
            return Err(format!("the device's memory is not stated: {}", quoted(name)));
        }
        _ => key,
    };
    let device = find(&sized)
        // `RTX 4090 24GB`: of one size only, which its name does not have.
        .or_else(|| find(sized.rsplit_once([' ', '-']).filter(|(_, size)| size.ends_with("gb"))?.0))
        .ok_or_else(|| format!("not in the catalogue of devices: {}", quoted(name)))?;
    let gb = memory_gb.or_else(|| size_in(&sized));
    match gb {
        Some(gb) if (gb / device.memory_marketing_gb - 1.0).abs() > SAME_MEMORY => {
            Err(format!("the catalogue's {} has another memory size", device.id))
        }
        _ => Ok(device),
    }
}

/// The first of several devices between which a name leaves the choice (`A100/H100 80GB`), where they
/// have the same memory: enough for what only its size decides.
///
/// # Errors
/// The reason why there is none.
pub fn either(name: &str) -> Result<&'static Device, String> {
    let key = clean(name);
    let Some((first, second)) = key.split_once('/') else { return device(name, None) };
    let size =
        size_in(&key).ok_or_else(|| format!("no single device is named: {}", quoted(name)))?;
    let (first, second) = (device(first, Some(size))?, device(second, Some(size))?);
    let same = first.memory_marketing_gb.total_cmp(&second.memory_marketing_gb).is_eq();
    same.then_some(first).ok_or_else(|| format!("no single device is named: {}", quoted(name)))
}

/// The number before `gb` in a name.
fn size_in(name: &str) -> Option<f64> {
    name.split([' ', '-']).find_map(|word| word.strip_suffix("gb")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_known() {
        for (name, gb, id) in [
            ("A100-80GB", None, "a100-sxm4-80"),
            ("A100-PCIe-80GB", Some(80.0), "a100-pcie-80"),
            ("A100 40GB", None, "a100-sxm4-40"),
            ("A100", Some(40.0), "a100-sxm4-40"),
            ("H100-SXM-80GB", Some(80.0), "h100-sxm5-80"),
            ("RTX 4090 24GB", None, "rtx4090-24"),
            ("RTX A6000 48GB", None, "rtx-a6000-48"),
            ("RTX 3080 10GB", Some(10.0), "rtx3080-10"),
            ("Tesla T4 16GB", None, "t4"),
            ("T4", Some(16.0), "t4"),
            ("L40S", Some(48.0), "l40s-48"),
            ("H20-96GB", None, "h20-96"),
            ("V100-32GB", Some(32.0), "v100-sxm2-32"),
            ("Apple M2 Ultra (76-core GPU)", Some(192.0), "m2-ultra-192"),
            ("RTX PRO 6000", Some(96.0), "rtx-pro-6000-96"),
            ("B200", Some(180.0), "b200-180"),
        ] {
            assert_eq!(device(name, gb).map(|device| device.id), Ok(id), "{name}");
        }
    }

    #[test]
    fn one_of_two_devices_with_the_same_memory() {
        let id = |name| either(name).map(|device| device.id);
        assert_eq!(id("A100/H100 80GB (79.22 GiB usable)"), Ok("a100-sxm4-80"));
        assert_eq!(id("RTX 4090 24GB"), Ok("rtx4090-24"));
        assert!(id("A100/H100").is_err() && id("A100 40GB/H100 80GB").is_err() && id("/").is_err());
    }

    #[test]
    fn what_is_no_single_device_of_the_catalogue_is_a_reason() {
        for (name, gb) in [
            ("A100 (variant not stated)", None),
            ("A100", None),
            ("RTX 3090 24GB / Tesla P40 24GB", None),
            ("RTX A6000 48GB + RTX 3090 24GB", None),
            ("2 x RTX 3090 or 1 x RTX 4090", None),
            ("CPU only", None),
            ("24-48 GB class GPU", None),
            ("Voodoo 2", None),
            ("", None),
            ("Apple M3 Max (40-core GPU)", Some(64.0)),
            ("H100-64GB (HBM2e 2.4 TB/s)", Some(64.0)),
        ] {
            assert!(device(name, gb).is_err(), "{name}");
        }
    }
}

//! Floating-point operations of a step as a source counts them: TFLOP/s and utilizations mean
//! different things in different tables (see `validation/README.md`).

use super::setup::Setup;
use crate::validate::fields::{Fields, Reason, incomplete};

/// A way of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Convention {
    /// 96·B·s·l·h²·(1 + s/6h + V/16lh), one more forward included (Narayanan et al. 2021, Equation 3).
    Megatron,
    /// 72·B·l·s·h²·(1 + s/6h + V/12lh) (Korthikanti et al. 2022, Equation 7).
    Korthikanti,
    /// So many operations a parameter and token.
    PerParameter(u32),
}

/// Operations of one step over all GPUs, as the row's column counts them.
///
/// # Errors
/// When the row does not say how it counts, or lacks a number of the formula.
pub fn step_flops(row: Fields<'_>, setup: &Setup) -> Result<f64, Reason> {
    let convention = convention(row, setup)?;
    let number = |path: &str| -> Result<f64, Reason> {
        Ok(row.degree(path)?.ok_or_else(|| incomplete(path))? as f64)
    };
    let (batch, s) = (setup.global_batch as f64, number("model.seq")?);
    if let Convention::PerParameter(each) = convention {
        let billions = row.number("model.params_b")?.ok_or_else(|| incomplete("model.params_b"))?;
        return Ok(f64::from(each) * billions * 1e9 * batch * s);
    }
    let (l, h, v) = (number("model.layers")?, number("model.hidden")?, number("model.vocab")?);
    let attention = s / (6.0 * h);
    Ok(match convention {
        Convention::Megatron => {
            96.0 * batch * s * l * h * h * (1.0 + attention + v / (16.0 * l * h))
        }
        _ => 72.0 * batch * s * l * h * h * (1.0 + attention + v / (12.0 * l * h)),
    })
}

fn convention(row: Fields<'_>, setup: &Setup) -> Result<Convention, Reason> {
    let text = row.text("flops_convention")?.unwrap_or_default();
    // Parts of the row's own words, most special first.
    let words = [
        ("4*2*N", Convention::PerParameter(8)),
        ("8*N", Convention::PerParameter(8)),
        ("3*2*N", Convention::PerParameter(6)),
        ("96*B", Convention::Megatron),
        ("Megatron formula", Convention::Megatron),
        ("model FLOPs (full attention)", Convention::Korthikanti),
    ];
    let hardware = text.contains("hardware");
    if let Some((_, found)) = words.iter().find(|(part, _)| text.contains(part))
        && (*found != Convention::Megatron || hardware)
    {
        return Ok(*found);
    }
    match setup.source.key {
        "korth" => Ok(Convention::Korthikanti),
        "sc21" | "mlm" | "bigscience" if hardware => Ok(Convention::Megatron),
        _ => Err(incomplete("flops_convention")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::training::setup;
    use serde_json::json;

    /// Narayanan et al. 2021, Table 1: the 1.7B model's 137 TFLOP/s on 32 GPUs and their 512 samples
    /// of 2048 tokens are 24·l·h² a token and forward, four times.
    #[test]
    fn megatrons_formula_by_hand() {
        let row = json!({
            "source_key": "sc21", "source": "a — Table 1, 1.7B — b",
            "flops_convention": "hardware: 96*B*s*l*h^2(...) incl. full recompute",
            "model": {"name": "GPT-1.7B", "layers": 24, "hidden": 2304, "heads": 24,
                "kv_heads": 24, "ffn": 9216, "vocab": 51200, "seq": 2048},
            "hardware": {"gpu": "A100-SXM", "mem_gb": 80, "count": 32, "gpus_per_node": 8},
            "config": {"mode": "pretrain", "precision": "fp16 mixed", "micro_batch": 16,
                "global_batch": 512, "grad_accum": 1, "tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1,
                "dp": 32, "zero_stage": 0, "sequence_parallel": false, "recompute": "full",
                "flash_attention": false, "optimizer": "Adam"},
        });
        let fields = Fields(&row);
        let setup = setup::prepare(fields).expect("a complete row");
        let got = step_flops(fields, &setup).expect("a formula");
        let tokens = 512.0 * 2048.0;
        let attention = 2048.0 / (6.0 * 2304.0);
        let logits = 51_200.0 / (16.0 * 24.0 * 2304.0);
        let by_hand = 96.0 * tokens * 24.0 * 2304.0 * 2304.0 * (1.0 + attention + logits);
        assert!((got / by_hand - 1.0).abs() < 1e-12);
        // 1.16e16 operations at 137 TFLOP/s on 32 GPUs are a step of 3.3 s.
        assert!((got / (32.0 * 137e12) - 3.4).abs() < 0.2);
    }
}

//! The bars' drawing, without a browser.

use super::*;
use crate::charts::palette::Palette;
use plotters::prelude::DrawingBackend as _;

fn drawing(width: i32, bars: &[BarSpec], capacity: f64) -> BarsDrawing {
    let options = BarsOptions::new(width);
    let layout = BarsLayout::new(bars, capacity, 100.0, options);
    let texts = bars
        .iter()
        .map(|bar| RowTexts {
            name: "GPU 0–7 ×8".to_owned(),
            total: "90 GiB".to_owned(),
            over: (bar.bytes.iter().sum::<f64>() > capacity).then(|| "+10 GiB".to_owned()),
            free: "5 GiB free".to_owned(),
            segments: Category::ALL.map(|c| (c.name(), "9 GiB".to_owned())),
        })
        .collect();
    BarsDrawing {
        ticks: BarsDrawing::place_ticks(
            &layout,
            memory_ticks(100.0, MemoryScale::of(100.0, Unit::Gib), 5),
            100.0,
        ),
        layout,
        options,
        texts,
        capacity: "80 GiB".to_owned(),
        selected: Some((0, 0)),
    }
}

fn theme() -> Theme {
    Theme { palette: Palette::sample(), family: "sans-serif".to_owned() }
}

#[test]
fn a_bar_that_does_not_fit_says_by_how_much_at_every_width() {
    let mut bar = BarSpec::default();
    bar.bytes[2] = 60.0;
    bar.bytes[3] = 30.0;
    for width in [320, 390, 720, 1600] {
        let svg = svg(&drawing(width, &[bar], 80.0), &theme());
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("+10 GiB"), "{width}");
        assert!(svg.contains("80 GiB"));
    }
}

#[test]
fn a_wide_segment_names_its_category() {
    let mut bar = BarSpec::default();
    bar.bytes[2] = 60.0;
    assert!(svg(&drawing(900, &[bar], 80.0), &theme()).contains("optimizer 9 GiB"));
}

#[test]
fn sixteen_bars_and_no_width_are_fine() {
    let bars = [BarSpec { bytes: [8.0; Category::COUNT], ghost: Some(90.0) }; 16];
    assert!(svg(&drawing(390, &bars, 80.0), &theme()).contains("</svg>"));
    assert_eq!(svg(&drawing(0, &bars, 80.0), &theme()), "");
    let mut buffer = String::new();
    let mut backend = SVGBackend::with_string(&mut buffer, (10, 10));
    assert!(backend.present().is_ok());
}

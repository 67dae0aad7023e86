//! The page's colours and type.

use crate::charts::palette::Palette;
use crate::platform::canvas::{ColorProbe, Watch, font_family, watch_theme};
use leptos::prelude::*;

/// Colours and type of the page as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Theme {
    pub palette: Palette,
    pub family: String,
}

impl Theme {
    fn read() -> Self {
        let probe = ColorProbe::new();
        let palette =
            Palette::read(|name| probe.as_ref().map_or_else(String::new, |p| p.read(name)));
        Self { palette, family: font_family() }
    }
}

/// The page's colours; they change with its theme.
pub fn use_theme() -> Signal<Theme> {
    let theme = RwSignal::new(Theme::read());
    let watch = StoredValue::new_local(None::<Watch>);
    watch.set_value(watch_theme(move || {
        theme.try_set(Theme::read());
    }));
    theme.into()
}

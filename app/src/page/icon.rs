//! Small drawings that take the colour of the text around them.

use leptos::prelude::*;

/// A drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Auto,
    Check,
    Chevron,
    Close,
    Cross,
    Dark,
    Import,
    Light,
    Locate,
    Redo,
    Share,
    Sliders,
    Undo,
}

impl Shape {
    /// Paths on a 16 by 16 grid, stroked.
    const fn path(self) -> &'static str {
        match self {
            Self::Auto => "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 0v12M8 5l4 1M8 8h6M8 11l4-1",
            Self::Check => "M3 8.5 6.5 12 13 4.5",
            Self::Chevron => "M6 4l4 4-4 4",
            Self::Close | Self::Cross => "M4 4l8 8M12 4l-8 8",
            Self::Dark => "M13.5 9.5A6 6 0 1 1 6.5 2.5a5 5 0 0 0 7 7Z",
            Self::Import => "M8 2v8M5 7l3 3 3-3M2.5 11v2.5h11V11",
            Self::Light => {
                "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1"
            }
            Self::Locate => "M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM8 1v3M8 12v3M1 8h3M12 8h3",
            Self::Redo => "M13 6.5H6.5a3.5 3.5 0 0 0 0 7H9M13 6.5l-3-3M13 6.5l-3 3",
            Self::Share => {
                "M6.5 9.5 9.5 6.5M7 4.5 8.5 3a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7"
            }
            Self::Sliders => {
                "M2 5h7M13 5h1M2 11h1M7 11h7M11 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM5 9a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z"
            }
            Self::Undo => "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H7M3 6.5l3-3M3 6.5l3 3",
        }
    }
}

/// A drawing beside a text that says the same.
#[component]
pub fn Icon(#[prop(into)] shape: Signal<Shape>) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d=move || shape.get().path()/>
        </svg>
    }
}

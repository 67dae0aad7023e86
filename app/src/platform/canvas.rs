//! Drawing surfaces: how large they are, how fine the screen is, and the colours of the page.

use gloo::events::EventListener;
use gloo::utils::{body, document, document_element, window};
use plotters_canvas::CanvasBackend;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    CanvasRenderingContext2d, Element, HtmlCanvasElement, HtmlElement, MutationObserver,
    MutationObserverInit, ResizeObserver,
};

/// Device pixels a pixel of the page.
pub fn pixel_ratio() -> f64 {
    window().device_pixel_ratio().clamp(0.5, 4.0)
}

/// An empty canvas of some pixels of the page, and its backend in device pixels.
pub fn cleared(canvas: HtmlCanvasElement, width: i32, height: i32) -> Option<CanvasBackend> {
    let device = |size: i32| (f64::from(size.max(1)) * pixel_ratio()).round() as u32;
    let (device_width, device_height) = (device(width), device(height));
    if (canvas.width(), canvas.height()) == (device_width, device_height) {
        let context =
            canvas.get_context("2d").ok()??.dyn_into::<CanvasRenderingContext2d>().ok()?;
        context.clear_rect(0.0, 0.0, f64::from(device_width), f64::from(device_height));
    } else {
        // Setting a size empties the canvas as well.
        canvas.set_width(device_width);
        canvas.set_height(device_height);
        let style = canvas.style();
        style.set_property("width", &format!("{width}px")).ok()?;
        style.set_property("height", &format!("{height}px")).ok()?;
    }
    CanvasBackend::with_canvas_object(canvas)
}

/// True when the reader has asked the system for less movement.
pub fn prefers_reduced_motion() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)");
    query.ok().flatten().is_some_and(|query| query.matches())
}

/// The family of the page's type.
pub fn font_family() -> String {
    let style = window().get_computed_style(&body()).ok().flatten();
    let family = style.and_then(|style| style.get_property_value("font-family").ok());
    family.filter(|family| !family.is_empty()).unwrap_or_else(|| "sans-serif".to_owned())
}

/// Reads custom properties as computed colours, whatever notation the style sheet uses.
pub struct ColorProbe(HtmlElement);

impl ColorProbe {
    /// A probe in the page; it goes when dropped.
    pub fn new() -> Option<Self> {
        let element = document().create_element("span").ok()?.dyn_into::<HtmlElement>().ok()?;
        element.set_hidden(true);
        body().append_child(&element).ok()?;
        Some(Self(element))
    }

    /// The colour of a custom property such as `--text`.
    pub fn read(&self, name: &str) -> String {
        // A refused property shows as the inherited colour.
        let _ = self.0.style().set_property("color", &format!("var({name})"));
        let style = window().get_computed_style(&self.0).ok().flatten();
        style.and_then(|style| style.get_property_value("color").ok()).unwrap_or_default()
    }
}

impl Drop for ColorProbe {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// Watches something until dropped.
pub struct Watch {
    stop: Box<dyn Fn()>,
    _listener: Option<EventListener>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        (self.stop)();
    }
}

/// Calls `act` with the width of `element` in pixels, now and whenever it changes.
pub fn watch_width(element: &Element, act: impl Fn(f64) + 'static) -> Option<Watch> {
    let target = element.clone();
    let closure = Closure::<dyn Fn()>::new(move || act(target.get_bounding_client_rect().width()));
    let observer = ResizeObserver::new(closure.as_ref().unchecked_ref()).ok()?;
    observer.observe(element);
    // The closure lives as long as what it is called by.
    Some(Watch {
        stop: Box::new(move || {
            observer.disconnect();
            let _ = &closure;
        }),
        _listener: None,
    })
}

/// Calls `act` whenever the page's colours may have changed.
pub fn watch_theme(act: impl Fn() + Clone + 'static) -> Option<Watch> {
    let on_attribute = act.clone();
    let closure = Closure::<dyn Fn()>::new(on_attribute);
    let observer = MutationObserver::new(closure.as_ref().unchecked_ref()).ok()?;
    let options = MutationObserverInit::new();
    options.set_attributes(true);
    options.set_attribute_filter(&js_sys::Array::of1(&JsValue::from_str("data-theme")));
    observer.observe_with_options(&document_element(), &options).ok()?;
    let query = window().match_media("(prefers-color-scheme: dark)").ok().flatten();
    let listener = query.map(|query| EventListener::new(&query, "change", move |_| act()));
    Some(Watch {
        stop: Box::new(move || {
            observer.disconnect();
            let _ = &closure;
        }),
        _listener: listener,
    })
}

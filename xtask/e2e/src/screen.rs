//! What the page believes to be shown on: size, theme, motion, language; and pictures of it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use data_encoding::BASE64;
use serde_json::json;

use crate::Page;

/// A size of window, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    pub width: u32,
    pub height: u32,
    /// A touch screen at twice the pixel density.
    pub phone: bool,
}

impl Viewport {
    pub const DESKTOP: Self = Self { width: 1440, height: 900, phone: false };
    pub const PHONE: Self = Self { width: 390, height: 844, phone: true };
}

/// The theme that the system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// A language of the page, as its `lang` query names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locale {
    English,
    Chinese,
}

impl Locale {
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }
}

impl Page {
    pub fn set_viewport(&mut self, viewport: Viewport) -> Result<()> {
        let Viewport { width, height, phone } = viewport;
        let density = if phone { 2 } else { 1 };
        self.connection.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": density, "mobile": phone }),
        )?;
        self.connection
            .call("Emulation.setTouchEmulationEnabled", json!({ "enabled": phone }))
            .map(drop)
    }

    /// Sets `prefers-color-scheme`, and asks for reduced motion so that pictures show no half-way state.
    pub fn set_scheme(&mut self, scheme: Scheme) -> Result<()> {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme.name() },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.connection
            .call("Emulation.setEmulatedMedia", json!({ "features": features }))
            .map(drop)
    }

    /// Sets what `navigator.language` says, for a page whose address names no language.
    pub fn set_locale(&mut self, locale: Locale) -> Result<()> {
        let tag = locale.tag();
        self.connection.call("Emulation.setLocaleOverride", json!({ "locale": tag }))?;
        let agent = self.eval("navigator.userAgent")?;
        self.connection
            .call(
                "Emulation.setUserAgentOverride",
                json!({ "userAgent": agent, "acceptLanguage": tag }),
            )
            .map(drop)
    }

    /// Runs scripts this many times slower: 4 is like a phone of the middle class.
    pub fn set_cpu_slowdown(&mut self, times: f64) -> Result<()> {
        self.connection.call("Emulation.setCPUThrottlingRate", json!({ "rate": times })).map(drop)
    }

    /// Saves a PNG of the viewport.
    pub fn screenshot(&mut self, file: &Path) -> Result<()> {
        self.save_picture(file, json!({ "format": "png" }))
    }

    /// Saves a PNG of the whole document, however long.
    pub fn screenshot_full(&mut self, file: &Path) -> Result<()> {
        let metrics = self.connection.call("Page.getLayoutMetrics", json!({}))?;
        let mut clip = metrics["cssContentSize"].clone();
        clip["scale"] = json!(1);
        self.save_picture(
            file,
            json!({ "format": "png", "captureBeyondViewport": true, "clip": clip }),
        )
    }

    fn save_picture(&mut self, file: &Path, params: serde_json::Value) -> Result<()> {
        let answer = self.connection.call("Page.captureScreenshot", params)?;
        let data = answer["data"].as_str().context("Chromium sent no picture")?;
        let png = BASE64.decode(data.as_bytes()).context("the picture is no base64")?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, png).with_context(|| format!("cannot write {}", file.display()))
    }
}

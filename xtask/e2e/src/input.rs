//! Mouse, wheel and keyboard, as a person would use them: through the browser, not through events made by script.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::Page;

/// A place in the viewport, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    /// The place this far of the way to another: 0 here, 1 there.
    pub fn toward(self, other: Self, fraction: f64) -> Self {
        Self {
            x: self.x + (other.x - self.x) * fraction,
            y: self.y + (other.y - self.y) * fraction,
        }
    }
}

impl Page {
    /// Clicks the middle of an element, which must be what is on top there.
    pub fn click(&mut self, selector: &str) -> Result<()> {
        let point = self.point_in(selector, 0.5, 0.5)?;
        let (name, Point { x, y }) = (json!(selector), point);
        let hit = self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}), top = document.elementFromPoint({x}, {y}); \
             return e.contains(top) || top?.closest('label')?.control === e ? '' : top?.outerHTML?.slice(0, 120) ?? 'nothing'; }})()"
        ))?;
        let covered_by = hit.as_str().unwrap_or_default();
        ensure!(covered_by.is_empty(), "{selector} is covered by {covered_by}");
        self.click_at(point)
    }

    /// Clicks a place.
    pub fn click_at(&mut self, point: Point) -> Result<()> {
        self.hover(point)?;
        self.mouse("mousePressed", point, true)?;
        self.mouse("mouseReleased", point, false)
    }

    /// Moves the mouse with no button held.
    pub fn hover(&mut self, point: Point) -> Result<()> {
        self.mouse("mouseMoved", point, false)
    }

    /// Drags from one place to another in equal steps, with the left button held.
    pub fn drag(&mut self, from: Point, to: Point, steps: u32) -> Result<()> {
        self.press_mouse(from)?;
        for step in 1..=steps {
            self.drag_on(from.toward(to, f64::from(step) / f64::from(steps)))?;
        }
        self.release_mouse(to)
    }

    /// Presses the left button: the start of a drag that looks at the page on its way.
    pub fn press_mouse(&mut self, point: Point) -> Result<()> {
        self.hover(point)?;
        self.mouse("mousePressed", point, true)
    }

    /// Moves the mouse with the left button held.
    pub fn drag_on(&mut self, point: Point) -> Result<()> {
        self.mouse("mouseMoved", point, true)
    }

    /// Lets the left button go.
    pub fn release_mouse(&mut self, point: Point) -> Result<()> {
        self.mouse("mouseReleased", point, false)
    }

    /// Turns the wheel over a place; positive is down and to the right.
    pub fn wheel(&mut self, point: Point, right: f64, down: f64) -> Result<()> {
        let Point { x, y } = point;
        let params =
            json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": right, "deltaY": down });
        self.connection.call("Input.dispatchMouseEvent", params).map(drop)
    }

    /// A place in an element, as fractions of its width and height; scrolls it into view first.
    pub fn point_in(&mut self, selector: &str, across: f64, down: f64) -> Result<Point> {
        let name = json!(selector);
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}); if (!e) return null; \
             e.scrollIntoView({{ block: 'nearest', inline: 'nearest', behavior: 'instant' }}); \
             const r = e.getBoundingClientRect(); \
             return r.width && r.height ? [r.x + r.width * {across}, r.y + r.height * {down}] : null; }})()"
        ))?;
        let number = |index: usize| place.get(index).and_then(Value::as_f64);
        match (number(0), number(1)) {
            (Some(x), Some(y)) => Ok(Point { x, y }),
            _ => bail!("{selector} is not on the screen"),
        }
    }

    /// Drags the knob of an `input type=range` from its place to a fraction of the track.
    pub fn drag_slider(&mut self, selector: &str, to: f64, steps: u32) -> Result<()> {
        let from = self.slider_fraction(selector)?;
        let from = self.slider_point(selector, from)?;
        let to = self.slider_point(selector, to)?;
        self.drag(from, to, steps)
    }

    /// Where the knob of a slider is: 0 at the minimum, 1 at the maximum.
    pub fn slider_fraction(&mut self, selector: &str) -> Result<f64> {
        let name = json!(selector);
        self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}); if (!e) return null; \
             const min = +(e.min || 0), max = +(e.max || 100); return (e.value - min) / (max - min); }})()"
        ))?
        .as_f64()
        .with_context(|| format!("there is no slider {selector}"))
    }

    /// In how many steps a slider goes from its minimum to its maximum.
    pub fn slider_intervals(&mut self, selector: &str) -> Result<u32> {
        let name = json!(selector);
        let intervals = self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}); if (!e) return null; \
             const step = e.step === 'any' ? 0 : +(e.step || 1), span = (e.max || 100) - (e.min || 0); \
             return step > 0 ? Math.floor(span / step) : 100; }})()"
        ))?;
        let intervals =
            intervals.as_u64().with_context(|| format!("there is no slider {selector}"))?;
        Ok(u32::try_from(intervals).unwrap_or(u32::MAX))
    }

    /// The middle of the knob when the slider is at a fraction. The knob stays inside of the track.
    pub fn slider_point(&mut self, selector: &str, fraction: f64) -> Result<Point> {
        let left = self.point_in(selector, 0.0, 0.5)?;
        let right = self.point_in(selector, 1.0, 0.5)?;
        let knob_radius = KNOB_WIDTH / 2.0 / (right.x - left.x).max(KNOB_WIDTH);
        Ok(left.toward(right, knob_radius + fraction * (1.0 - 2.0 * knob_radius)))
    }

    /// Chooses an option of a `select` by its value.
    pub fn select(&mut self, selector: &str, value: &str) -> Result<()> {
        let (name, wanted) = (json!(selector), json!(value));
        let got = self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}); if (!e) return null; \
             e.focus(); e.value = {wanted}; \
             for (const type of ['input', 'change']) e.dispatchEvent(new Event(type, {{ bubbles: true }})); \
             return e.value; }})()"
        ))?;
        ensure!(got == wanted, "{selector} has no option {wanted}");
        Ok(())
    }

    /// Replaces the content of a text or number field by typing.
    pub fn fill(&mut self, selector: &str, text: &str) -> Result<()> {
        let name = json!(selector);
        let found = self.eval(&format!(
            "(() => {{ const e = document.querySelector({name}); e?.focus(); e?.select(); return !!e; }})()"
        ))?;
        ensure!(found == true, "there is no {selector}");
        if text.is_empty() { self.press("Delete") } else { self.type_text(text) }
    }

    /// Types text where the focus is.
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        self.connection.call("Input.insertText", json!({ "text": text })).map(drop)
    }

    /// Presses a key by its DOM name, with modifiers in front: `Tab`, `ArrowRight`, `f`, `Control+z`.
    pub fn press(&mut self, chord: &str) -> Result<()> {
        let key = Key::parse(chord).with_context(|| format!("unknown key {chord}"))?;
        let mut params = json!({
            "type": if key.text.is_empty() { "rawKeyDown" } else { "keyDown" },
            "key": key.key,
            "code": key.code,
            "modifiers": key.modifiers,
            "windowsVirtualKeyCode": key.virtual_code,
        });
        if !key.text.is_empty() {
            params["text"] = json!(key.text);
        }
        self.connection.call("Input.dispatchKeyEvent", params.clone())?;
        params["type"] = json!("keyUp");
        self.connection.call("Input.dispatchKeyEvent", params).map(drop)
    }

    fn mouse(&mut self, kind: &str, point: Point, held: bool) -> Result<()> {
        // A move that does not name its button is a hover, and drags nothing.
        let released = kind == "mouseReleased";
        self.connection
            .call(
                "Input.dispatchMouseEvent",
                json!({
                    "type": kind,
                    "x": point.x,
                    "y": point.y,
                    "button": if held || released { "left" } else { "none" },
                    "buttons": u8::from(held),
                    "clickCount": u8::from(kind != "mouseMoved"),
                    "pointerType": "mouse",
                }),
            )
            .map(drop)
    }
}

/// Chromium's default; a styled knob of another width shifts a drag by less than its radius.
const KNOB_WIDTH: f64 = 16.0;

/// What the protocol wants to know of a key.
#[derive(Debug, PartialEq)]
struct Key {
    key: String,
    code: String,
    text: String,
    virtual_code: u32,
    modifiers: u32,
}

/// Keys without a character, with their Windows code, which Chromium's own handling goes by.
const NAMED_KEYS: [(&str, u32); 13] = [
    ("Backspace", 8),
    ("Tab", 9),
    ("Enter", 13),
    ("Escape", 27),
    ("PageUp", 33),
    ("PageDown", 34),
    ("End", 35),
    ("Home", 36),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("Delete", 46),
];

impl Key {
    fn parse(chord: &str) -> Option<Self> {
        let (modifiers, name) = match chord.strip_suffix('+') {
            // The key is `+` itself.
            Some(rest) => (rest, "+"),
            None => chord.rsplit_once('+').unwrap_or(("", chord)),
        };
        let modifiers = modifiers.split('+').filter(|part| !part.is_empty());
        let modifiers = modifiers.map(modifier_bit).try_fold(0, |all, bit| Some(all | bit?))?;
        if let Some((_, virtual_code)) = NAMED_KEYS.iter().find(|(key, _)| *key == name) {
            let text = if name == "Enter" { "\r".to_owned() } else { String::new() };
            let name = name.to_owned();
            let virtual_code = *virtual_code;
            return Some(Self { key: name.clone(), code: name, text, virtual_code, modifiers });
        }
        let name = if name == "Space" { " " } else { name };
        let mut letters = name.chars();
        let (letter, None) = (letters.next()?, letters.next()) else { return None };
        let upper = letter.to_ascii_uppercase();
        let code = match letter {
            ' ' => "Space".to_owned(),
            '0'..='9' => format!("Digit{letter}"),
            _ if upper.is_ascii_uppercase() => format!("Key{upper}"),
            _ => String::new(),
        };
        // With Control, Alt or Meta held a key writes nothing.
        let text = if modifiers & !SHIFT == 0 { letter.to_string() } else { String::new() };
        let virtual_code = if code.is_empty() { 0 } else { u32::from(upper) };
        Some(Self { key: letter.to_string(), code, text, virtual_code, modifiers })
    }
}

const SHIFT: u32 = 8;

fn modifier_bit(name: &str) -> Option<u32> {
    match name {
        "Alt" => Some(1),
        "Control" => Some(2),
        "Meta" => Some(4),
        "Shift" => Some(SHIFT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_write_and_chords_do_not() {
        let plain = Key::parse("w").expect("w is a key");
        assert_eq!(
            (plain.code.as_str(), plain.text.as_str(), plain.virtual_code),
            ("KeyW", "w", 87)
        );
        let undo = Key::parse("Control+Shift+z").expect("a chord");
        assert_eq!((undo.key.as_str(), undo.text.as_str(), undo.modifiers), ("z", "", 10));
    }

    #[test]
    fn plus_is_a_key_too() {
        assert_eq!(Key::parse("+").expect("plus").text, "+");
        assert_eq!(Key::parse("Control++").expect("zoom in").modifiers, 2);
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(Key::parse("Hyper+x"), None);
        assert_eq!(Key::parse("ArrowSideways"), None);
        assert_eq!(Key::parse(""), None);
    }

    #[test]
    fn a_point_moves_toward_another() {
        let (from, to) = (Point { x: 0.0, y: 10.0 }, Point { x: 100.0, y: 10.0 });
        assert_eq!(from.toward(to, 0.25), Point { x: 25.0, y: 10.0 });
    }
}

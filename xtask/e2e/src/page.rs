//! One tab: go somewhere, run JavaScript, wait for what should happen, collect what went wrong.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::devtools::Connection;
use crate::problems::{Problem, exception_text};

/// How long [`Page::wait_until`] waits before it gives up.
const PATIENCE: Duration = Duration::from_secs(15);
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// A tab with storage of its own, closed when dropped.
pub struct Page {
    pub(crate) connection: Connection,
    target: String,
    problems: Vec<Problem>,
}

impl Page {
    pub(crate) fn open(endpoint: &str) -> Result<Self> {
        let mut connection = Connection::open(endpoint)?;
        let context = connection.call("Target.createBrowserContext", json!({}))?;
        let context = text_of(&context, "browserContextId")?;
        let target = connection.call(
            "Target.createTarget",
            json!({ "url": "about:blank", "browserContextId": context }),
        )?;
        let target = text_of(&target, "targetId")?;
        let session = connection
            .call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }))?;
        connection.attach(text_of(&session, "sessionId")?);
        for domain in ["Page", "Runtime", "Network", "Log", "DOM"] {
            connection.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(Self { connection, target, problems: Vec::new() })
    }

    /// Goes to an address and waits until it has loaded. A change of the hash alone loads nothing.
    pub fn goto(&mut self, url: &str) -> Result<()> {
        self.connection.forget_events(LOADED);
        self.connection.forget_events(MOVED);
        let answer = self.connection.call("Page.navigate", json!({ "url": url }))?;
        if let Some(error) = answer["errorText"].as_str() {
            bail!("cannot open {url}: {error}");
        }
        let arrived = if answer["loaderId"].is_string() { LOADED } else { MOVED };
        self.connection
            .wait_for_event(arrived, LOAD_TIMEOUT)
            .with_context(|| format!("{url} did not load"))?;
        Ok(())
    }

    /// Loads the same address again.
    pub fn reload(&mut self) -> Result<()> {
        self.connection.forget_events(LOADED);
        self.connection.call("Page.reload", json!({}))?;
        self.connection.wait_for_event(LOADED, LOAD_TIMEOUT).map(drop)
    }

    /// The value of a JavaScript expression, awaited if it is a promise. What it throws is the error.
    pub fn eval(&mut self, expression: &str) -> Result<Value> {
        let mut answer = self.connection.call(
            "Runtime.evaluate",
            json!({
                "expression": expression,
                "awaitPromise": true,
                "returnByValue": true,
                "userGesture": true,
            }),
        )?;
        if let Some(details) = answer.get("exceptionDetails") {
            bail!("{}\n  in: {expression}", exception_text(details));
        }
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression is true (as JavaScript sees it) and returns its value.
    ///
    /// `what` says in the error what was waited for.
    pub fn wait_until(&mut self, what: &str, expression: &str) -> Result<Value> {
        let start = Instant::now();
        loop {
            let last = self.eval(expression);
            if let Ok(value) = &last
                && is_truthy(value)
            {
                return last;
            }
            if start.elapsed() > PATIENCE {
                let last = match last {
                    Ok(value) => format!("last value: {value}"),
                    Err(error) => format!("last error: {error:#}"),
                };
                let mut message = format!("not within {} s: {what}; {last}", PATIENCE.as_secs());
                for problem in self.problems()? {
                    message.push_str(&format!("\n  {}", problem.brief()));
                }
                bail!(message);
            }
            sleep(POLL);
        }
    }

    /// Waits until an element is there and has a size.
    pub fn wait_for(&mut self, selector: &str) -> Result<()> {
        let selector = json!(selector);
        let visible = format!(
            "(() => {{ const e = document.querySelector({selector}); \
             return !!e && e.getClientRects().length > 0; }})()"
        );
        self.wait_until(&format!("{selector} is visible"), &visible).map(drop)
    }

    /// Waits until the text of an element contains this.
    pub fn wait_for_text(&mut self, selector: &str, text: &str) -> Result<()> {
        let (selector, text) = (json!(selector), json!(text));
        let found = format!("document.querySelector({selector})?.innerText?.includes({text})");
        self.wait_until(&format!("{selector} shows {text}"), &found).map(drop)
    }

    /// Waits until two frames have been painted, so that what was changed is on the screen.
    pub fn settle(&mut self) -> Result<()> {
        self.eval(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))",
        )
        .map(drop)
    }

    /// The visible text of an element.
    pub fn text(&mut self, selector: &str) -> Result<String> {
        let selector = json!(selector);
        let value = self.eval(&format!("document.querySelector({selector})?.innerText ?? null"))?;
        match value {
            Value::String(text) => Ok(text),
            _ => bail!("there is no {selector}"),
        }
    }

    /// An attribute of an element, if it has it.
    pub fn attribute(&mut self, selector: &str, name: &str) -> Result<Option<String>> {
        let (selector, name) = (json!(selector), json!(name));
        let value =
            self.eval(&format!("document.querySelector({selector})?.getAttribute({name})"))?;
        Ok(value.as_str().map(str::to_owned))
    }

    /// How many elements match.
    pub fn count(&mut self, selector: &str) -> Result<usize> {
        let selector = json!(selector);
        let value = self.eval(&format!("document.querySelectorAll({selector}).length"))?;
        Ok(value.as_u64().unwrap_or(0) as usize)
    }

    /// The address shown, with query and hash.
    pub fn url(&mut self) -> Result<String> {
        Ok(self.eval("location.href")?.as_str().unwrap_or_default().to_owned())
    }

    /// What has gone wrong since the page was opened or since [`Page::take_problems`].
    pub fn problems(&mut self) -> Result<Vec<Problem>> {
        // An answer comes after all events before it.
        self.connection.call("Runtime.evaluate", json!({ "expression": "0" }))?;
        let events = self.connection.take_events();
        self.problems.extend(events.iter().filter_map(Problem::from_event));
        Ok(self.problems.clone())
    }

    /// Makes requests fail whose address matches a pattern, such as `*.wasm`.
    pub fn block(&mut self, patterns: &[&str]) -> Result<()> {
        self.connection.call("Network.setBlockedURLs", json!({ "urls": patterns })).map(drop)
    }

    /// As [`Page::problems`], and forgets them: for a journey that provokes one.
    pub fn take_problems(&mut self) -> Result<Vec<Problem>> {
        self.problems()?;
        Ok(std::mem::take(&mut self.problems))
    }

    /// Fails if anything has gone wrong.
    pub fn assert_clean(&mut self) -> Result<()> {
        let problems = self.problems()?;
        let list: Vec<String> = problems.iter().map(Problem::to_string).collect();
        ensure!(list.is_empty(), "the page reported:\n  {}", list.join("\n  "));
        Ok(())
    }
}

const LOADED: &str = "Page.loadEventFired";
const MOVED: &str = "Page.navigatedWithinDocument";

impl Drop for Page {
    fn drop(&mut self) {
        // If this fails, the browser is gone and the tab with it.
        let _ = self.connection.call("Target.closeTarget", json!({ "targetId": self.target }));
    }
}

fn text_of(answer: &Value, key: &str) -> Result<String> {
    Ok(answer[key].as_str().with_context(|| format!("no {key} in Chromium's answer"))?.to_owned())
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(value) => value.as_f64() != Some(0.0),
        Value::String(value) => !value.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

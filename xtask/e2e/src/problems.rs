//! What went wrong inside the page: errors on its console, uncaught exceptions, requests that failed.

use std::fmt;

use serde_json::Value;

use crate::devtools::Event;

/// Something that a working page does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub kind: ProblemKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    ConsoleError,
    Exception,
    RequestFailed,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ProblemKind::ConsoleError => "console error",
            ProblemKind::Exception => "uncaught exception",
            ProblemKind::RequestFailed => "request failed",
        };
        write!(f, "{kind}: {}", self.text)
    }
}

impl Problem {
    /// Its first lines: the stack of a panic in wasm is long.
    pub fn brief(&self) -> String {
        let text = self.to_string();
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .take(6)
            .collect::<Vec<_>>()
            .join("\n    ")
    }

    pub(crate) fn from_event(event: &Event) -> Option<Self> {
        let params = &event.params;
        let problem = |kind, text| Some(Self { kind, text });
        match event.method.as_str() {
            "Runtime.consoleAPICalled" => match params["type"].as_str() {
                Some("error" | "assert") => {
                    problem(ProblemKind::ConsoleError, console_text(&params["args"]))
                }
                _ => None,
            },
            "Runtime.exceptionThrown" => {
                problem(ProblemKind::Exception, exception_text(&params["exceptionDetails"]))
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                // Failed requests are reported by the network events, with more detail.
                let counts = entry["level"] == "error" && entry["source"] != "network";
                if !counts {
                    return None;
                }
                problem(ProblemKind::ConsoleError, string(&entry["text"]))
            }
            "Network.loadingFailed" if params["canceled"] != true => problem(
                ProblemKind::RequestFailed,
                format!("{} {}", string(&params["type"]), string(&params["errorText"])),
            ),
            "Network.responseReceived" => {
                let response = &params["response"];
                let status = response["status"].as_u64().unwrap_or(0);
                if status < 400 {
                    return None;
                }
                problem(
                    ProblemKind::RequestFailed,
                    format!("{status} {}", string(&response["url"])),
                )
            }
            _ => None,
        }
    }
}

/// The text of an exception, with its stack where there is one.
pub(crate) fn exception_text(details: &Value) -> String {
    let described = string(&details["exception"]["description"]);
    if !described.is_empty() {
        return described;
    }
    let thrown = &details["exception"]["value"];
    if thrown.is_null() { string(&details["text"]) } else { string(thrown) }
}

fn console_text(arguments: &Value) -> String {
    let texts = arguments.as_array().into_iter().flatten().map(|argument| {
        let value = string(&argument["value"]);
        if value.is_empty() { string(&argument["description"]) } else { value }
    });
    texts.collect::<Vec<_>>().join(" ")
}

fn string(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(method: &str, params: Value) -> Option<Problem> {
        Problem::from_event(&Event { method: method.to_owned(), params })
    }

    #[test]
    fn a_console_error_keeps_its_words_and_a_log_is_none() {
        let args = json!([{ "type": "string", "value": "no" }, { "type": "number", "value": 7 }]);
        let error = json!({ "type": "error", "args": args });
        let found = problem("Runtime.consoleAPICalled", error).map(|p| p.to_string());
        assert_eq!(found.as_deref(), Some("console error: no 7"));
        assert_eq!(problem("Runtime.consoleAPICalled", json!({ "type": "log", "args": [] })), None);
    }

    #[test]
    fn a_request_fails_by_status_or_by_network_but_not_when_cancelled() {
        let missing = json!({ "response": { "status": 404, "url": "http://x/y.js" } });
        let found = problem("Network.responseReceived", missing).map(|p| p.text);
        assert_eq!(found.as_deref(), Some("404 http://x/y.js"));
        let refused = json!({ "type": "Fetch", "errorText": "net::ERR_FAILED", "canceled": false });
        assert!(problem("Network.loadingFailed", refused).is_some());
        let cancelled = json!({ "type": "Fetch", "errorText": "", "canceled": true });
        assert_eq!(problem("Network.loadingFailed", cancelled), None);
    }

    #[test]
    fn a_thrown_error_shows_its_stack_and_a_thrown_string_itself() {
        let error =
            json!({ "text": "Uncaught", "exception": { "description": "Error: x\n at f" } });
        assert_eq!(exception_text(&error), "Error: x\n at f");
        let thrown = json!({ "text": "Uncaught", "exception": { "value": "plain" } });
        assert_eq!(exception_text(&thrown), "plain");
    }
}

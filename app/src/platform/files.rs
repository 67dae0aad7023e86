//! Files that the user picks or drops.

use gloo::events::{EventListener, EventListenerOptions};
use gloo::file::callbacks::{FileReader, read_as_bytes};
use gloo::utils::window;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;

/// A file before it is read.
pub struct PickedFile(web_sys::File);

/// The file could not be read.
#[derive(Clone, Copy, Debug)]
pub struct ReadError;

impl PickedFile {
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Size in bytes.
    pub fn bytes(&self) -> f64 {
        self.0.size()
    }

    /// Reads it, then hands it over. A file picked meanwhile takes its place.
    pub fn read(self, then: impl FnOnce(Result<Vec<u8>, ReadError>) + 'static) {
        thread_local! {
            static READER: RefCell<Option<FileReader>> = const { RefCell::new(None) };
        }
        let blob = gloo::file::Blob::from(self.0);
        let reader = read_as_bytes(&blob, move |read| then(read.map_err(|_| ReadError)));
        // Dropping a reader cancels it, so it is kept until the next one.
        READER.with(|kept| drop(kept.replace(Some(reader))));
    }
}

/// The file that was just picked in an `<input type="file">`; the input is emptied, so that the same
/// file can be picked again.
pub fn picked(event: &web_sys::Event) -> Option<PickedFile> {
    let input: web_sys::HtmlInputElement = event.target()?.dyn_into().ok()?;
    let file = input.files()?.get(0)?;
    input.set_value("");
    Some(PickedFile(file))
}

/// What happens to files over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hover {
    Over,
    Gone,
}

/// Lets the user drop a file anywhere, for as long as the page is open.
pub fn on_drop(hover: impl Fn(Hover) + 'static, dropped: impl Fn(PickedFile) + 'static) {
    let hover = Rc::new(hover);
    let listen = |name: &'static str, act: Box<dyn Fn(&web_sys::DragEvent)>| {
        let options = EventListenerOptions::enable_prevent_default();
        EventListener::new_with_options(&window(), name, options, move |event| {
            if let Some(event) = event.dyn_ref::<web_sys::DragEvent>() {
                act(event);
            }
        })
        .forget();
    };
    let over = Rc::clone(&hover);
    listen(
        "dragover",
        Box::new(move |event| {
            if carries_files(event) {
                event.prevent_default();
                over(Hover::Over);
            }
        }),
    );
    let gone = Rc::clone(&hover);
    listen(
        "dragleave",
        Box::new(move |event| {
            // Without a related target the pointer has left the window.
            if event.related_target().is_none() {
                gone(Hover::Gone);
            }
        }),
    );
    listen(
        "drop",
        Box::new(move |event| {
            if carries_files(event) {
                event.prevent_default();
            }
            hover(Hover::Gone);
            let files = event.data_transfer().and_then(|transfer| transfer.files());
            if let Some(file) = files.and_then(|files| files.get(0)) {
                dropped(PickedFile(file));
            }
        }),
    );
}

fn carries_files(event: &web_sys::DragEvent) -> bool {
    event
        .data_transfer()
        .is_some_and(|transfer| transfer.types().iter().any(|kind| kind == "Files"))
}

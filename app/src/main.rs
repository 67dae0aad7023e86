//! Starts the page.

mod charts;
mod i18n;
mod page;
mod platform;
mod state;

fn main() {
    console_error_panic_hook::set_once();
    leptos::mount::mount_to_body(page::App);
}

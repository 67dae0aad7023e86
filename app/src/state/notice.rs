//! Things the page has to say once, each dismissible.

use crate::i18n::Message;

/// Something to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Tells it from the others for as long as the page is open.
    pub id: u32,
    pub tone: Tone,
    pub message: Message,
}

/// How it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something worked.
    Done,
    /// Something is worth knowing.
    Note,
    /// Something was refused; nothing has changed.
    Refused,
}

impl Tone {
    /// The name in class names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Note => "note",
            Self::Refused => "refused",
        }
    }
}

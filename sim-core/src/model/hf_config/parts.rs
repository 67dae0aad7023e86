//! Files of several models: which part is the language model.

use super::error::ImportError;
use super::fields::Object;
use super::note::{ImportNote, NoteKind};

/// Names under which multimodal files nest their language model.
const TEXT_PARTS: [&str; 3] = ["text_config", "llm_config", "language_config"];
/// A model that listens and sees, around its language model (Qwen-Omni).
const THINKER: &str = "thinker_config";
/// Names of parts beside the language model, which are not counted.
const OTHER_PARTS: [&str; 9] = [
    "vision_config",
    "audio_config",
    "vision_tower",
    "mm_vision_tower",
    "visual",
    "img_processor",
    "talker_config",
    "token2wav_config",
    "code2wav_config",
];

/// The object of the language model, where it is not the file itself.
pub(super) fn language_part<'a>(
    top: &Object<'a>,
    notes: &mut Vec<ImportNote>,
) -> Result<Option<Object<'a>>, ImportError> {
    note_other_parts(top, notes);
    if let Some(thinker) = top.object(THINKER)? {
        note_other_parts(&thinker, notes);
        if let Some(part) = text_part(&thinker, notes)? {
            return Ok(Some(part));
        }
    }
    text_part(top, notes)
}

fn text_part<'a>(
    around: &Object<'a>,
    notes: &mut Vec<ImportNote>,
) -> Result<Option<Object<'a>>, ImportError> {
    for name in TEXT_PARTS {
        if let Some(part) = around.object(name)? {
            notes.push(ImportNote::new(around.path_of(name), NoteKind::TextPartRead));
            return Ok(Some(part));
        }
    }
    Ok(None)
}

fn note_other_parts(around: &Object<'_>, notes: &mut Vec<ImportNote>) {
    for name in OTHER_PARTS {
        if around.has(name) {
            notes.push(ImportNote::new(around.path_of(name), NoteKind::PartNotCounted));
        }
    }
}

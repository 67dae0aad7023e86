//! One change of a scenario, by the path of the field that it sets.

use super::{Scenario, ScenarioError};
use serde::{Deserialize, Serialize};

/// Sets one field of a scenario.
///
/// Controls of the page, one-click fixes and lessons all change a scenario through this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Names joined by dots, as in the scenario file: `strategy.zero`.
    pub field: String,
    pub value: serde_json::Value,
}

impl Edit {
    /// Sets `field` to `value`.
    pub fn new(field: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        Self { field: field.into(), value: value.into() }
    }
}

impl Scenario {
    /// The scenario after `edit`.
    ///
    /// # Errors
    /// When the field does not exist or does not take such a value; `self` is unchanged.
    pub fn edited(&self, edit: &Edit) -> Result<Self, ScenarioError> {
        self.edited_all(std::slice::from_ref(edit))
    }

    /// The scenario after all of `edits`, in order.
    ///
    /// # Errors
    /// When a field does not exist or does not take such a value; `self` is unchanged.
    pub fn edited_all(&self, edits: &[Edit]) -> Result<Self, ScenarioError> {
        let mut tree = serde_json::to_value(self).expect("a scenario has string keys only");
        for edit in edits {
            let mut place = &mut tree;
            let mut names = edit.field.split('.').peekable();
            while let Some(name) = names.next() {
                let Some(object) = place.as_object_mut() else {
                    return Err(ScenarioError::unknown_field(&edit.field));
                };
                if names.peek().is_none() {
                    object.insert(name.to_owned(), edit.value.clone());
                    break;
                }
                let Some(inner) = object.get_mut(name) else {
                    return Err(ScenarioError::unknown_field(&edit.field));
                };
                place = inner;
            }
        }
        Self::from_value(tree)
    }

    /// The value of a field by its path, as it stands in the file.
    pub fn field(&self, path: &str) -> Option<serde_json::Value> {
        let tree = serde_json::to_value(self).expect("a scenario has string keys only");
        path.split('.').try_fold(&tree, |place, name| place.get(name)).cloned()
    }
}

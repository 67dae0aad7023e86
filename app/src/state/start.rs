//! What the page opens with: the link, or the first preset.

use super::link::{self, LinkError};
use sim_core::presets;
use sim_core::scenario::Scenario;

/// The first scenario, and what was wrong with the link that asked for another.
pub fn scenario(hash: &str) -> (Scenario, Option<LinkError>) {
    match link::decode(hash) {
        Ok(Some(scenario)) => (scenario, None),
        Ok(None) => (first_preset(), None),
        Err(error) => (first_preset(), Some(error)),
    }
}

/// The preset of a first visit: one that does not fit.
fn first_preset() -> Scenario {
    presets::ALL.first().expect("there is a preset").scenario()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_visit_sees_what_does_not_fit() {
        let (scenario, error) = scenario("");
        assert_eq!(error, None);
        let simulation = sim_core::simulate(&scenario).expect("the preset has no errors");
        assert!(!simulation.report.fits);
    }

    #[test]
    fn a_broken_link_opens_the_default_and_says_why() {
        let (default, _) = scenario("");
        assert_eq!(scenario("#v=1&model=gpt2"), (default, Some(LinkError::CutOff)));
    }

    #[test]
    fn every_preset_survives_its_link() {
        for preset in presets::ALL {
            let scenario = preset.scenario();
            let link = link::encode(&scenario).expect("presets are short");
            assert_eq!(link::decode(&link), Ok(Some(scenario)), "{}", preset.id);
        }
    }
}

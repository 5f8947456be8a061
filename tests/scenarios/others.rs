//! Somebody else: what he changes, and how he gets there.

use serde_json::{Value, json};

use crate::support::client::AZ;
use crate::support::simulated::COMPUTE;

use super::pools;
use super::sdk::{Sdk, Trouble};
use super::stage::Stage;

/// What somebody else changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A second address on the interface that the CCM writes, of a set's model or of a VM.
    SecondAddress,
    /// A tag, which the CCM does not write.
    Tag,
    /// How a set brings its VMs up to its model.
    UpgradePolicy,
    /// Whether an instance may be scaled in.
    Protection,
}

/// How he gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// Past armshield: the portal, another cluster's pipeline.
    Outside,
    /// A colleague with `az`, on the same way as everybody: reads, changes, writes, waits.
    Colleague,
}

impl Change {
    /// Makes it in a model.
    pub fn make(self, model: &mut Value) {
        match self {
            Self::SecondAddress => pools::add_address(model, "second"),
            Self::Tag => model["tags"]["owner"] = json!("somebody"),
            Self::UpgradePolicy => model["properties"]["upgradePolicy"] = json!({"mode": "Rolling"}),
            Self::Protection => model["properties"]["protectionPolicy"] = json!({"protectFromScaleIn": true}),
        }
    }

    /// Whether ARM has it now.
    pub fn is_there(self, stage: &Stage, id: &str) -> bool {
        let model = stage.sim.read(id).unwrap();
        match self {
            Self::SecondAddress => pools::addresses(&stage.sim, id).contains(&"second".to_owned()),
            Self::Tag => model["tags"]["owner"] == "somebody",
            Self::UpgradePolicy => model["properties"]["upgradePolicy"]["mode"] == "Rolling",
            Self::Protection => model["properties"]["protectionPolicy"]["protectFromScaleIn"] == true,
        }
    }
}

/// Somebody makes a change.
pub async fn make(stage: Stage, hand: Hand, change: Change, id: String) {
    match hand {
        Hand::Outside => assert!(stage.sim.edit(&id, |model| change.make(model))),
        Hand::Colleague => {
            let (sdk, target) = (Sdk::new(stage.client("colleague", AZ, 9), 5), format!("{id}{COMPUTE}"));
            let made: Result<Value, Trouble> = async {
                let mut model = sdk.get(&target).await?.json();
                change.make(&mut model);
                sdk.put(&target, &model, None).await
            }
            .await;
            assert!(made.is_ok(), "{made:?}");
        }
    }
    assert!(change.is_there(&stage, &id));
}

//! The answer to `GET /metadata/endpoints`, by which clients learn where ARM is and who vouches for them.
//!
//! It is made from memory, so that clients that refuse to start without it can start before ARM is
//! reachable. Passed through, ARM's own would lead them away from the name they dialled.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::Way;
use crate::arm::{Cloud, api_version};

/// The document for a client that came this way and asked for this api-version.
///
/// - Since 2022-09-01: one object (hashicorp/go-azure-sdk `sdk/internal/metadata`; it needs `name`,
///   `resourceManager` and `microsoftGraphResourceId`).
/// - Since 2019-05-01: an array. cloud-provider-azure (`pkg/azclient/cloud.go`) takes the entry that has the
///   name in its configuration, and with none goes to ARM itself without a word; so there is an entry for
///   each name the cloud is known by.
/// - Before: an object that does not say where ARM is.
#[must_use]
pub fn answer(version: Option<&str>, dialled: Way<'_>, cloud: Cloud) -> Bytes {
    let is_since = |floor| version.is_none_or(|version| api_version::at_least(version, floor));
    let answer = if is_since("2022-09-01") {
        Value::from(entry(cloud.names()[0], dialled, cloud))
    } else if is_since("2019-05-01") {
        // Configurations for an ARM of one's own often call it that, whatever cloud it stands in.
        let names = cloud.names().iter().chain(&["AzureStackCloud"]);
        names.map(|name| entry(name, dialled, cloud)).collect()
    } else {
        let known = template(cloud);
        json!({
            "galleryEndpoint": known.get("gallery"),
            "graphEndpoint": known.get("graph"),
            "portalEndpoint": known.get("portal"),
            "graphAudience": known.get("graphAudience"),
            "authentication": authentication(cloud),
        })
    };
    answer.to_string().into()
}

fn entry(name: &str, dialled: Way<'_>, cloud: Cloud) -> Map<String, Value> {
    let mut entry = template(cloud);
    entry.insert("name".into(), name.into());
    entry.insert("authentication".into(), authentication(cloud));
    // Left out, it leaves a client with the address it has.
    if let Some(url) = dialled.url() {
        entry.insert("resourceManager".into(), format!("{url}/").into());
    }
    entry
}

fn authentication(cloud: Cloud) -> Value {
    json!({
        "loginEndpoint": cloud.login_endpoint(),
        "audiences": cloud.audiences(),
        "tenant": "common",
        "identityProvider": "AAD",
    })
}

/// What is the same for every way and name: ARM's own answers, completed from the clouds azure-cli knows
/// (`azure/cli/core/cloud.py`).
fn template(cloud: Cloud) -> Map<String, Value> {
    let text = match cloud {
        Cloud::Public => include_str!("clouds/public.json"),
        Cloud::China => include_str!("clouds/china.json"),
        Cloud::UsGovernment => include_str!("clouds/usgovernment.json"),
    };
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Way<'static> = Way { secure: false, authority: "localhost:7788" };

    fn parsed(version: Option<&str>, cloud: Cloud) -> Value {
        serde_json::from_slice(&answer(version, OURS, cloud)).unwrap()
    }

    #[test]
    fn a_controller_finds_its_cloud_by_every_name() {
        for cloud in Cloud::ALL {
            for version in ["2019-05-01", "2020-06-01"] {
                let answer = parsed(Some(version), cloud);
                let entries = answer.as_array().unwrap();
                assert_eq!(entries[0]["name"], cloud.names()[0]);
                for name in cloud.names().iter().chain(&["AzureStackCloud"]) {
                    let entry = entries.iter().find(|entry| entry["name"] == *name).unwrap();
                    assert_eq!(entry["resourceManager"], "http://localhost:7788/");
                    assert_eq!(entry["authentication"]["audiences"][0], cloud.audiences()[0]);
                    assert_eq!(entry["authentication"]["loginEndpoint"], cloud.login_endpoint());
                    assert!(entry["suffixes"]["storage"].as_str().unwrap().starts_with("core."));
                    assert!(entry["suffixes"]["acrLoginServer"].as_str().unwrap().starts_with("azurecr."));
                }
            }
        }
    }

    #[test]
    fn newer_clients_get_one_object() {
        for cloud in Cloud::ALL {
            for version in [Some("2022-09-01"), Some("2023-11-01"), None] {
                let answer = parsed(version, cloud);
                assert_eq!(answer["name"], cloud.names()[0]);
                assert_eq!(answer["resourceManager"], "http://localhost:7788/");
                assert_eq!(answer["authentication"]["tenant"], "common");
                assert_eq!(answer["authentication"]["identityProvider"], "AAD");
                for needed in [
                    "microsoftGraphResourceId",
                    "batch",
                    "graphAudience",
                    "sqlManagement",
                    "gallery",
                    "logAnalyticsResourceId",
                ] {
                    assert!(answer[needed].as_str().unwrap().starts_with("https://"), "{cloud:?} {needed}");
                }
                for suffix in ["storage", "keyVaultDns", "sqlServerHostname", "mhsmDns", "synapseAnalytics"] {
                    assert!(!answer["suffixes"][suffix].as_str().unwrap().is_empty(), "{cloud:?} {suffix}");
                }
            }
        }
    }

    #[test]
    fn older_clients_get_what_they_know() {
        for version in ["1.0", "2015-01-01", "2018-01-01", "garbage"] {
            let answer = parsed(Some(version), Cloud::Public);
            assert_eq!(answer["portalEndpoint"], "https://portal.azure.com");
            assert_eq!(answer["authentication"]["loginEndpoint"], "https://login.microsoftonline.com");
        }
    }

    #[test]
    fn whoever_dialled_arm_is_sent_to_arm() {
        let real = Way { secure: true, authority: "management.azure.com" };
        let answer: Value = serde_json::from_slice(&answer(None, real, Cloud::Public)).unwrap();
        assert_eq!(answer["resourceManager"], "https://management.azure.com/");
    }

    #[test]
    fn a_name_no_authority_can_have_is_not_repeated() {
        let odd = Way { secure: true, authority: "evil\"/x" };
        let answer: Value = serde_json::from_slice(&answer(None, odd, Cloud::Public)).unwrap();
        assert_eq!(answer.get("resourceManager"), None);
    }
}

//! What an operator can do.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::policy::Mode;
use crate::proxy::Rooms;

/// Changes the mode of everybody or of one profile.
pub(super) fn mode(rooms: &Rooms, body: &Value) -> Result<Value, String> {
    let word = body["mode"].as_str().ok_or("say which: {\"mode\": \"active\" | \"shadow\" | \"pass\"}")?;
    let mode =
        Mode::from_word(word).ok_or_else(|| format!("there is no mode '{word}': active, shadow or pass"))?;
    let profile = match &body["profile"] {
        Value::Null => None,
        name => Some(name.as_str().ok_or("the profile's name is a string")?),
    };
    let changed = rooms
        .policy
        .load()
        .with_mode(mode, profile)
        .map_err(|name| format!("there is no profile '{name}'; /api/status lists them under clients"))?;
    rooms.policy.store(Arc::new(changed));
    tracing::info!(mode = mode.as_str(), profile = profile.unwrap_or("all"), "the mode was changed");
    Ok(json!({"mode": mode.as_str(), "profile": profile}))
}

/// Makes what is remembered of a resource, a group, a subscription or everything (`/`) unusable.
pub(super) fn purge(rooms: &Rooms, body: &Value) -> Result<Value, String> {
    let id =
        body["id"].as_str().ok_or("say what: {\"id\": \"/subscriptions/…\"}, or \"/\" for everything")?;
    rooms.purge(id).map_err(|why| why.to_string())?;
    tracing::info!("remembered answers were purged");
    Ok(json!({"purged": id}))
}

//! What is allowed and probably not meant.

use std::net::IpAddr;

use super::Configuration;
use crate::arm::Cloud;
use crate::upstream::Scheme;

/// One line each.
pub(super) fn of(configuration: &Configuration) -> Vec<String> {
    let Configuration { listen, admin, cloud, endpoint, cache, tls, .. } = configuration;
    let mut warnings = Vec::new();
    let mut warn = |warning: String| warnings.push(warning);
    let address = listen.address;
    let is_open = !address.ip().to_canonical().is_loopback();
    if is_open && listen.allow_plain {
        warn(format!(
            "[listen] allow_plain: whoever reaches {address} may send tokens in the clear; set [tls] certificate and key instead"
        ));
    } else if is_open && tls.is_none() {
        warn(format!(
            "[listen] address: {address} is not loopback, so requests in plain http are refused there; set [tls] certificate and key, or allow_plain = true"
        ));
    }
    if is_open && listen.names.is_empty() {
        warn(format!("[listen] names: clients reach {address} by its number only; name the hosts they dial"));
    }
    if admin.open && !admin.address.ip().to_canonical().is_loopback() {
        warn(format!("[admin] open: whoever reaches {} may change modes and drop entries", admin.address));
    }
    let is_near =
        endpoint.host == "localhost" || endpoint.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if endpoint.scheme == Scheme::Http && !is_near {
        warn(format!("[upstream] endpoint: tokens travel to {endpoint} in the clear; use https"));
    }
    if let Some(other) = Cloud::of_host(&endpoint.host).filter(|other| other != cloud) {
        warn(format!(
            "[upstream] cloud: {endpoint} belongs to the cloud {}, but names and audiences are those of {}",
            other.as_str(),
            cloud.as_str()
        ));
    }
    let share = cache.bytes / 100 * cache.caller_percent;
    let largest = share.min(cache.fills);
    if cache.entry_max > largest {
        warn(format!(
            "[cache] entry_max: answers above {largest} bytes are not kept, because of bytes, caller_percent or fills"
        ));
    }
    warnings
}

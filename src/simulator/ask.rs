//! A request as the providers see it.

use bytes::Bytes;
use http::Method;
use percent_encoding::percent_decode_str;

use super::address::Address;
use super::etags::Conditions;

/// One call, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// Path and query, byte for byte.
    pub(crate) target: String,
    pub(crate) address: Address,
    pub(crate) conditions: Conditions,
    pub(crate) body: Bytes,
    /// Scheme and host of links, `https://management.azure.com`.
    pub(crate) base: String,
    /// Object id of the caller.
    pub(crate) principal: String,
    pub(crate) tenant: String,
}

impl Ask {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }

    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The value of a query parameter; names compare without case.
    pub(crate) fn option(&self, name: &str) -> Option<String> {
        self.query().split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let key = percent_decode_str(key).decode_utf8_lossy();
            let value = value.replace('+', " ");
            key.eq_ignore_ascii_case(name)
                .then(|| percent_decode_str(&value).decode_utf8_lossy().into_owned())
        })
    }

    pub(crate) fn version(&self) -> String {
        self.option("api-version").unwrap_or_default()
    }

    /// Whether bodies of this api-version carry Compute's ETags (`Azure/azure-rest-api-specs`: 2024-03-01 on).
    pub(crate) fn knows_tags(&self) -> bool {
        self.version().get(..10).is_some_and(|date| date >= "2024-03-01")
    }

    pub(crate) fn expands_view(&self) -> bool {
        self.option("$expand").is_some_and(|expand| expand.to_ascii_lowercase().contains("instanceview"))
    }

    pub(crate) fn uses_graph(&self) -> bool {
        self.option("useResourceGraph").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_options_as_sdks_write_them() {
        let target =
            "/subscriptions/s?%24filter=%27virtualMachineScaleSet%2Fid%27+eq+%27x%27&API-version=2025-04-01";
        let ask = Ask {
            method: Method::GET,
            target: target.to_owned(),
            address: Address::default(),
            conditions: Conditions::default(),
            body: Bytes::new(),
            base: String::new(),
            principal: String::new(),
            tenant: String::new(),
        };
        assert_eq!(ask.option("$filter").as_deref(), Some("'virtualMachineScaleSet/id' eq 'x'"));
        assert!(ask.knows_tags());
    }
}

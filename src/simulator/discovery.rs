//! What needs no token: endpoint discovery, OPTIONS, and the token endpoint itself.

use bytes::Bytes;
use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::answers::{Answer, Author};
use super::state::State;
use super::tokens::Principal;

impl State {
    /// The answer to a call that is not authenticated, if it is one.
    pub(crate) fn open_answer(
        &mut self,
        method: &Method,
        target: &str,
        body: &Bytes,
        base: &str,
    ) -> Option<Answer> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let lower = path.to_ascii_lowercase();
        if *method == Method::OPTIONS {
            return Some(
                Answer::empty(200, Author::Gateway)
                    .with("allow", "OPTIONS, GET, HEAD, POST, PUT, PATCH, DELETE"),
            );
        }
        if *method == Method::GET && lower == "/metadata/endpoints" {
            return Some(self.endpoints(query, base));
        }
        if *method == Method::POST
            && (lower.ends_with("/oauth2/v2.0/token") || lower.ends_with("/oauth2/token"))
        {
            return Some(self.grant(path, body));
        }
        None
    }

    /// `GET /metadata/endpoints`: an array up to 2019-05-01, one object from 2022-09-01 on.
    fn endpoints(&self, query: &str, base: &str) -> Answer {
        let cloud = json!({
            "name": "AzureCloud",
            "resourceManager": format!("{base}/"),
            "portal": "https://portal.azure.com",
            "authentication": {
                "loginEndpoint": "https://login.microsoftonline.com",
                "audiences": ["https://management.core.windows.net/", "https://management.azure.com/"],
                "tenant": "common", "identityProvider": "AAD"},
            "graph": "https://graph.windows.net/",
            "microsoftGraphResourceId": "https://graph.microsoft.com/",
            "media": "https://rest.media.azure.net",
            "batch": "https://batch.core.windows.net/",
            "suffixes": {"storage": "core.windows.net", "acrLoginServer": "azurecr.io",
                "keyVaultDns": "vault.azure.net", "sqlServerHostname": "database.windows.net"},
        });
        let version = query.split('&').find_map(|pair| pair.strip_prefix("api-version=")).unwrap_or("");
        let body = if version >= "2022" { cloud } else { json!([cloud]) };
        Answer::json(200, Author::Other, &body)
    }

    /// Client credentials: whoever asks is the service principal of its client id.
    fn grant(&mut self, path: &str, body: &Bytes) -> Answer {
        let form = String::from_utf8_lossy(body);
        let app = form.split('&').find_map(|pair| pair.strip_prefix("client_id="));
        let app = app.map(|app| percent_decode_str(app).decode_utf8_lossy().into_owned());
        let Some(app) = app.filter(|app| !app.is_empty()) else {
            let body = json!({"error": "invalid_request", "error_description": "AADSTS900144: client_id is missing."});
            return Answer::json(400, Author::Other, &body);
        };
        let tenant = path.split('/').find(|segment| !segment.is_empty()).unwrap_or("").to_owned();
        let tenant = if tenant.eq_ignore_ascii_case("common") { self.options.tenant.clone() } else { tenant };
        let principal = Principal::of_app(&app);
        let now = self.time.unix();
        let token = self.tokens.issue(&principal, &tenant, now, &mut self.random);
        let seconds = principal.lifetime.as_secs().saturating_sub(1);
        let body = json!({"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": token});
        Answer::json(200, Author::Other, &body)
    }
}

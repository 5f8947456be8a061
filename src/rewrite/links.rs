//! Which links lead back, and where to.

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, header};

use super::Way;
use super::beginning::{Beginning, host_and_port};
use crate::arm::{Cloud, headers::AZURE_ASYNC_OPERATION};

/// Knows ARM's own hosts: the endpoint, and the names of its cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    endpoint: Option<Place>,
    cloud: Cloud,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    host: String,
    port: Option<u16>,
    secure: bool,
}

impl Place {
    fn of(way: Way<'_>) -> Option<Self> {
        let (host, port) = host_and_port(way.authority)?;
        Some(Self { host, port, secure: way.secure })
    }

    fn reached_at(&self) -> u16 {
        self.port.unwrap_or(if self.secure { 443 } else { 80 })
    }

    /// Whether both have one authority, a default port written or not. A server behind plain HTTP may well
    /// write links with `https` and the authority it was called by, so the scheme does not matter.
    fn is(&self, other: &Self) -> bool {
        self.host == other.host && (self.port == other.port || self.reached_at() == other.reached_at())
    }
}

impl Links {
    /// Links to `endpoint` and, at any port, to the names of `cloud`'s ARM lead back.
    #[must_use]
    pub fn new(cloud: Cloud, endpoint: Way<'_>) -> Self {
        Self { endpoint: Place::of(endpoint), cloud }
    }

    /// Whether there is any link that leads back to who came this way: between ARM's own names none does.
    #[must_use]
    pub fn lead_anywhere(&self, dialled: Way<'_>) -> bool {
        let is_arm = |host: &str| Cloud::of_host(host).is_some();
        let to_arm = host_and_port(dialled.authority).is_some_and(|(host, _)| is_arm(&host));
        !to_arm || self.endpoint.as_ref().is_some_and(|endpoint| !is_arm(&endpoint.host))
    }

    /// The URL by which `url` leads to the name dialled; `None` where it stays as it is.
    #[must_use]
    pub fn lead_back(&self, url: &str, dialled: Way<'_>) -> Option<String> {
        let beginning = Beginning::of_url(url)?;
        let back = self.turned(&beginning, dialled)?;
        let (old, rest) = url.split_at_checked(beginning.len)?;
        (back != old).then(|| back + rest)
    }

    /// The same for the raw content of a JSON string: escapes are understood, and those behind the authority
    /// stay as they are written.
    #[must_use]
    pub fn splice(&self, raw: &[u8], dialled: Way<'_>) -> Option<Bytes> {
        let (len, back) = self.replace(raw, dialled)?;
        let mut spliced = BytesMut::with_capacity(back.len() + raw.len() - len);
        spliced.put(back.as_bytes());
        spliced.put(&raw[len..]);
        Some(spliced.freeze())
    }

    /// Turns `Location` and `Azure-AsyncOperation` back, every value of them.
    pub fn headers(&self, headers: &mut HeaderMap, dialled: Way<'_>) {
        for (name, value) in headers.iter_mut() {
            if name == header::LOCATION || name == AZURE_ASYNC_OPERATION {
                let back = value.to_str().ok().and_then(|url| self.lead_back(url, dialled));
                if let Some(back) = back.and_then(|url| HeaderValue::try_from(url).ok()) {
                    *value = back;
                }
            }
        }
    }

    /// How many of the first raw bytes to replace in a JSON string, and by what.
    pub(super) fn replace(&self, raw: &[u8], dialled: Way<'_>) -> Option<(usize, String)> {
        let beginning = Beginning::of_json(raw)?;
        let back = self.turned(&beginning, dialled)?;
        (raw.get(..beginning.len)? != back.as_bytes()).then_some((beginning.len, back))
    }

    /// What a link that begins so shall begin with.
    fn turned(&self, beginning: &Beginning, dialled: Way<'_>) -> Option<String> {
        let link = Place::of(Way { secure: beginning.secure, authority: &beginning.authority })?;
        let is_endpoint = self.endpoint.as_ref().is_some_and(|endpoint| endpoint.is(&link));
        if !is_endpoint && !self.cloud.is_arm_host(&link.host) {
            return None;
        }
        // Whoever dialled one of ARM's names gets ARM's names; but an endpoint of the operator's own is
        // known to nobody else, and may not even be reachable from there.
        let (dialled_host, _) = host_and_port(dialled.authority)?;
        if Cloud::of_host(&link.host).is_some() && Cloud::of_host(&dialled_host).is_some() {
            return None;
        }
        dialled.url()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: Way<'static> = Way { secure: false, authority: "localhost:7788" };
    const REAL: Way<'static> = Way { secure: true, authority: "management.azure.com" };

    fn public() -> Links {
        Links::new(Cloud::Public, REAL)
    }

    fn stand_in() -> Links {
        Links::new(Cloud::Public, Way { secure: false, authority: "127.0.0.1:9999" })
    }

    fn check(links: &Links, dialled: Way<'_>, url: &str, back: Option<&str>) {
        assert_eq!(links.lead_back(url, dialled).as_deref(), back, "{url}");
        let spliced = links.splice(url.as_bytes(), dialled);
        assert_eq!(spliced.as_deref(), back.map(str::as_bytes), "spliced: {url}");
    }

    #[test]
    fn links_to_arm_lead_to_the_name_dialled() {
        let check_ours = |url, back| check(&public(), OURS, url, back);
        check_ours("https://management.azure.com/a?b=%2f&c#d", Some("http://localhost:7788/a?b=%2f&c#d"));
        check_ours("https://management.azure.com:443/a", Some("http://localhost:7788/a"));
        check_ours("https://management.azure.com:8443/a", Some("http://localhost:7788/a"));
        check_ours("HTTPS://EastUS.Management.Azure.com/A", Some("http://localhost:7788/A"));
        check_ours("http://management.azure.com?x", Some("http://localhost:7788?x"));
        check_ours("https://management.azure.com", Some("http://localhost:7788"));
    }

    #[test]
    fn other_links_stay() {
        for url in [
            "/subscriptions/s",
            "",
            "//management.azure.com/a",
            "https://management.chinacloudapi.cn/a",
            "https://storage.example/a?u=https://management.azure.com/",
            "https://management.azure.com@evil.example/a",
            "https://evil@management.azure.com/a",
            r"https://management.azure.com\@evil.example/a",
            "https://management.azure.com.evil.example/a",
            "https://a.b.management.azure.com/a",
            "https://management.azure.com:x/a",
            "ftp://management.azure.com/a",
        ] {
            check(&public(), OURS, url, None);
        }
    }

    #[test]
    fn whoever_dialled_arm_gets_what_arm_wrote() {
        let regional = Way { secure: true, authority: "eastus.management.azure.com:443" };
        for dialled in [REAL, regional] {
            check(&public(), dialled, "https://management.azure.com/a", None);
            check(&public(), dialled, "https://westus.management.azure.com/a", None);
            assert!(!public().lead_anywhere(dialled) && public().lead_anywhere(OURS));
        }
    }

    #[test]
    fn an_endpoint_nobody_knows_leads_to_the_name_dialled_in_every_mode() {
        check(&stand_in(), OURS, "http://127.0.0.1:9999/a", Some("http://localhost:7788/a"));
        check(&stand_in(), OURS, "https://127.0.0.1:9999/a", Some("http://localhost:7788/a"));
        check(&stand_in(), REAL, "http://127.0.0.1:9999/a", Some("https://management.azure.com/a"));
        check(&stand_in(), REAL, "https://management.azure.com/a", None);
        check(&stand_in(), OURS, "https://management.azure.com/a", Some("http://localhost:7788/a"));
        check(&stand_in(), OURS, "http://127.0.0.1:9998/a", None);
        assert!(stand_in().lead_anywhere(OURS) && stand_in().lead_anywhere(REAL));
        check(&stand_in(), OURS, "http://127.0.0.1/a", None);
    }

    #[test]
    fn default_ports_may_be_written_or_not() {
        let links = Links::new(Cloud::Public, Way { secure: true, authority: "arm.example" });
        check(&links, OURS, "https://arm.example:443/a", Some("http://localhost:7788/a"));
        check(&links, OURS, "http://arm.example/a", Some("http://localhost:7788/a"));
        check(&links, OURS, "http://arm.example:80/a", None);
        check(&links, OURS, "https://arm.example:444/a", None);
        let written = Links::new(Cloud::Public, Way { secure: true, authority: "ARM.example:443" });
        check(&written, OURS, "https://arm.example/a", Some("http://localhost:7788/a"));
    }

    #[test]
    fn a_name_no_authority_can_have_changes_nothing() {
        for authority in ["", "a\"b", "a/b", "a b", "user@a", "ä"] {
            check(&public(), Way { secure: true, authority }, "https://management.azure.com/a", None);
        }
    }

    #[test]
    fn a_link_that_already_leads_there_stays() {
        let itself = Way { secure: false, authority: "127.0.0.1:9999" };
        check(&stand_in(), itself, "http://127.0.0.1:9999/a", None);
        let beside = Links::new(Cloud::Public, Way { secure: false, authority: "localhost" });
        check(&beside, OURS, "http://localhost/a", Some("http://localhost:7788/a"));
    }

    #[test]
    fn escapes_behind_the_authority_stay_as_written() {
        let check_raw = |raw: &str, back: &str| {
            assert_eq!(public().splice(raw.as_bytes(), OURS).unwrap(), back, "{raw}");
        };
        check_raw(r"https:\/\/management.azure.com\/a\u0026b", r"http://localhost:7788\/a\u0026b");
        check_raw(r"\u0068ttps\u003A//management.azure.com\u002fa", r"http://localhost:7788\u002fa");
        check_raw(
            r"https://management.azure.com?$skipToken=a\u0026b\\\ud83d",
            r"http://localhost:7788?$skipToken=a\u0026b\\\ud83d",
        );
    }

    #[test]
    fn poll_urls_lead_back_wherever_they_stand() {
        let mut headers = HeaderMap::new();
        let url = "https://management.azure.com/subscriptions/s/operations/o?api-version=1&t=%2B&c=c";
        headers.append("Location", url.parse().unwrap());
        headers.append("Location", "/relative".parse().unwrap());
        headers.append("Azure-AsyncOperation", url.parse().unwrap());
        headers.append(
            "Azure-AsyncOperation",
            HeaderValue::from_bytes(b"https://management.azure.com/\xff").unwrap(),
        );
        headers.append("x-other", url.parse().unwrap());
        public().headers(&mut headers, OURS);
        let back = "http://localhost:7788/subscriptions/s/operations/o?api-version=1&t=%2B&c=c";
        let all = |name: &str| headers.get_all(name).iter().cloned().collect::<Vec<_>>();
        assert_eq!(all("location"), [back, "/relative"]);
        assert_eq!(all("azure-asyncoperation")[0], back);
        assert_eq!(all("azure-asyncoperation")[1].as_bytes(), b"https://management.azure.com/\xff");
        assert_eq!(all("x-other"), [url]);
    }

    proptest! {
        #[test]
        fn what_follows_the_authority_is_kept(rest in "([/?#][ -~é]{0,40})?", escape in prop::collection::vec(any::<bool>(), 29)) {
            let url = format!("https://management.azure.com{rest}");
            let back = public().lead_back(&url, OURS).unwrap();
            prop_assert_eq!(back, format!("http://localhost:7788{rest}"));

            let raw_rest = serde_json::to_string(&rest).unwrap();
            let raw_rest = &raw_rest[1..raw_rest.len() - 1];
            let front: String = "https://management.azure.com"
                .bytes()
                .zip(escape)
                .map(|(byte, escape)| if escape { format!("\\u{byte:04X}") } else { char::from(byte).to_string() })
                .collect();
            let spliced = public().splice(format!("{front}{raw_rest}").as_bytes(), OURS).unwrap();
            prop_assert_eq!(spliced, format!("http://localhost:7788{raw_rest}"));
        }

        #[test]
        fn any_bytes_are_survived(raw in prop::collection::vec(any::<u8>(), 0..40)) {
            let link = [b"https://management.azure.com".as_slice(), &raw].concat();
            for bytes in [&raw, &link] {
                let _ = public().splice(bytes, OURS);
                if let Ok(text) = std::str::from_utf8(bytes) {
                    let _ = public().lead_back(text, OURS);
                }
            }
        }
    }
}

//! The clouds ARM runs in: names, hosts, audiences.

/// One of Microsoft's clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Cloud {
    /// Azure.
    #[default]
    Public,
    /// Azure operated by 21Vianet.
    China,
    /// Azure for US government.
    UsGovernment,
}

impl Cloud {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Public, Self::China, Self::UsGovernment];

    /// The cloud of that name, in any case: one of ours or one of [`Cloud::names`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let is = |name: &&str| name.eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(|cloud| is(&cloud.as_str()) || cloud.names().iter().any(is))
    }

    /// The word used in configuration and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::China => "china",
            Self::UsGovernment => "usgovernment",
        }
    }

    /// All names it is known by; the first is the one it gives itself (`/metadata/endpoints`), the others
    /// are those of SDKs (go-autorest and cloud-provider-azure `pkg/azclient/cloud.go`).
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Public => &["AzureCloud", "AzurePublicCloud"],
            Self::China => &["AzureChinaCloud", "AzureChina"],
            Self::UsGovernment => &["AzureUSGovernment", "AzureUSGovernmentCloud", "AzureGovernment"],
        }
    }

    /// The name of ARM's global front door.
    #[must_use]
    pub const fn arm_host(self) -> &'static str {
        match self {
            Self::Public => "management.azure.com",
            Self::China => "management.chinacloudapi.cn",
            Self::UsGovernment => "management.usgovcloudapi.net",
        }
    }

    /// Whether `host` (no port, any case) is ARM's global name or `{region}.` in front of it.
    #[must_use]
    pub fn is_arm_host(self, host: &str) -> bool {
        let Some(at) = host.len().checked_sub(self.arm_host().len()) else { return false };
        let Some((front, name)) = host.split_at_checked(at) else { return false };
        let is_region = |region: &str| {
            !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        name.eq_ignore_ascii_case(self.arm_host())
            && (front.is_empty() || front.strip_suffix('.').is_some_and(is_region))
    }

    /// What tokens for ARM are asked for, as `/metadata/endpoints` lists it.
    #[must_use]
    pub const fn audiences(self) -> [&'static str; 2] {
        match self {
            Self::Public => ["https://management.core.windows.net/", "https://management.azure.com/"],
            Self::China => {
                ["https://management.core.chinacloudapi.cn", "https://management.chinacloudapi.cn"]
            }
            Self::UsGovernment => {
                ["https://management.core.usgovcloudapi.net", "https://management.usgovcloudapi.net"]
            }
        }
    }

    /// Where tokens come from.
    #[must_use]
    pub const fn login_endpoint(self) -> &'static str {
        match self {
            Self::Public => "https://login.microsoftonline.com",
            Self::China => "https://login.chinacloudapi.cn",
            Self::UsGovernment => "https://login.microsoftonline.us",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_cloud() {
        for cloud in Cloud::ALL {
            for name in cloud.names() {
                assert_eq!(Cloud::from_word(&name.to_uppercase()), Some(cloud), "{name}");
            }
            assert_eq!(Cloud::from_word(cloud.as_str()), Some(cloud));
        }
        assert_eq!(Cloud::from_word("AzureGermanCloud"), None);
        assert_eq!(Cloud::from_word(""), None);
    }

    #[test]
    fn arm_is_known_by_its_global_and_regional_names_only() {
        let check = |host, is| assert_eq!(Cloud::Public.is_arm_host(host), is, "{host}");
        check("management.azure.com", true);
        check("Management.Azure.COM", true);
        check("eastus2.management.azure.com", true);
        check("germany-west.management.azure.com", true);
        check(".management.azure.com", false);
        check("a.b.management.azure.com", false);
        check("notmanagement.azure.com", false);
        check("x@.management.azure.com", false);
        check("management.azure.com.evil.example", false);
        check("management.azure.com:443", false);
        check("management.chinacloudapi.cn", false);
        check("ümanagement.azure.com", false);
        check("azure.com", false);
        check("", false);
    }
}

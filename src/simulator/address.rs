//! What a request path names, compared without case and kept as it was written.
//!
//! Resource group, resource and all other entity names compare case-insensitively; the provider returns
//! the casing last given by the user (Azure/azure-resource-manager-rpc, `common-api-details.md`).

use percent_encoding::percent_decode_str;

/// A path taken apart. Names keep their casing; comparisons go through [`Address::key`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Address {
    pub(crate) subscription: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) namespace: Option<String>,
    /// Type and name, from the root resource down.
    pub(crate) pairs: Vec<(String, String)>,
    /// A last segment without a partner: a collection, an action or a view.
    pub(crate) tail: Option<String>,
}

impl Address {
    /// Reads a path; `None` if it is not of ARM's form.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut address = Self::default();
        let mut segments = Vec::new();
        for segment in path.trim_matches('/').split('/').filter(|segment| !segment.is_empty()) {
            segments.push(percent_decode_str(segment).decode_utf8().ok()?.into_owned());
        }
        let mut rest = segments.into_iter().peekable();
        while let Some(word) = rest.next() {
            if address.namespace.is_some() {
                match rest.next() {
                    Some(name) => address.pairs.push((word, name)),
                    None => address.tail = Some(word),
                }
            } else if word.eq_ignore_ascii_case("subscriptions") && address.subscription.is_none() {
                match rest.next() {
                    Some(name) => address.subscription = Some(name),
                    None => address.tail = Some(word),
                }
            } else if word.eq_ignore_ascii_case("resourcegroups") && address.subscription.is_some() {
                match rest.next() {
                    Some(name) => address.group = Some(name),
                    None => address.tail = Some(word),
                }
            } else if word.eq_ignore_ascii_case("providers") {
                match rest.next() {
                    Some(name) => address.namespace = Some(name),
                    None => address.tail = Some(word),
                }
            } else if rest.peek().is_none() {
                address.tail = Some(word);
            } else {
                // `/subscriptions/{id}/operationresults/{token}` and its kind.
                address.pairs.push((word, rest.next()?));
            }
        }
        Some(address)
    }

    /// The full type, `Microsoft.Compute/virtualMachineScaleSets/virtualMachines`, without the tail.
    pub(crate) fn kind(&self) -> String {
        let mut kind = self.namespace.clone().unwrap_or_default();
        for (word, _) in &self.pairs {
            kind.push('/');
            kind.push_str(word);
        }
        kind
    }

    /// The id in canonical form, without the tail.
    pub(crate) fn id(&self) -> String {
        let mut id = String::new();
        if let Some(subscription) = &self.subscription {
            id = format!("/subscriptions/{subscription}");
        }
        if let Some(group) = &self.group {
            id.push_str("/resourceGroups/");
            id.push_str(group);
        }
        if let Some(namespace) = &self.namespace {
            id.push_str("/providers/");
            id.push_str(namespace);
        }
        for (word, name) in &self.pairs {
            id.push('/');
            id.push_str(word);
            id.push('/');
            id.push_str(name);
        }
        id
    }

    /// The id folded for comparison.
    pub(crate) fn key(&self) -> String {
        self.id().to_ascii_lowercase()
    }

    /// The last name of the path.
    pub(crate) fn name(&self) -> &str {
        self.pairs.last().map_or("", |(_, name)| name)
    }

    /// The address one resource up.
    pub(crate) fn parent(&self) -> Option<Self> {
        let mut parent = self.clone();
        parent.tail = None;
        parent.pairs.pop()?;
        (!parent.pairs.is_empty()).then_some(parent)
    }

    /// The same resource with the tail (or another word) taken as a collection: its key.
    pub(crate) fn collection(&self, word: &str) -> String {
        format!("{}/{}", self.id(), word).to_ascii_lowercase()
    }
}

/// Whether two ids name the same thing.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.trim_matches('/').eq_ignore_ascii_case(other.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_paths_apart() {
        let cases = [
            ("/subscriptions", None, "", Some("subscriptions")),
            ("/subscriptions/s/resourcegroups", None, "", Some("resourcegroups")),
            ("/subscriptions/s/resourcegroups/G", Some("G"), "", None),
            (
                "/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets/a/virtualMachines",
                Some("G"),
                "Microsoft.Compute/virtualMachineScaleSets",
                Some("virtualMachines"),
            ),
            ("/subscriptions/s/operationresults/abc", None, "/operationresults", None),
        ];
        for (path, group, kind, tail) in cases {
            let address = Address::parse(path).unwrap();
            assert_eq!((address.group.as_deref(), address.tail.as_deref()), (group, tail), "{path}");
            assert_eq!(address.kind(), kind, "{path}");
        }
    }

    #[test]
    fn keys_ignore_case_and_ids_keep_it() {
        let one = Address::parse("/subscriptions/S/resourcegroups/rg/providers/p/t/Name").unwrap();
        let two = Address::parse("/SUBSCRIPTIONS/s/resourceGroups/RG/providers/P/T/name").unwrap();
        assert_eq!(one.key(), two.key());
        assert_eq!(one.id(), "/subscriptions/S/resourceGroups/rg/providers/p/t/Name");
    }
}

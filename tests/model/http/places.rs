//! What there is in this model's ARM, and what can be asked about it.

/// The subscription.
pub const SUBSCRIPTION: &str = "/subscriptions/11111111-1111-1111-1111-111111111111";

/// What things are called here, by their place in [`THINGS`].
pub const SET: usize = 0;
pub const INSTANCES: [usize; 2] = [1, 2];
pub const A: usize = 3;

/// A resource that can be there.
#[derive(Debug)]
pub struct Thing {
    pub group: &'static str,
    /// What follows `providers/`.
    pub path: &'static str,
    /// The resource at whose root it lives; itself, unless it is a VM of the set.
    pub root: usize,
}

/// A Uniform set with its VMs, VMs in two groups, and two resources of Microsoft.Network.
pub const THINGS: [Thing; 8] = [
    Thing { group: "g", path: "Microsoft.Compute/virtualMachineScaleSets/s", root: 0 },
    Thing { group: "g", path: "Microsoft.Compute/virtualMachineScaleSets/s/virtualMachines/0", root: 0 },
    Thing { group: "g", path: "Microsoft.Compute/virtualMachineScaleSets/s/virtualMachines/1", root: 0 },
    Thing { group: "g", path: "Microsoft.Compute/virtualMachines/a", root: 3 },
    Thing { group: "g", path: "Microsoft.Compute/virtualMachines/b", root: 4 },
    Thing { group: "h", path: "Microsoft.Compute/virtualMachines/c", root: 5 },
    Thing { group: "g", path: "Microsoft.Network/loadBalancers/l", root: 6 },
    Thing { group: "g", path: "Microsoft.Network/publicIPAddresses/p", root: 7 },
];

/// How many things there are.
pub const MANY: usize = THINGS.len();

impl Thing {
    pub fn id(&self) -> String {
        format!("{SUBSCRIPTION}/resourceGroups/{}/providers/{}", self.group, self.path)
    }

    pub fn is_network(&self) -> bool {
        self.path.starts_with("Microsoft.Network")
    }
}

/// A list that can be asked for.
#[derive(Debug)]
pub struct List {
    /// Below the subscription.
    path: &'static str,
    /// The group, if it is one of a group.
    pub group: Option<&'static str>,
    pub things: &'static [usize],
    /// How many items a page holds.
    pub page: usize,
}

/// All lists. One comes in pages of one item, the others whole.
pub const LISTS: [List; 8] = [
    list("resourceGroups/g/providers/Microsoft.Compute/virtualMachines", Some("g"), &[3, 4], 9),
    list("providers/Microsoft.Compute/virtualMachines", None, &[3, 4, 5], 1),
    list("resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets", Some("g"), &[0], 9),
    list(
        "resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/s/virtualMachines",
        Some("g"),
        &[1, 2],
        9,
    ),
    list("resourceGroups/h/providers/Microsoft.Compute/virtualMachines", Some("h"), &[5], 9),
    list("providers/Microsoft.Compute/virtualMachineScaleSets", None, &[0], 9),
    list("resourceGroups/g/providers/Microsoft.Network/loadBalancers", Some("g"), &[6], 9),
    list("providers/Microsoft.Network/publicIPAddresses", None, &[7], 9),
];

const fn list(
    path: &'static str,
    group: Option<&'static str>,
    things: &'static [usize],
    page: usize,
) -> List {
    List { path, group, things, page }
}

impl List {
    pub fn is_network(&self) -> bool {
        self.path.contains("Microsoft.Network")
    }
}

/// What a read is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum About {
    Point(usize),
    /// The instance view of a thing.
    View(usize),
    List(usize),
}

impl About {
    pub fn path(self) -> String {
        match self {
            Self::Point(thing) => THINGS[thing].id(),
            Self::View(thing) => format!("{}/instanceView", THINGS[thing].id()),
            Self::List(list) => format!("{SUBSCRIPTION}/{}", LISTS[list].path),
        }
    }

    pub fn is_list(self) -> bool {
        matches!(self, Self::List(_))
    }

    pub fn is_network(self) -> bool {
        match self {
            Self::Point(thing) | Self::View(thing) => THINGS[thing].is_network(),
            Self::List(list) => LISTS[list].is_network(),
        }
    }

    /// The group it is in, if it is in one.
    pub fn group(self) -> Option<&'static str> {
        match self {
            Self::Point(thing) | Self::View(thing) => Some(THINGS[thing].group),
            Self::List(list) => LISTS[list].group,
        }
    }

    /// The things it shows where they are there.
    pub fn things(self) -> Vec<usize> {
        match self {
            Self::Point(thing) | Self::View(thing) => vec![thing],
            Self::List(list) => LISTS[list].things.to_vec(),
        }
    }

    /// The root resource at or below which it is.
    pub fn root(self) -> Option<usize> {
        match self {
            Self::Point(thing) | Self::View(thing) => Some(THINGS[thing].root),
            // The VMs of the set.
            Self::List(3) => Some(SET),
            Self::List(_) => None,
        }
    }
}

/// The api-versions asked for. Models of the last one carry no ETags of Compute.
pub const VERSIONS: [&str; 3] = ["2025-04-01", "2024-07-01", "2023-07-01"];

/// Whether models of this api-version carry ETags of Compute.
pub fn is_tagged(version: usize) -> bool {
    version < 2
}

/// A question: everything that can change its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Question {
    pub about: About,
    pub version: usize,
    /// With `$expand=instanceView`.
    pub expand: bool,
    /// With a header that is not known to be neutral.
    pub locale: bool,
    /// Where in a list it goes on.
    pub skip: usize,
}

impl Question {
    /// The request target of its first page.
    pub fn target(&self) -> String {
        let version = VERSIONS[self.version];
        let expand = if self.expand { "&$expand=instanceView" } else { "" };
        format!("{}?api-version={version}{expand}", self.about.path())
    }

    /// Whether items of the answer carry their entity tags.
    pub fn shows_tags(&self) -> bool {
        !matches!(self.about, About::View(_)) && (self.about.is_network() || is_tagged(self.version))
    }
}

/// Whether `path` is `at` or below it, as ARM compares.
pub fn is_at_or_below(path: &str, at: &str) -> bool {
    let (path, at) = (path.to_ascii_lowercase(), at.to_ascii_lowercase());
    path.strip_prefix(&at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

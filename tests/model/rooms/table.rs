//! The resources of this world, the questions about them, and what a write to one reaches, in the words of the
//! design: independent of the room that works it out from paths.

use Kind::{Address, Balancer, Member, Set, Vm};
use Place::{Everywhere, Far, Near};

/// The subscription everything is in.
pub const SUBSCRIPTION: &str = "/subscriptions/11111111-1111-1111-1111-111111111111";

/// A type of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Set,
    Member,
    Vm,
    Balancer,
    Address,
}

/// Where a resource is, or a list looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Near,
    Far,
    Everywhere,
}

/// A resource.
#[derive(Debug, Clone, Copy)]
pub struct Thing {
    pub kind: Kind,
    pub place: Place,
    /// Below its group's provider.
    pub tail: &'static str,
    /// The resource at its root, as a place in [`THINGS`].
    pub root: usize,
    /// A scale set that is not Uniform has its VMs in its group.
    pub uniform: bool,
}

const fn thing(kind: Kind, place: Place, tail: &'static str, root: usize) -> Thing {
    Thing { kind, place, tail, root, uniform: root == 0 }
}

pub const SET: usize = 0;
pub const MEMBER: usize = 1;

/// A Uniform set with a VM in it, a Flexible set, its VM, another VM in another group, a load balancer, an
/// address in the other group.
pub const THINGS: [Thing; 7] = [
    thing(Set, Near, "Microsoft.Compute/virtualMachineScaleSets/u", SET),
    thing(Member, Near, "Microsoft.Compute/virtualMachineScaleSets/u/virtualMachines/0", SET),
    thing(Set, Near, "Microsoft.Compute/virtualMachineScaleSets/f", 2),
    thing(Vm, Near, "Microsoft.Compute/virtualMachines/v", 3),
    thing(Vm, Far, "Microsoft.Compute/virtualMachines/w", 4),
    thing(Balancer, Near, "Microsoft.Network/loadBalancers/l", 5),
    thing(Address, Far, "Microsoft.Network/publicIPAddresses/p", 6),
];

impl Kind {
    pub const fn is_network(self) -> bool {
        matches!(self, Balancer | Address)
    }

    const fn collection(self) -> &'static str {
        match self {
            Set => "Microsoft.Compute/virtualMachineScaleSets",
            Member => "Microsoft.Compute/virtualMachineScaleSets/u/virtualMachines",
            Vm => "Microsoft.Compute/virtualMachines",
            Balancer => "Microsoft.Network/loadBalancers",
            Address => "Microsoft.Network/publicIPAddresses",
        }
    }
}

impl Place {
    fn provider(self) -> String {
        match self {
            Near => format!("{SUBSCRIPTION}/resourceGroups/g/providers"),
            Far => format!("{SUBSCRIPTION}/resourceGroups/h/providers"),
            Everywhere => format!("{SUBSCRIPTION}/providers"),
        }
    }

    fn holds(self, other: Self) -> bool {
        self == Everywhere || self == other
    }
}

/// The address of a resource, without a query.
pub fn address(thing: usize) -> String {
    format!("{}/{}", THINGS[thing].place.provider(), THINGS[thing].tail)
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Point(usize),
    List(Kind, Place),
    /// The instance view of a resource: it has neither id nor version.
    View(usize),
}

/// A question that can be asked.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    pub about: About,
    pub query: &'static str,
    pub header: Option<(&'static str, &'static str)>,
}

const NEW: &str = "api-version=2025-04-01";
const OTHER: &str = "api-version=2024-07-01";
/// Before entity tags.
const OLD: &str = "api-version=2023-03-01";

const fn ask(about: About, query: &'static str) -> Question {
    Question { about, query, header: None }
}

/// All questions.
pub const QUESTIONS: [Question; 26] = [
    ask(About::Point(3), NEW),
    ask(About::List(Vm, Near), NEW),
    ask(About::List(Vm, Everywhere), NEW),
    ask(About::Point(SET), NEW),
    ask(About::Point(MEMBER), NEW),
    ask(About::List(Member, Near), NEW),
    ask(About::Point(5), NEW),
    ask(About::List(Balancer, Near), NEW),
    ask(About::List(Set, Near), NEW),
    ask(About::Point(3), OTHER),
    ask(About::Point(3), "api-version=2025-04-01&$expand=instanceView"),
    ask(About::Point(3), OLD),
    ask(About::List(Vm, Near), OLD),
    ask(About::List(Vm, Near), "api-version=2025-04-01&$filter='virtualMachineScaleSet/id'%20eq%20'f'"),
    ask(About::Point(2), NEW),
    ask(About::Point(4), NEW),
    ask(About::List(Vm, Far), NEW),
    ask(About::List(Set, Everywhere), NEW),
    ask(About::List(Balancer, Everywhere), NEW),
    ask(About::Point(6), NEW),
    ask(About::List(Address, Everywhere), NEW),
    ask(About::View(MEMBER), NEW),
    ask(About::View(3), NEW),
    ask(About::Point(SET), OTHER),
    ask(About::List(Member, Near), "api-version=2025-04-01&$expand=instanceView"),
    Question { about: About::Point(3), query: NEW, header: Some(("x-ms-effective-locale", "de")) },
];

impl Question {
    pub fn target(&self) -> String {
        let path = match self.about {
            About::Point(thing) => address(thing),
            About::View(thing) => format!("{}/instanceView", address(thing)),
            About::List(kind, place) => format!("{}/{}", place.provider(), kind.collection()),
        };
        format!("{path}?{}", self.query)
    }

    /// The resources an answer shows.
    pub fn shows(&self) -> Vec<usize> {
        match self.about {
            About::Point(thing) => vec![thing],
            About::View(_) => Vec::new(),
            About::List(kind, place) => (0..THINGS.len())
                .filter(|at| THINGS[*at].kind == kind && place.holds(THINGS[*at].place))
                .collect(),
        }
    }

    pub fn kind(&self) -> Kind {
        match self.about {
            About::Point(thing) | About::View(thing) => THINGS[thing].kind,
            About::List(kind, _) => kind,
        }
    }

    pub const fn is_list(&self) -> bool {
        matches!(self.about, About::List(..))
    }

    pub const fn is_view(&self) -> bool {
        matches!(self.about, About::View(_))
    }

    /// Whether its answers carry entity tags.
    pub fn is_tagged(&self) -> bool {
        self.query != OLD
    }

    /// Whether it names what it wants of a list.
    pub fn is_filtered(&self) -> bool {
        self.query.contains("$filter")
    }

    fn root(&self) -> Option<usize> {
        match self.about {
            About::Point(thing) | About::View(thing) => Some(THINGS[thing].root),
            About::List(Member, _) => Some(SET),
            About::List(..) => None,
        }
    }

    fn place(&self) -> Place {
        match self.about {
            About::Point(thing) | About::View(thing) => THINGS[thing].place,
            About::List(_, place) => place,
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Thing(usize),
    /// A deployment: it changes what its path does not name, in its subscription.
    Deployment,
    /// A batch: nobody can tell what it changes.
    Batch,
}

/// How a write reaches what a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// What is written, and the lists that show it: unsettled until the operation ends.
    Near,
    /// What may change along with it.
    Wider,
}

/// Whether a write makes older answers to a question unusable: the table in section 4 of the design.
/// `uniform`: the set written is known to be of the Uniform kind.
pub fn reach(target: Target, question: &Question, uniform: bool) -> Option<Reach> {
    let Target::Thing(at) = target else { return Some(Reach::Wider) };
    let thing = THINGS[at];
    if question.root() == Some(thing.root) {
        return Some(Reach::Near);
    }
    if thing.kind.is_network() || question.kind().is_network() {
        return question.kind().is_network().then_some(Reach::Wider);
    }
    let same_group = question.place() == thing.place;
    if question.is_list() && (same_group || question.place() == Everywhere) {
        return Some(Reach::Near);
    }
    (same_group && !(THINGS[thing.root].kind == Set && uniform)).then_some(Reach::Wider)
}

//! Finds the paths of a file that start at the root of the crate.
//!
//! Reads tokens: comments and strings do not count, paths inside macros do, and so do the strings of attributes that are
//! paths (`#[serde(with = "crate::x")]`).

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// A path that starts at the root of the crate, in a file.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub(crate) line: usize,
    /// What follows the root: `["cache", "Entry"]`. Empty for the root itself.
    pub(crate) path: Vec<String>,
    /// Whether it only gives a room a name in this file; paths through that name are edges of their own.
    pub(crate) is_alias: bool,
    pub(crate) in_test: bool,
}

/// Finds the edges of one file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reader {
    pub(crate) room: String,
    /// The word the root of the library goes by: `crate`, or `armshield` in a binary.
    root: &'static str,
    pub(crate) module: Vec<String>,
    in_test: bool,
    /// Names this file gives to rooms.
    aliases: BTreeMap<String, Vec<String>>,
    pub(crate) edges: Vec<Edge>,
    /// Rooms and the enums they declare.
    pub(crate) enums: Vec<(String, String)>,
    /// Modules declared `#[cfg(test)] mod name;`.
    pub(crate) test_files: Vec<Vec<String>>,
}

impl Reader {
    pub(crate) fn read(path: &str, text: &str) -> Self {
        let stem = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
        let is_binary = stem == "main" || stem.starts_with("bin/");
        let mut module: Vec<_> = stem.trim_start_matches("bin/").split('/').map(str::to_owned).collect();
        let room = module[0].clone();
        module.retain(|_| stem != "lib");
        let root = if is_binary { "armshield" } else { "crate" };
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let tokens: Vec<_> = tokens.into_iter().collect();

        let mut first = Self { room, root, module, ..Self::default() };
        let mut second = first.clone();
        first.tokens(&tokens);
        second.aliases = first.aliases;
        second.tokens(&tokens);
        second
    }

    /// Reads tokens with all that is nested in them.
    fn tokens(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        // Whether what follows stands under `#[cfg(test)]`.
        let mut gated = false;
        while let Some(token) = tokens.get(at) {
            let next = tokens.get(at + 1);
            match (word(token).as_str(), next, tokens.get(at + 2)) {
                ("#", Some(TokenTree::Group(attribute)), _)
                    if attribute.delimiter() == Delimiter::Bracket =>
                {
                    gated |= attribute.stream().to_string().replace(' ', "") == "cfg(test)";
                    self.attribute(attribute.stream());
                    at += 2;
                    continue;
                }
                ("pub", Some(TokenTree::Group(group)), _) if is_visibility(group) => {
                    at += 2;
                    continue;
                }
                ("pub", ..) => {
                    at += 1;
                    continue;
                }
                ("mod", Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) => {
                    let outside = self.in_test;
                    self.in_test |= gated;
                    self.module.push(name.to_string());
                    self.tokens(&body.stream().into_iter().collect::<Vec<_>>());
                    self.module.pop();
                    self.in_test = outside;
                    at += 3;
                }
                ("mod", Some(TokenTree::Ident(name)), _) if gated => {
                    self.test_files.push([self.module.as_slice(), &[name.to_string()]].concat());
                    at += 2;
                }
                ("include", Some(TokenTree::Punct(bang)), _) if bang.as_char() == '!' => {
                    self.edge(token, vec!["include".to_owned()], None);
                    at += 2;
                }
                ("enum", Some(name @ TokenTree::Ident(_)), _) => {
                    self.enums.push((self.room.clone(), word(name)));
                    at += 2;
                }
                _ if matches!(token, TokenTree::Ident(_)) => at = self.path(tokens, at, &[]),
                _ => {
                    if let TokenTree::Group(group) = token {
                        self.tokens(&group.stream().into_iter().collect::<Vec<_>>());
                    }
                    at += 1;
                }
            }
            gated = false;
        }
    }

    /// Reads the path, or the tree of paths, that begins with the word at `at`; returns where it ends.
    fn path(&mut self, tokens: &[TokenTree], mut at: usize, prefix: &[String]) -> usize {
        let first = &tokens[at];
        if prefix.is_empty() && at >= 2 && is_separator(tokens, at - 2) && word(first) != self.root {
            return at + 1; // `::name` is another crate's
        }
        let mut segments = prefix.to_vec();
        loop {
            match &tokens[at] {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    for branch in inner.split(|token| word(token) == ",").filter(|branch| !branch.is_empty())
                    {
                        self.path(branch, 0, &segments);
                    }
                    return at + 1;
                }
                token if word(token) == "self" && !segments.is_empty() => {}
                token => segments.push(word(token)),
            }
            at += 1;
            let goes_on =
                is_separator(tokens, at) && tokens.get(at + 2).is_some_and(|token| word(token) != "<");
            if !goes_on {
                break;
            }
            at += 2;
        }
        let renamed =
            tokens.get(at).filter(|token| word(token) == "as").and_then(|_| tokens.get(at + 1)).map(word);
        let name = renamed.or_else(|| segments.last().cloned());
        if let Some(path) = self.seen_from_root(&segments) {
            self.edge(first, path, name);
        }
        at
    }

    /// The path seen from the root of the crate; none if it is another crate's or starts at something local.
    fn seen_from_root(&self, segments: &[String]) -> Option<Vec<String>> {
        let head = segments[0].as_str();
        if let Some(room) = self.aliases.get(head) {
            return (segments.len() > 1).then(|| [room, &segments[1..]].concat());
        }
        if head == self.root {
            return Some(segments[1..].to_vec());
        }
        let climbs = head == "super" || head == "self" && segments.len() > 1;
        if !climbs || self.root != "crate" {
            return None;
        }
        let ups = segments.iter().filter(|segment| *segment == "super").count();
        let rest = segments.iter().skip_while(|segment| *segment == "self" || *segment == "super");
        let stay = self.module.len().saturating_sub(ups);
        Some(self.module[..stay].iter().chain(rest).cloned().collect())
    }

    fn edge(&mut self, at: &TokenTree, path: Vec<String>, name: Option<String>) {
        let is_alias = path.len() == 1 && name.is_some() && path[0] != self.room;
        if let (true, Some(name)) = (is_alias, name) {
            self.aliases.insert(name, path.clone());
        }
        let line = at.span().start().line;
        self.edges.push(Edge { line, path, is_alias, in_test: self.in_test });
    }

    /// Reads an attribute, where a string may be a path (`#[serde(with = "crate::x")]`).
    fn attribute(&mut self, stream: TokenStream) {
        let tokens: Vec<_> = stream.into_iter().collect();
        match tokens.first().map(word).as_deref() {
            Some("doc") => return,
            Some(hides @ ("path" | "macro_use")) => self.edge(&tokens[0], vec![hides.to_owned()], None),
            _ => {}
        }
        self.tokens(&tokens);
        let inner = tokens.iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        for literal in inner.flatten().filter(|token| matches!(token, TokenTree::Literal(_))) {
            let text = word(&literal).trim_matches('"').to_owned();
            let is_path = text.starts_with("crate::") || text.starts_with("super::");
            if let Some(path) = text.parse::<TokenStream>().ok().filter(|_| is_path) {
                self.tokens(&path.into_iter().collect::<Vec<_>>());
            }
        }
    }
}

/// The text of a token; `r#cache` is `cache`, a group is nothing.
fn word(token: &TokenTree) -> String {
    match token {
        TokenTree::Group(_) => String::new(),
        _ => token.to_string().trim_start_matches("r#").to_owned(),
    }
}

/// Whether what follows a `pub` is `(crate)`, `(super)`, `(self)` or `(in …)`, and no tuple type.
fn is_visibility(group: &Group) -> bool {
    let inside: Vec<_> = group.stream().into_iter().collect();
    let is_one_word = inside.len() == 1 && ["crate", "super", "self"].contains(&word(&inside[0]).as_str());
    group.delimiter() == Delimiter::Parenthesis
        && (is_one_word || inside.first().is_some_and(|first| word(first) == "in"))
}

/// Whether `::` stands at `at`.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| match tokens.get(at) {
        Some(TokenTree::Punct(punct)) if punct.as_char() == ':' => Some(punct.spacing()),
        _ => None,
    };
    colon(at) == Some(Spacing::Joint) && colon(at + 1).is_some()
}

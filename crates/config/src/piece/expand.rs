//! Rewrites the tree of a piece before it is read: `$param`, `uses` with `with`, and rules given as a tree.
//!
//! Nodes of other files keep their places: the spans of each file are moved behind those of the files before it, and
//! [`Document::source_of`] finds the file again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::tables;
use super::texts::PieceReader;
use crate::document::MapEntry;
use crate::{
    Diagnostic, Document, DocumentPath, Fields, Located, Location, Node, SourceFile, Span, Value, quoted,
    quoted_path,
};

/// Key of a reference to a parameter.
const PARAMETER: &str = "$param";
/// Folder of step fragments below `.takt`.
const FRAGMENTS: &str = "steps";
/// Maximum number of fragments that use each other.
const DEEPEST_USE: usize = 16;
/// Maximum number of fragments of a piece.
const MOST_USES: usize = 512;

/// Values of parameters by name. `None`: declared without a value.
pub(super) type ParameterValues = BTreeMap<String, Option<Node>>;

/// Arguments of a call, with the document that holds them.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallArguments<'a> {
    pub(super) document: &'a Document,
    pub(super) values: &'a [(Located<String>, Node)],
    /// Location of the call.
    pub(super) at: &'a Location,
}

/// Rewrites a document. `arguments` are those of the call, if another workflow calls this one. `directory` is that of
/// the file.
pub(super) fn expand(
    document: Document,
    directory: Option<&Path>,
    arguments: Option<CallArguments<'_>>,
    reader: &mut PieceReader<'_>,
) -> Document {
    let declared = document.root.get("subworkflow").and_then(|workflow| workflow.get("params"));
    let given = arguments.is_some_and(|arguments| !arguments.values.is_empty());
    if declared.is_none() && !given && !needs_expansion(&document.root) {
        return document;
    }
    let end = document.file.text().len() + 1;
    let mut expansion =
        TreeExpansion { others: document.others.clone(), document: &document, end, uses: 0, reader };
    let values = expansion.parameters(declared, arguments);
    let root = expansion.substituted(&document.root, &values).unwrap_or_else(|| document.root.clone());
    let root = expansion.with_steps(root, &values, directory);
    let others = expansion.others;
    Document { root, others, ..document }
}

fn needs_expansion(node: &Node) -> bool {
    match &node.value {
        Value::Map(entries) => entries.iter().any(|entry| {
            matches!(&*entry.key, PARAMETER | "uses") || is_rule_tree(entry) || needs_expansion(&entry.value)
        }),
        Value::List(items) => items.iter().any(needs_expansion),
        _ => false,
    }
}

fn is_rule_tree(entry: &MapEntry) -> bool {
    &*entry.key == "rules" && entry.value.get("self").is_some()
}

struct TreeExpansion<'d, 'r, 's> {
    document: &'d Document,
    others: Vec<(usize, Arc<SourceFile>)>,
    /// Start of the next file's spans.
    end: usize,
    uses: usize,
    reader: &'r mut PieceReader<'s>,
}

impl TreeExpansion<'_, '_, '_> {
    fn at(&self, span: Span) -> Location {
        let found = self.others.iter().rfind(|(start, _)| *start <= span.start);
        let (start, file) = found.map_or((0, &self.document.file), |(start, file)| (*start, file));
        let span = Span::new(span.start - start, span.end.saturating_sub(start));
        Location { file: Arc::clone(file), span: Some(span), path: DocumentPath::root() }
    }

    fn text_of(&self, node: &Node) -> Option<Located<String>> {
        node.as_text().map(|text| Located::new(text.to_owned(), self.at(node.span)))
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        self.reader.diagnostics.push(diagnostic);
    }

    /// Adds the files of a document, and returns the start of its spans.
    fn add(&mut self, document: &Document) -> usize {
        let start = self.end;
        self.others.push((start, Arc::clone(&document.file)));
        self.end = start + document.file.text().len() + 1;
        for (inner, file) in &document.others {
            self.others.push((start + inner, Arc::clone(file)));
            self.end = self.end.max(start + inner + file.text().len() + 1);
        }
        start
    }

    /// Returns the value of every declared parameter: from the call, else its default.
    fn parameters(&mut self, declared: Option<&Node>, call: Option<CallArguments<'_>>) -> ParameterValues {
        let mut values = ParameterValues::new();
        let given = call.map(|call| call.values).unwrap_or_default();
        let start = call.filter(|_| !given.is_empty()).map_or(0, |call| self.add(call.document));
        for entry in declared.and_then(entries_of).unwrap_or_default() {
            let Some(kind) = self.parameter_kind(entry) else { continue };
            let own = given.iter().find(|(name, _)| name.value == *entry.key);
            let value = match own {
                Some((name, value)) => {
                    let fits = kind.fits(value);
                    if !fits {
                        let message = format!("{} must be {}", quoted(&name.value), kind.words());
                        self.reader.diagnostics.push(name.error("bad-type", message));
                    }
                    Some(moved(value, start)).filter(|_| fits)
                }
                None => entry.value.get("default").cloned(),
            };
            if let (None, Some(call), None) = (&value, call, own) {
                let message = format!("the workflow needs the parameter {}", quoted(&entry.key));
                let hint = format!("add `args: {{{}: …}}`", entry.key);
                self.reader.diagnostics.push(call.at.error("missing-key", message).hint(hint));
            }
            values.insert(entry.key.to_string(), value);
        }
        for (name, _) in given.iter().filter(|(name, _)| !values.contains_key(&name.value)) {
            let message = format!("the workflow has no parameter {}", quoted(&name.value));
            let hint = self.reader.diagnostics.suggest(&name.value, values.keys().map(String::as_str));
            self.reader.diagnostics.push(name.error("unknown-parameter", message).maybe_hint(hint));
        }
        values
    }

    fn parameter_kind(&mut self, entry: &MapEntry) -> Option<ParameterKind> {
        let holder = Document {
            root: entry.value.clone(),
            others: self.others.clone(),
            file: Arc::clone(&self.document.file),
        };
        let fields = Fields::read(&holder.cursor(), &tables::PARAMETER, &mut self.reader.diagnostics)?;
        let name = fields.text("type")?;
        let kind = if name.value.ends_with("[]") { ParameterKind::Texts } else { ParameterKind::Text };
        if let Some(default) = fields.any("default").filter(|default| !kind.fits(default.node())) {
            let message = format!("the default of {} must be {}", quoted(&entry.key), kind.words());
            self.reader.diagnostics.push(default.error("bad-type", message));
            return None;
        }
        Some(kind)
    }

    /// Replaces references to parameters. An item that is a reference to a list becomes its items.
    fn substituted(&mut self, node: &Node, values: &ParameterValues) -> Option<Node> {
        let value = match &node.value {
            Value::Map(entries) => {
                if let Some(reference) = node.get(PARAMETER) {
                    return self.parameter(reference, values);
                }
                let entries = entries.iter().filter_map(|entry| {
                    // The declarations hold no references.
                    let value = match &*entry.key {
                        "subworkflow" => entry.value.clone(),
                        _ => self.substituted(&entry.value, values)?,
                    };
                    Some(MapEntry { value, ..entry.clone() })
                });
                Value::Map(entries.collect())
            }
            Value::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items.iter() {
                    let value = self.substituted(item, values);
                    match value {
                        Some(Node { value: Value::List(inner), .. }) if item.get(PARAMETER).is_some() => {
                            list.extend(inner.iter().cloned());
                        }
                        value => list.extend(value),
                    }
                }
                Value::List(list.into())
            }
            other => other.clone(),
        };
        Some(Node { value, span: node.span })
    }

    fn parameter(&mut self, reference: &Node, values: &ParameterValues) -> Option<Node> {
        let name = reference.as_text().unwrap_or_default().to_owned();
        match values.get(&name) {
            Some(value) => value.clone(),
            None => {
                let message = format!("no parameter is named {}", quoted(&name));
                let near = self.reader.diagnostics.suggest(&name, values.keys().map(String::as_str));
                let hint = near.unwrap_or_else(|| "declare it in `subworkflow: {params: …}`".to_owned());
                self.say(self.at(reference.span).error("unknown-parameter", message).hint(hint));
                None
            }
        }
    }

    /// Replaces the fragments that the steps use.
    fn with_steps(&mut self, root: Node, values: &ParameterValues, directory: Option<&Path>) -> Node {
        let Value::Map(entries) = &root.value else { return root };
        let entries = entries.iter().map(|entry| match &*entry.key {
            "steps" | "movements" => {
                let value = self.each(&entry.value, |one, step| one.step(step, values, directory, 0));
                MapEntry { value, ..entry.clone() }
            }
            _ => entry.clone(),
        });
        Node { value: Value::Map(entries.collect()), span: root.span }
    }

    fn each(&mut self, list: &Node, mut change: impl FnMut(&mut Self, &Node) -> Node) -> Node {
        let Value::List(items) = &list.value else { return list.clone() };
        let items: Vec<Node> = items.iter().map(|item| change(self, item)).collect();
        Node { value: Value::List(items.into()), span: list.span }
    }

    fn step(
        &mut self,
        step: &Node,
        values: &ParameterValues,
        directory: Option<&Path>,
        depth: usize,
    ) -> Node {
        let step = self.without_uses(step, values, directory, depth);
        let Value::Map(entries) = &step.value else { return step };
        let parallel = step.get("parallel").map(|parallel| match &parallel.value {
            Value::Map(branches) => {
                let branches = branches.iter().map(|branch| match &*branch.key {
                    "fixed" | "pool" => {
                        let value =
                            self.each(&branch.value, |one, sub| one.step(sub, values, directory, depth));
                        MapEntry { value, ..branch.clone() }
                    }
                    _ => branch.clone(),
                });
                Node { value: Value::Map(branches.collect()), span: parallel.span }
            }
            _ => self.each(parallel, |one, sub| one.step(sub, values, directory, depth)),
        });
        let Some(parallel) = parallel else { return step };
        let rules = entries.iter().find(|entry| is_rule_tree(entry)).map(|entry| entry.value.clone());
        let parallel = match &rules {
            Some(tree) => self.with_rules(&parallel, tree),
            None => parallel,
        };
        let entries = entries.iter().map(|entry| match (&*entry.key, &rules) {
            ("parallel", _) => MapEntry { value: parallel.clone(), ..entry.clone() },
            ("rules", Some(tree)) => {
                MapEntry { value: tree.get("self").cloned().unwrap_or_else(|| tree.clone()), ..entry.clone() }
            }
            _ => entry.clone(),
        });
        Node { value: Value::Map(entries.collect()), span: step.span }
    }

    /// Gives each sub-movement its rules of the tree `{self, parallel}`.
    fn with_rules(&mut self, parallel: &Node, tree: &Node) -> Node {
        let rules = tree.get("parallel");
        let mut known: Vec<String> = Vec::new();
        let mut give = |_: &mut Self, sub: &Node| {
            let name = sub.get("name").and_then(Node::as_text).unwrap_or_default().to_owned();
            let own = rules.and_then(|rules| rules.get(&name)).cloned();
            known.push(name);
            match own {
                Some(own) => merged(sub, &map_of("rules", own, tree.span)),
                None => sub.clone(),
            }
        };
        let parallel = match &parallel.value {
            Value::Map(branches) => {
                let branches = branches.iter().map(|branch| MapEntry {
                    value: match &*branch.key {
                        "fixed" | "pool" => self.each(&branch.value, &mut give),
                        _ => branch.value.clone(),
                    },
                    ..branch.clone()
                });
                Node { value: Value::Map(branches.collect()), span: parallel.span }
            }
            _ => self.each(parallel, &mut give),
        };
        for entry in rules.and_then(entries_of).unwrap_or_default() {
            if !known.iter().any(|name| **name == *entry.key) {
                let message = format!("no sub-movement is named {}", quoted(&entry.key));
                let hint = self.reader.diagnostics.suggest(&entry.key, known.iter().map(String::as_str));
                self.say(self.at(entry.key_span).error("unknown-movement", message).maybe_hint(hint));
            }
        }
        parallel
    }

    /// Merges a step with the fragment that it uses. The step's own keys win.
    fn without_uses(
        &mut self,
        step: &Node,
        values: &ParameterValues,
        directory: Option<&Path>,
        depth: usize,
    ) -> Node {
        let Some(name) = step.get("uses") else { return step.clone() };
        let own = without(step, &["uses", "with"]);
        self.uses += 1;
        if depth >= DEEPEST_USE || self.uses > MOST_USES {
            let message = "too many step fragments use each other".to_owned();
            self.say(self.at(name.span).error("too-large", message));
            return own;
        }
        let Some(name) = self.text_of(name) else {
            let message = format!("`uses` must be the name of a step fragment, not {}", name.value.kind());
            self.say(self.at(name.span).error("bad-type", message));
            return own;
        };
        let Some(path) = self.fragment(&name, directory) else { return own };
        let Some(document) = self.reader.document(&path, &name) else { return own };
        let folder = path.parent().map(Path::to_owned);
        let start = self.add(&document);
        let root = moved(&document.root, start);
        let Value::Map(_) = root.value else {
            self.say(self.at(root.span).error("bad-type", "a step fragment must be a mapping"));
            return own;
        };
        let bound = self.bindings(&root, step, &name, values);
        let fragment = self.substituted(&without(&root, &["params"]), &bound).unwrap_or(root);
        let fragment = self.without_uses(&fragment, &bound, folder.as_deref(), depth + 1);
        let merged = merged(&fragment, &own);
        if depth > 0 || merged.get("name").is_some() {
            return merged;
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let stem = Node {
            value: Value::Text(stem.into()),
            span: step.get("uses").map_or(step.span, |uses| uses.span),
        };
        self::merged(&map_of("name", stem, step.span), &merged)
    }

    fn fragment(&mut self, name: &Located<String>, directory: Option<&Path>) -> Option<PathBuf> {
        let is_path =
            name.value.contains('/') || [".yaml", ".yml"].iter().any(|end| name.value.ends_with(end));
        if is_path {
            let path = directory.map(|directory| directory.join(&name.value));
            return path.or_else(|| self.reader.resolve_path(name));
        }
        let folders = self.reader.below_takt(FRAGMENTS);
        let mut files = folders
            .iter()
            .flat_map(|folder| ["yaml", "yml"].map(|end| folder.join(format!("{}.{end}", name.value))));
        let found = files.find(|path| self.reader.has_file(path));
        if found.is_none() {
            let message = format!("no step fragment is named {}", quoted(&name.value));
            let looked: Vec<String> =
                folders.iter().map(|folder| quoted_path(&self.reader.shown(folder))).collect();
            let hint = format!("put `{}.yaml` into {}", name.value, looked.join(" or "));
            self.reader.diagnostics.push(name.error("missing-file", message).hint(hint));
        }
        found
    }

    /// Returns the values of a fragment's parameters: those of `with`, and those of the workflow for other names.
    fn bindings(
        &mut self,
        fragment: &Node,
        step: &Node,
        name: &Located<String>,
        outer: &ParameterValues,
    ) -> ParameterValues {
        let mut values = outer.clone();
        let with = step.get("with").and_then(entries_of).unwrap_or_default();
        let declared = fragment.get("params").and_then(entries_of).unwrap_or_default();
        for entry in declared {
            let kind = self.parameter_kind(entry);
            let own = with.iter().find(|given| given.key == entry.key);
            if let (Some(kind), Some(own)) = (kind, own)
                && !kind.fits(&own.value)
            {
                let message = format!("{} must be {}", quoted(&own.key), kind.words());
                self.say(self.at(own.value.span).error("bad-type", message));
            }
            let value = own.map(|own| own.value.clone()).or_else(|| entry.value.get("default").cloned());
            if value.is_none() {
                let message = format!("{} needs the parameter {}", quoted(&name.value), quoted(&entry.key));
                let hint = format!("add `with: {{{}: …}}`", entry.key);
                self.reader.diagnostics.push(name.error("missing-key", message).hint(hint));
            }
            values.insert(entry.key.to_string(), value);
        }
        for given in with.iter().filter(|given| declared.iter().all(|entry| entry.key != given.key)) {
            let message = format!("{} has no parameter {}", quoted(&name.value), quoted(&given.key));
            let hint = self.reader.diagnostics.suggest(&given.key, declared.iter().map(|entry| &*entry.key));
            self.say(self.at(given.key_span).error("unknown-parameter", message).maybe_hint(hint));
        }
        values
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Text,
    Texts,
}

impl ParameterKind {
    fn fits(self, value: &Node) -> bool {
        match (self, &value.value) {
            (Self::Text, Value::Text(_)) => true,
            (Self::Texts, Value::List(items)) => items.iter().all(|item| item.as_text().is_some()),
            _ => false,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Texts => "a list of text",
        }
    }
}

fn entries_of(node: &Node) -> Option<&[MapEntry]> {
    if let Value::Map(entries) = &node.value { Some(entries) } else { None }
}

fn without(node: &Node, keys: &[&str]) -> Node {
    let entries = entries_of(node).unwrap_or_default().iter().filter(|entry| !keys.contains(&&*entry.key));
    Node { value: Value::Map(entries.cloned().collect()), span: node.span }
}

fn map_of(key: &str, value: Node, span: Span) -> Node {
    let entry = MapEntry { key: key.into(), key_span: value.span, value };
    Node { value: Value::Map([entry].into()), span }
}

/// Merges mappings deeply. Values of `own` win.
fn merged(base: &Node, own: &Node) -> Node {
    let (Some(theirs), Some(ours)) = (entries_of(base), entries_of(own)) else { return own.clone() };
    let mut entries: Vec<MapEntry> = theirs.to_vec();
    for entry in ours {
        match entries.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => {
                known.value = merged(&known.value, &entry.value);
                known.key_span = entry.key_span;
            }
            None => entries.push(entry.clone()),
        }
    }
    Node { value: Value::Map(entries.into()), span: own.span }
}

fn moved(node: &Node, by: usize) -> Node {
    let shift = |span: Span| Span::new(span.start + by, span.end + by);
    let value = match &node.value {
        Value::List(items) => Value::List(items.iter().map(|item| moved(item, by)).collect()),
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|entry| MapEntry {
                    key: Arc::clone(&entry.key),
                    key_span: shift(entry.key_span),
                    value: moved(&entry.value, by),
                })
                .collect(),
        ),
        other => other.clone(),
    };
    Node { value, span: shift(node.span) }
}

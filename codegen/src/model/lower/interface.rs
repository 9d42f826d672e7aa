//! Interfaces: their properties, releases and parts, in order.

use super::{InterfaceTrees, Lowerer, Scope, flag, names, prose, text};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Availability, ErrorObject, Group, Interface, InterfaceId, InterfaceKind, Places, Release, ReleaseId, Sdk,
    Spec, Ty, TypeId, Typedef,
};
use crate::source::At;
use crate::yaml::Node;

impl Lowerer<'_> {
    pub(super) fn interface(&mut self, id: InterfaceId, trees: &InterfaceTrees, spec: &Spec) -> Interface {
        let node = &trees.interface;
        let folder = format!("this interface is in the folder `{}`", trees.name.value);
        self.check_name(&trees.name, node.name_of("interface"), "folder", folder);
        for (name, group) in &trees.groups {
            let file = format!("this group is in the file `{}.yaml`", name.value);
            self.check_name(name, group.name_of("group"), "file", file);
        }
        let uses = self.uses(id, node);
        let releases_of = node.get("releases").and_then(Node::at);
        let releases_of = releases_of.and_then(|name| self.used(&uses, &name));
        let releases = match releases_of {
            Some(other) => spec.interfaces[other.0].releases.clone(),
            None => self.releases(node),
        };
        let prefix = prose(node, "prefix");
        let args = node.get("args").map(|node| (prose(node, "size_field"), text(node, "extension")));
        let scope = Scope {
            id,
            trees,
            uses: &uses,
            releases: &releases,
            status: None,
            statuses: &[],
            prefix: &prefix,
            args: args.as_ref(),
        };
        let status = node.get("status").and_then(|node| self.type_id(scope, node));
        let statuses = status_names(scope, status, spec);
        let scope = Scope { status, statuses: &statuses, ..scope };
        let types = trees.entries("types").map(|(group, node)| self.ty(scope, group, node)).collect();
        let functions =
            trees.entries("functions").map(|(group, node)| self.function(scope, group, node)).collect();
        let kind = self.kind(scope, node);
        let host_error = node.get("error").and_then(Node::at).and_then(|name| self.used(&uses, &name));
        let error = node.get("error").filter(|node| !node.entries().is_empty());
        let error = error.and_then(|node| self.error_object(scope, node));
        let sdk = node.get("sdk").and_then(|node| self.sdk(scope, node));
        let python = node.get("python").and_then(|node| self.python_package(node));
        let kernels = self.kernel_groups(scope, &trees.kernels, spec.operators.as_ref());
        let nodes = self.node_groups(&trees.nodes, spec.operators.as_ref());
        let header = node.get("header").and_then(|node| self.header(node));
        let header = header.unwrap_or(At { value: String::new(), span: node.span });
        let mut typedef = |node: &Node| Typedef {
            c_name: prose(node, "c"),
            ty: node.get("type").map_or(Ty::Size, |ty| self.resolve(scope, ty)),
            summary: prose(node, "summary"),
        };
        let typedefs: Vec<Vec<Typedef>> = (trees.groups.iter())
            .map(|(_, node)| node.items_of("typedefs").iter().map(&mut typedef).collect())
            .collect();
        let group = |((name, node), typedefs): (&(At<String>, Node), Vec<Typedef>)| Group {
            name: name.value.clone(),
            title: prose(node, "title"),
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
            header: node.get("header").and_then(|node| self.header(node)).unwrap_or_else(|| header.clone()),
            is_apart: flag(node, "apart"),
            typedefs,
            places: Places::of(name.span, node),
        };
        let groups = trees.groups.iter().zip(typedefs).map(group).collect();
        Interface {
            name: trees.name.clone(),
            kind,
            title: prose(node, "title"),
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
            trait_name: prose(node, "trait"),
            header: header.value.clone(),
            status,
            error,
            host_error,
            args,
            unwinds: flag(node, "unwinds"),
            groups,
            types,
            functions,
            prefix,
            weak: text(node, "weak"),
            strategies: node.entries_of("strategies").iter().map(|(name, _)| name.clone()).collect(),
            foreign_names: names(node, "names").map(|name| name.value).collect(),
            sdk,
            python,
            kernels,
            nodes,
            places: Places::of(node.get("interface").map_or(node.span, |name| name.span), node),
            uses,
            releases,
            releases_of,
        }
    }

    /// Checks that an entry has the name of its folder or file.
    fn check_name(&mut self, place: &At<String>, name: Option<At<String>>, kind: &str, message: String) {
        if let Some(name) = name.filter(|name| name.value != place.value) {
            Diagnostic::new(Code::BadName, name.span, message)
                .label(format!("{kind} and name must be the same"))
                .related(place.span, format!("the {kind}"))
                .add_to(self.diagnostics);
        }
    }

    fn uses(&mut self, id: InterfaceId, node: &Node) -> Vec<InterfaceId> {
        let mut uses = Vec::new();
        for name in names(node, "uses") {
            let before = &self.names.interfaces[..id.0];
            if let Some(index) = before.iter().position(|known| *known == name.value) {
                self.types_missing[id.0] |= self.types_missing[index];
                uses.push(InterfaceId(index));
                continue;
            }
            self.types_missing[id.0] = true;
            if !self.names.unread.contains(&name.value) {
                let message = format!("no interface `{}` comes before this one", name.value);
                Diagnostic::new(Code::UnknownInterface, name.span, message)
                    .label("`uses` can only name interfaces that come earlier in `spec.yaml`")
                    .nearest(&name.value, before.iter().map(String::as_str))
                    .add_to(self.diagnostics);
            }
        }
        uses
    }

    /// Resolves the name of an interface in `uses`.
    fn used(&mut self, uses: &[InterfaceId], name: &At<String>) -> Option<InterfaceId> {
        let found = uses.iter().find(|id| self.names.interfaces[id.0] == name.value).copied();
        if found.is_none() && !self.names.unread.contains(&name.value) {
            let message = format!("`{}` is not one of the interfaces in `uses`", name.value);
            let known = uses.iter().map(|id| self.names.interfaces[id.0].as_str());
            Diagnostic::new(Code::UnknownInterface, name.span, message)
                .label("an interface in `uses` is expected")
                .nearest(&name.value, known)
                .add_to(self.diagnostics);
        }
        found
    }

    fn releases(&mut self, node: &Node) -> Vec<Release> {
        let mut releases: Vec<Release> = Vec::new();
        for node in node.items_of("releases") {
            let Some(name) = node.name_of("release") else { continue };
            let Some(number) = version(&name.value) else {
                self.misread_releases.push(name.value.clone());
                Diagnostic::new(Code::WrongValue, name.span, format!("`{}` is not a release", name.value))
                    .label("expected numbers with dots, such as \"3.1\"")
                    .add_to(self.diagnostics);
                continue;
            };
            if let Some(before) =
                releases.iter().find(|before| version(&before.name.value) >= Some(number.clone()))
            {
                let message =
                    format!("release {} does not come after release {}", name.value, before.name.value);
                Diagnostic::new(Code::ReleaseOrder, name.span, message)
                    .label("list the oldest release first")
                    .related(before.name.span, "this release is not older")
                    .add_to(self.diagnostics);
            }
            // Sorted, so that one misplaced release does not cause errors for others.
            let place = releases.partition_point(|before| version(&before.name.value) < Some(number.clone()));
            releases.insert(
                place,
                Release {
                    name,
                    hosts: names(node, "hosts").collect(),
                    note: prose(node, "note"),
                    number: self.number(node, "number"),
                },
            );
        }
        releases
    }

    fn kind(&mut self, scope: Scope, node: &Node) -> InterfaceKind {
        let kind = node.text_of("kind").unwrap_or_default();
        for (section, belongs) in [
            ("table", &["table"][..]),
            ("plugin", &["table"]),
            ("extension", &["table"]),
            ("sdk", &["table"]),
            ("error", &["table", "import", "objects"]),
            ("args", &["table"]),
            ("libraries", &["import"]),
            ("host_table", &["import"]),
            ("weak", &["export", "import"]),
            ("python", &["export"]),
        ] {
            if let Some((key, _)) = node.entries().iter().find(|(key, _)| key.value == section)
                && !belongs.contains(&kind)
                && ["table", "export", "import", "objects"].contains(&kind)
            {
                let message = format!("`{section}` is not allowed for the kind `{kind}`");
                Diagnostic::new(Code::WrongKind, key.span, message)
                    .label(format!("only for `{}`", belongs.join("` and `")))
                    .related_if(node.get("kind").map(|kind| kind.span), "the kind")
                    .add_to(self.diagnostics);
            }
        }
        match (kind, node.get("table")) {
            ("table", Some(table)) => {
                let mut table = self.table(scope, table, node.get("plugin"));
                table.extension = node.get("extension").map(|node| self.extension(scope, node));
                InterfaceKind::Table(Box::new(table))
            }
            ("table", None) => {
                let span = node.get("kind").map_or(node.span, |kind| kind.span);
                Diagnostic::new(Code::MissingKey, span, "an interface of kind `table` needs the key `table`")
                    .label("it lists the slots")
                    .add_to(self.diagnostics);
                InterfaceKind::Export
            }
            ("import", _) => match node.get("host_table") {
                Some(table) => InterfaceKind::HostTable { c_name: prose(table, "struct") },
                None => InterfaceKind::Import {
                    libraries: names(node, "libraries").map(|library| library.value).collect(),
                },
            },
            ("objects", _) => InterfaceKind::Objects,
            _ => InterfaceKind::Export,
        }
    }

    fn error_object(&mut self, scope: Scope, node: &Node) -> Option<ErrorObject> {
        let ty = node.get("type").and_then(|node| self.type_id(scope, node));
        let mut function = |key| node.get(key).and_then(|node| self.function_id(scope, node));
        let (code, message, destroy) = (function("code"), function("message"), function("destroy"));
        Some(ErrorObject {
            ty: ty?,
            code: code?,
            message: message?,
            destroy: destroy?,
            make: function("make"),
        })
    }

    fn sdk(&mut self, scope: Scope, node: &Node) -> Option<Sdk> {
        let manages = node.items_of("manages").iter();
        let manages = manages.filter_map(|name| self.function_id(scope, name)).collect();
        Some(Sdk {
            prefix: prose(node, "prefix"),
            device: self.type_id(scope, node.get("device")?)?,
            manages,
        })
    }

    /// Resolves `since` and `until` of an entry.
    pub(super) fn availability(&mut self, scope: Scope, node: &Node) -> Availability {
        let since = node.get("since").and_then(|node| self.release(scope, node));
        let until = node.get("until").and_then(|node| self.release(scope, node));
        if let (Some(since), Some(until), Some(at)) = (since, until, node.get("until"))
            && until < since
        {
            Diagnostic::new(Code::ReleaseOrder, at.span, "this ends before it begins")
                .label("it ends here")
                .related_if(node.get("since").map(|since| since.span), "it begins here")
                .add_to(self.diagnostics);
        }
        let ends = [
            ("since", since, 0, "the first"),
            ("until", until, scope.releases.len().saturating_sub(1), "the newest"),
        ];
        for (key, release, end, which) in ends {
            if let (Some(_), Some(at)) = (release.filter(|release| release.0 == end), node.get(key))
                && self.diagnostics.trusts(at.span)
            {
                let message = format!("`{key}` names {which} release");
                let diagnostic = Diagnostic::new(Code::AlwaysThere, at.span, message);
                self.report(diagnostic.label("leave this out"));
            }
        }
        Availability { since, until }
    }

    fn release(&mut self, scope: Scope, node: &Node) -> Option<ReleaseId> {
        let name = node.text()?;
        let found = scope.releases.iter().position(|release| release.name.value == name);
        if found.is_none() && self.misread_releases.iter().any(|misread| misread == name) {
            self.diagnostics.distrust(node.span);
        } else if found.is_none() {
            let diagnostic =
                Diagnostic::new(Code::UnknownRelease, node.span, format!("there is no release {name}"))
                    .label("not in the list of releases");
            let known: Vec<String> =
                scope.releases.iter().map(|release| format!("`{}`", release.name.value)).collect();
            self.report(if known.is_empty() {
                diagnostic.help("this interface has no `releases`; list them in `interface.yaml`")
            } else {
                diagnostic.help(format!("expected one of {}", known.join(", ")))
            });
        }
        found.map(ReleaseId)
    }
}

/// Returns the names of the values of a status, which may be of this interface or of an earlier one.
fn status_names(scope: Scope, status: Option<TypeId>, spec: &Spec) -> Vec<String> {
    match status {
        Some(status) if status.interface == scope.id => {
            let node = scope.trees.entries("types").nth(status.index);
            node.map_or(&[][..], |(_, node)| node.items_of("values"))
                .iter()
                .map(|value| prose(value, "name"))
                .collect()
        }
        Some(status) => spec.ty(status).enum_values().iter().map(|value| value.name.value.clone()).collect(),
        None => Vec::new(),
    }
}

/// Parses the numbers of a version, for comparison.
pub(super) fn version(text: &str) -> Option<Vec<u64>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

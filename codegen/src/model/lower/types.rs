//! Types: resolves their names, and lowers their descriptions.

use super::{Lowerer, Namespace, Scope, flag, name, parts, prose, text};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    ComputeKind, EnumForm, EnumValue, GroupId, HandleForm, InterfaceId, Meaning, Object, ObjectTable, Places,
    Representation, Ty, Type, TypeId, TypeKind,
};
use crate::source::At;
use crate::yaml::Node;

impl Lowerer<'_> {
    /// Resolves the name of a type.
    pub(super) fn resolve(&mut self, scope: Scope, node: &Node) -> Ty {
        let Some(name) = node.text() else { return Ty::Size };
        match Ty::primitive(name) {
            Some(ty) => ty,
            // Returns some type instead of the unknown one, so that the rest of the entry is still checked.
            None => self.type_id(scope, node).map_or(Ty::Size, Ty::Named),
        }
    }

    pub(super) fn type_id(&mut self, scope: Scope, node: &Node) -> Option<TypeId> {
        let name = node.text()?;
        let reach: Vec<InterfaceId> = std::iter::once(scope.id).chain(scope.uses.iter().copied()).collect();
        let found = reach.iter().find_map(|interface| {
            let index = *self.names.types[interface.0].get(name)?;
            Some(TypeId { interface: *interface, index })
        });
        if let Some(found) = found {
            self.references.found(Namespace::Types(found.interface), name);
            return Some(found);
        }
        let diagnostic = Diagnostic::new(Code::UnknownType, node.span, format!("there is no type `{name}`"));
        if let Some(word) = self.names.word_for_c(name, &reach) {
            self.report(diagnostic.label(format!("in a spec, write {word}")));
        } else if self.types_missing[scope.id.0] {
            self.diagnostics.distrust(node.span);
        } else {
            let known: Vec<&str> = reach
                .iter()
                .flat_map(|interface| self.names.types[interface.0].keys().map(String::as_str))
                .chain(Ty::PRIMITIVES.iter().map(|(name, _)| *name))
                .collect();
            let diagnostic =
                diagnostic.label("neither a primitive nor a type of this spec").nearest(name, known);
            let name = At { value: name.to_owned(), span: node.span };
            let spaces = reach.into_iter().map(Namespace::Types).collect();
            self.references.missed(name, spaces, diagnostic);
        }
        None
    }

    pub(super) fn ty(&mut self, scope: Scope, group: GroupId, node: &Node) -> Type {
        Type {
            name: name(node),
            c_name: prose(node, "c"),
            kind: self.type_kind(scope, node),
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
            compute: node.text_of("compute").and_then(ComputeKind::of),
            availability: self.availability(scope, node),
            group,
            is_refused: false,
            places: Places::of(name(node).span, node),
        }
    }

    fn type_kind(&mut self, scope: Scope, node: &Node) -> TypeKind {
        let kind = node.text_of("kind").unwrap_or_default();
        self.check_sections(node, kind);
        let tag = || text(node, "tag").or_else(|| text(node, "c")).unwrap_or_default();
        match kind {
            "id" => {
                let field = node.get("field");
                TypeKind::Id {
                    tag: tag(),
                    field: field.and_then(|field| text(field, "name")).unwrap_or_default(),
                    ty: field
                        .and_then(|field| field.get("type"))
                        .map_or(Ty::Size, |ty| self.resolve(scope, ty)),
                }
            }
            "enum" => {
                let values: Vec<EnumValue> =
                    node.items_of("values").iter().map(|node| self.enum_value(scope, node)).collect();
                TypeKind::Enum {
                    flags: flag(node, "flags"),
                    form: match node.text_of("as") {
                        Some("int") => EnumForm::Int,
                        Some("macros") => EnumForm::Macros,
                        _ => EnumForm::Named,
                    },
                    representation: Representation::of(&values),
                    values,
                }
            }
            "struct" => TypeKind::Struct {
                anonymous: flag(node, "anonymous"),
                is_union: flag(node, "union"),
                is_unnamed: flag(node, "unnamed"),
                fields: self.params(scope, None, node.entries_of("fields").iter()),
            },
            "callback" => TypeKind::Callback {
                params: self.params(scope, None, node.entries_of("params").iter()),
                result: node
                    .get("result")
                    .filter(|result| !result.entries().is_empty())
                    .map(|result| Box::new(self.result(scope, result))),
                once: flag(node, "once"),
            },
            _ => TypeKind::Handle {
                form: match (node.get("by"), node.get("tag")) {
                    _ if kind == "object" => HandleForm::Pointee(tag()),
                    (Some(_), _) => HandleForm::Pointee(tag()),
                    (None, Some(_)) => HandleForm::Tagged(tag()),
                    (None, None) => HandleForm::Void,
                },
                is_const: kind != "object" && node.get("const").and_then(Node::bool) != Some(false),
                const_name: text(node, "c_const"),
                null: text(node, "null"),
                orders: flag(node, "orders"),
                object: (kind == "object").then(|| Box::new(self.object(scope, node))),
            },
        }
    }

    fn object(&mut self, scope: Scope, node: &Node) -> Object {
        Object {
            head: self.params(scope, None, node.entries_of("head").iter()),
            tail: self.params(scope, None, node.entries_of("tail").iter()),
            is_by_hand: flag(node, "by_hand"),
            inner: node.get("functions").and_then(|node| {
                Some(ObjectTable { c_name: text(node, "struct")?, member: text(node, "member")? })
            }),
        }
    }

    /// Checks that a type has only the keys of its kind.
    fn check_sections(&mut self, node: &Node, kind: &str) {
        let sections: [(&str, &[&str]); 20] = [
            ("tag", &["handle", "id"]),
            ("head", &["object"]),
            ("tail", &["object"]),
            ("functions", &["object"]),
            ("by_hand", &["object"]),
            ("by", &["handle"]),
            ("const", &["handle"]),
            ("c_const", &["handle"]),
            ("null", &["handle", "object"]),
            ("orders", &["handle"]),
            ("field", &["id"]),
            ("flags", &["enum"]),
            ("as", &["enum"]),
            ("values", &["enum"]),
            ("anonymous", &["struct"]),
            ("unnamed", &["struct"]),
            ("union", &["struct"]),
            ("fields", &["struct"]),
            ("params", &["callback"]),
            ("once", &["callback"]),
        ];
        for (section, kinds) in sections {
            let given = node.entries().iter().find(|(key, _)| key.value == section);
            let belongs = kinds.contains(&kind);
            if let Some((key, _)) = given
                && !belongs
                && ["handle", "object", "id", "enum", "struct", "callback"].contains(&kind)
            {
                let message = format!("a type of kind `{kind}` cannot have the key `{section}`");
                Diagnostic::new(Code::UnknownKey, key.span, message)
                    .label(format!("only allowed for `{}`", kinds.join("` and `")))
                    .related_if(node.get("kind").map(|kind| kind.span), "the kind")
                    .add_to(self.diagnostics);
            }
            let needed = matches!(section, "field" | "values" | "fields") && belongs;
            if needed && given.is_none() {
                let message = format!("a type of kind `{kind}` needs the key `{section}`");
                Diagnostic::new(Code::MissingKey, name(node).span, message)
                    .label("it is missing here")
                    .related_if(node.get("kind").map(|kind| kind.span), "the kind")
                    .add_to(self.diagnostics);
            }
        }
    }

    fn enum_value(&mut self, scope: Scope, node: &Node) -> EnumValue {
        EnumValue {
            name: name(node),
            c_name: prose(node, "c"),
            value: node.get("value").and_then(Node::integer).unwrap_or_default(),
            summary: parts(node.get("summary"), false),
            alias: flag(node, "alias"),
            means: match node.text_of("means") {
                Some("invalid_argument") => Some(Meaning::InvalidArgument),
                Some("unsupported") => Some(Meaning::Unsupported),
                Some("internal") => Some(Meaning::Internal),
                _ => None,
            },
            availability: self.availability(scope, node),
            places: Places::of(name(node).span, node),
        }
    }
}

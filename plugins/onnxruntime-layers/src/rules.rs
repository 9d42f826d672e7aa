//! The rules for providers. Numbers are never reused, and `docs/src/guide/provider-rules.md` explains them.

use std::fmt;

macro_rules! rules {
    ($($variant:ident = $number:literal, $title:literal;)*) => {
        /// A rule for providers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub(crate) enum Rule {
            $(#[doc = $title] $variant = $number,)*
        }

        impl Rule {
            /// All rules, in the order of their numbers.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the rule in a sentence.
            pub(crate) fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

rules! {
    Version = 1, "an object states the release whose functions it has, which is not newer than that of the host";
    MissingFunction = 2, "an object has the functions that the host calls without a look at them";
    NoObject = 3, "a function that makes an object and succeeds returns one";
    OtherName = 4, "a provider has the name of its factory";
    ReadOnly = 5, "an object is in memory that can be written";
    Released = 10, "an object is not used after its release";
    Left = 11, "objects are released before their factory";
    ForeignMemory = 20, "memory is freed by the allocator that gave it";
    FreedTwice = 21, "memory is freed once";
    MemoryLeft = 22, "memory is freed before its allocator is released";
    Beside = 23, "nothing writes before or behind memory";
    GivenTwice = 24, "an allocator does not give memory that is in use";
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "P{:03}", *self as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_each_rule() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/guide/provider-rules.md");
        let page = std::fs::read_to_string(path).unwrap();
        let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, Rule::ALL.iter().map(ToString::to_string).collect::<Vec<_>>());
        for rule in Rule::ALL {
            let title = rule.title();
            let sentence = format!("{}{}.", title[..1].to_uppercase(), &title[1..]);
            assert!(page.contains(&sentence), "{rule}: {sentence}");
        }
    }
}

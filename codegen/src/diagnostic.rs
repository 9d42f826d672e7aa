//! Mistakes in a spec: the catalogue of rules, and how a mistake is shown.

use std::fmt::Write as _;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::json;

use crate::source::{FileId, Sources, Span};

macro_rules! catalogue {
    ($($variant:ident = $number:literal, $title:literal, $help:literal;)*) => {
        /// The rules that a spec has to keep. Numbers are never given again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Code {
            $(#[doc = $title] $variant = $number,)*
        }

        impl Code {
            /// Every rule, in the order of the numbers.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The rule in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }

            /// Returns the reason for the rule, and a way to satisfy it.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $help,)* }
            }
        }
    };
}

catalogue! {
    Yaml = 1, "a file is YAML",
        "The parser's own reason is given. A frequent cause is a value with `: ` or ` #` in it that is not in quotes.";
    MissingFile = 2, "a named file exists",
        "`spec.yaml` names interfaces and `interface.yaml` names groups; each is a folder or a file beside it.";
    UnknownKey = 3, "a key is one of the language",
        "Keys are checked, so that a misspelled one is not silently without effect.";
    MissingKey = 4, "a needed key is given",
        "The entry means nothing without it.";
    WrongValue = 5, "a value is of the kind that its key takes",
        "Releases are text and need quotes: `3.10` without them is the number 3.1.";
    UnknownWord = 6, "a word is one of those that its key takes",
        "Keys such as `kind`, `dir` and `space` take one of a few words.";
    BadName = 7, "a name is spelled as its kind of thing is",
        "Functions, parameters and values are snake_case, types PascalCase; the ABI's own spelling goes into `c`.";
    DuplicateName = 8, "a name is given once",
        "Functions, types, parameters, values and C symbols each share one space of names in an interface.";
    UnknownType = 9, "a type is a primitive or is described",
        "Types of another interface are in reach once `uses` names it.";
    UnknownFunction = 10, "a function that is named is described",
        "Slots, fallbacks and counts refer to functions by their name in the spec, not by their C name.";
    UnknownParameter = 11, "a parameter that is named is one of the function",
        "Lengths, owners and the arguments of a fallback refer to parameters by name.";
    UnknownRelease = 12, "a release that is named is one of the interface",
        "`since` and `until` take releases from the list in `interface.yaml`.";
    ReleaseOrder = 13, "releases run forwards",
        "The list is oldest first, and nothing ends before it begins.";
    UnknownInterface = 14, "an interface that is named is part of the spec",
        "`uses` takes interfaces that stand before this one in `spec.yaml`; `rust` and `rust_exports` in `outputs` take any of them.";
    Direction = 15, "a direction fits the type",
        "Only what is passed by pointer can be written: an `out` handle is created, an `out` callback means nothing.";
    SpaceWithoutPointer = 16, "only a pointer has a memory space",
        "A `space` says which memory a `pointer` points to.";
    LengthType = 17, "a length is a whole number",
        "`bytes` and `count` name an input parameter of type `size` or a whole number.";
    LengthMisplaced = 18, "a length stands where memory is pointed to",
        "`bytes` goes with `pointer`, `string` and `char`; `count` makes an array of anything.";
    RequiredWithFallback = 19, "a required function has no fallback",
        "A host refuses a plugin without it, so that its fallback would never run: make it optional, or drop the fallback.";
    FallbackCycle = 20, "fallbacks do not go in circles",
        "Each of the functions would wait for another of them to be there.";
    FallbackNeedsAbsent = 21, "a fallback needs only what is there",
        "It may call required functions, and optional ones that have a fallback themselves.";
    FallbackTypes = 22, "the arguments of a fallback fit the parameters",
        "An argument is of the same type, and points to the same kind of memory, as the parameter it is given for.";
    FallbackIncomplete = 23, "a fallback says everything",
        "It has one form, gives each argument that the called function takes, and yields each result that the function has.";
    FallbackNewer = 24, "a fallback calls nothing that is younger than itself",
        "In the releases before, the called function would not be there.";
    FillRequired = 25, "only an optional function with a fallback is filled",
        "`fill: always` puts the fallback into the table; without one there is nothing to put there.";
    SlotTaken = 26, "a slot has one owner in each release",
        "`one_of` is for functions whose releases do not overlap.";
    SlotTwice = 27, "a function has one slot",
        "A function that stands in two slots would be called through both.";
    NoSlot = 28, "each function of a table has a slot",
        "The order of the slots is the ABI; it is written in `interface.yaml`.";
    ReserveSpent = 29, "a reserve is not overdrawn",
        "More functions took their slot out of the reserve than it had.";
    BadStatus = 30, "a status is one of the status type",
        "`returns`, `status_as_bool` and `refuse` name values of the interface's `status` enum.";
    BadField = 31, "a field that is named is one of the struct",
        "The hand-over names fields of the params struct.";
    WrongKind = 32, "a section fits the kind of interface",
        "`table` and `plugin` belong to tables, `libraries` to imports, `weak` to exports and imports.";
    DuplicateValue = 33, "a value of an enum is given once",
        "Two names for one number need `alias: true` on the later one.";
    Owner = 34, "an owner is a handle or an id, and is named",
        "`of` and `held` name the parameter that owns this one or in whose order the memory is used. Memory of a device and what is made for a device name the device.";
    CallbackContext = 35, "a context goes with a callback",
        "`context_of` stands on a `pointer` and names a callback parameter.";
    Absent = 36, "a parameter that some releases lack has a value for them",
        "`absent` says what an implementation gets from a host that does not pass the parameter, so it goes with `since` or `until` and is of the same type.";
    UnsoundNull = 37, "the spec says what hosts do with a null pointer",
        "Each optional function of a table has `when_null`, and so have `required: use` and `fill: always`. Functions of an extension, which hosts do not call, need none.";
    StrayFile = 38, "each file in the spec is named",
        "A group file that `groups` does not name, or that does not end in `.yaml`, is read by nobody.";
    QuestionStatus = 39, "a question is answered by the status",
        "`status_as_bool` is for functions whose result is the status and that have no out-parameter.";
    StatusParameter = 40, "a status parameter is an `out` of the status type",
        "`status: true` marks the one parameter through which an import reports.";
    ContainsItself = 41, "a type does not contain itself",
        "A struct that is a member of itself has no size, and C cannot declare a callback that takes itself.";
    LifeMisplaced = 42, "only a handle or memory is created and destroyed",
        "`role: creates` and `role: destroys` begin and end a life; numbers, enums, ids and callbacks have none.";
    NoSuccess = 43, "a status type has a value 0",
        "0 is success in every ABI here, and generated code tests for it.";
    Keyword = 44, "a symbol is no keyword",
        "The C header is read by C and by C++, so neither may keep the word for itself.";
    NullByValue = 45, "only what is passed by pointer can be null",
        "`nullable` goes with pointers, strings, handles, callbacks, arrays and what a function writes.";
    OwnRule = 46, "a fallback that is not the host's says why",
        "`rule: host` marks the host's own rule; a rule of ours needs `why`.";
    NewerType = 47, "a type is there as long as what uses it",
        "In the releases without the type there is no way to declare what uses it.";
    SdkMisfit = 48, "what the SDK offers, it can hand on",
        "The SDK puts its own handles and statuses in the place of devices and statuses, looks them up, and carries a callback for exactly one call.";
    PythonPlace = 49, "a Python function has a place",
        "It is in the package that `python` in `interface.yaml` names, or in one of its modules.";
    PythonParameters = 50, "a Python function takes and returns the parameters of the C function",
        "What C reads is an argument, what it writes is returned, and the length of a list goes without saying.";
    PythonForm = 51, "what a Python function takes and returns has a form in Python",
        "Numbers, texts, lists and dicts have one; a callback needs `by_hand: true`.";
    HeaderCycle = 52, "headers do not include each other",
        "The interface's header includes the others, and each of those includes what its types come from.";
    HandleLife = 53, "a handle that is created is destroyed, and the reverse",
        "Some function with `role: creates` and some function with `role: destroys` take each handle type that has a life. A handle on loan has no role.";
    LifeDiffers = 54, "what is destroyed is what was created",
        "`role: destroys` has the `space` and the owner (`of`) of a `role: creates` of the same type, so that each piece goes back to where it came from. A destroyer of `device` or `host` memory may take `unified` memory too, but not only that.";
    NoFallback = 55, "an optional function of a table has a fallback, or says why not",
        "Callers other than the host call it too. `fallback: { refuse: … }` answers with a status, `no_fallback` says why there is none.";
    RefusedPlugin = 56, "a host that refuses a plugin says nothing else",
        "`required: load` says that hosts refuse a plugin without the function, so that `when_null` has nothing to add.";
    BlockingOrder = 57, "a function waits or queues",
        "`blocking` says that the work is done when the call returns, `stream_ordered` that it may be done later.";
    HeldOrder = 58, "memory of a stream-ordered function is held by the stream",
        "Queued work reads and writes after the call, so memory has `held` with the stream of `stream_ordered`, or `held: false` where the call is done with it.";
    FallbackOrder = 59, "a fallback of a stream-ordered function waits for its stream first",
        "A step before the first that touches the memory is a `blocking` function that takes the stream, or all devices that the stream may belong to.";
    FallbackOwner = 60, "the arguments of a call belong together",
        "Where the called function takes a stream or memory `of` a device, the argument is `of` what is given as that device.";
    NoAnswer = 61, "a function that asks yields something",
        "`get` and `query` in a name promise a result, an `out` parameter or a `status_as_bool`.";
    HandleName = 62, "a parameter with the name of a handle has its type",
        "A `stream` that is an `Event` is a slip, or wants another name.";
    NoStream = 63, "work runs in the order of a stream",
        "`stream_ordered` and `held` name a handle whose type says `orders: true`.";
    InvertedQuestion = 64, "success does not mean no",
        "A status 0 that means `no` would make generated code take the answer for its opposite.";
    MissingDoc = 65, "each parameter has a doc, and no doc is left to do",
        "The docs of parameters are all that callers of generated bindings see of a function. `TODO` and `FIXME` are notes, not docs.";
    UnknownName = 66, "a name in a doc exists",
        "An identifier in code marks is something of the spec, of C, or in `names` of `interface.yaml`; parameters are those of the entry itself.";
    UnknownStrategy = 67, "a strategy is listed",
        "`strategies` in `interface.yaml` lists what is written by hand, so that a misspelled one is found before a compiler sees it.";
    TooLarge = 68, "sizes are bounded",
        "A fixed array has at most 65536 elements and a reserve at most 1024 slots; more is a slip, and generated code would be as long.";
    HostElsewhere = 69, "a host version belongs to one release",
        "Each of `hosts` is listed once, under the release whose number it begins with.";
    OutputPlace = 70, "an output lies inside the output root",
        "Paths in `outputs` are relative to `--out`, and names of headers to the folder of headers; neither leads out of it.";
    OutputOverlap = 71, "a folder of pages, schemas or Rust holds no other outputs",
        "`reference`, `schema` and `rust` each have a folder of their own.";
    OutputTwice = 72, "each output has a path of its own",
        "Letters count the same in both cases: some file systems do not tell `Kit.h` from `kit.h`.";
    OutputIsRead = 73, "an output overwrites nothing that the generator reads",
        "Files of the spec, the template of the table of contents and the crate of the exports are written by hand.";
    ManifestFolder = 74, "no output lies in `.codegen`",
        "The generator keeps there which files it wrote.";
    RustName = 75, "a name is free in the generated Rust",
        "The module of an interface has types such as `Error`, `Function` and `Release` of its own, and variables of the generated code begin with `__`. Names in a spec are for Rust, Python and the docs; C has its own in `c`.";
    RustNameTwice = 76, "what has two names in the spec has two names in Rust",
        "Functions are also variants of an enum, and structs of what they yield, under their names in PascalCase.";
    StandardName = 77, "a symbol is none of C's standard headers",
        "The generated headers include `stdbool.h`, `stddef.h` and `stdint.h`, which declare it already.";
    UnusedSize = 78, "a size is the length of a pointer",
        "Where a function takes a pointer without a length and a size that is no parameter's length, `bytes` of the pointer is missing.";
    HandleConst = 80, "a handle says in its own way where an object may only be read",
        "A handle by pointer has `const: false` where the ABI has no `const`; a handle with a tag has a second name, `c_const`.";
    TableField = 81, "a data member of a table is a value, and there in every release",
        "Its place and its size are the same for every host; numbers, enums, handles, texts, structs and arrays of fixed length are.";
    OwnedTable = 82, "a table that the plugin owns needs no params, and grows at its end",
        "A host finds out from its size which functions an older plugin has, so that none of them may move.";
    ErrorObject = 83, "an error object has a code, a text and an end",
        "`code` returns the status of the one handle that it takes, `message` a `string`, and `destroy` nothing.";
    ArgsStruct = 84, "a struct of arguments grows at its end",
        "Callers and callees of different releases tell from its size which members there are, so that none goes or comes in between.";
    Lent = 85, "a list that is lent has an owner and a length",
        "`lent` stands on an `out` array of handles, whose `count` is an `out` `size`.";
    SummaryForm = 86, "a summary does not begin with \"To\"",
        "It begins with a verb in the third person (`Copies memory`) for a function, and with a noun for everything else.";
    HostOfExtension = 87, "hosts know nothing of an extension",
        "Its functions are optional, in every release of the host, and never called by one.";
    FormulaSyntax = 88, "a formula is an expression",
        "Formulas are written as in Python: `+ - * /`, comparisons, `and`, `or`, `not`, `a if c else b`, and calls of functions.";
    FormulaName = 89, "a name in a formula is known",
        "Formulas use inputs, attributes and the parts in `where` before them; gradients also the output `out` and its gradient `dout`.";
    NotUtf8 = 90, "a file is UTF-8 text",
        "YAML is read as UTF-8; `iconv` and editors convert Latin-1 and UTF-16. A byte order mark at the start is allowed.";
    MergeMarker = 91, "no merge is left unfinished",
        "Lines that begin with `<<<<<<<`, `=======` or `>>>>>>>` are left by a merge: keep one side and remove the markers.";
    Invisible = 92, "every character can be seen",
        "No-break spaces, zero-width characters and bidirectional controls look like something else, or like nothing.";
    OperatorForm = 93, "an operator is complete",
        "An elementwise operator has one output; gradients and domains name its inputs.";
    UnknownOperator = 94, "a kernel computes an operator of the spec",
        "`op` names an entry of the folder that `operators` in `spec.yaml` names.";
    KernelForm = 95, "a kernel gets what its operator needs",
        "Inputs, attributes and outputs of a kernel name those of the operator. A formula that needs more cannot be computed.";
    FormulaType = 96, "a value in a formula has the type that its place takes",
        "There are numbers and truth values, which do not turn into each other. Where integers are among the `types`, there are no fractions.";
    RoleOfName = 97, "a function that creates or destroys by name has the role",
        "`create`, `destroy` and `delete` in a name go with `role: creates` or `role: destroys` on a parameter or result. `role: uses` says that the call does neither.";
    UnnamedUnion = 98, "a union without a name is a member of a struct",
        "`unnamed: true` is for a union that C declares in place, so that its members are used as those of the struct. Nothing else can name it.";
    ComputeSyntax = 99, "a step of a computation is a call with targets",
        "A step is written as `out = relu(input)`: tensors that it writes, and a call of an operator, of the gradient of one, or of a function by its path. Attributes have a name: `axis=dim`.";
    ComputeName = 100, "names in a step exist",
        "A step uses the parameters of its function, the results of earlier steps, and the operators of the spec with their gradients.";
    ComputeForm = 101, "a step gives an operator what it needs",
        "An operator gets its inputs in their order and its attributes by name. Tensors that are not `const` are written, and a call inside of another one must know the shape of its result, as formulas do.";
}

impl std::fmt::Display for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "E{:03}", *self as u16)
    }
}

/// A mistake, where it is, and what would be right.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule that is broken.
    pub code: Code,
    /// The error, in one sentence without a full stop.
    pub message: String,
    /// The location.
    pub span: Span,
    /// The label beside the caret.
    pub label: String,
    /// Other places that have to do with it.
    pub related: Vec<(Span, String)>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A mistake without a label.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Adds it to others.
    pub fn add_to(self, diagnostics: &mut Diagnostics) {
        diagnostics.push(self);
    }

    /// Text beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Adds the place of a key, if it was written.
    pub fn related_if(self, span: Option<Span>, label: impl Into<String>) -> Self {
        match span {
            Some(span) => self.related(span, label),
            None => self,
        }
    }

    /// A line on what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names the nearest of `candidates` beside the caret, or lists them where none is near and they are few.
    pub fn nearest<'a>(self, name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        let candidates: Vec<&str> = candidates.into_iter().collect();
        match nearest(name, candidates.iter().copied()) {
            Some(near) => self.label(format!("did you mean `{near}`?")),
            None if !candidates.is_empty() && candidates.len() <= 12 => {
                let list = candidates.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
                self.help(format!("expected one of {}", list.join(", ")))
            }
            None => self,
        }
    }
}

/// The candidate that is most similar to `name`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        // A name of one letter is near to every other one.
        .filter(|(distance, _)| *distance <= allowed && *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Mistakes, collected.
#[derive(Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    /// Places that mean nothing because of a mistake elsewhere: an error there would only repeat it.
    unsound: Vec<Span>,
}

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.unsound.push(diagnostic.span);
        self.found.push(diagnostic);
    }

    /// Marks a place that does not resolve because of a mistake that is reported elsewhere.
    pub fn distrust(&mut self, span: Span) {
        self.unsound.push(span);
    }

    /// Returns true if everything within a place resolved.
    pub fn trusts(&self, place: Span) -> bool {
        !self
            .unsound
            .iter()
            .any(|span| span.file == place.file && place.start <= span.start && span.end <= place.end)
    }

    /// Adds those of another collection.
    pub fn extend(&mut self, other: Diagnostics) {
        self.found.extend(other.found);
        self.unsound.extend(other.unsound);
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them, by file and place.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        let mut found = self.found;
        found.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
        found.dedup_by(|a, b| a.span == b.span && a.message == b.message);
        found
    }
}

/// Mistakes as a compiler would show them; colours for terminals.
pub fn render(sources: &Sources, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let here = diagnostic.span.file;
        let mut snippet = snippet(sources, here).annotation(
            AnnotationKind::Primary
                .span(diagnostic.span.start..diagnostic.span.end)
                .label(diagnostic.label.as_str()),
        );
        let mut elsewhere: Vec<FileId> = Vec::new();
        for (span, _) in &diagnostic.related {
            if span.file != here && !elsewhere.contains(&span.file) {
                elsewhere.push(span.file);
            }
        }
        snippet = annotated(snippet, here, diagnostic);
        let mut group: Group<'_> = Level::ERROR
            .primary_title(diagnostic.message.as_str())
            .id(diagnostic.code.to_string())
            .element(snippet);
        for file in elsewhere {
            group = group.element(annotated(self::snippet(sources, file), file, diagnostic));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let _ = writeln!(out, "{}\n", renderer.render(&[group]));
    }
    out
}

type Annotated<'a> = Snippet<'a, Annotation<'a>>;

fn snippet(sources: &Sources, file: FileId) -> Annotated<'_> {
    let file = sources.file(file);
    Snippet::source(file.text.as_str()).path(file.path.to_string_lossy().into_owned())
}

/// The related places of a diagnostic that are in `file`.
fn annotated<'a>(snippet: Annotated<'a>, file: FileId, diagnostic: &'a Diagnostic) -> Annotated<'a> {
    let here = diagnostic.related.iter().filter(|(span, _)| span.file == file);
    snippet.annotations(
        here.map(|(span, label)| AnnotationKind::Context.span(span.start..span.end).label(label.as_str())),
    )
}

/// Mistakes as a JSON array, for editors: lines and columns are counted from 1.
pub fn to_json(sources: &Sources, diagnostics: &[Diagnostic]) -> serde_json::Value {
    let place = |span: &Span| {
        let file = sources.file(span.file);
        let (line, column) = file.position(span.start);
        let (end_line, end_column) = file.position(span.end);
        json!({
            "file": file.path.to_string_lossy(),
            "line": line, "column": column, "end_line": end_line, "end_column": end_column,
        })
    };
    diagnostics
        .iter()
        .map(|diagnostic| {
            let mut object = place(&diagnostic.span);
            object["code"] = json!(diagnostic.code.to_string());
            object["severity"] = json!("error");
            object["message"] = json!(diagnostic.message);
            object["label"] = json!(diagnostic.label);
            object["help"] = json!(diagnostic.help);
            let related = diagnostic.related.iter().map(|(span, label)| {
                let mut related = place(span);
                related["label"] = json!(label);
                related
            });
            object["related"] = related.collect();
            object
        })
        .collect()
}

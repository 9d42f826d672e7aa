//! The catalogue of rules for specs.

macro_rules! catalogue {
    ($($variant:ident = $number:literal, $title:literal, $help:literal;)*) => {
        /// A rule for specs. The number of a removed rule is not used again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Code {
            $(#[doc = $title] $variant = $number,)*
        }

        impl Code {
            /// All rules, in the order of their numbers.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// Returns the rule in a few words.
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
    Yaml = 1, "a file is valid YAML",
        "The message contains the parser's reason. A frequent cause is a value with `: ` or ` #` that is not in quotes.";
    MissingFile = 2, "a named file exists",
        "`spec.yaml` names interfaces, and `interface.yaml` names groups. Each is a folder or a file beside it.";
    UnknownKey = 3, "a key is part of the language",
        "An unknown key is an error, because a misspelled key would have no effect.";
    MissingKey = 4, "a required key is present",
        "The entry is incomplete without it.";
    WrongValue = 5, "a value has the type of its key",
        "Releases are text and need quotes: `3.10` without quotes is the number 3.1.";
    UnknownWord = 6, "a word is one of those that its key accepts",
        "Keys such as `kind`, `dir` and `space` accept one of a few words.";
    BadName = 7, "a name has the spelling of its kind",
        "Functions, parameters and values are snake_case, types PascalCase. The spelling of the ABI belongs in `c`.";
    DuplicateName = 8, "a name is unique",
        "Functions, types, parameters, values and C symbols each have one namespace per interface.";
    UnknownType = 9, "a type is a primitive or is declared",
        "Types of another interface are available if `uses` names that interface.";
    UnknownFunction = 10, "a referenced function is declared",
        "Slots, fallbacks and counts refer to functions by their name in the spec, not by their C name.";
    UnknownParameter = 11, "a referenced parameter belongs to the function",
        "Lengths, owners and the arguments of a fallback refer to parameters by name.";
    UnknownRelease = 12, "a referenced release is listed",
        "`since` and `until` accept releases from the list in `interface.yaml`.";
    ReleaseOrder = 13, "releases are in ascending order",
        "The list begins with the oldest release, and `until` is not older than `since`.";
    UnknownInterface = 14, "a referenced interface is part of the spec",
        "`uses` accepts interfaces that come before this one in `spec.yaml`; `rust` and `rust_exports` in `outputs` accept all interfaces.";
    Direction = 15, "a direction fits the type",
        "Only values passed by pointer can be written. An `out` handle is created by the call; an `out` callback is not possible.";
    SpaceWithoutPointer = 16, "only a pointer has a memory space",
        "`space` states the memory that a `pointer` points to.";
    LengthType = 17, "a length is an integer",
        "`bytes` and `count` name an input parameter of type `size` or of an integer type.";
    LengthMisplaced = 18, "a length belongs to a type with a length",
        "`bytes` is for `pointer`, `string` and `char`; `count` makes an array of any type.";
    RequiredWithFallback = 19, "a required function has no fallback",
        "Hosts refuse a plugin without the function, so its fallback would never run. Make the function optional, or remove the fallback.";
    FallbackCycle = 20, "fallbacks do not form a cycle",
        "Each function in the cycle would need another one to be present.";
    FallbackNeedsAbsent = 21, "a fallback calls only functions that are always available",
        "These are required functions, and optional functions that have a fallback themselves.";
    FallbackTypes = 22, "the arguments of a fallback fit the parameters",
        "An argument has the same type as the parameter, and points to the same kind of memory.";
    FallbackIncomplete = 23, "a fallback is complete",
        "It has one form, an argument for each parameter of the called function, and a value for each result.";
    FallbackNewer = 24, "a fallback calls only functions that are as old as itself",
        "In earlier releases the called function does not exist.";
    FillRequired = 25, "only an optional function with a fallback is filled",
        "`fill: always` writes the fallback to the table, so there must be one.";
    SlotTaken = 26, "a slot has one function in each release",
        "`one_of` is for functions whose releases do not overlap.";
    SlotTwice = 27, "a function has one slot",
        "A function with two slots would be called through both.";
    NoSlot = 28, "each function of a table has a slot",
        "The order of the slots is the ABI; `interface.yaml` states it.";
    ReserveSpent = 29, "a reserve has enough slots",
        "More functions use slots of the reserve than it has.";
    BadStatus = 30, "a status is a value of the status type",
        "`returns`, `status_as_bool` and `refuse` name values of the interface's `status` enum.";
    BadField = 31, "a referenced field belongs to the struct",
        "The keys of the hand-over name fields of the params struct.";
    WrongKind = 32, "a section fits the kind of interface",
        "`table` and `plugin` are for tables, `libraries` is for imports, `weak` is for exports and imports.";
    DuplicateValue = 33, "each value of an enum is unique",
        "If two names have the same number, the later one needs `alias: true`.";
    Owner = 34, "an owner is a handle or an id, and is named",
        "`of` and `held` name the parameter that owns this one, or in whose order the memory is used. Device memory and objects that belong to a device name the device.";
    CallbackContext = 35, "a context belongs to a callback",
        "`context_of` is for a `pointer`, and names a callback parameter.";
    Absent = 36, "a parameter that some releases lack has a value for them",
        "`absent` is the value for hosts that do not pass the parameter. It needs `since` or `until`, and has the type of the parameter.";
    UnsoundNull = 37, "the spec states the behaviour of hosts at a null pointer",
        "Each optional function of a table has `when_null`, and so does each function with `required: use` or `fill: always`. Functions of an extension need none, because hosts do not call them.";
    StrayFile = 38, "each file in the spec is used",
        "The generator does not read a file that `groups` does not name, or that does not end in `.yaml`.";
    QuestionStatus = 39, "the status is the result of a question",
        "`status_as_bool` is for functions whose result is the status and that have no out-parameter.";
    StatusParameter = 40, "a status parameter is an `out` of the status type",
        "`status: true` marks the one parameter through which an import reports its status.";
    ContainsItself = 41, "a type does not contain itself",
        "A struct that contains itself has no size, and C cannot declare a callback that takes itself.";
    LifeMisplaced = 42, "only a handle or memory is created and destroyed",
        "`role: creates` and `role: destroys` do not apply to numbers, enums, ids and callbacks.";
    NoSuccess = 43, "a status type has a value 0",
        "0 means success in every supported ABI, and generated code tests for it.";
    Keyword = 44, "a symbol is not a keyword",
        "C and C++ both compile the header, so a keyword of either language cannot be a symbol.";
    NullByValue = 45, "only a value passed by pointer can be null",
        "`nullable` is for pointers, strings, handles, callbacks, arrays and out-parameters.";
    OwnRule = 46, "a fallback that differs from the host's states the reason",
        "`rule: host` marks a fallback that does the same as hosts; any other fallback needs `why`.";
    NewerType = 47, "a type is available in every release that uses it",
        "Releases without the type cannot declare the function or struct that uses it.";
    SdkMisfit = 48, "the SDK can pass on each function that it exports",
        "The SDK replaces devices and statuses with its own handles and statuses. It supports a callback only if it belongs to one call.";
    PythonPlace = 49, "a Python function has a module",
        "It is in the package that `python` in `interface.yaml` names, or in one of its modules.";
    PythonParameters = 50, "a Python function has the parameters of the C function",
        "Inputs of the C function are arguments, its outputs are returned, and the length of a list is implied.";
    PythonForm = 51, "each parameter of a Python function has a type in Python",
        "Numbers, texts, lists and dicts have one. A function with a callback needs `by_hand: true`.";
    HeaderCycle = 52, "headers do not include each other in a cycle",
        "The interface's header includes the others, and each of these includes the headers of its types.";
    HandleLife = 53, "a handle that is created is destroyed, and the reverse",
        "Each handle type with a life needs a function with `role: creates` and one with `role: destroys`. A borrowed handle has no role.";
    LifeDiffers = 54, "a destroyer fits a creator",
        "`role: destroys` has the `space` and the owner (`of`) of a `role: creates` of the same type, so that an object returns to its owner. A destroyer of `device` or `host` memory may accept `unified` memory too, but not only that.";
    NoFallback = 55, "an optional function of a table has a fallback, or states why not",
        "Callers other than hosts call it too. `fallback: { refuse: … }` returns a status; `no_fallback` states why there is no fallback.";
    RefusedPlugin = 56, "a function that hosts insist on has no `when_null`",
        "`required: load` states that hosts refuse a plugin without the function, so `when_null` adds nothing.";
    BlockingOrder = 57, "a function is blocking or stream-ordered, not both",
        "`blocking`: the work is done when the call returns. `stream_ordered`: the work may run later.";
    HeldOrder = 58, "memory of a stream-ordered function is held by the stream",
        "Queued work accesses memory after the call. Such memory has `held` with the stream of `stream_ordered`; `held: false` states that the call itself finishes with it.";
    FallbackOrder = 59, "a fallback of a stream-ordered function waits for its stream first",
        "A step before the first access to the memory calls a `blocking` function with the stream, or with all devices that the stream may belong to.";
    FallbackOwner = 60, "the arguments of a call belong together",
        "If the called function takes a stream or memory `of` a device, the argument is `of` the argument for that device.";
    NoAnswer = 61, "a query has a result",
        "A name with `get` or `query` requires a result, an `out` parameter or `status_as_bool`.";
    HandleName = 62, "a parameter with the name of a handle has its type",
        "A parameter `stream` of type `Event` is probably a mistake; otherwise choose another name.";
    NoStream = 63, "a function is ordered by a stream",
        "`stream_ordered` and `held` name a handle whose type has `orders: true`.";
    InvertedQuestion = 64, "success does not mean no",
        "If status 0 meant `no`, generated code would return the opposite of the answer.";
    MissingDoc = 65, "each parameter has a complete doc",
        "Callers of generated bindings see only the docs of the parameters. A doc does not contain `TODO` or `FIXME`.";
    UnknownName = 66, "a name in a doc exists",
        "An identifier in backticks is a name of the spec, of C, or in `names` of `interface.yaml`. Names of parameters are those of the same entry.";
    UnknownStrategy = 67, "a strategy is listed",
        "`strategies` in `interface.yaml` lists the hand-written fallbacks, so that a misspelled name is found before the Rust code is compiled.";
    TooLarge = 68, "sizes are within limits",
        "A fixed array has at most 65536 elements, and a reserve at most 1024 slots, because the length of generated code depends on them.";
    HostElsewhere = 69, "a host version belongs to one release",
        "Each version in `hosts` is listed once, under the release whose number it begins with.";
    OutputPlace = 70, "an output is inside the output root",
        "Paths in `outputs` are relative to `--out`, and names of headers to the folder of headers. Neither may lead out of it.";
    OutputOverlap = 71, "a folder of pages, schemas or Rust contains no other outputs",
        "`reference`, `schema` and `rust` each have a folder of their own.";
    OutputTwice = 72, "each output has its own path",
        "Case is ignored, because some file systems treat `Kit.h` and `kit.h` as the same file.";
    OutputIsRead = 73, "an output does not overwrite an input",
        "The files of the spec, the template of the table of contents and the crate of the exports are written by hand.";
    ManifestFolder = 74, "no output is in `.codegen`",
        "The generator stores the list of its outputs there.";
    RustName = 75, "a name is available in the generated Rust",
        "The module of an interface has types such as `Error`, `Function` and `Release`, and variables of the generated code begin with `__`. Names in a spec are for Rust, Python and the docs; the C name is in `c`.";
    RustNameTwice = 76, "names that differ in the spec differ in Rust",
        "Functions are also variants of an enum, and structs with their results, under their names in PascalCase.";
    StandardName = 77, "a symbol is not declared by C's standard headers",
        "The generated headers include `stdbool.h`, `stddef.h` and `stdint.h`, which declare it already.";
    UnusedSize = 78, "a size is the length of a pointer",
        "If a function has a pointer without a length and a size that is no parameter's length, the pointer probably lacks `bytes`.";
    HandleConst = 80, "a handle states in its own form that its object is read-only",
        "A handle by pointer has `const: false` if the ABI has no `const`; a handle with a tag has a second name, `c_const`.";
    TableField = 81, "a data member of a table is a value, and exists in every release",
        "Its offset and its size must be the same for every host. Numbers, enums, handles, texts, structs and arrays of fixed length are possible.";
    OwnedTable = 82, "a table that the plugin owns has no params, and grows at its end",
        "Hosts use its size to determine the functions of an older plugin, so no function may move.";
    ErrorObject = 83, "an error object has a code, a text and a destroyer",
        "`code` returns the status and takes only the handle, `message` returns a `string`, and `destroy` returns nothing.";
    ArgsStruct = 84, "a struct of arguments grows at its end",
        "Callers and callees of different releases use its size to determine its members, so no member is removed or inserted.";
    Lent = 85, "a list that is lent has an owner and a length",
        "`lent` is for an `out` array of handles or numbers whose `count` is an `out` `size`, for a handle that is passed by \
         pointer, and for texts.";
    SummaryForm = 86, "a summary does not begin with \"To\"",
        "The summary of a function begins with a verb in the third person (`Copies memory`); any other summary begins with a noun.";
    HostOfExtension = 87, "hosts do not use an extension",
        "Its functions are optional and exist in every release of the host, because no host calls them.";
    FormulaSyntax = 88, "a formula is an expression",
        "Formulas have the syntax of Python: `+ - * /`, comparisons, `and`, `or`, `not`, `a if c else b`, and calls of functions.";
    FormulaName = 89, "a name in a formula is known",
        "Formulas use inputs, attributes and earlier entries of `where`. Gradients also use the output `out` and its gradient `dout`.";
    NotUtf8 = 90, "a file is UTF-8 text",
        "YAML is read as UTF-8; `iconv` and editors convert Latin-1 and UTF-16. A byte order mark at the start is allowed.";
    MergeMarker = 91, "a file has no merge markers",
        "A merge leaves lines that begin with `<<<<<<<`, `=======` or `>>>>>>>`. Keep one side and remove the markers.";
    Invisible = 92, "every character is visible",
        "No-break spaces, zero-width characters and bidirectional controls look like other characters, or are invisible.";
    OperatorForm = 93, "an operator is complete",
        "An elementwise operator has one output; gradients and domains name its inputs.";
    UnknownOperator = 94, "a kernel computes an operator of the spec",
        "`op` names an entry of the folder that `operators` in `spec.yaml` names.";
    KernelForm = 95, "a kernel provides the parameters of its operator",
        "Inputs, attributes and outputs of a kernel name those of the operator. A formula that needs other values cannot be computed.";
    FormulaType = 96, "a value in a formula has the type that its place takes",
        "There are numbers and truth values, without conversion. If `types` has integers, fractions are not allowed.";
    RoleOfName = 97, "a function whose name says that it creates or destroys has the role",
        "`create`, `destroy` and `delete` in a name require `role: creates` or `role: destroys` on a parameter or result. `role: uses` states that the call does neither.";
    UnnamedUnion = 98, "an unnamed union is a member of a struct",
        "`unnamed: true` is for a union that C declares inside a struct, so that its members are used as those of the struct. No other place can name it.";
    ComputeSyntax = 99, "a step of a computation is a call with targets",
        "The form of a step is `out = relu(input)`: the tensors that it writes, and a call of an operator, of the gradient of an operator, or of a function by its path. Attributes have a name: `axis=dim`.";
    ComputeName = 100, "names in a step exist",
        "A step uses the parameters of its function, the results of earlier steps, and the operators of the spec with their gradients.";
    ComputeForm = 101, "a step provides the parameters of its operator",
        "An operator takes its inputs in order and its attributes by name. Tensors that are not `const` are written. A call inside another one needs a known result shape, as formulas have.";
    SequenceCircle = 102, "an operator is not composed of itself",
        "A device without an operator computes it by its `sequence`. If that leads back to the operator, no device can compute it.";
    KernelTwice = 103, "a kernel has one form for each release and element type",
        "A host has one kernel of a name for an element type. `until` of one form and `since` of the next separate their releases, and `types` their element types.";
    NoFailure = 104, "a status type has a value for failures",
        "Generated code returns it for a null argument, a missing function or a panic; `means` names the value for each case.";
    Unused = 105, "what is computed is used",
        "A part of `where` is in a formula, the result of a step in a later one, `dout` in a gradient, and `left` and `right` in a step of a reduction. What nothing uses is usually a misspelled name.";
    AlwaysThere = 106, "`since` and `until` state a difference",
        "What exists since the first release, until the newest one, or as long as the function that it belongs to, has no such key. An `until` of the newest release would remove it from the next one.";
    Object = 107, "an object is a struct that each release of a host can call",
        "A group of an interface of the kind `objects` describes one object and its functions, one of which releases it. A newer release only adds functions at its end.";
    HostTable = 108, "a function of a host's table has a slot of its own",
        "`slot` is the index of the pointer in the struct, counted from 0.";
}

impl std::fmt::Display for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "E{:03}", *self as u16)
    }
}

use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;

use super::*;
use tenon::device::ffi::C_Device_st;

/// Compiles C into a library.
fn compile(name: &str, source: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::temp_dir().join(format!("tenon-between-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let library = folder.join(format!("{name}.so"));
    let status = Command::new("cc")
        .args(["-std=c11", "-shared", "-fPIC", "-I"])
        .arg(root.join("sdk-c/include"))
        .arg(source)
        .arg("-o")
        .arg(&library)
        .status()
        .expect("a C compiler is installed");
    assert!(status.success());
    library
}

/// The refusals are in the same test, since it sets the variable.
#[test]
fn a_plugin_without_layers_sees_what_the_host_passed() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");

    let itself = compile("itself", &tests.join("marked.c"));
    let link = itself.with_file_name("link.so");
    std::os::unix::fs::symlink(&itself, &link).expect("the folder for tests can be written");
    let manifest = itself.with_file_name("manifest.json");
    std::fs::write(&manifest, r#"{"tenon_manifest": 1, "library": "./itself.so"}"#).expect("as above");
    for path in [&itself, &link, &manifest] {
        // SAFETY: no other thread of this process looks at the environment.
        unsafe { std::env::set_var(PLUGIN, path) };
        let refusal = Chain::new(Release::V2_6).err().expect("it is the layers plugin").to_string();
        assert!(refusal.contains("would load itself without end"), "{refusal}");
        assert!(refusal.contains(&*path.to_string_lossy()), "{refusal}");
    }

    // SAFETY: as above.
    unsafe { std::env::set_var(PLUGIN, compile("null_events", &tests.join("null_events.c"))) };
    let mut table = v2_6::C_DeviceInterface { size: Release::V2_6.table_size(), ..zeroed() };
    let mut params = v2_6::CustomRuntimeParams {
        size: size_of::<v2_6::CustomRuntimeParams>(),
        interface: (&raw mut table).cast(),
        ..zeroed()
    };
    // SAFETY: the params and the table are those of a host of 2.6.
    unsafe { hand_over((&raw mut params).cast()) }.expect("the plugin is for 2.6");

    let mut device = C_Device_st { id: 1 };
    let record = table.record_event.expect("the plugin has it");
    let stream = std::ptr::without_provenance_mut(5);
    // SAFETY: the plugin looks at the device and at nothing else.
    let status = unsafe { record(&raw mut device, stream, null_mut()) };
    assert_eq!(status, tenon::device::Status::SUCCESS, "a null event reaches the plugin");
    assert_eq!((params.version.major, params.version.minor, params.version.patch), (0, 2, 1));
    assert!(table.create_stream.is_none(), "what the plugin lacks stays empty");
}

/// Creates a C struct of numbers and pointers.
fn zeroed<T>() -> T {
    // SAFETY: zero is null for a pointer, `None` for a function, and a number.
    unsafe { std::mem::zeroed() }
}

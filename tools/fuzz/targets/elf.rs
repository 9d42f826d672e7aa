//! Made libraries: the reader of manifests returns a manifest, none, or an error, and passes on no control character.

#[path = "../../cli/src/manifest/mod.rs"]
#[allow(dead_code, reason = "the command uses the rest")]
mod manifest;

/// Runs an input, which is the content of a library file.
pub fn run(data: &[u8]) {
    let Ok(file) = manifest::read_data(data) else { return };
    if let Some(manifest) = file.manifest {
        let names = manifest
            .functions
            .iter()
            .flat_map(|functions| functions.native.iter().chain(&functions.fallback));
        let texts = names.chain(&manifest.operators).chain(&manifest.releases).chain([
            &manifest.device_type,
            &manifest.since,
            &manifest.build.tenon,
            &manifest.build.language,
        ]);
        for text in texts {
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
    }
}

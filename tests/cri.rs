//! The generated halves of the container runtime interface, compared with what their protobuf file makes now.
//!
//! They are kept in the repository, since a generator is a lot to build for every build of the agent. With
//! `OSTLER_UPDATE_CRI` they are written instead of compared: `cargo xtask cri --update`.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

const PROTO: &str = "agent/host/src/cri/image.proto";
const CLIENT: &str = "agent/host/src/cri/generated.rs";
const SERVER: &str = "tests/src/crio/generated.rs";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// What the protobuf file makes: messages, and one half of the service.
fn generated(client: bool) -> String {
    let proto = root().join(PROTO);
    let files = protox::compile([&proto], [proto.parent().unwrap()]).unwrap();
    let out = tempfile::tempdir().unwrap();
    // A pull request carries a password, and what formats it is written by hand.
    tonic_prost_build::configure()
        .build_client(client)
        .build_server(!client)
        .build_transport(false)
        .skip_debug(["runtime.v1.AuthConfig"])
        .out_dir(out.path())
        .compile_fds(files)
        .unwrap();
    fs::read_to_string(out.path().join("runtime.v1.rs")).unwrap()
}

#[test]
fn the_generated_files_are_what_the_protobuf_file_makes() {
    for (path, client) in [(CLIENT, true), (SERVER, false)] {
        let (file, wanted) = (root().join(path), generated(client));
        if std::env::var_os("OSTLER_UPDATE_CRI").is_some() {
            fs::write(file, wanted).unwrap();
        } else {
            let found = fs::read_to_string(&file).unwrap();
            assert!(found == wanted, "{path} is not what {PROTO} makes; run: cargo xtask cri --update");
        }
    }
}

//! A node: a machine that runs an image of a registry, with `ostler` and rpm-ostree or bootc, or what stands in for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::answer::{Answer, programs};
use crate::booted::{Booted, Site, Sysroot, or_skip, os_root, plant, succeed};
use crate::registry::Registry;

/// Keeps skopeo's cache away from this machine's `/var/lib/containers`.
const APART: &str = "mount -t tmpfs cache /var/lib && exec \"$@\"";
/// What the machine was installed with.
const KARGS: &[&str] = &["root=UUID=0000", "rw", "console=tty0", "console=ttyS0"];

/// Who changes the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    RpmOstree,
    Bootc,
}

pub const DRIVERS: [Driver; 2] = [Driver::RpmOstree, Driver::Bootc];

impl Driver {
    const fn program(self) -> &'static str {
        match self {
            Self::RpmOstree => "rpm-ostree",
            Self::Bootc => "bootc",
        }
    }
}

/// Those that a machine here can have.
pub fn drivers() -> impl Iterator<Item = Driver> {
    DRIVERS.into_iter().filter(|driver| os_root::has(driver.program()))
}

/// The node, in version 9.6.1 with the configuration `old`.
pub struct Node {
    pub machine: Booted,
    pub registry: Registry,
    /// Pull specifications of the versions 9.6.1 and 9.6.2.
    pub images: [String; 2],
    site: Site,
}

/// The program that makes images; none, loudly, where the stand-ins are not built.
fn lab() -> Option<PathBuf> {
    let usual = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins/target/debug");
    let directory = std::env::var_os("OSTLER_STANDINS").map_or_else(usual, PathBuf::from);
    let program = fs::canonicalize(directory.join("lab"));
    or_skip(
        program.map_err(|_| "build the stand-ins: cargo build --manifest-path tests/standins/Cargo.toml".to_owned()),
    )
}

fn os_release(version: &str) -> String {
    let major_minor = version.rsplit_once('.').map_or(version, |(base, _)| base);
    format!("ID=rhcos\nVERSION=\"{version}\"\nVERSION_ID=\"4.21\"\nRHEL_VERSION=\"{major_minor}\"\nVARIANT_ID=coreos\n")
}

/// Makes an image of a version and gives its place and digest.
pub fn make_image(site: &Site, registry: &Registry, version: &str) -> Option<(PathBuf, String)> {
    make_image_with(site, registry, version, &|_| {})
}

/// The same of a tree that has more in it.
pub fn make_image_with(
    site: &Site,
    registry: &Registry,
    version: &str,
    add: &dyn Fn(&Path),
) -> Option<(PathBuf, String)> {
    let [tree, layout] = ["tree", "oci"].map(|name| site.path(&format!("{name}-{version}")));
    plant(&tree, version).unwrap();
    fs::write(tree.join("usr/lib/os-release"), os_release(version)).unwrap();
    add(&tree);
    let mut command = site.command("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", APART, "apart"]).arg(lab()?);
    command.args(["image", "--version", version, "--label", &format!("org.opencontainers.image.version={version}")]);
    command.arg("--from-tree").arg(&tree).arg("--dest").arg(format!("oci:{}:os", layout.display()));
    succeed(&mut command);
    let digest = registry.push(&format!("oci:{}:os", layout.display()), &format!("os:{version}"));
    fs::remove_dir_all(&tree).unwrap();
    Some((layout, format!("{}/os@{digest}", registry.host())))
}

impl Node {
    /// A node; nothing, loudly, where none can be had.
    pub fn boot(driver: Driver) -> Option<Self> {
        Self::boot_with(driver, [&|_| {}, &|_| {}])
    }

    /// A node on which the stand-ins do what a test orders.
    pub fn boot_with_stand_ins(driver: Driver) -> Option<Self> {
        os_root::or_stand_ins()?;
        Self::boot(driver)
    }

    /// The same of two images that have more in them.
    pub fn boot_with(driver: Driver, add: [&dyn Fn(&Path); 2]) -> Option<Self> {
        os_root::or_left_out(driver.program())?;
        programs();
        let site = Site::if_possible()?;
        let registry = Registry::start(&site)?;
        let sysroot = Sysroot::on(site.clone())?;
        let (layout, old) = make_image_with(&site, &registry, "9.6.1", add[0])?;
        let (_, new) = make_image_with(&site, &registry, "9.6.2", add[1])?;
        let mut deploy = site.command("unshare");
        deploy.args(["--mount", "--propagation", "private", "sh", "-c", APART, "apart"]).arg(lab()?);
        deploy.args(["sysroot", "--os", "node", "--sysroot"]).arg(sysroot.path(""));
        deploy.arg("--image").arg(format!("ostree-unverified-image:oci:{}:os", layout.display()));
        deploy.args(KARGS.iter().chain(&["old.karg"]).flat_map(|argument| ["--karg", argument]));
        succeed(&mut deploy);
        let machine = Booted::start(&sysroot)?;
        let node = Self { machine, registry, images: [old, new], site };
        node.furnish(driver);
        Some(node)
    }

    fn furnish(&self, driver: Driver) {
        self.registry.introduce_to(&self.machine);
        self.write("var/lib/kubelet/config.json", &fs::read_to_string(self.registry.auth_path()).unwrap());
        self.write("etc/ostler/os-backend", if driver == Driver::Bootc { "bootc\n" } else { "rpm-ostree\n" });
        self.write("etc/motd", "old");
        self.write("etc/machine-config-daemon/currentconfig", &self.config("old", 0, &["old.karg"]).to_string());
    }

    /// A configuration with an image, kernel arguments and two files.
    pub fn config(&self, name: &str, image: usize, kargs: &[&str]) -> Value {
        self.config_of(name, &self.images[image], kargs)
    }

    pub fn config_of(&self, name: &str, image: &str, kargs: &[&str]) -> Value {
        let file =
            |path: &str| json!({"path": path, "overwrite": true, "contents": {"source": format!("data:,{name}")}});
        let files = json!([file("/etc/motd"), file(&format!("/etc/only-{name}"))]);
        let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
        let spec = json!({"config": config, "osImageURL": image, "kernelArguments": kargs});
        json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
               "metadata": {"name": name}, "spec": spec})
    }

    pub fn write(&self, path: &str, text: &str) {
        let at = self.machine.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    /// A file's text; nothing when there is none.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.machine.path(path)).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.machine.enter("/opt/ostler/ostler");
        command.env("NO_COLOR", "1").args(arguments);
        command
    }

    pub fn ostler(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts a command and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn apply(&self, config: &Value) -> Answer {
        self.write("var/target.json", &config.to_string());
        self.ostler(&["apply", "--to", "/var/target.json", "--yes", "-o", "json"])
    }

    /// The update that most tests make.
    pub fn new_config(&self) -> Value {
        self.config("new", 1, &["new.karg", "console=ttyS0"])
    }

    pub fn status(&self) -> Value {
        self.ostler(&["status", "-o", "json"]).json()
    }

    /// Has `ostler` restart the machine, which may be down before the command is at its end.
    pub fn order_restart(&self, arguments: &[&str]) -> Answer {
        let answer = self.ostler(arguments);
        assert!(matches!(answer.code, Some(0) | None), "{answer:#?}");
        answer
    }

    /// Has `ostler` restart the machine, and follows it.
    pub fn restart(&mut self) {
        self.order_restart(&["reboot", "--yes"]);
        self.machine.reboot_and_wait();
    }

    /// Faults of the stand-ins from now on.
    pub fn fault(&self, faults: &Value) {
        self.write("run/standins/faults.json", &faults.to_string());
    }

    /// Faults of the stand-ins from the next boot on, until they are taken back.
    pub fn fault_at_boot(&self, faults: Option<&Value>) {
        let at = self.site.path("faults.json");
        match faults {
            Some(faults) => fs::write(at, faults.to_string()).unwrap(),
            None => fs::remove_file(at).unwrap(),
        }
    }

    /// Makes an image with one more file than version 9.6.2 and gives its pull specification.
    pub fn derive(&self, tag: &str, path: &str, text: &str) -> String {
        let layout = self.site.path("oci-9.6.2");
        let mut command = self.site.command("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", APART, "apart"]).arg(lab().unwrap());
        command.args(["derive", "--tag", tag, "--file", &format!("{path}={text}")]);
        succeed(command.arg("--base").arg(format!("oci:{}:os", layout.display())));
        let digest = self.registry.push(&format!("oci:{}:{tag}", layout.display()), &format!("os:{tag}"));
        format!("{}/os@{digest}", self.registry.host())
    }

    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Whether it is in `old` or `new`, files and operating system alike, with nothing left over.
    pub fn end(&self) -> &'static str {
        let status = self.status();
        let os = &status["os"];
        let digest = |image: usize| self.images[image].split_once('@').unwrap().1.to_owned();
        let found = (
            self.read("etc/motd"),
            os["booted"]["digest"].as_str().unwrap_or_default().to_owned(),
            self.machine.path("etc/only-new").exists(),
            os["booted"]["kargs"].as_array().unwrap().iter().any(|karg| karg == "new.karg"),
        );
        assert_eq!((&status["open"], &os["staged"]), (&Value::Null, &Value::Null), "{status:#}");
        assert!(!self.machine.path("etc/yum.repos.d/coreos-extensions.repo").exists());
        if found == ("old".to_owned(), digest(0), false, false) {
            return "old";
        }
        assert_eq!(found, ("new".to_owned(), digest(1), true, true), "{status:#}");
        "new"
    }
}

//! Whether the target has the operating systems that pools follow, and pools can follow them.

use super::{Answer, Nature, partly, risk};
use crate::objects::{MachineConfig, MachineConfigPool, OSImageStream};
use crate::preflight::{Inventory, Objects, Reading, Severity, Target, Undecided};
use crate::streams::{
    Compared, Labels, NoStreams, Policy, Question, Remark, Version, compare, discover, effective, install_version,
    last_known,
};

pub(super) const DEFAULT_MISSING: &str = "MachineConfigDefaultOSStreamMissing";
pub(super) const MISSING: &str = "MachineConfigOSStreamMissing";
pub(super) const DEPRECATED: &str = "MachineConfigDeprecatedOSStreamInUse";
pub(super) const DISCOVERY: &str = "MachineConfigOSStreamDiscoveryFailed";
pub(super) const DOWNGRADE: &str = "MachineConfigOSStreamDowngrade";
pub(super) const RUNC: &str = "MachineConfigRuncOnRHEL10";

const PAGE: &str = "mco-image-streams";
/// Streams that have no `runc`.
const WITHOUT_RUNC: [&str; 2] = ["rhel-10", "centos-10"];
/// Names the stream of an image.
const STREAM_CLASS: &str = "io.openshift.os.streamclass";

/// What the target offers.
struct Offered {
    streams: Vec<String>,
    default: String,
    /// Images that nobody could look at: what is missing may be among them.
    unseen: usize,
}

impl Offered {
    fn of(inventory: &Inventory, target: &Target) -> Result<Self, Undecided> {
        let images = target.images.needed()?;
        let existing = inventory.stream.or_none()?.and_then(Option::as_ref);
        let installed = install_version(inventory.cluster_version.needed()?).ok();
        let found = discover(&Question {
            offers: std::slice::from_ref(&images.offer),
            labels: &images.labels,
            existing,
            installed: installed.as_ref(),
            flavour: images.flavour,
        });
        let unseen =
            |remarks: &[Remark]| remarks.iter().filter(|remark| matches!(remark, Remark::Unreachable { .. })).count();
        Ok(match found {
            Ok(found) => Self {
                streams: found.status.available_streams.into_iter().map(|set| set.name).collect(),
                default: found.status.default_stream,
                unseen: unseen(&found.remarks),
            },
            Err(NoStreams::Nothing { remarks }) => {
                Self { streams: Vec::new(), default: String::new(), unseen: unseen(&remarks) }
            }
            Err(NoStreams::DefaultMissing { wanted, available, remarks, .. }) => {
                Self { streams: available, default: wanted, unseen: unseen(&remarks) }
            }
        })
    }

    fn has(&self, stream: &str) -> bool {
        self.streams.iter().any(|name| name == stream)
    }

    /// That something is missing can be said only when everything was seen.
    fn certain(&self) -> Result<(), Undecided> {
        match self.unseen {
            0 => Ok(()),
            unseen => Err(Undecided::because(format!(
                "the labels of {unseen} images of the target are not known; --target-image-labels gives them"
            ))),
        }
    }
}

pub(super) fn discovery(inventory: &Inventory, target: &Target) -> Answer {
    let offered = Offered::of(inventory, target)?;
    if !offered.streams.is_empty() {
        return Ok(None);
    }
    offered.certain()?;
    let mut objects = Objects::default();
    let tags = target.images.needed()?.offer.images.len();
    objects.add(&format!("{tags} images looked at"), "");
    Ok(risk(&objects, || Nature {
        name: DISCOVERY,
        severity: Severity::Critical,
        url: target.page(PAGE),
        cause: format!("{} has no OS image with its extensions that names its stream", target.version),
        remedy: "Check that the release image is the right one and complete; mirror it again if it is a mirror."
            .to_owned(),
    }))
}

pub(super) fn default_missing(inventory: &Inventory, target: &Target) -> Answer {
    let offered = Offered::of(inventory, target)?;
    if offered.streams.is_empty() || offered.has(&offered.default) {
        return Ok(None);
    }
    offered.certain()?;
    let mut objects = Objects::default();
    objects.add(&offered.default, &format!("{} has {}", target.version, offered.streams.join(", ")));
    Ok(risk(&objects, || Nature {
        name: DEFAULT_MISSING,
        severity: Severity::Critical,
        url: target.page(PAGE),
        cause: "The target does not have the cluster's default OS image stream, and its controller would not start"
            .to_owned(),
        remedy: "Set spec.defaultStream of OSImageStream 'cluster' to a stream that both releases have, and let the \
                 pools follow, before updating."
            .to_owned(),
    }))
}

pub(super) fn missing(inventory: &Inventory, target: &Target) -> Answer {
    let pools = inventory.pools.needed()?;
    let offered = Offered::of(inventory, target)?;
    let mut objects = Objects::default();
    for pool in pools.iter().filter(|_| !offered.streams.is_empty()) {
        let followed = effective(pool, pools, &offered.default);
        if !offered.has(&followed.stream) {
            objects.add(&pool.metadata.name, &format!("{}, {}", followed.stream, followed.choice));
        }
    }
    if !objects.is_empty() {
        offered.certain()?;
    }
    Ok(risk(&objects, || Nature {
        name: MISSING,
        severity: Severity::Critical,
        url: target.page(PAGE),
        cause: format!(
            "Pools follow OS image streams that {} does not have, and would not be rendered any more",
            target.version
        ),
        remedy: format!("Move these pools to one of {} before updating.", offered.streams.join(", ")),
    }))
}

/// The default that counts for pools without a choice; what the cluster says where the target is not known.
fn default_stream(inventory: &Inventory, target: &Target) -> Result<String, Undecided> {
    let known = |object: &OSImageStream| {
        let status = object.status.as_ref().map(|status| status.default_stream.clone()).unwrap_or_default();
        let spec = object.spec.default_stream.clone();
        Some(if spec.is_empty() { status } else { spec }).filter(|name| !name.is_empty())
    };
    let object = inventory.stream.or_none()?.and_then(Option::as_ref);
    match object.and_then(known) {
        Some(name) => Ok(name),
        None => Offered::of(inventory, target).map(|offered| offered.default),
    }
}

pub(super) fn deprecated(inventory: &Inventory, target: &Target) -> Answer {
    let policy = inventory.policy.needed()?;
    if policy == &Policy::default() {
        return Ok(None);
    }
    let version = target.version.to_string();
    let release = Version::parse(&version).map_err(|error| Undecided::because(error.to_string()))?;
    let pools = inventory.pools.needed()?;
    let default = default_stream(inventory, target)?;
    let mut objects = Objects::default();
    let mut blocked = false;
    for pool in pools {
        let stream = effective(pool, pools, &default).stream;
        let Some(end) = policy.of(&stream).filter(|end| end.is_deprecated(&release)) else { continue };
        blocked |= end.is_blocked(&release);
        let next = end.successor.as_ref().map(|next| format!(", move to '{next}'")).unwrap_or_default();
        objects.add(&format!("MachineConfigPool '{}'", pool.metadata.name), &format!("stream '{stream}'{next}"));
    }
    Ok(risk(&objects, || Nature {
        name: DEPRECATED,
        severity: if blocked { Severity::Critical } else { Severity::Warning },
        url: target.page(PAGE),
        cause: if blocked {
            format!("Cannot upgrade: pools use OS image streams that {version} does not let through any more")
        } else {
            format!("Pools use OS image streams that are deprecated in {version}")
        },
        remedy: "Migrate each pool with 'ostler-cluster streams set' before upgrading.".to_owned(),
    }))
}

pub(super) fn downgrade(inventory: &Inventory, target: &Target) -> Answer {
    let pools = inventory.pools.needed()?;
    let offered = inventory.stream.or_none()?.and_then(Option::as_ref).and_then(|stream| stream.status.as_ref());
    let default = default_stream(inventory, target)?;
    let mut objects = Objects::default();
    for pool in pools {
        let applied = applied(inventory, pool);
        let Some(known) = last_known(pool, applied.as_ref(), offered) else { continue };
        let wanted = effective(pool, pools, &default).stream;
        if compare(&known.stream, &wanted) == Compared::Back {
            objects.add(&pool.metadata.name, &format!("from {} to {wanted}", known.stream));
        }
    }
    Ok(risk(&objects, || Nature {
        name: DOWNGRADE,
        severity: Severity::Warning,
        url: target.page(PAGE),
        cause: "Pools go back to an older operating system, which is not supported".to_owned(),
        remedy: "Let these pools name the stream they are in, or install their nodes again.".to_owned(),
    }))
}

/// As much of the configuration that a pool has reached as tells its stream.
fn applied(inventory: &Inventory, pool: &MachineConfigPool) -> Option<MachineConfig> {
    let Reading::Read(configs) = &inventory.configs else { return None };
    let digest = configs.digests.get(&pool.status.configuration.name)?;
    let mut config = MachineConfig::default();
    config.metadata.name.clone_from(&pool.status.configuration.name);
    config.spec.os_image_url.clone_from(&digest.os_image_url);
    Some(config)
}

pub(super) fn runc(inventory: &Inventory, target: &Target) -> Answer {
    let pools = inventory.pools.needed()?;
    let configs = inventory.configs.needed()?;
    let default = default_stream(inventory, target)?;
    let mut objects = Objects::default();
    let mut unknown = None;
    for pool in pools {
        let name = &pool.spec.configuration.name;
        let Some(digest) = configs.digests.get(name) else {
            unknown = configs.unread.get(name).map(|why| format!("MachineConfig {name}: {why}")).or(unknown);
            continue;
        };
        let runtime = digest.runtime.as_ref().filter(|runtime| runtime.name == "runc");
        let followed = effective(pool, pools, &default).stream;
        let stream = if digest.overridden { class_of(&digest.os_image_url, target) } else { Some(followed.as_str()) };
        match (stream, runtime, &digest.runtime_trouble) {
            (None, Some(_), _) => unknown = Some(format!("nothing says which stream {} is of", digest.os_image_url)),
            (Some(stream), _, _) if !WITHOUT_RUNC.contains(&stream) => {}
            (Some(stream), Some(runtime), _) => {
                objects.add(&pool.metadata.name, &format!("stream {stream}, {} says runc", runtime.path));
            }
            (_, None, Some(trouble)) => unknown = Some(trouble.clone()),
            (_, None, None) => {}
        }
    }
    let found = risk(&objects, || Nature {
        name: RUNC,
        severity: Severity::Critical,
        url: target.page("machine-configs-custom"),
        cause:
            "Pools get an operating system without runc but make it their default runtime, so they cannot be rendered"
                .to_owned(),
        remedy: "Change the default runtime to crun: edit the ContainerRuntimeConfig or MachineConfig that sets it."
            .to_owned(),
    });
    partly(found, unknown.map(Undecided::because))
}

/// The stream of an image that somebody chose, where its labels are known.
fn class_of<'a>(image: &str, target: &'a Target) -> Option<&'a str> {
    let Reading::Read(images) = &target.images else { return None };
    match images.labels.get(image)? {
        Labels::Found(labels) => labels.get(STREAM_CLASS).map(String::as_str),
        Labels::Unreachable(_) => None,
    }
}

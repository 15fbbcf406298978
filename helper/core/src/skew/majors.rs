//! Whether new machines boot the same major version of RHEL as the pool that they join.

use std::collections::BTreeMap;
use std::fmt;

use ostler_core::os::release::Base;
use serde::Serialize;
use serde_json::Value;

use crate::boot_images::stub::{self, UserData};
use crate::boot_images::{DEFAULT_STREAM, Machine, STREAM_LABEL};
use crate::objects::{MachineConfigPool, OSImageStream};

/// A machine resource whose machines boot another major version than their pool runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mismatch {
    /// Kind of the machine resource.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The pool.
    pub pool: String,
    /// The stream that its machines boot.
    pub boot_stream: String,
    /// The stream that the pool runs.
    pub pool_stream: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, pool, boot_stream, pool_stream } = self;
        write!(
            f,
            "{kind} {name} makes machines that boot {boot_stream} and join the pool {pool}, which runs {pool_stream}: \
             give it a boot image of {pool_stream} and the label {STREAM_LABEL}={pool_stream}"
        )
    }
}

/// The pools, and the stream that those without a choice follow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pools<'a> {
    /// The pools.
    pub pools: &'a [MachineConfigPool],
    /// The streams of the release.
    pub streams: Option<&'a OSImageStream>,
}

impl Pools<'_> {
    /// The stream that a pool runs. Pools that somebody made follow the workers', and all others the default.
    pub fn stream(&self, name: &str) -> Option<String> {
        let own = |name: &str| {
            let pool = self.pools.iter().find(|pool| pool.metadata.name == name)?;
            pool.spec.os_image_stream.as_ref().map(|stream| stream.name.clone()).filter(|name| !name.is_empty())
        };
        let custom = !matches!(name, "master" | "worker" | "arbiter");
        let inherited = || if custom { own("worker") } else { None };
        let default = || {
            let object = self.streams?;
            let status = object.status.as_ref().map(|status| status.default_stream.clone());
            [Some(object.spec.default_stream.clone()), status].into_iter().flatten().find(|name| !name.is_empty())
        };
        own(name).or_else(inherited).or_else(default)
    }
}

/// Machine resources whose machines do not fit. Those whose pool or stream nobody can tell are left out.
pub fn mismatches(machines: &[Machine], user_data: &UserData, pools: &Pools) -> Vec<Mismatch> {
    let fits = |machine: &Machine| {
        let pool = pool_of(machine, user_data)?;
        let pool_stream = pools.stream(&pool)?;
        let boot_stream = machine.labels().get(STREAM_LABEL).map_or(DEFAULT_STREAM, String::as_str).to_owned();
        let differ = major(&boot_stream)? != major(&pool_stream)?;
        let (kind, name) = (machine.kind.name(), machine.name().to_owned());
        differ.then_some(Mismatch { kind, name, pool, boot_stream, pool_stream })
    };
    machines.iter().filter_map(fits).collect()
}

/// By where its user data point, or else by what their secret is called.
fn pool_of(machine: &Machine, user_data: &UserData) -> Option<String> {
    let name = match machine.kind.is_capi() {
        true => machine.object.text("/spec/template/spec/bootstrap/dataSecretName"),
        false => machine.provider_spec()?.pointer("/userDataSecret/name").and_then(Value::as_str)?,
    };
    let pointed = user_data.secret(machine.kind.namespace(), name);
    let pointed = pointed.and_then(|secret| stub::config(secret, &["userData", "value"]).ok());
    pointed.and_then(|config| stub::pool(config.expose())).or_else(|| {
        let pool = name.strip_suffix("-user-data-managed").or_else(|| name.strip_suffix("-user-data"))?;
        Some(pool.to_owned())
    })
}

fn major(stream: &str) -> Option<u32> {
    let label = BTreeMap::from([("io.openshift.os.streamclass".to_owned(), stream.to_owned())]);
    Base::of_labels(&label).map(|base| base.major)
}

//! Pulling container images into the repository of a sysroot, through skopeo's image proxy.
//!
//! Credentials come from `/run/ostree/auth.json`, else `/etc/ostree/auth.json`; certificates, mirrors and the signature
//! policy from `/etc/containers`, which skopeo reads itself. Nothing is switched off here.

use anyhow::{Context, Result, bail};
use ostree_ext::container::OstreeImageReference;
use ostree_ext::container::store::{
    ImageImporter, ImageProxyConfig, ImportProgress, LayeredImageState, PrepareResult, PreparedImport,
};
use ostree_ext::oci_spec::image::Descriptor;
use ostree_ext::{glib, ostree};
use tokio::sync::mpsc;

use super::policy;
use crate::narrator::{CANCELLED, Narrator, Note};

/// An image that is in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The commit to deploy.
    pub commit: String,
    /// The digest of the manifest.
    pub digest: String,
    /// Whether anything had to be fetched.
    pub fetched: bool,
}

/// What a look at the source of an image shows.
pub enum Found {
    /// The repository has that image.
    Present(Pulled),
    /// There is another image now, with this digest and version.
    Newer(String, Option<String>),
}

/// Parses an image reference in the notation of ostree-ext.
pub fn parse(reference: &str) -> Result<OstreeImageReference> {
    OstreeImageReference::try_from(reference).with_context(|| format!("Parsing image reference {reference:?}"))
}

/// Pulls `image` into the repository of `sysroot`.
pub async fn pull(sysroot: &ostree::Sysroot, image: &OstreeImageReference, narrator: &Narrator) -> Result<Pulled> {
    narrator.message(format!("Pulling manifest: {image}")).await?;
    let work = async {
        let mut importer = importer(sysroot, image).await?;
        let prepared = match importer.prepare().await? {
            PrepareResult::AlreadyPresent(state) => return Ok(pulled(&state, false)),
            PrepareResult::Ready(prepared) => prepared,
        };
        narrator.message(format!("Importing: {image} (digest: {})", prepared.manifest_digest)).await?;
        announce_layers(&prepared, narrator).await?;
        let state = import(importer, prepared, narrator).await?;
        Ok(pulled(&state, true))
    };
    tokio::select! {
        pulled = work => pulled,
        () = narrator.cancelled() => bail!(CANCELLED),
    }
}

/// Looks whether the source of `image` has another image than the repository of `sysroot`, fetching no layer.
pub async fn check(sysroot: &ostree::Sysroot, image: &OstreeImageReference) -> Result<Found> {
    Ok(match importer(sysroot, image).await?.prepare().await? {
        PrepareResult::AlreadyPresent(state) => Found::Present(pulled(&state, false)),
        PrepareResult::Ready(prepared) => {
            Found::Newer(prepared.manifest_digest.to_string(), prepared.version().map(str::to_owned))
        }
    })
}

async fn importer(sysroot: &ostree::Sysroot, image: &OstreeImageReference) -> Result<ImageImporter> {
    policy::require_allowed(&image.imgref).await.context("Creating importer")?;
    let mut importer = ImageImporter::new(&sysroot.repo(), image, ImageProxyConfig::default()).await?;
    importer.require_bootable();
    Ok(importer)
}

async fn announce_layers(prepared: &PreparedImport, narrator: &Narrator) -> Result<()> {
    let layers: Vec<_> = prepared.all_layers().collect();
    let needed: Vec<_> = layers.iter().filter(|layer| layer.commit.is_none()).collect();
    let present = layers.len().saturating_sub(needed.len());
    if present > 0 {
        narrator.message(format!("layers already present: {present}")).await?;
    }
    let bytes: u64 = needed.iter().map(|layer| layer.layer().size()).sum();
    narrator.message(format!("layers needed: {} ({})", needed.len(), glib::format_size(bytes))).await
}

async fn import(
    mut importer: ImageImporter,
    prepared: Box<PreparedImport>,
    narrator: &Narrator,
) -> Result<Box<LayeredImageState>> {
    let requested = prepared.all_layers().filter(|layer| layer.commit.is_none()).count();
    let mut layers = importer.request_progress();
    let work = importer.import(prepared);
    tokio::pin!(work);
    let mut tally = Tally { requested: u32::try_from(requested).unwrap_or(u32::MAX), fetched: 0, bytes: 0 };
    let state = loop {
        tokio::select! {
            biased;
            Some(progress) = layers.recv() => tally.tell(progress, narrator).await?,
            state = &mut work => break state?,
        }
    };
    drain(&mut layers, &mut tally, narrator).await?;
    narrator.say(Note::ProgressEnd).await?;
    Ok(state)
}

async fn drain(layers: &mut mpsc::Receiver<ImportProgress>, tally: &mut Tally, narrator: &Narrator) -> Result<()> {
    while let Ok(progress) = layers.try_recv() {
        tally.tell(progress, narrator).await?;
    }
    Ok(())
}

struct Tally {
    requested: u32,
    fetched: u32,
    bytes: u64,
}

impl Tally {
    async fn tell(&mut self, progress: ImportProgress, narrator: &Narrator) -> Result<()> {
        match progress {
            ImportProgress::OstreeChunkStarted(layer) => begin("ostree chunk", &layer, narrator).await,
            ImportProgress::DerivedLayerStarted(layer) => begin("layer", &layer, narrator).await,
            ImportProgress::OstreeChunkCompleted(layer) | ImportProgress::DerivedLayerCompleted(layer) => {
                self.fetched = self.fetched.saturating_add(1);
                self.bytes = self.bytes.saturating_add(layer.size());
                narrator.say(Note::TaskEnd("done".to_owned())).await?;
                let Self { bytes, fetched, requested } = *self;
                narrator.say(Note::Download { bytes, fetched, requested }).await
            }
        }
    }
}

async fn begin(kind: &str, layer: &Descriptor, narrator: &Narrator) -> Result<()> {
    let text = format!("Fetching {kind} {} ({})", layer.digest(), glib::format_size(layer.size()));
    narrator.say(Note::TaskBegin(text)).await
}

fn pulled(state: &LayeredImageState, fetched: bool) -> Pulled {
    Pulled { commit: state.merge_commit.clone(), digest: state.manifest_digest.to_string(), fetched }
}

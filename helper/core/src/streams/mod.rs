//! OS image streams: which operating systems a release offers, and which one each pool gets.
//!
//! Discovery turns images and their labels into streams ([`discover`]); pools choose among them ([`effective`],
//! [`assess`]); policies say which streams come to their end ([`Policy`]). Follows the machine-config operator wherever
//! it decides the same; names of streams are opaque but for [`Compared`].

mod assessment;
mod crio;
mod default;
mod deprecation;
mod discovery;
mod injection;
mod labels;
mod movement;
mod ownership;
mod pool;
mod remark;
mod tags;
mod upkeep;
mod version;

pub use assessment::{Assessment, Cluster, Obstacle, assess, assess_followers};
pub use crio::{Runtime, RuntimeTrouble, runtime};
pub use default::{DefaultReason, Flavour};
pub use deprecation::{Policy, PolicyError, StreamPolicy, pool_condition, upgrade_condition};
pub use discovery::{Discovery, NoStreams, Question, discover};
pub use injection::{Injected, merge_order};
pub use labels::{Labels, Origin, Part};
pub use movement::{Compared, Evidence, LAST_STREAM, compare, last_known, under_way};
pub use ownership::{CONTROLLER_HASH, Ownership, RELEASE_IMAGE, ownership};
pub use pool::{Choice, Effective, effective, followers, reported};
pub use remark::Remark;
pub use tags::{Filter, NotAnImageStream, Offer, Offered, release_images, url_images};
pub use upkeep::{Upkeep, upkeep};
pub use version::{Version, VersionError, first_completed, install_version};

//! Images that a node pulls ahead of need and keeps: which they are, whether they fit, who lets us in, and what CRI-O is
//! told.
//!
//! Owns the decisions and the wording. Refuses to pull, to measure and to publish: the host does the first two, and what
//! is published of it is `node::duties` and `node::publication`'s.

mod credentials;
mod drop_in;
mod order;
mod pools;
mod space;

pub use credentials::{Credentials, Login};
pub use drop_in::{PATH as DROP_IN, images as pinned_in, text as drop_in};
pub use order::{Judgement, MOST_IMAGES, MOST_SETS, Order, OrderError, Outcome, Report, SetFailure, SetOrder};
pub use pools::{is_control_plane, of_primary as pools};
pub use space::{Shortage, Space, UNKNOWN_IMAGE, check as check_space, layers_of, sum as size};

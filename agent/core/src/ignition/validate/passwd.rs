//! Users and groups: no two of a name, no list with repetitions.

use ignition_config::v3_6 as spec;

use super::items;
use super::report::{Place, Report};

pub(super) fn check(report: &mut Report, passwd: &spec::Passwd) {
    let place = Place::Root.field("passwd");
    let groups = items(&passwd.groups).iter().map(|group| group.name.as_str());
    report.unique(place.field("groups"), groups, "has the name of an earlier group");
    let users = items(&passwd.users);
    let list = place.field("users");
    report.unique(list, users.iter().map(|user| user.name.as_str()), "has the name of an earlier user");
    for (index, user) in users.iter().enumerate() {
        let user_place = list.item(index);
        let groups = items(&user.groups).iter().map(String::as_str);
        report.unique(user_place.field("groups"), groups, "is already listed");
        let keys = items(&user.ssh_authorized_keys).iter().map(String::as_str);
        report.unique(user_place.field("sshAuthorizedKeys"), keys, "is a key that is already listed");
    }
}

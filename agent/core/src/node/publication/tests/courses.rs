//! The courses of updates. The letters are the first ones of all conditions' statuses, in the order
//! `UpdatePrepared UpdateExecuted UpdatePostActionComplete UpdateComplete Resumed Drained AppliedFilesAndOS Cordoned
//! RebootedNode Updated Uncordoned NodeDegraded PinnedImageSetsDegraded PinnedImageSetsProgressing`.

use super::*;

const NEEDED: &str = "Updated False Updated: Node n needs an update";
const PREPARED: &str =
    "UpdatePrepared True UpdatePrepared: Update Compatible. Post Cfg Actions: [Reboot] Drain Required: true";

/// What the controller says of cordon and drain, rows 3 to 5.
const DRAIN: [Row<'static>; 3] = [
    ("UpdateExecuted", "Unknown", "Drained", "Drained Node as part of update executed phase"),
    ("Cordoned", "True", "UpdateExecutedCordoned", "Cordoned node. The node is reporting Unschedulable = true"),
    ("Drained", "True", "UpdateExecutedDrained", "Drained node. The drain is complete"),
];
/// What the controller says at the end, row 12.
const UNCORDON: [Row<'static>; 2] = [
    ("UpdateComplete", "True", "Uncordoned", "Uncordoned Node as part of completing upgrade phase"),
    ("Uncordoned", "True", "UpdateCompleteUncordoned", "UnCordoned node. The node is reporting Unschedulable = false"),
];

fn begins_with_a_drain(server: &mut Server, planned: &Update) {
    let planned = || Some(planned.clone());
    publishes(server, &on_the_way(Phase::Considering, None), "FFFFFFFFFFFFFF", &[NEEDED]);
    publishes(server, &on_the_way(Phase::Held, planned()), "TFFFFFFFFFFFFF", &[PREPARED]);
    publishes(server, &on_the_way(Phase::Draining, planned()), "TFFFFFFFFFFFFF", &[]);
    controls(server, &DRAIN);
    publishes(server, &on_the_way(Phase::Draining, planned()), "TUFFFTFTFFFFFF", &[]);
    publishes(
        server,
        &on_the_way(Phase::Executing, planned()),
        "TUFFFTUTFFFFFF",
        &[
            "UpdateExecuted Unknown AppliedFilesAndOS: \
             Updating the Files and OS on disk as a part of the in progress phase",
            "AppliedFilesAndOS Unknown UpdateExecutedAppliedFilesAndOS: Applying files and new OS config to node. \
             OS will  need an update. SSH Keys will not need an update",
        ],
    );
}

#[test]
fn an_update_with_a_restart() {
    let mut server = at_rest();
    begins_with_a_drain(&mut server, &update());
    publishes(
        &mut server,
        &on_the_way(Phase::Restarting, Some(update())),
        "TTFFFTTTUFFFFF",
        &[
            "UpdateExecuted True AppliedFilesAndOS: \
             Updated the Files and OS on disk as a part of the in progress phase",
            "AppliedFilesAndOS True UpdateExecutedAppliedFilesAndOS: Applied files and new OS config to node. \
             OS did  need an update. SSH Keys did not need an update",
            "RebootedNode Unknown RebootedNode: Upgrade requires a reboot.",
        ],
    );
    let rebooted = "RebootedNode True RebootedNode: Node has rebooted";
    publishes(&mut server, &on_the_way(Phase::Proving, None), "TTFFFTTTTFFFFF", &[rebooted]);
    let resumed = "Resumed True Resumed: In desired config b. Resumed normal operations. Applying proper annotations.";
    let succeeded = "NodeDegraded False NodeDegraded: Node n upgrade succeeded";
    publishes(&mut server, &on_the_way(Phase::Completing, None), "TTFFTTTTTFFFFF", &[resumed, succeeded]);
    controls(&mut server, &UNCORDON);
    publishes(&mut server, &on_the_way(Phase::Completing, None), "TTFTTTTTTFTFFF", &[]);
    ends_at_rest(&mut server);
}

fn ends_at_rest(server: &mut Server) {
    publishes(
        server,
        &settled("n", "b"),
        "FFFFFFFFFTFFFF",
        &[
            "UpdatePrepared False UpdatePrepared: Action during update to b: \
             Update Compatible. Post Cfg Actions: [Reboot] Drain Required: true",
            "UpdateExecuted False AppliedFilesAndOS: Action during update to b: \
             Updated the Files and OS on disk as a part of the in progress phase",
            "UpdateComplete False Uncordoned: Action during update to b: \
             Uncordoned Node as part of completing upgrade phase",
            "Resumed False Resumed: Action during update to b: \
             In desired config b. Resumed normal operations. Applying proper annotations.",
            "Drained False UpdateExecutedDrained: Action during update to b: Drained node. The drain is complete",
            "AppliedFilesAndOS False UpdateExecutedAppliedFilesAndOS: Action during update to b: \
             Applied files and new OS config to node. OS did  need an update. SSH Keys did not need an update",
            "Cordoned False UpdateExecutedCordoned: Action during update to b: \
             Cordoned node. The node is reporting Unschedulable = true",
            "RebootedNode False RebootedNode: Action during update to b: Node has rebooted",
            "Updated True Updated: Node n Updated",
            "Uncordoned False UpdateCompleteUncordoned: Action during update to b: \
             UnCordoned node. The node is reporting Unschedulable = false",
        ],
    );
    let version = server.object.status.as_ref().unwrap().config_version.clone().unwrap();
    assert_eq!((version.current.as_deref(), version.desired.as_str()), (Some("b"), "b"));
}

#[test]
fn an_update_without_drain_and_restart() {
    let actions = vec![Action::Reload("crio.service".to_owned())];
    let planned = || Some(Update { actions: actions.clone(), drain: false, os: false, reboot: false, ..update() });
    let mut server = at_rest();
    publishes(&mut server, &on_the_way(Phase::Considering, None), "FFFFFFFFFFFFFF", &[NEEDED]);
    publishes(
        &mut server,
        &on_the_way(Phase::Executing, planned()),
        "TUFFFFUFFFFFFF",
        &[
            "UpdatePrepared True UpdatePrepared: \
             Update Compatible. Post Cfg Actions: [Reload crio.service] Drain Required: false",
            "UpdateExecuted Unknown AppliedFilesAndOS: \
             Updating the Files and OS on disk as a part of the in progress phase",
            "Drained False UpdateExecutedDrained: Node Drain Not required for this update.",
            "AppliedFilesAndOS Unknown UpdateExecutedAppliedFilesAndOS: Applying files and new OS config to node. \
             OS will not need an update. SSH Keys will not need an update",
        ],
    );
    publishes(
        &mut server,
        &on_the_way(Phase::Completing, planned()),
        "TTTFTFTFFFFFFF",
        &[
            "UpdateExecuted True AppliedFilesAndOS: \
             Updated the Files and OS on disk as a part of the in progress phase",
            "UpdatePostActionComplete True UpdatePostActionComplete: Node has reloaded service crio.service",
            "Resumed True Resumed: In desired config b. Resumed normal operations. Applying proper annotations.",
            "AppliedFilesAndOS True UpdateExecutedAppliedFilesAndOS: Applied files and new OS config to node. \
             OS did not need an update. SSH Keys did not need an update",
            "NodeDegraded False NodeDegraded: Node n upgrade succeeded",
        ],
    );
    server.publish(&settled("n", "b"));
    assert_eq!(server.open(), ["Updated"]);
}

#[test]
fn an_update_that_is_refused_and_withdrawn() {
    let mut server = at_rest();
    server.publish(&on_the_way(Phase::Considering, None));
    // What is planned last says where the node was then.
    let planned = Update { from: "rendered-p1".to_owned(), ..update() };
    let refused = on_the_way(Phase::Refused, Some(planned));
    publishes(
        &mut server,
        &in_trouble(refused, TroubleKind::Unreconcilable, "disks differ"),
        "UFFFFFFFFFFTFF",
        &[
            "UpdatePrepared Unknown UpdatePrepared: Update Failed compatibility validation. \
             MachineConfigs a and b are not compatible. Err: disks differ",
            "NodeDegraded True NodeDegraded: Node n upgrade failure. disks differ",
        ],
    );
    let version = server.object.status.as_ref().unwrap().config_version.clone().unwrap();
    assert_eq!((version.current.as_deref(), version.desired.as_str()), (Some("a"), "not-yet-set"));
    publishes(
        &mut server,
        &settled("n", "a"),
        "FFFFFFFFFTFFFF",
        &[
            "UpdatePrepared False UpdatePrepared: Action during update to a: Update Failed compatibility validation. \
             MachineConfigs a and b are not compatible. Err: disks differ",
            "Updated True Updated: Node n Updated",
            "NodeDegraded False NodeDegraded: Node n upgrade succeeded",
        ],
    );
}

#[test]
fn an_update_that_fails_is_taken_back_and_heals() {
    let mut server = at_rest();
    begins_with_a_drain(&mut server, &update());
    let failed = in_trouble(on_the_way(Phase::Considering, None), TroubleKind::Degraded, "no space left");
    publishes(
        &mut server,
        &failed,
        "FFFFFTFTFFFTFF",
        &[
            "UpdatePrepared False UpdatePrepared: Action during update to b: \
             Update Compatible. Post Cfg Actions: [Reboot] Drain Required: true",
            "UpdateExecuted False AppliedFilesAndOS: Action during update to b: \
             Updating the Files and OS on disk as a part of the in progress phase",
            "AppliedFilesAndOS False UpdateExecutedAppliedFilesAndOS: Action during update to b: Applying files and \
             new OS config to node. OS will  need an update. SSH Keys will not need an update",
            "NodeDegraded True NodeDegraded: Node n upgrade failure. no space left",
        ],
    );
    publishes(
        &mut server,
        &on_the_way(Phase::Considering, None),
        "FFFFFTFTFFFFFF",
        &["NodeDegraded False NodeDegraded: Action during update to b: Node n upgrade failure. no space left"],
    );
    publishes(&mut server, &on_the_way(Phase::Draining, Some(update())), "TFFFFTFTFFFFFF", &[PREPARED]);
    server.publish(&on_the_way(Phase::Completing, Some(update())));
    controls(&mut server, &UNCORDON);
    server.publish(&settled("n", "b"));
    assert_eq!(server.open(), ["Updated"]);
}

#[test]
fn a_node_at_rest_that_is_found_changed_is_not_updated() {
    let mut server = at_rest();
    let drifted = in_trouble(settled("n", "a"), TroubleKind::Degraded, "content mismatch for file \"/etc/x\"");
    let degraded = "NodeDegraded True NodeDegraded: Node n upgrade failure. content mismatch for file \"/etc/x\"";
    publishes(&mut server, &drifted, "FFFFFFFFFFFTFF", &[NEEDED, degraded]);
    let healed = ["Updated True Updated: Node n Updated", "NodeDegraded False NodeDegraded: Node n upgrade succeeded"];
    publishes(&mut server, &settled("n", "a"), "FFFFFFFFFTFFFF", &healed);
}

#[test]
fn an_agent_that_starts_again_in_the_middle_leaves_what_the_controller_says() {
    let mut server = at_rest();
    server.publish(&on_the_way(Phase::Considering, None));
    server.publish(&on_the_way(Phase::Draining, Some(update())));
    controls(&mut server, &DRAIN);
    let ended = "UpdatePrepared False UpdatePrepared: Action during update to b: \
                 Update Compatible. Post Cfg Actions: [Reboot] Drain Required: true";
    publishes(&mut server, &on_the_way(Phase::Considering, None), "FUFFFTFTFFFFFF", &[ended]);
    let restarted = on_the_way(Phase::Proving, None);
    server.publish(&on_the_way(Phase::Restarting, Some(update())));
    publishes(&mut server, &restarted, "TTFFFTTTTFFFFF", &["RebootedNode True RebootedNode: Node has rebooted"]);
}

#[test]
fn a_restart_that_nobody_could_be_told_of_is_told_afterwards() {
    let mut server = at_rest();
    server.publish(&on_the_way(Phase::Executing, Some(update())));
    server.publish(&on_the_way(Phase::Completing, None));
    assert_eq!(server.letters(), "TTFFTFTFFFFFFF");
    let mut server = at_rest();
    server.publish(&on_the_way(Phase::Restarting, Some(update())));
    server.publish(&on_the_way(Phase::Completing, None));
    assert_eq!(server.letters(), "TTFFTFTFTFFFFF");
}

/// With image mode the letters are of `UpdatePrepared UpdateExecuted UpdatePostActionComplete UpdateComplete Resumed
/// Drained AppliedFiles AppliedOSImage Cordoned RebootedNode Updated Uncordoned ImagePulledFromRegistry NodeDegraded
/// PinnedImageSetsDegraded PinnedImageSetsProgressing`.
#[test]
fn an_image_that_is_pulled_before_the_drain_is_told_then() {
    let image = format!("r.example.com/os@sha256:{}", "0".repeat(64));
    let to = ConfigRef { config: "b".into(), image: Some(image.clone()) };
    let planned = || Some(Update { to: to.clone(), ..update() });
    let of = |phase| Situation { desired: Some(to.clone()), ..on_the_way(phase, planned()) };
    let mut server = Server::new("n", "b");
    server.gates.image_mode = true;
    server.publish(&settled("n", "a"));
    let pulling =
        format!("ImagePulledFromRegistry Unknown ImagePulledFromRegistry: Pulling OS image {image} from registry");
    let pulled = format!(
        "ImagePulledFromRegistry True ImagePulledFromRegistry: Successfully pulled OS image {image} from registry"
    );
    let prepared =
        "UpdatePrepared True UpdatePrepared: Update Compatible. Post Cfg Actions: [Reboot] Drain Required: true";
    let wanting = "Updated False Updated: Node n needs an update";
    publishes(&mut server, &of(Phase::Staging), "TFFFFFFFFFFFUFFF", &[prepared, wanting, &pulling]);
    let staged = |phase| Situation { staged_for: Some("b".to_owned()), ..of(phase) };
    publishes(&mut server, &staged(Phase::Draining), "TFFFFFFFFFFFTFFF", &[&pulled]);
    server.publish(&staged(Phase::Executing));
    assert_eq!(server.letters(), "TUFFFFUUFFFFTFFF");
    // Taken back before anything was changed.
    server.publish(&settled("n", "a"));
    assert!(server.letters().ends_with("FFFF"), "{}", server.letters());
}

#[test]
fn an_update_with_image_mode() {
    let image = format!("r.example.com/os@sha256:{}", "0".repeat(64));
    let to = ConfigRef { config: "b".into(), image: Some(image.clone()) };
    let planned = || Some(Update { to: to.clone(), ..update() });
    let mut server = Server::new("n", "b");
    server.gates.image_mode = true;
    server.publish(&settled("n", "a"));
    server.publish(&on_the_way(Phase::Draining, planned()));
    let executing = Situation { desired: Some(to.clone()), ..on_the_way(Phase::Executing, planned()) };
    publishes(
        &mut server,
        &executing,
        "TUFFFFUUFFFFUFFF",
        &[
            "UpdateExecuted Unknown AppliedOSImage: Updating the OS on disk as a part of the in progress phase",
            "AppliedFiles Unknown UpdateExecutedAppliedFiles: Applying files to node.",
            "AppliedOSImage Unknown UpdateExecutedAppliedOSImage: Applying new OS config to node.",
            &format!("ImagePulledFromRegistry Unknown ImagePulledFromRegistry: Pulling OS image {image} from registry"),
        ],
    );
    let images = server.object.status.as_ref().unwrap().config_image.clone().unwrap();
    assert_eq!((images.current_image, images.desired_image), (None, Some(image.clone())));
    publishes(
        &mut server,
        &in_trouble(executing, TroubleKind::Degraded, "e"),
        "TUFFFFUUFFFFUTFF",
        &[
            "UpdateExecuted Unknown AppliedOSImage: Error the OS on disk as a part of the in progress phase",
            "AppliedOSImage Unknown UpdateExecutedAppliedOSImage: Update failed applying new OS config to node: e",
            "NodeDegraded True NodeDegraded: Node n upgrade failure. e",
        ],
    );
    publishes(
        &mut server,
        &Situation { desired: Some(to.clone()), ..on_the_way(Phase::Restarting, planned()) },
        "TTFFFFTTFUFFTFFF",
        &[
            "UpdateExecuted True AppliedOSImage: Updated the OS on disk as a part of the in progress phase",
            "AppliedFiles True UpdateExecutedAppliedFiles: Applied files. SSH Keys did not need an update",
            "AppliedOSImage True UpdateExecutedAppliedOSImage: Applied new OS config to node.",
            "RebootedNode Unknown RebootedNode: Upgrade requires a reboot.",
            &format!(
                "ImagePulledFromRegistry True ImagePulledFromRegistry: \
                 Successfully pulled OS image {image} from registry"
            ),
            "NodeDegraded False NodeDegraded: Action during update to b: Node n upgrade failure. e",
        ],
    );
}

//! The rpm-ostreed stand-in on a real bus, deploying real images into a real sysroot.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy does not see that helpers of tests are test code"
)]

mod support;

use std::time::Duration;

use support::*;
use zbus::{OwnedObjectPath, OwnedVariant};

fn error_of<T: std::fmt::Debug>(answer: zbus::Result<T>) -> (String, String) {
    match answer {
        Err(zbus::Error::MethodError(name, text, _)) => (name.to_string(), text.unwrap()),
        other => panic!("{other:?}"),
    }
}

fn text(dict: &Dict, key: &str) -> String {
    String::try_from(dict[key].clone()).unwrap()
}

#[tokio::test]
async fn a_rebase_ends_well_and_shows_in_the_deployments() {
    let mut site = Site::new();
    let digest = site.image("v2");
    let bus = site.daemon().await;
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    let heard = run(&bus, &address).await;
    assert_eq!(heard.finished, Some((true, String::new())));
    for signal in ["Message", "TaskBegin", "TaskEnd", "DownloadProgress", "ProgressEnd"] {
        assert!(heard.signals.iter().any(|heard| heard == signal), "no {signal} in {:?}", heard.signals);
    }
    let sysroot = sysroot(&bus).await;
    let deployments: Vec<Dict> = sysroot.get_property("Deployments").await.unwrap();
    assert_eq!(deployments.len(), 2);
    assert_eq!(text(&deployments[0], "container-image-reference"), site.reference("v2"));
    assert_eq!(text(&deployments[0], "container-image-reference-digest"), digest);
    assert_eq!(text(&deployments[0], "version"), "2");
    let path: OwnedObjectPath = sysroot.call("GetOS", &("rhcos",)).await.unwrap();
    assert_eq!(path.as_str(), OS);
    // The kernel arguments are those of the deployment it started from.
    assert_eq!(site.deployments()[0]["kargs"], serde_json::json!(["quiet", "rw"]));
}

#[tokio::test]
async fn kernel_arguments_change_the_pending_deployment_and_keep_its_origin() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    run(&bus, &address).await;
    let os = os(&bus).await;
    let config: Dict = os.call("GetDeploymentBootConfig", &("", true)).await.unwrap();
    let options = dict(&[("delete-if-present", words(&["quiet", "absent"]).into())]);
    let none = Vec::<String>::new();
    let call = (text(&config, "options"), words(&["nosmt", "a=\"b c\""]), none.clone(), none, options);
    let address: String = os.call("KernelArgs", &call).await.unwrap();
    assert_eq!(run(&bus, &address).await.finished, Some((true, String::new())));
    let first = site.deployments().remove(0);
    assert_eq!(first["kargs"], serde_json::json!(["rw", "nosmt", "a=\"b c\""]));
    assert_eq!(first["version"], "2");
}

#[tokio::test]
async fn cleanup_drops_the_pending_deployment_and_rollback_puts_the_other_first() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    run(&bus, &address).await;
    assert_eq!(site.versions(), ["2", "1"]);
    let os = os(&bus).await;
    let address: String = os.call("Rollback", &(Dict::new(),)).await.unwrap();
    assert_eq!(run(&bus, &address).await.finished, Some((true, String::new())));
    assert_eq!(site.versions(), ["1", "2"]);
    let address: String = os.call("Cleanup", &(words(&["pending-deploy"]),)).await.unwrap();
    assert_eq!(run(&bus, &address).await.finished, Some((true, String::new())));
    assert_eq!(site.versions(), ["2"]);
}

#[tokio::test]
async fn one_transaction_at_a_time_and_equal_requests_share_it() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    let registered = dict(&[("id", "test".into())]);
    sysroot(&bus).await.call::<_, _, ()>("RegisterClient", &(registered,)).await.unwrap();
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    assert_eq!(rebase(&bus, &site.reference("v2")).await.unwrap(), address);
    let (name, text) = error_of(rebase(&bus, &site.reference("v1")).await);
    assert_eq!(name, "org.gtk.GDBus.UnmappedGError.Quark._g_2dio_2derror_2dquark.Code26");
    assert!(text.starts_with("Transaction in progress: rebase\n"), "{text}");
    let active: (String, String, String) = sysroot(&bus).await.get_property("ActiveTransaction").await.unwrap();
    assert_eq!(active, ("UpdateDeployment".to_owned(), bus.unique_name().unwrap().to_string(), OS.to_owned()));
    let peer = Peer::connect(&address).await.unwrap();
    let client: String = peer.proxy.get_property("InitiatingClientDescription").await.unwrap();
    assert!(client.starts_with("client(id:test dbus:"), "{client}");
    // The transaction stays until its peers have left, whatever became of it.
    assert!(peer.start().await.unwrap());
    let mut late = Peer::connect(&address).await.unwrap();
    while peer.proxy.get_property::<String>("Title").await.unwrap() == "rebase" && site.versions().len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!late.start().await.unwrap());
    assert_eq!(late.listen().await.finished, Some((true, String::new())));
    drop((peer, late));
    idle(&bus).await;
}

#[tokio::test]
async fn a_sysroot_locked_by_another_process_is_busy() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    site.faults(r#"{"bootc": {"slow_until": "/nonexistent"}}"#);
    let images = site.path("images");
    let mut other = site.bootc_command(&["switch", "--transport", "oci", &format!("{images}:v2")]).spawn().unwrap();
    let mut answer = Ok(String::new());
    // It asks for the lock again only every three seconds, should it find it taken.
    for _ in 0..360 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        answer = os(&bus).await.call("Cleanup", &(words(&["repomd"]),)).await;
        match &answer {
            // The other had not locked it yet.
            Ok(address) => drop(run(&bus, address).await),
            Err(_) => break,
        }
    }
    other.kill().unwrap();
    other.wait().unwrap();
    let (name, text) = error_of(answer);
    assert!(name.ends_with("Code26"), "{name}");
    assert_eq!(text, "System transaction in progress");
}

#[tokio::test]
async fn a_transaction_whose_initiator_leaves_before_the_start_is_dropped() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    let initiator = site.connect().await;
    rebase(&initiator, &site.reference("v2")).await.unwrap();
    initiator.close().await.unwrap();
    idle(&bus).await;
    assert_eq!(site.versions(), ["1"]);
}

#[tokio::test]
async fn a_daemon_killed_at_every_message_leaves_a_sysroot_that_works() {
    let mut deaths = 0;
    for message in 1..40 {
        // A new site for each: what an earlier death had fetched already would not be told again.
        let mut site = Site::new();
        let bus = site.daemon().await;
        site.faults(&format!(r#"{{"rpm-ostreed": {{"die_at": {message}, "once": true}}}}"#));
        let address = rebase(&bus, &site.reference("v2")).await.unwrap();
        let mut peer = Peer::connect(&address).await.unwrap();
        assert!(peer.start().await.unwrap());
        let heard = peer.listen().await;
        if heard.finished.is_some() {
            break;
        }
        deaths += 1;
        assert_eq!(heard.signals.len(), message - 1, "{heard:?}");
        assert_eq!(site.daemon_status(), Some(70));
        assert_eq!(site.versions().last().unwrap(), "1");
        site.start_daemon().await;
        let address = rebase(&bus, &site.reference("v2")).await.unwrap();
        let (well, text) = run(&bus, &address).await.finished.unwrap();
        assert!(well || text.starts_with("Old and new refs are equal: "), "{text}");
        assert_eq!(site.versions().first().unwrap(), "2");
    }
    assert!(deaths >= 8, "{deaths}");
}

#[tokio::test]
async fn work_fails_hangs_and_is_cut_off_as_asked() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    site.faults(r#"{"rpm-ostreed": {"fail_at": 2, "fail_text": "No space left on device"}}"#);
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    let heard = run(&bus, &address).await;
    assert_eq!(heard.finished, Some((false, "No space left on device".to_owned())));
    site.faults(r#"{"rpm-ostreed": {"hang_at": 2, "start_delay_ms": 100}}"#);
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    let mut peer = Peer::connect(&address).await.unwrap();
    let begun = std::time::Instant::now();
    assert!(peer.start().await.unwrap());
    assert!(begun.elapsed() >= Duration::from_millis(100));
    peer.proxy.call::<_, _, ()>("Cancel", &()).await.unwrap();
    assert_eq!(peer.listen().await.finished, Some((false, "Operation was cancelled".to_owned())));
    drop(peer);
    idle(&bus).await;
    site.faults(r#"{"rpm-ostreed": {"cut_at": 3}}"#);
    let address = rebase(&bus, &site.reference("v2")).await.unwrap();
    let mut peer = Peer::connect(&address).await.unwrap();
    assert!(peer.start().await.unwrap());
    let heard = peer.listen().await;
    assert_eq!((heard.signals.len(), heard.finished), (2, None));
    idle(&bus).await;
    assert_eq!(site.versions(), ["2", "1"]);
}

#[tokio::test]
async fn package_requests_are_checked_and_recorded() {
    let mut site = Site::new();
    write(&site.path("repos/x.repo"), &format!("[x]\nbaseurl=file://{}\n", site.path("rpms")));
    write(&site.path("rpms/kernel-rt-core-5.14.0-1.rpm"), "");
    let bus = site.daemon().await;
    let os = os(&bus).await;
    let update = async |modifiers: Dict| {
        let options = dict(&[("no-pull-base", true.into())]);
        let address: String = os.call("UpdateDeployment", &(modifiers, options)).await.unwrap();
        run(&bus, &address).await.finished.unwrap()
    };
    let install = |package: &str| ("install-packages", words(&[package]).into());
    let missing = update(dict(&[install("nosuch")])).await;
    assert_eq!(missing, (false, "Packages not found: nosuch".to_owned()));
    let unknown = update(dict(&[("override-remove-packages", words(&["nosuch"]).into())])).await;
    assert_eq!(unknown, (false, "Package \"nosuch\" not found".to_owned()));
    let removals = ("override-remove-packages", words(&["kernel", "kernel-core"]).into());
    assert_eq!(update(dict(&[install("kernel-rt-core"), removals])).await, (true, String::new()));
    let default: Dict = os.get_property("DefaultDeployment").await.unwrap();
    let list = |key: &str| Vec::<String>::try_from(OwnedVariant::try_clone(&default[key]).unwrap()).unwrap();
    assert_eq!(list("requested-packages"), ["kernel-rt-core"]);
    assert_eq!(list("requested-base-removals"), ["kernel", "kernel-core"]);
    // A new base needs the packages again.
    std::fs::remove_file(site.path("repos/x.repo")).unwrap();
    let rebased = rebase(&bus, &site.reference("v2")).await.unwrap();
    let gone = run(&bus, &rebased).await.finished.unwrap();
    assert_eq!(gone, (false, "Packages not found: kernel-rt-core".to_owned()));
}

#[tokio::test]
async fn an_image_that_is_not_there_fails_the_transaction() {
    let mut site = Site::new();
    let bus = site.daemon().await;
    let address = rebase(&bus, &site.reference("nosuch")).await.unwrap();
    let (success, error) = run(&bus, &address).await.finished.unwrap();
    assert!(!success);
    assert!(error.contains("nosuch"), "{error}");
    assert_eq!(site.versions(), ["1"]);
}

#[tokio::test]
async fn an_idle_daemon_leaves_unless_a_client_is_registered() {
    let mut site = Site::new();
    site.faults(r#"{"rpm-ostreed": {"idle_exit_ms": 3000}}"#);
    let bus = site.daemon().await;
    sysroot(&bus).await.call::<_, _, ()>("RegisterClient", &(Dict::new(),)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(4000)).await;
    let path: String = sysroot(&bus).await.get_property("Path").await.unwrap();
    assert_eq!(path, site.path("root"));
    bus.close().await.unwrap();
    assert_eq!(site.daemon_status(), Some(0));
}

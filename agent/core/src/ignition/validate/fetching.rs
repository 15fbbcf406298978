//! The `ignition` section: further configs, certificates and proxies to fetch them with.

use ignition_config::v3_6 as spec;

use super::report::{Place, Report};
use super::url::Url;
use super::{items, resource};

pub(super) fn check(report: &mut Report, ignition: &spec::Ignition) {
    let place = Place::Root.field("ignition");
    if let Some(config) = &ignition.config {
        let place = place.field("config");
        resource::check_all(report, place.field("merge"), items(&config.merge));
        if let Some(replace) = &config.replace {
            resource::check(report, place.field("replace"), replace);
        }
    }
    if let Some(proxy) = &ignition.proxy {
        check_proxy(report, place.field("proxy"), proxy);
    }
    if let Some(tls) = ignition.security.as_ref().and_then(|security| security.tls.as_ref()) {
        let security = place.field("security");
        let tls_place = security.field("tls");
        resource::check_all(report, tls_place.field("certificateAuthorities"), items(&tls.certificate_authorities));
    }
}

fn check_proxy(report: &mut Report, place: Place<'_>, proxy: &spec::Proxy) {
    for (field, url) in [("httpProxy", &proxy.http_proxy), ("httpsProxy", &proxy.https_proxy)] {
        let refused = |url: &str| !Url::parse(url).is_some_and(|url| url.is_any(&["http", "https"]));
        if url.as_deref().is_some_and(refused) {
            report.add(place.field(field), "is not a valid http or https URL");
        }
    }
    report.unique(place.field("noProxy"), items(&proxy.no_proxy).iter().map(String::as_str), "is already listed");
}

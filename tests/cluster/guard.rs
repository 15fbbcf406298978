//! The policy that keeps nodes to objects of their own name, evaluated here: not every API server to test with has it.

use kube_cel::{AdmissionRequest, VapEvaluator, VapExpression};
use serde_json::{Value, json};

use super::cluster::manifests;

const NODES: &str = "system:nodes";

/// Whether the policy is about a request, and what it says to that.
fn answer(policy: &Value, user: &str, groups: &[&str], object: &str) -> Result<(), Vec<Option<String>>> {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    let request = AdmissionRequest { username: user.to_owned(), groups, ..AdmissionRequest::default() };
    let object = json!({"metadata": {"name": object}, "spec": {}});
    let evaluator = VapEvaluator::builder().object(object).request(request).build();
    let results = |list: &str| {
        let expressions: Vec<VapExpression> = serde_json::from_value(policy["spec"][list].clone()).unwrap();
        assert!(!expressions.is_empty(), "{list}");
        evaluator.compile_expressions(&expressions).iter().for_each(|made| assert!(made.is_ok(), "{made:?}"));
        evaluator.evaluate(&expressions)
    };
    if results("matchConditions").iter().any(|condition| !condition.passed) {
        return Ok(());
    }
    let refused: Vec<_> = results("validations").into_iter().filter(|result| !result.passed).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused.into_iter().map(|result| result.message).collect()) }
}

#[test]
fn only_the_node_of_the_name_and_those_who_are_no_nodes_may_write() {
    let [policy, binding] = <[Value; 2]>::try_from(manifests::admission()).unwrap();
    assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
    assert_eq!(binding["spec"]["validationActions"], json!(["Deny"]));
    let everybody = "system:authenticated";
    let table: [(&str, &[&str], bool); 8] = [
        ("system:node:worker-0", &[NODES, everybody], true),
        ("system:node:worker-1", &[NODES, everybody], false),
        ("system:node:worker-00", &[NODES, everybody], false),
        ("system:node:", &[NODES, everybody], false),
        // Permitted by its group alone, so it has to be refused here.
        ("worker-0", &[NODES, everybody], false),
        ("system:admin", &["system:masters", everybody], true),
        ("system:serviceaccount:openshift-machine-config-operator:machine-config-operator", &[everybody], true),
        // In no group that may write; that is for the authoriser to say.
        ("system:node:worker-1", &[everybody], true),
    ];
    for (user, groups, allowed) in table {
        assert_eq!(answer(&policy, user, groups, "worker-0").is_ok(), allowed, "{user} {groups:?}");
    }
    let refusal = answer(&policy, "system:node:worker-1", &[NODES], "worker-0").unwrap_err();
    let message = "system:node:worker-1 may not write to the MachineConfigNode worker-0";
    assert_eq!(refusal, [Some(message.to_owned())]);
}

#[test]
fn the_policy_is_about_writing_the_object_and_its_status() {
    let policy = &manifests::admission()[0];
    assert_eq!(policy["spec"]["failurePolicy"], "Fail");
    let rules = &policy["spec"]["matchConstraints"]["resourceRules"];
    assert_eq!(rules[0]["operations"], json!(["CREATE", "UPDATE"]));
    assert_eq!(rules[0]["resources"], json!(["machineconfignodes", "machineconfignodes/status"]));
}

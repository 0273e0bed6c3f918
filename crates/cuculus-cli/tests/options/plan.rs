//! What `cuculus plan` answers.

use serde_json::Value;

use crate::binary::{output_of, stderr_of, stdout_of};

fn plan(arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["plan"].iter().chain(arguments).chain(&["--json"]).copied().collect();
    let output = output_of(&all);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    serde_json::from_str(stdout_of(&output)).expect("JSON alone")
}

fn kind<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let kinds = plan["kinds"].as_array().expect("a list");
    kinds.iter().find(|kind| kind["kind"] == name).unwrap_or_else(|| panic!("{name}: {plan}"))
}

/// With its size declared the elastic filter takes less than the fixed one, and is never full.
#[test]
fn a_known_size_is_declared() {
    for (items, rate) in [("100k", "1%"), ("1M", "0.001"), ("16M", "0.001")] {
        let plan = plan(&["--items", items, "--fpr", rate]);
        assert_eq!(plan["take"], "elastic, sized");
        let bytes = |name| kind(&plan, name)["bytes"].as_u64().expect("a number");
        for name in ["elastic", "fixed cuckoo"] {
            assert!(bytes("elastic, sized") < bytes(name), "{name}: {plan}");
        }
    }
    let output = output_of(&["plan", "--items", "100k", "--fpr", "1%"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = stdout_of(&output);
    assert!(text.starts_with("100,000 keys, a false positive rate of 1 %\n\nfilter "), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Use the ElasticFilter with expected_items(100000): it takes"),
        "{text}"
    );
    assert!(words.contains("If speed matters most"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
    for name in ["elastic", "semi-sorted", "Bloom", "quotient"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}:\n{text}");
    }
    assert!(!text.contains('\x1b') && output.stderr.is_empty());
}

#[test]
fn the_same_number_in_four_ways_is_the_same_plan() {
    let plans =
        ["20000", "20_000", "20k", "2e4"].map(|items| plan(&["--items", items, "--fpr", "0.01"]));
    assert!(plans.iter().all(|plan| *plan == plans[0]), "{plans:#?}");
    let fixed = kind(&plans[0], "fixed cuckoo");
    let bits = fixed["bits_per_item"].as_f64().expect("a number");
    // The filter itself is a hundredth of so small a table.
    assert!((10.3..10.8).contains(&bits), "{fixed}");
    assert_eq!(fixed["memory_reads"], 2);
}

#[test]
fn a_peak_is_for_the_elastic_filter() {
    let plan = plan(&["--items", "50k", "--peak", "2M", "--fpr", "0.01", "--delete"]);
    assert_eq!(plan["take"], "elastic, sized");
    let bytes = |name| kind(&plan, name)["bytes"].as_u64().expect("a number");
    assert!(bytes("elastic, sized") * 5 < bytes("fixed cuckoo"), "{plan}");
    let output = output_of(&["plan", "--items", "1M", "--peak", "20M", "--fpr", "0.001"]);
    let text = stdout_of(&output);
    assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
    assert!(plan["because"].as_str().is_some_and(|text| text.contains("peak")), "{plan}");
}

#[test]
fn deletion_rules_filters_out_and_says_so() {
    let arguments = ["plan", "--items", "10k", "--fpr", "0.01", "--delete"];
    let output = output_of(&arguments);
    let text = stdout_of(&output);
    assert!(text.contains("\nBloom: cannot delete\n"), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("Bloom filters are ruled out"), "{text}");
    let plan = plan(&arguments[1..]);
    assert_eq!(kind(&plan, "blocked Bloom")["ruled_out"], "cannot delete");
    assert!(kind(&plan, "counting Bloom")["bytes"].is_u64());
}

/// A kind that is ruled out does not hide the others.
#[test]
fn extreme_requests_have_an_answer() {
    let small = plan(&["--items", "1e10", "--fpr", "1e-9"]);
    assert!(kind(&small, "elastic")["ruled_out"].is_string(), "{small}");
    for (items, rate) in [("1", "0.5"), ("1", "0.00001"), ("3", "0.999"), ("1e10", "0.01")] {
        let plan = plan(&["--items", items, "--fpr", rate, "--peak", "1e10"]);
        assert!(plan["take"].is_string(), "{items} {rate}: {plan}");
    }
}

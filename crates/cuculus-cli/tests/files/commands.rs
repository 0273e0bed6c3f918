//! Each command does what its help says, on each kind of filter.

use crate::binary::{is_error, output_of, stderr_of, stdout_of};
use crate::workshop::{Workshop, fed, json, lines, succeeds};

const KINDS: [(&str, &str); 3] =
    [("elastic", "elastic filter"), ("cuckoo", "cuckoo filter"), ("semi-sorted", "cuckoo filter")];

#[test]
fn every_kind_is_built_queried_changed_and_verified() {
    for (kind, name) in KINDS {
        let workshop = Workshop::new();
        let keys = lines("key", 5000);
        let options = ["--kind", kind, "--capacity", "8k"];
        let file = workshop.build("filter", &options, &keys);
        let count = || json(&succeeds(&["info", "--json", &file], ""))["keys"].clone();
        assert_eq!(count(), 5000, "{kind}");
        assert_eq!(succeeds(&["query", &file], &keys), keys, "{kind}: every key is found");

        let absent = lines("absent", 5000);
        let missed = succeeds(&["query", &file, "--invert"], &absent);
        let rate = 1.0 - missed.lines().count() as f64 / 5000.0;
        // 1 %: 50 of 5,000 absent keys, and four standard deviations.
        assert!(rate < 0.016, "{kind}: {rate}");

        let more = lines("more", 1000);
        let added = succeeds(&["add", &file, "--json"], &more);
        assert_eq!(json(&added), serde_json::json!({"read": 1000, "added": 1000, "keys": 6000}));
        assert_eq!(succeeds(&["query", &file], &more), more, "{kind}");

        let removed = succeeds(&["remove", &file, "--json"], &keys);
        assert_eq!(
            json(&removed),
            serde_json::json!({"read": 5000, "removed": 5000, "keys": 1000})
        );
        assert_eq!(succeeds(&["query", &file], &more), more, "{kind}: the others are still there");

        let verdict = succeeds(&["verify", &file], "");
        assert_eq!(verdict, format!("{file}: ok, {name}, 1,000 keys\n"));
        assert_eq!(workshop.files(), ["filter"], "{kind}: nothing else is left");
    }
}

#[test]
fn the_same_keys_and_seed_give_the_same_file() {
    let workshop = Workshop::new();
    let keys = lines("key", 20_000);
    for (kind, _) in KINDS {
        workshop.build("one", &["--kind", kind, "--force"], &keys);
        let files = [workshop.write("first", lines("key", 7)), workshop.write("rest", &keys[35..])];
        let two = workshop.at("two");
        let arguments = ["build", &two, &files[0], &files[1], "--seed", "1", "--force", "--kind"];
        succeeds(&[&arguments[..], &[kind]].concat(), "");
        assert!(workshop.read("one") == workshop.read("two"), "{kind}");
    }
}

#[test]
fn keys_may_be_bytes_and_numbers() {
    let workshop = Workshop::new();
    let hex = workshop.build("hex", &["--hex"], "616263\n64\n");
    assert_eq!(succeeds(&["query", &hex, "--hex"], "616263\n64\n65\n"), "616263\n64\n");
    let text = workshop.build("text", &[], "abc\nd\n");
    assert_eq!(succeeds(&["query", &text, "--null"], "abc\0x\0d"), "abc\0d\0");
    let numbers = workshop.build("numbers", &["--u64"], "0\n18446744073709551615\n");
    assert_eq!(succeeds(&["query", &numbers, "--u64", "--count"], "0\n1\n2\n"), "1\n");
    let empty = workshop.build("empty", &[], "");
    assert_eq!(fed(&["query", &empty, "-q"], "abc\n").status.code(), Some(1));
    assert_eq!(json(&succeeds(&["info", &empty, "--json"], ""))["bits_per_key"], json("null"));
}

#[test]
fn a_last_line_without_an_end_is_a_line() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "one\ntwo");
    assert_eq!(succeeds(&["query", &file], "zero\ntwo"), "two\n");
    assert_eq!(succeeds(&["query", &file], "two"), "two\n");
    assert_eq!(succeeds(&["query", &file], "one\ntwo"), "one\ntwo\n");
    let empty_key = workshop.build("empty key", &[], "\n");
    assert_eq!(succeeds(&["query", &empty_key], "\nx\n"), "\n");
}

/// Longer than a block, and cut at any place.
#[test]
fn lines_of_any_length_are_whole() {
    let workshop = Workshop::new();
    let long: String = (0..40).map(|i| "x".repeat(17_777 * i) + "\n").collect();
    let keys = workshop.write("keys", &long);
    let file = workshop.build("filter", &[], &long);
    assert!(succeeds(&["query", &file, &keys], "") == long);
    assert!(succeeds(&["query", &file], &long) == long);
    assert_eq!(json(&succeeds(&["info", &file, "--json"], ""))["keys"], 40);
}

#[test]
fn the_exit_code_of_a_query_is_its_answer() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], &lines("key", 100));
    for (arguments, input, code) in [
        (&["query", &file, "--quiet"][..], "no\nkey7\n", 0),
        (&["query", &file, "--quiet"], "no\n", 1),
        (&["query", &file, "--quiet"], "", 1),
        (&["query", &file, "--quiet", "--invert"], "key1\nkey2\n", 1),
        (&["query", &file, "--quiet", "--invert"], "key1\nno\n", 0),
        (&["query", &file], "no\n", 1),
        (&["query", &file, "--count"], "no\n", 1),
        (&["count", &file], "no\n", 1),
    ] {
        let output = fed(arguments, input);
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {input:?}");
        assert!(stderr_of(&output).is_empty());
    }
    let summary = succeeds(&["query", &file, "--json"], "key1\nno\nkey2\n");
    assert_eq!(json(&summary), serde_json::json!({"asked": 3, "found": 2}));
}

#[test]
fn keys_are_counted_and_removed_as_often_as_they_were_added() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "a\nb\nb\nb\n");
    assert_eq!(succeeds(&["count", &file], "a\nb\nc\n"), "1\ta\n3\tb\n0\tc\n");
    let sums = succeeds(&["count", &file, "--json"], "a\nb\nc\n");
    assert_eq!(json(&sums), serde_json::json!({"asked": 3, "found": 2, "copies": 4}));
    let output = fed(&["remove", &file], "b\nb\nc\n");
    assert_eq!(output.status.code(), Some(1), "one was missing");
    assert_eq!(stderr_of(&output), "cuculus: 1 of 3 keys were not in the filter\n");
    assert_eq!(succeeds(&["count", &file], "a\nb\n"), "1\ta\n1\tb\n", "the others are removed");
}

#[test]
fn a_set_stores_each_key_once() {
    let workshop = Workshop::new();
    for kind in ["elastic", "cuckoo"] {
        let keys = "key\n".repeat(1000) + "other\n";
        let file = workshop.build(kind, &["--set", "--kind", kind, "--force"], &keys);
        assert_eq!(succeeds(&["count", &file], "key\nother\n"), "1\tkey\n1\tother\n");
        let options = ["--set", "--kind", kind, "--force", "--capacity", "10"];
        let file = workshop.build(kind, &options, &keys);
        assert_eq!(succeeds(&["count", &file], "key\nother\n"), "1\tkey\n1\tother\n");
        let added = succeeds(&["add", &file, "--json"], "other\nthird\nthird\n");
        assert_eq!(json(&added), serde_json::json!({"read": 3, "added": 1, "keys": 3}));
        assert_eq!(json(&succeeds(&["info", &file, "--json"], ""))["holds"], "set");
    }
}

/// Ordinary text, in which most words come more than once.
#[test]
fn the_words_of_a_text_make_a_set() {
    let text = include_str!("../../../../README.md");
    let words: Vec<&str> = text.split_whitespace().collect();
    let different: std::collections::HashSet<&str> = words.iter().copied().collect();
    assert!(words.iter().filter(|&&word| word == "the").count() > 8 && different.len() > 100);
    let workshop = Workshop::new();
    let options = ["--set", "--fpr", "1e-8", "--json"];
    let file = workshop.at("words");
    let arguments = [&["build", &file], &options[..]].concat();
    let built = json(&succeeds(&arguments, words.join("\n") + "\n"));
    assert_eq!(
        (built["read"].as_u64(), built["added"].as_u64()),
        (Some(words.len() as u64), Some(different.len() as u64))
    );
}

/// A million copies of one key, and each is counted.
#[test]
fn a_multiset_counts_copies_down() {
    let workshop = Workshop::new();
    for copies in [9, 1_000_000] {
        let keys = "key\n".repeat(copies) + "other\n";
        let file = workshop.build("filter", &["--force"], &keys);
        let count = || succeeds(&["count", &file], "key\nother\n");
        assert_eq!(count(), format!("{copies}\tkey\n1\tother\n"));
        succeeds(&["remove", &file], "key\nkey\n");
        assert_eq!(count(), format!("{}\tkey\n1\tother\n", copies - 2));
        succeeds(&["add", &file], "key\n");
        succeeds(&["remove", &file], "key\n".repeat(copies - 2));
        assert_eq!(count(), "1\tkey\n1\tother\n");
        succeeds(&["remove", &file], "key\n");
        assert_eq!(count(), "0\tkey\n1\tother\n");
        assert_eq!(json(&succeeds(&["info", &file, "--json"], ""))["holds"], "multiset");
    }
}

/// A file of the library has no note: copies are kept, and keys may have any form.
#[test]
fn files_of_the_library_are_multisets() {
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../cuculus/tests/golden/elastic/elastic-many.cuculus"
    );
    let workshop = Workshop::new();
    let file = workshop.write("filter", std::fs::read(golden).expect("the golden file"));
    let before = json(&succeeds(&["info", &file, "--json"], ""))["keys"].as_u64();
    succeeds(&["add", &file], "a new key\na new key\n");
    succeeds(&["add", &file, "--hex"], "00\n");
    let info = json(&succeeds(&["info", &file, "--json"], ""));
    assert_eq!(info["keys"].as_u64(), before.map(|keys| keys + 3));
    assert_eq!((&info["holds"], &info["keys_are"]), (&json("null"), &json("null")));
    assert_eq!(succeeds(&["count", &file], "a new key\n"), "2\ta new key\n");
    assert!(succeeds(&["info", &file], "").contains("taken for a multiset"));
}

/// And the library loads files of this tool.
#[test]
fn the_library_loads_files_with_a_note() {
    use cuculus::{ElasticFilter, Filter, Persist};
    let workshop = Workshop::new();
    workshop.build("filter", &[], "key\n");
    let filter = ElasticFilter::from_bytes(&workshop.read("filter")).expect("a filter");
    assert!(filter.contains("key") && filter.len() == 1);
}

#[test]
fn several_filters_are_asked() {
    let workshop = Workshop::new();
    let files = ["a", "b", "c"].map(|name| {
        let file = workshop.at(name);
        succeeds(&["build", &file], format!("{name}1\n{name}2\n"));
        file
    });
    let keys = "a1\nb2\nc1\nd\n";
    let any = ["query", &files[0], "--or", &files[1], "--or", &files[2]];
    assert_eq!(succeeds(&any, keys), "a1\nb2\nc1\n", "three seeds");
    assert_eq!(succeeds(&["query", &files[0], "-o", &files[1], "-c"], keys), "2\n");
    assert_eq!(succeeds(&[&any[..], &["--invert"]].concat(), keys), "d\n");
    let numbers = workshop.build("numbers", &["--u64"], "1\n");
    let output = fed(&["query", &files[0], "--or", &numbers], keys);
    assert!(stderr_of(&output).contains("are numbers (--u64), not text"));
}

/// What people build without options changes as they ask, and no key goes with another.
#[test]
fn a_filter_built_without_options_follows_its_set() {
    let workshop = Workshop::new();
    let file = workshop.at("filter");
    let [gone, kept, new] = ["gone", "kept", "new"].map(|prefix| lines(prefix, 50_000));
    succeeds(&["build", &file], gone.clone() + &kept);
    succeeds(&["add", &file], &new);
    let removed = succeeds(&["remove", &file, "--json"], &gone);
    assert_eq!(
        json(&removed),
        serde_json::json!({"read": 50_000, "removed": 50_000, "keys": 100_000})
    );
    assert_eq!(succeeds(&["query", &file], kept.clone() + &new), kept + &new);
}

/// Keys of a set can look the same and share an entry. If that is likely, removing is refused.
#[test]
fn keys_that_may_share_an_entry_are_not_removed() {
    let workshop = Workshop::new();
    let (keys, some) = (lines("key", 50_000), lines("key", 10));
    let set = workshop.build("set", &["--fpr", "1%", "--set"], &keys);
    let info = json(&succeeds(&["info", &set, "--json"], ""));
    let left_out = info["expected_left_out"].as_f64().expect("a number");
    let really = 50_000 - info["keys"].as_u64().expect("a number");
    assert!((really as f64) < left_out + 4.5 * left_out.sqrt(), "{really}, {left_out} expected");
    assert!(really > 0 && left_out < 500.0, "{left_out}");
    let before = workshop.read("set");
    let output = fed(&["remove", &set], &some);
    is_error(&output, "share an entry");
    assert!(workshop.read("set") == before);
    succeeds(&["remove", &set, "--force"], &some);
    let small = workshop.build("small", &["--set"], &some);
    succeeds(&["remove", &small], &some);
}

#[test]
fn elastic_filters_with_one_seed_are_merged() {
    let workshop = Workshop::new();
    let keys = ["a", "b", "c"].map(|prefix| lines(prefix, 3000));
    let files: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(i, keys)| workshop.build(&format!("{i}"), &[], keys))
        .collect();
    let before = workshop.read("1");
    let merged = succeeds(&["merge", &files[0], &files[1], &files[2], "--json"], "");
    assert_eq!(json(&merged), serde_json::json!({"added": 6000, "keys": 9000}));
    let all = keys.concat();
    assert_eq!(succeeds(&["query", &files[0]], &all), all);
    assert!(workshop.read("1") == before);
}

#[test]
fn info_describes_the_filter() {
    let workshop = Workshop::new();
    let file =
        workshop.build("filter", &["--fpr", "0.001", "--kind", "cuckoo"], &lines("k", 10_000));
    let info = json(&succeeds(&["info", &file, "--json"], ""));
    assert_eq!(info["kind"], "cuckoo filter");
    assert_eq!((&info["hash"], &info["seed"]), (&json("\"fold-xxh3\""), &json("\"1\"")));
    assert_eq!(info["file_bytes"], workshop.read("filter").len());
    assert_eq!(info["details"]["capacity"], 10_000);
    let rate = info["expected_false_positive_rate"].as_f64().expect("a rate");
    assert!(rate > 0.0005 && rate <= 0.001, "{rate}");
    let text = succeeds(&["info", &file], "");
    for part in ["kind                  cuckoo filter\n", "10,000\n", "fold-xxh3 with seed 1\n"] {
        assert!(text.contains(part), "{text}");
    }
}

/// A maplet that the library wrote, in the first version of the format.
#[test]
fn a_maplet_is_queried_but_not_changed() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../cuculus/tests/golden/v1/maplet.cuculus");
    let workshop = Workshop::new();
    let file = workshop.write("maplet", std::fs::read(golden).expect("the golden file"));
    let info = json(&succeeds(&["info", &file, "--json"], ""));
    assert_eq!(info["kind"], "cuckoo maplet");
    assert!(info["details"]["value_bits"].is_u64(), "{info}");
    assert!(succeeds(&["verify", &file], "").contains("ok, cuckoo maplet"));
    let before = workshop.read("maplet");
    for command in ["add", "remove"] {
        is_error(&fed(&[command, &file], "key\n"), "a value with each key");
    }
    assert!(workshop.read("maplet") == before);
    assert_eq!(workshop.files(), ["maplet"]);
}

#[test]
fn the_help_of_each_command_states_its_promise() {
    for (command, part) in [
        ("uniq", "less than one line in a billion different ones"),
        ("query", "exit code is 0 if a key was found"),
        ("remove", "Remove only keys that were added"),
        ("build", "--capacity"),
        ("add", "it is unchanged"),
        ("count", "never too small"),
        ("info", "--json"),
        ("verify", "checksums"),
        ("merge", "same seed"),
    ] {
        let output = output_of(&[command, "--help"]);
        let text = stdout_of(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{command}: {text}");
    }
}

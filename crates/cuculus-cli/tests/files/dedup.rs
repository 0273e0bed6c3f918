//! `cuculus dedup`: data sets without repeated documents, whatever happens to the process.

use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::Instant;

use crate::binary::{is_refused, output_of, stderr_of, stdout_of};
use crate::workshop::{Workshop, fed, gzip, json, lines, piped, succeeds, zstd};

/// JSON lines, a third of them repeated, some without the key, over several blocks.
fn documents(count: usize, seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = String::new();
    for number in 0..count {
        let id = random.usize(..count * 3 / 2);
        let filler = "x".repeat(random.usize(..200));
        text += &match number % 1000 {
            999 => format!("{{\"other\": \"{number}\"}}\n"),
            _ => format!("{{\"n\": {number}, \"text\": \"document {id}\", \"f\": \"{filler}\"}}\n"),
        };
    }
    text
}

/// What an exact set keeps: the first document for each text.
fn expected(text: &str, seen: &mut HashSet<String>) -> String {
    let is_new = |line: &&str| match json(line)["text"].as_str() {
        Some(text) => seen.insert(text.to_owned()),
        None => true,
    };
    text.lines().filter(is_new).map(|line| format!("{line}\n")).collect()
}

#[test]
fn repeated_documents_are_dropped_for_any_number_of_threads_and_any_packing() {
    let workshop = Workshop::new();
    let texts = [documents(20_000, 1), String::new(), documents(10_000, 2)];
    let mut seen = HashSet::new();
    let kept = texts.each_ref().map(|text| expected(text, &mut seen));
    let read: usize = texts.iter().map(|text| text.lines().count()).sum();
    let files = [
        workshop.write("a.jsonl.gz", gzip(&texts[0])),
        workshop.write("b.jsonl", &texts[1]),
        workshop.write("c.jsonl.zst", zstd(&texts[2])),
    ];
    let mut outputs = Vec::new();
    for threads in ["1", "2", "7"] {
        let (out, state) =
            (workshop.at(&format!("out{threads}")), workshop.at(&format!("s{threads}")));
        let arguments = ["dedup", &files[0], &files[1], &files[2], "--key", "text", "--json"];
        let rest = ["--out", &out, "--state", &state, "--threads", threads];
        let totals = json(&succeeds(&[&arguments[..], &rest].concat(), ""));
        assert_eq!(totals["read"], read);
        assert_eq!(totals["kept"], kept.iter().map(|text| text.lines().count()).sum::<usize>());
        assert_eq!(totals["without_key"], 30);
        assert!(
            totals["expected_dropped_by_mistake"].as_f64().is_some_and(|n| n > 0.0 && n < 1e-4)
        );
        for (name, kept) in ["a.jsonl.gz", "b.jsonl", "c.jsonl.zst"].iter().zip(&kept) {
            // uniq reads packed files; every line with its number is different.
            assert!(succeeds(&["uniq", &format!("{out}/{name}")], "") == *kept, "{name}");
        }
        outputs.push(
            ["a.jsonl.gz", "b.jsonl", "c.jsonl.zst"]
                .map(|name| fs::read(format!("{out}/{name}")).expect("an output")),
        );
    }
    assert!(outputs.iter().all(|files| *files == outputs[0]), "byte for byte");
}

/// Programs that unpack files take one of no bytes for damaged.
#[test]
fn a_packed_output_without_documents_can_be_unpacked() {
    let workshop = Workshop::new();
    let text = documents(100, 1);
    let files = [
        workshop.write("a.jsonl", &text),
        workshop.write("b.jsonl.gz", gzip(&text)),
        workshop.write("c.jsonl.zst", zstd(&text)),
        workshop.write("d.jsonl.gz", gzip("")),
    ];
    let (out, state) = (workshop.at("out"), workshop.at("state"));
    let arguments = ["dedup", &files[0], &files[1], &files[2], &files[3]];
    succeeds(&[&arguments[..], &["--out", &out, "--state", &state]].concat(), "");
    for name in ["b.jsonl.gz", "c.jsonl.zst", "d.jsonl.gz"] {
        let packed = workshop.read(&format!("out/{name}"));
        let unpacked = match name.ends_with("gz") {
            true => std::io::read_to_string(flate2::read::GzDecoder::new(&packed[..])),
            false => zstd::decode_all(&packed[..]).map(|bytes| format!("{bytes:?}")),
        };
        let unpacked = unpacked.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!packed.is_empty() && ["", "[]"].contains(&&*unpacked), "{name}: {unpacked}");
    }
}

#[test]
fn a_state_is_continued_and_forgets() {
    let workshop = Workshop::new();
    let state = workshop.at("state");
    let run = |name: &str, text: &str, out: &str| {
        let file = workshop.write(name, text);
        let out = workshop.at(out);
        succeeds(&["dedup", &file, "--key", "/u/id", "--out", &out, "--state", &state], "");
        fs::read_to_string(format!("{out}/{name}")).expect("an output")
    };
    let document = |id: &str| format!("{{\"u\": {{\"id\": \"{id}\"}}}}\n");
    let [a, b, c] = ["a", "b", "c"].map(document);
    assert_eq!(run("one", &[&*a, &b, &a].concat(), "out"), [&*a, &b].concat());
    assert_eq!(run("two", &[&*b, &c].concat(), "out"), c);
    assert_eq!(run("two", &[&*b, &c].concat(), "out"), c, "done already: nothing is changed");
    // A takedown: the document is given as it was read.
    assert_eq!(succeeds(&["query", &state, "--count"], [&*a, &document("z")].concat()), "1\n");
    succeeds(&["remove", &state], &a);
    assert_eq!(run("three", &[&*a, &b].concat(), "out"), a);
    let info = succeeds(&["info", &state], "");
    assert!(info.contains("the value at /u/id of a JSON document"), "{info}");

    let file = workshop.at("one");
    for (arguments, hint) in [
        (&["--key", "/u/id"][..], "one exists"),
        (&["--key", "line"], "other --key"),
        (&["--key", "/u/id", "--ngrams", "3"], "other --key"),
        (&["--key", "/u/id", "--fpr", "0.1%"], "--fpr 0.1%: "),
    ] {
        let out = workshop.at("out");
        let all = ["dedup", &file, "--out", &out, "--state", &state];
        is_refused(&[&all[..], arguments].concat(), hint);
    }
    let out = workshop.at("elsewhere");
    let keep = ["--out", &out, "--state", &state];
    is_refused(&[&["dedup", "-"], &keep[..]].concat(), "name files");
    is_refused(&[&["dedup", &workshop.at("missing")], &keep[..]].concat(), "cannot read ");
    is_refused(&[&["dedup", &workshop.at("out")], &keep[..]].concat(), "not a regular file");
    is_refused(&[&["dedup", &file, &file], &keep[..]].concat(), "the same output");
    is_refused(&["dedup", &file, "--out", "-", "--state", &state], "a directory");
    is_refused(&["dedup", &file, "--out", &out], "--state");
    is_refused(&["dedup", &file, "--key", "id", "--out", &out, "--state", &state], "JSON pointer");
    let threshold = ["--threshold", "2", "--ngrams", "2"];
    is_refused(&[&["dedup", &file], &threshold[..], &keep].concat(), "'2' for '--threshold");
    is_refused(&["uniq", "--json-key", "/u/id", "--state", &state], "state of `cuculus dedup`");
    is_refused(&["add", &state], "state of `cuculus dedup`");
    let bad = workshop.write("bad", "{\"u\":1}\n{\n");
    let other = workshop.at("other state");
    let bad = ["dedup", &bad, "--key", "/u/id", "--out", &out, "--state", &other];
    is_refused(&bad, "bad:2: \"{\" is not a JSON document");
}

#[test]
fn documents_that_are_nearly_the_same_are_dropped() {
    let workshop = Workshop::new();
    let words =
        |from: usize| (from..from + 100).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    let (first, shifted, other) = (words(0), words(10), words(95));
    let changed = first.replace("word50 ", "another ").to_uppercase();
    let text = [&first, &shifted, &changed, &other].map(|text| format!("{text}\n"));
    let (file, state) = (workshop.write("texts", text.concat()), workshop.at("state"));
    let run = |options: &[&str]| {
        let _ = fs::remove_file(&state);
        let out = workshop.at("out");
        let _ = fs::remove_dir_all(&out);
        let all = ["dedup", &file, "--out", &out, "--state", &state];
        succeeds(&[&all[..], options].concat(), "");
        fs::read_to_string(format!("{out}/texts")).expect("an output")
    };
    assert_eq!(run(&[]), text.concat(), "no line is repeated");
    // 78 of 88 n-grams of the shifted text were seen, 75 of 88 of the changed one.
    let kept = [&*text[0], &text[3]].concat();
    assert_eq!(run(&["--ngrams", "13", "--threshold", "80%"]), kept);
    assert_eq!(
        run(&["--ngrams", "13", "--threshold", "0.87"]),
        [&*text[0], &text[2], &text[3]].concat()
    );
    assert_eq!(run(&["--ngrams", "13"]), kept, "80 % if not given");
    assert_eq!(json(&succeeds(&["info", "--json", &state], ""))["holds"], "multiset");
    is_refused(&["query", &state], "parts of documents");

    // A document that was not kept is not removed; one that was is forgotten.
    let output = fed(&["remove", &state], &text[2]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr_of(&output));
    succeeds(&["remove", &state], &text[0]);
    let again = workshop.write("again", text.concat());
    let out = workshop.at("out");
    succeeds(&["dedup", &again, "--ngrams", "13", "--out", &out, "--state", &state], "");
    assert_eq!(fs::read_to_string(workshop.path("out/again")).expect("an output"), text[0]);
}

/// Killed at twenty moments, each time continued: byte for byte what an undisturbed run writes.
#[test]
fn a_killed_run_continues_where_it_was_saved() {
    let workshop = Workshop::new();
    let texts = [documents(60_000, 3), documents(30_000, 4)];
    let files =
        [workshop.write("a.jsonl", &texts[0]), workshop.write("b.jsonl.zst", zstd(&texts[1]))];
    let arguments = |out: &str, state: &str| {
        let fixed =
            ["dedup", &files[0], &files[1], "--key", "text", "--threads", "2", "--save-every", "0"];
        let fixed = fixed.map(str::to_owned);
        [&fixed[..], &["--out".into(), workshop.at(out), "--state".into(), workshop.at(state)]]
            .concat()
    };
    let undisturbed = arguments("whole", "whole state");
    let undisturbed: Vec<&str> = undisturbed.iter().map(String::as_str).collect();
    let start = Instant::now();
    let totals = succeeds(&undisturbed, "");
    let takes = start.elapsed();
    let killed = arguments("killed", "killed state");
    let killed: Vec<&str> = killed.iter().map(String::as_str).collect();
    let mut random = fastrand::Rng::with_seed(5);
    let mut kills = 0;
    for _ in 0..20 {
        let mut child = piped(&killed);
        thread::sleep(takes.mul_f64(random.f64() * 0.3));
        child.kill().expect("it can be killed");
        kills += usize::from(!child.wait().expect("it ends").success());
    }
    assert!(kills > 3, "{kills} runs were killed");
    let output = output_of(&killed);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let memory = |text: &str| text.lines().take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(memory(stdout_of(&output)), memory(&totals));
    for name in ["a.jsonl", "b.jsonl.zst"] {
        let (whole, killed) =
            (workshop.read(&format!("whole/{name}")), workshop.read(&format!("killed/{name}")));
        assert!(whole == killed, "{name}: {} and {} bytes", whole.len(), killed.len());
    }
    succeeds(&["verify", &workshop.at("killed state")], "");
}

#[test]
fn one_run_at_a_time_uses_a_directory() {
    let workshop = Workshop::new();
    let file = workshop.write("lines", lines("line", 10));
    let out = workshop.at("out");
    fs::create_dir(&out).expect("a directory");
    let held = fs::File::open(&out).expect("a directory");
    held.lock().expect("a lock");
    let arguments = ["dedup", &file, "--out", &out, "--state", &workshop.at("state")];
    is_refused(&arguments, "in use by another process");
    drop(held);
    succeeds(&arguments, "");
    assert_eq!(
        fs::read_to_string(workshop.path("out/lines")).expect("an output"),
        lines("line", 10)
    );
}

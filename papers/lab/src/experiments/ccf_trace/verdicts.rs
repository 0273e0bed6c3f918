//! What the paper says of its Fig. 4, one claim after the other, and what we say of ours.

use super::filters::{
    CCF_B_PRINTED, CCF_F_PRINTED, DCF_COMPACT, DCF_PRINTED, ELASTIC_LOW_RATE, Share,
};
use super::followed::{Followed, WELL_USED};
use super::{
    MANY_EMPTY_SHARE, MOST_EMPTY, Row, SAME, SAME_IN_PART, SAME_SHARE, SAME_SHARE_IN_PART,
};
use crate::prelude::*;

const TRACE: &str = "the trace is synthetic: the paper's is not public, and the paper does not say \
                     when a filter counts as full";

pub(super) fn of(rows: &[Row]) -> Vec<Finding> {
    let printed = rows.iter().filter(|row| row.contender.is_printed);
    let mut findings: Vec<Finding> = printed.flat_map(of_the_paper).collect();
    findings.extend(rows.iter().filter_map(|Row { contender, followed }| {
        let claim = format!("{}: mean utilisation", contender.name);
        let finding = Finding::at_least(claim, followed.mean_utilization, contender.target?);
        Some(finding.of(Claimant::Ours))
    }));
    let followed =
        |name: &str| rows.iter().find(|row| row.contender.name == name).map(|row| &row.followed);
    if let (Some(dynamic), Some(buckets), Some(filters)) =
        (followed(DCF_PRINTED), followed(CCF_B_PRINTED), followed(CCF_F_PRINTED))
    {
        findings.extend(compared(dynamic, buckets, filters));
        findings.extend(followed(DCF_COMPACT).map(|compact| partial_moves(dynamic, compact)));
        findings.extend(followed(ELASTIC_LOW_RATE).map(|elastic| elastic_beside(elastic, buckets)));
    }
    findings
}

fn of_the_paper(Row { contender, followed }: &Row) -> Vec<Finding> {
    let (name, paper) = (contender.name, &contender.paper);
    let shares = format!("{} points", percent(SAME_SHARE, 0));
    let in_part = format!("{shares}, in part within {}", percent(SAME_SHARE_IN_PART, 0));
    let near = |ours: f64, paper: f64| Holds::within(ours - paper, SAME, SAME_IN_PART);
    let near_share =
        |ours: f64, paper: f64| Holds::within(ours - paper, SAME_SHARE, SAME_SHARE_IN_PART);
    let shown = |share: f64| format!("{} %", percent(share, 0));
    let mut findings = Vec::new();
    let mut judge = |claim: String, ours: f64, shown: String, holds| {
        findings.push(claim!("{name}: {claim}"; "{shown}"; holds => ours; TRACE));
    };
    if let Some(paper) = paper.mean {
        let ours = followed.mean_utilization;
        let claim = format!(
            "{paper:.4} of the slots in use on average (within {SAME}; in part within \
             {SAME_IN_PART})"
        );
        judge(claim, ours, format!("{ours:.4}"), near(ours, paper));
    }
    if let Some(share) = paper.badly_used {
        let ours = followed.share_below(WELL_USED);
        let (words, holds) = match share {
            Share::About(share) => (
                format!("{} of the samples (within {in_part})", shown(share)),
                near_share(ours, share),
            ),
            Share::Below(share) => {
                (format!("fewer than {} of the samples", shown(share)), Holds::from(ours < share))
            }
        };
        judge(format!("less than {WELL_USED:.2} in use in {words}"), ours, shown(ours), holds);
    }
    if let Some(paper) = paper.few_empty {
        let ours = followed.few_empty;
        let samples = format!("{} of the samples (within {in_part})", shown(paper));
        let claim = format!("fewer than 500 slots empty in {samples}");
        judge(claim, ours, shown(ours), near_share(ours, paper));
    }
    if let Some(paper) = paper.most {
        let ours = followed.most_utilization;
        let claim = format!("at most {paper:.3} of the slots in use (within {SAME})");
        judge(claim, ours, format!("{ours:.3}"), near(ours, paper));
    }
    if name == DCF_PRINTED {
        let ours = followed.most_empty as f64;
        let claim = format!("up to {MOST_EMPTY} slots empty (within a quarter)");
        let holds = Holds::within(ours / MOST_EMPTY - 1.0, 0.25, 0.5);
        judge(claim, ours, format!("{ours}"), holds);
        let ours = followed.many_empty;
        let samples = format!("{} of the samples (within {shares})", shown(MANY_EMPTY_SHARE));
        let claim = format!("more than 1,000 slots empty in {samples}");
        judge(claim, ours, shown(ours), near_share(ours, MANY_EMPTY_SHARE));
    }
    findings
}

/// One filter against another, all as printed. A saving counts at the same rate or a lower one.
fn compared(dynamic: &Followed, buckets: &Followed, filters: &Followed) -> Vec<Finding> {
    let means = [buckets, filters].map(|followed| followed.mean_utilization);
    let lead = means[0] - dynamic.mean_utilization;
    let cheaper = |of: &Followed| {
        of.mean_bits_per_key < dynamic.mean_bits_per_key
            && of.rate_at_the_peak <= dynamic.rate_at_the_peak
    };
    let held = [buckets, filters].into_iter().filter(|of| cheaper(of)).count();
    let all = [buckets, filters, dynamic];
    let [b, f, d] = all.map(|of| of.mean_bits_per_key);
    let [rate_b, rate_f, rate_d] = all.map(|of| of.rate_at_the_peak);
    vec![
        claim!("both CCFs use more of their slots than a DCF";
            "{:.3} and {:.3} against {:.3}", means[0], means[1], dynamic.mean_utilization;
            means.iter().all(|&mean| mean > dynamic.mean_utilization)
            => means[0].min(means[1]) - dynamic.mean_utilization),
        claim!("CCF_B leads a DCF by .067 of the slots (within .01; in part if it leads)";
            "{lead:.3}"; Holds::graded((lead - 0.0672).abs() <= SAME, lead > 0.0) => lead;
            "a DCF that moves what fits, as it is printed, is fuller here than in the paper"),
        claim!("and so the CCFs take less memory (bits per key, everything counted, at no higher \
             rate)";
            "{b:.1} and {f:.1} against {d:.1} bits; {rate_b:.1e} and {rate_f:.1e} against \
             {rate_d:.1e} false positives"; Holds::in_cases(held, 2) => b / d;
            "a ring of ten nodes per bucket of three slots takes more than it saves, and the rate \
             is that of all keys, not of some buckets"),
    ]
}

/// What the deviation of our own compact would have done to the verdicts.
fn partial_moves(printed: &Followed, compact: &Followed) -> Finding {
    let gain = printed.mean_utilization - compact.mean_utilization;
    claim!("moving what fits even if it frees no filter is what keeps a DCF full (it gains at \
         least .03 of the slots)";
        "{gain:.3}: {:.3} instead of {:.3}", printed.mean_utilization, compact.mean_utilization;
        gain >= 0.03 => gain)
    .of(Claimant::Ours)
}

/// The elastic filter at the rate of CCF_B.
fn elastic_beside(elastic: &Followed, buckets: &Followed) -> Finding {
    // An elastic filter keeps no rate below 1e-5; half of the rate costs a bit per key.
    let bits_for_the_rate = (elastic.rate_at_the_peak / buckets.rate_at_the_peak).log2().max(0.0);
    let fewer = elastic.mean_bits_per_key + bits_for_the_rate < buckets.mean_bits_per_key;
    claim!("an elastic filter takes fewer bits per key than CCF_B, everything counted, with a bit \
         more for each doubling of the rate";
        "{:.1} against {:.1}; rates {:.1e} and {:.1e}; {:.3} and {:.3} of the slots in use",
        elastic.mean_bits_per_key, buckets.mean_bits_per_key, elastic.rate_at_the_peak,
        buckets.rate_at_the_peak, elastic.mean_utilization, buckets.mean_utilization;
        fewer => elastic.mean_bits_per_key / buckets.mean_bits_per_key)
    .of(Claimant::Ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saving_counts_at_the_same_rate_only() {
        let followed = |bits, rate| Followed {
            mean_bits_per_key: bits,
            rate_at_the_peak: rate,
            measured_rate: rate,
            ..Followed::default()
        };
        let (list, dear) = (followed(50.0, 1e-7), followed(200.0, 1e-7));
        let verdict = |one: &Followed, other: &Followed| compared(&list, one, other)[2].holds;
        assert_eq!(verdict(&dear, &dear), Holds::No);
        assert_eq!(verdict(&followed(40.0, 1e-7), &dear), Holds::Partly);
        assert_eq!(verdict(&followed(40.0, 1e-5), &followed(40.0, 1e-5)), Holds::No);
        assert_eq!(verdict(&followed(40.0, 1e-8), &followed(40.0, 1e-8)), Holds::Yes);
        assert_eq!(elastic_beside(&followed(195.0, 1e-4), &dear).holds, Holds::No);
        assert_eq!(elastic_beside(&followed(30.0, 1e-7), &dear).holds, Holds::Yes);
    }
}

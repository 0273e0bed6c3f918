//! The registry: every experiment, in the order of the papers. A new one is a file here and its two
//! lines below.

mod acf;
mod capacity;
mod ccf_cost;
mod ccf_features;
mod ccf_loads;
mod ccf_model;
mod ccf_rates;
mod ccf_trace;
mod cf_filters; // what the cf-* experiments share
mod cf_load;
mod cf_lookup;
mod cf_occupancy;
mod cf_properties;
mod cf_space;
mod cf_table3;
mod copies;
mod cuckoo_table;
mod dbf;
mod dcf_backup;
mod dcf_compact;
mod dcf_duplicates;
mod dcf_list; // what the dcf-* experiments share
mod dcf_model;
mod dcf_times;
pub mod elastic;
mod growing;
mod kicks;
mod speed;
mod systems;
mod threads;

use crate::experiment::Experiment;

pub const ALL: &[Experiment] = &[
    systems::SYSTEMS,
    cuckoo_table::LOADS,
    cf_properties::PROPERTIES,
    cf_load::LOAD,
    cf_load::WAYS_TO_FILL,
    cf_space::SPACE,
    cf_table3::TABLE3,
    cf_lookup::LOOKUP,
    cf_occupancy::OCCUPANCY,
    acf::ADAPTIVE,
    dbf::ADDRESSES,
    dcf_model::RATES,
    dcf_duplicates::DUPLICATES,
    dcf_model::RELOCATIONS,
    dcf_model::MEMORY,
    dcf_times::TIMES,
    dcf_compact::COMPACT,
    dcf_backup::BACKUP,
    ccf_features::FEATURES,
    ccf_rates::RATES,
    ccf_model::THRESHOLDS,
    ccf_loads::LOADS,
    ccf_model::SUCCESS,
    ccf_trace::TRACE,
    ccf_trace::PARAMETERS,
    ccf_cost::COST,
    kicks::KICKS,
    capacity::CAPACITY,
    speed::SPEED,
    growing::GROWING,
    elastic::ELASTIC,
    speed::ELASTIC_SPEED,
    copies::COPIES,
    threads::THREADS,
];

pub fn named(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Choice;

    #[test]
    fn names_are_words_for_a_command_line_and_each_is_there_once() {
        for (at, experiment) in ALL.iter().enumerate() {
            let name = experiment.name;
            let allowed = |c: char| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit();
            assert!(name.chars().all(allowed), "{name}");
            assert!(experiment.question.contains('?'), "{name}");
            assert!(ALL[..at].iter().all(|other| other.name != name), "{name}");
            assert_eq!(named(name).map(|found| found.title), Some(experiment.title));
        }
        assert!(named("nothing").is_none());
    }

    /// The command line has one option of each name, for all experiments that take it.
    #[test]
    fn options_of_one_name_are_the_same() {
        let options: Vec<&Choice> = ALL.iter().flat_map(|of| of.options).collect();
        for (at, option) in options.iter().enumerate() {
            assert!(options[..at].iter().all(|other| other.name != option.name || other == option));
        }
    }
}

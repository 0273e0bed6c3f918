//! Experiments and measurements.

/* What a shared library exports to be measured by `cargo xtask bench speed --reference PATH.so`,
 * beside our filters and other crates': same keys, same rate, in the same rounds.
 *
 * An adapter in C or C++ includes this file and the filter's own header, and defines
 * `cuculus_peers`. Each function gets all keys of a phase, so that its loop is compiled with the
 * filter's code and no call within it is indirect. Exceptions must not leave a function. */
#ifndef CUCULUS_PEER_H
#define CUCULUS_PEER_H

#include <stddef.h>
#include <stdint.h>

struct cuculus_peer {
    /* The first column of the table. "reference" and "reference semi-sorted" are compared with
     * ours; the verdicts are printed. */
    const char *name;
    /* An empty filter for this many keys at this false positive rate; null if there is none, and
     * then the row is left out. */
    void *(*make)(size_t keys, double rate);
    void (*drop)(void *filter);
    /* All memory that the filter holds, in bytes. */
    size_t (*bytes)(const void *filter);
    /* Inserts keys up to the first that is refused, and returns how many were taken. */
    size_t (*insert)(void *filter, const uint64_t *keys, size_t count);
    /* How many of the keys are found. */
    size_t (*count)(const void *filter, const uint64_t *keys, size_t count);
    /* Removes the keys and returns how many were found. */
    size_t (*remove)(void *filter, const uint64_t *keys, size_t count);
};

#ifdef __cplusplus
extern "C"
#endif
/* The filters, and how many they are. Called once. The list stays where it is. */
const struct cuculus_peer *cuculus_peers(size_t *count);

#endif

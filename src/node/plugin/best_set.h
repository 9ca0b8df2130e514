// Chooses whole GPUs: the set whose cards are best linked with each other and, among equals, the
// one that leaves the other free cards best linked. Pure functions.
//
// With W(X) the sum of the scores of all pairs in X, A the free cards and deg(v) the sum of v's
// scores to A: W(A without S) = W(A) + W(S) - Σ deg(v in S). So both requests are one sum of
// numbers of pairs and of cards, which a search can build up card by card.
#pragma once

#include <cstddef>
#include <vector>

#include "src/node/plugin/link_table.h"
#include "src/node/plugin/slot_request.h"

namespace kgpu::plugin {

// Cards of the set, ascending; a slot of the request is a card of the table. The exact search
// returns the first in order among sets that are equal in both respects. Exact while there are few
// possible sets (every request to 16 cards); else the best of greedy sets improved by swaps, with a
// bounded number of steps for all sizes.
std::vector<size_t> BestSet(const LinkTable& links, const SlotRequest& request);

// The two methods separately. The exact one has no bound on its time.
std::vector<size_t> ExactSet(const LinkTable& links, const SlotRequest& request);
std::vector<size_t> GreedySet(const LinkTable& links, const SlotRequest& request);

}  // namespace kgpu::plugin

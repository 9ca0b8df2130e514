// Which whole GPUs to give: the set whose cards are linked best among themselves and, among equals,
// the one that leaves the other free cards linked best. Pure.
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

// Cards of the set, ascending; slots of the request are cards of the table. The first in order
// among sets that are equal in both requests, where the search is exact. Exact while the sets that
// can be built are few (every request to 16 cards), else the best of greedy sets improved by swaps:
// bounded by a number of steps, whatever the sizes.
std::vector<size_t> BestSet(const LinkTable& links, const SlotRequest& request);

// The two ways by themselves. The exact one takes as long as it takes.
std::vector<size_t> ExactSet(const LinkTable& links, const SlotRequest& request);
std::vector<size_t> GreedySet(const LinkTable& links, const SlotRequest& request);

}  // namespace kgpu::plugin

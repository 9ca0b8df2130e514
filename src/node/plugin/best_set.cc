#include "src/node/plugin/best_set.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace kgpu::plugin {
namespace {

// Partial sets that an exact search may visit: those of 8 out of 16 cards, the most that a node of
// 16 can ask for, are 24,310.
constexpr size_t kMaxPartialSets = 25'000;
// Numbers that the bounded search may look at: about a millisecond.
constexpr size_t kMaxLooks = 2'000'000;

// A pair's score weighs more than all that the rest of the node can lose.
constexpr int64_t kPairWeight = int64_t{1} << 31;

// The request as a sum to maximise over sets of `wanted` free cards, which are counted from 0 here.
class Problem {
 public:
  Problem(const LinkTable& links, const SlotRequest& request) {
    std::ranges::set_difference(request.available, request.must_include,
                                std::back_inserter(cards_));
    wanted_ = request.size - request.must_include.size();
    single_.resize(cards_.size());
    pairs_.resize(cards_.size() * cards_.size());
    for (size_t i = 0; i < cards_.size(); ++i) {
      for (const size_t card : request.available) {
        single_[i] -= links.score(cards_[i], card);
      }
      for (const size_t card : request.must_include) {
        single_[i] += kPairWeight * links.score(cards_[i], card);
      }
      for (size_t j = 0; j < cards_.size(); ++j) {
        pairs_[i * cards_.size() + j] = kPairWeight * links.score(cards_[i], cards_[j]);
      }
    }
  }

  size_t cards() const { return cards_.size(); }
  size_t wanted() const { return wanted_; }
  // What a card adds to a set that has only the cards that must be in it.
  const std::vector<int64_t>& single() const { return single_; }
  // What each other card adds to a set with this card.
  const int64_t* pairs(size_t card) const { return &pairs_[card * cards_.size()]; }

  std::vector<size_t> Answer(const SlotRequest& request, const std::vector<size_t>& chosen) const {
    std::vector<size_t> set = request.must_include;
    for (const size_t card : chosen) {
      set.push_back(cards_[card]);
    }
    std::ranges::sort(set);
    return set;
  }

 private:
  std::vector<size_t> cards_;
  size_t wanted_ = 0;
  std::vector<int64_t> single_;
  std::vector<int64_t> pairs_;
};

// Partial sets of a search through all sets of `wanted` of `cards`, kMaxPartialSets + 1 for more.
size_t PartialSets(size_t cards, size_t wanted) {
  const size_t sets = cards + 1;
  const size_t fewer = std::min(wanted, sets - wanted);
  size_t count = 1;
  for (size_t i = 1; i <= fewer && count <= kMaxPartialSets; ++i) {
    count = count * (sets - fewer + i) / i;
  }
  return std::min(count, kMaxPartialSets + 1);
}

// Visits all sets in order; the sums of a partial set are kept on the way down.
class ExactSearch {
 public:
  explicit ExactSearch(const Problem& problem)
      : problem_(problem), chosen_(problem.wanted()), gains_(problem.wanted() + 1) {
    gains_[0] = problem.single();
    for (size_t i = 1; i < gains_.size(); ++i) {
      gains_[i].resize(problem.cards());
    }
  }

  std::vector<size_t> Run() {
    if (problem_.wanted() > 0) {
      Extend(0, 0, 0);
    }
    return best_;
  }

 private:
  // All sets that have the first `depth` of chosen_, which are worth `sum`, and then cards from
  // `first` on.
  void Extend(size_t depth, size_t first, int64_t sum) {
    const size_t left = problem_.wanted() - depth;
    const std::vector<int64_t>& gains = gains_[depth];
    if (left == 1) {
      return Finish(first, sum);
    }
    for (size_t card = first; card + left <= problem_.cards(); ++card) {
      chosen_[depth] = card;
      const int64_t* pairs = problem_.pairs(card);
      std::vector<int64_t>& next = gains_[depth + 1];
      for (size_t other = card + 1; other < problem_.cards(); ++other) {
        next[other] = gains[other] + pairs[other];
      }
      Extend(depth + 1, card + 1, sum + gains[card]);
    }
  }

  void Finish(size_t first, int64_t sum) {
    const std::vector<int64_t>& gains = gains_[problem_.wanted() - 1];
    for (size_t card = first; card < problem_.cards(); ++card) {
      if (sum + gains[card] > best_sum_) {
        best_sum_ = sum + gains[card];
        chosen_.back() = card;
        best_ = chosen_;
      }
    }
  }

  const Problem& problem_;
  std::vector<size_t> chosen_;
  std::vector<std::vector<int64_t>> gains_;  // by depth: what each card would add
  int64_t best_sum_ = std::numeric_limits<int64_t>::min();
  std::vector<size_t> best_;
};

// Removes from all cards the one that adds least, again and again; grows sets from each card by the
// one that adds most; then swaps cards in each set while that helps.
class GreedySearch {
 public:
  explicit GreedySearch(const Problem& problem)
      : problem_(problem), is_chosen_(problem.cards()), gains_(problem.cards()) {}

  std::vector<size_t> Run() {
    if (problem_.wanted() == 0) {
      return {};
    }
    ShrinkFromAll();
    Improve();
    for (size_t seed = 0; seed < problem_.cards() && looks_ < kMaxLooks; ++seed) {
      GrowFrom(seed);
      Improve();
    }
    return best_;
  }

 private:
  void Improve() {
    while (looks_ < kMaxLooks && SwapOnce()) {
    }
    if (sum_ > best_sum_) {
      best_sum_ = sum_;
      best_ = chosen_;
    }
  }

  void Clear() {
    gains_ = problem_.single();
    is_chosen_.assign(problem_.cards(), 0);
    chosen_.clear();
    sum_ = 0;
  }

  // Groups whose worth shows only when they are whole stay whole on this way.
  void ShrinkFromAll() {
    Clear();
    for (size_t card = 0; card < problem_.cards(); ++card) {
      Add(card);
    }
    while (chosen_.size() > problem_.wanted()) {
      Remove(*std::ranges::min_element(chosen_, {}, [&](size_t card) { return gains_[card]; }));
    }
  }

  void GrowFrom(size_t seed) {
    Clear();
    Add(seed);
    while (chosen_.size() < problem_.wanted()) {
      size_t best = problem_.cards();
      for (size_t card = 0; card < problem_.cards(); ++card) {
        if (is_chosen_[card] == 0 && (best == problem_.cards() || gains_[card] > gains_[best])) {
          best = card;
        }
      }
      Add(best);
    }
  }

  // The swap that helps most; false when none does.
  bool SwapOnce() {
    int64_t best_change = 0;
    size_t best_out = 0;
    size_t best_in = 0;
    for (const size_t out : chosen_) {
      const int64_t* pairs = problem_.pairs(out);
      for (size_t in = 0; in < problem_.cards(); ++in) {
        // gains_ counts the pair of the two, which the swap parts.
        const int64_t change = gains_[in] - pairs[in] - gains_[out];
        if (change > best_change && is_chosen_[in] == 0) {
          best_change = change;
          best_out = out;
          best_in = in;
        }
      }
    }
    looks_ += chosen_.size() * problem_.cards();
    if (best_change == 0) {
      return false;
    }
    Remove(best_out);
    Add(best_in);
    return true;
  }

  void Add(size_t card) {
    sum_ += gains_[card];
    chosen_.push_back(card);
    is_chosen_[card] = 1;
    Change(card, 1);
  }

  void Remove(size_t card) {
    std::erase(chosen_, card);
    is_chosen_[card] = 0;
    Change(card, -1);
    sum_ -= gains_[card];
  }

  void Change(size_t card, int64_t sign) {
    const int64_t* pairs = problem_.pairs(card);
    for (size_t other = 0; other < problem_.cards(); ++other) {
      gains_[other] += sign * pairs[other];
    }
    looks_ += 2 * problem_.cards();  // the search for the best card looks at each again
  }

  const Problem& problem_;
  std::vector<size_t> chosen_;
  std::vector<uint8_t> is_chosen_;
  std::vector<int64_t> gains_;  // what each card adds, or has added, to the set
  int64_t sum_ = 0;
  int64_t best_sum_ = std::numeric_limits<int64_t>::min();
  std::vector<size_t> best_;
  size_t looks_ = 0;
};

}  // namespace

std::vector<size_t> ExactSet(const LinkTable& links, const SlotRequest& request) {
  const Problem problem(links, request);
  return problem.Answer(request, ExactSearch(problem).Run());
}

std::vector<size_t> GreedySet(const LinkTable& links, const SlotRequest& request) {
  const Problem problem(links, request);
  return problem.Answer(request, GreedySearch(problem).Run());
}

std::vector<size_t> BestSet(const LinkTable& links, const SlotRequest& request) {
  const Problem problem(links, request);
  const bool is_small = PartialSets(problem.cards(), problem.wanted()) <= kMaxPartialSets;
  return problem.Answer(request,
                        is_small ? ExactSearch(problem).Run() : GreedySearch(problem).Run());
}

}  // namespace kgpu::plugin

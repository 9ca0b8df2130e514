#include "src/diagnose/manifest/words.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace kgpu::manifest {
namespace {

// The line of the word that a change is about; 0: it is about more than a word.
size_t LineOf(const Change& change, const doc::Located& located) {
  const doc::Place* place = change.path.empty() ? nullptr : FindPlace(located, change.path);
  const boost::json::value* old = Find(located.root, change.path);
  if (place == nullptr || old == nullptr) {
    return 0;
  }
  if (change.kind == Change::Kind::kRename) {
    return place->key.line;
  }
  const bool is_word = change.kind == Change::Kind::kSet && !old->is_structured() &&
                       !old->is_null() && !change.value.is_structured();
  return is_word ? place->value.line : 0;
}

}  // namespace

std::vector<Change> WordChanges(const Matches& matches, const doc::Located& located) {
  std::vector<Change> changes;
  std::set<size_t> lines;
  for (const Match& match : matches) {
    std::set<size_t> own;
    for (const Change& change : match.changes) {
      own.insert(LineOf(change, located));
    }
    const bool is_alone =
        own.size() == match.changes.size() && !own.contains(0) &&
        std::ranges::none_of(own, [&lines](size_t line) { return lines.contains(line); });
    if (is_alone) {
      lines.insert(own.begin(), own.end());
      std::ranges::copy(match.changes, std::back_inserter(changes));
    }
  }
  return changes;
}

}  // namespace kgpu::manifest

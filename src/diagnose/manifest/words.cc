#include "src/diagnose/manifest/words.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace kgpu::manifest {
namespace {

// Of the word that a change is about; 0: it is about more than a word.
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

std::vector<Change> WordChanges(const Findings& findings, const doc::Located& located) {
  std::vector<Change> changes;
  std::set<size_t> lines;
  for (const Finding& finding : findings) {
    std::set<size_t> own;
    for (const Change& change : finding.fix) {
      own.insert(LineOf(change, located));
    }
    const bool is_alone =
        own.size() == finding.fix.size() && !own.contains(0) &&
        std::ranges::none_of(own, [&lines](size_t line) { return lines.contains(line); });
    if (is_alone) {
      lines.insert(own.begin(), own.end());
      std::ranges::copy(finding.fix, std::back_inserter(changes));
    }
  }
  return changes;
}

}  // namespace kgpu::manifest

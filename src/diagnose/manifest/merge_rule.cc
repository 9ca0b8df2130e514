// Merge keys of YAML 1.1, which YAML 1.2 dropped: kubectl resolves them.
#include <boost/json.hpp>

#include <utility>

#include "src/diagnose/manifest/rules.h"

namespace kgpu::manifest {

void CheckMergeKey(const boost::json::value& map, const Path& at, Matches& matches) {
  constexpr std::string_view kMerge = "<<";
  if (FieldOf(&map, kMerge) == nullptr) {
    return;
  }
  Match match;
  match.finding.id = "merge-key";
  match.finding.severity = Severity::kInfo;
  match.path = at.Key(kMerge);
  match.value = "a merge key";
  match.finding.message =
      "kubectl merges fields from there; they are not checked as part of this map";
  match.advice = "check the result of kubectl: kubectl create --dry-run=client -o yaml -f FILE";
  matches.push_back(std::move(match));
}

}  // namespace kgpu::manifest

// Merge keys of YAML 1.1, which YAML 1.2 dropped: kubectl resolves them.
#include <boost/json.hpp>

#include <utility>

#include "src/diagnose/manifest/rules.h"

namespace kgpu::manifest {

void CheckMergeKey(const boost::json::value& map, const Path& at, Findings& findings) {
  constexpr std::string_view kMerge = "<<";
  if (FieldOf(&map, kMerge) == nullptr) {
    return;
  }
  Finding finding;
  finding.id = "merge-key";
  finding.severity = Severity::kInfo;
  finding.path = at.Key(kMerge);
  finding.value = "a merge key";
  finding.message = "kubectl takes fields from there; they are not looked at as a part of this map";
  finding.mend =
      "look at what kubectl makes of it: kubectl create --dry-run=client -o yaml -f FILE";
  findings.push_back(std::move(finding));
}

}  // namespace kgpu::manifest

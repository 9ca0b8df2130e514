// Resources that only the operator of somebody else reads.
#include <boost/json.hpp>

#include <string>
#include <utility>

#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {

void CheckOperators(const boost::json::value& object, const Path& at, Matches& matches) {
  const std::string_view version = TextOf(&object, "apiVersion");
  const bool is_of_operator =
      version.starts_with("nfd.kubernetes.io/") || version.starts_with("nfd.openshift.io/");
  if (!is_of_operator || TextOf(&object, "kind") != "NodeFeatureDiscovery") {
    return;
  }
  Match match;
  match.finding.id = "nfd-operator";
  match.finding.severity = Severity::kWarning;
  match.path = at.Key("apiVersion");
  match.value = Printable(version, 80);
  match.finding.message =
      "only a cluster with the operator of Node Feature Discovery accepts this; kgpu sets the "
      "labels "
      "of GPUs without it";
  match.advice =
      "remove it where only GPUs need labels (docs/reference/node-labels.md); else install NFD by "
      "its chart";
  matches.push_back(std::move(match));
}

}  // namespace kgpu::manifest

// What a cluster and other gateways write: the first byte of the input says what it is. Whatever it
// holds, what is read can be written and read again.
#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "src/functions/kubernetes/demand_board.h"
#include "src/functions/kubernetes/deployment_facts.h"
#include "src/functions/kubernetes/gpu_time.h"
#include "src/functions/kubernetes/pod.h"
#include "src/functions/kubernetes/pod_logs.h"
#include "src/kube/api/json.h"

namespace {

using namespace kgpu::functions;  // NOLINT(google-build-using-namespace): of the one module tested

void ReadDemand(std::string_view text) {
  const auto demand = ParseDemand(text);
  if (!demand.ok()) {
    return;
  }
  const auto again = ParseDemand(PrintDemand(*demand));
  // What is too large for the annotation is left out.
  if (!again.ok() || again->size() > demand->size()) {
    std::abort();
  }
}

void ReadUse(const boost::json::value& object) {
  const DailyUse use = ParseUse(object);
  if (ParseUse(boost::json::object{{"data", PrintUse(use)}}) != use) {
    std::abort();
  }
}

// Trimming takes nothing away that is read.
void ReadPod(boost::json::value pod) {
  const PodFacts before = PodFactsOf(pod);
  TrimPod(pod);
  if (PodFactsOf(pod) != before) {
    std::abort();
  }
}

auto AllOf(const DeploymentFacts& facts) {
  return std::tie(facts.uid, facts.generation, facts.function_text, facts.template_hash,
                  facts.deployed, facts.replaced, facts.replicas, facts.problem, facts.is_ending);
}

void ReadDeployment(boost::json::value deployment) {
  const auto before = DeploymentFactsOf(deployment);
  TrimDeployment(deployment);
  const auto after = DeploymentFactsOf(deployment);
  if (before.ok() != after.ok() || (before.ok() && AllOf(*before) != AllOf(*after))) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'c') {
    ReadDemand(text);
  } else if (data[0] == 'l') {
    (void)ParsePodLog(text);
  }
  auto object = kgpu::kube::ParseObject(text, "fuzz");
  if (!object.ok()) {
    return 0;
  }
  switch (data[0]) {
    case 'd':
      ReadDeployment(*std::move(object));
      break;
    case 'p':
      ReadPod(*std::move(object));
      break;
    case 'u':
      ReadUse(*object);
      break;
    default:
      break;
  }
  return 0;
}

#include "src/cluster/gpus/summary.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/cluster/gpus/claimed.h"
#include "src/cluster/gpus/fields.h"
#include "src/cluster/policy/gpu_policy.h"
#include "src/kube/api/json.h"
#include "src/node/labels/model_affinity.h"
#include "src/platform/base/amount.h"

namespace kgpu::gpus {
namespace {

namespace json = boost::json;
using kube::TextField;

constexpr size_t kMostMessage = 200;  // characters of a condition that are shown
constexpr std::string_view kCountSuffix = ".count";

// Devices of a resource on a node, as its kubelet counts them.
struct Counted {
  uint64_t capacity = 0;
  uint64_t allocatable = 0;
};

struct GpuNode {
  std::string model{};
  std::string problem{};
  bool is_cordoned = false;
  bool is_available = true;  // pods can start there and get GPUs
  std::map<std::string, Counted> resources{};
};

uint64_t CountIn(const json::value& quantity) {
  if (const json::string* text = quantity.if_string(); text != nullptr) {
    const auto amount = ParseAmount(ViewOf(*text));
    return amount && amount->milli > 0 ? static_cast<uint64_t>(amount->milli) / 1000 : 0;
  }
  return quantity.is_int64() && quantity.get_int64() > 0
             ? static_cast<uint64_t>(quantity.get_int64())
             : 0;
}

// kgpu's labels name every model of a node; those of GPU feature discovery one of them.
std::string ModelOf(const json::value& node) {
  std::string models;
  for (const auto& [key, value] : MapAt(node, {"metadata", "labels"})) {
    std::string_view name = ViewOf(key);
    if (!name.starts_with(labels::kModelLabelPrefix) || !name.ends_with(kCountSuffix)) {
      continue;
    }
    name.remove_prefix(std::string_view(labels::kModelLabelPrefix).size());
    name.remove_suffix(std::min(kCountSuffix.size(), name.size()));
    models += fmt::format("{}{}", models.empty() ? "" : ", ", name);
  }
  return models.empty()
             ? std::string(TextField(node, {"metadata", "labels", "nvidia.com/gpu.product"}))
             : models;
}

void ReadConditions(const json::value& node, GpuNode& facts) {
  for (const json::value& condition : kube::ArrayField(node, {"status", "conditions"})) {
    const std::string_view type = TextField(condition, {"type"});
    const std::string_view status = TextField(condition, {"status"});
    if ((type != "Ready" && type != "GPUReady") || status == "True" || status.empty()) {
      continue;
    }
    facts.is_available = false;
    // The kubelet's own problem is the cause of others.
    if (facts.problem.empty() || type == "Ready") {
      facts.problem =
          fmt::format("{} is {}: {}: {}", type, status, TextField(condition, {"reason"}),
                      TextField(condition, {"message"}).substr(0, kMostMessage));
    }
  }
}

GpuNode ReadGpuNode(const json::value& node) {
  GpuNode facts{.model = ModelOf(node)};
  ReadConditions(node, facts);
  facts.is_cordoned =
      FlagAt(node, {"spec", "unschedulable"}) ||
      std::ranges::any_of(kube::ArrayField(node, {"spec", "taints"}), [](const auto& taint) {
        return TextField(taint, {"key"}) == fleet::kQuarantineTaint;
      });
  for (const auto& [key, value] : MapAt(node, {"status", "capacity"})) {
    if (const uint64_t count = CountIn(value); policy::IsGpuResource(ViewOf(key)) && count > 0) {
      facts.resources[std::string(ViewOf(key))].capacity = count;
    }
  }
  for (const auto& [key, value] : MapAt(node, {"status", "allocatable"})) {
    if (const auto found = facts.resources.find(std::string(ViewOf(key)));
        found != facts.resources.end()) {
      found->second.allocatable = std::min(CountIn(value), found->second.capacity);
    }
  }
  return facts;
}

// A device that both the kubelet and a slice report is one device: the larger number counts.
Counts CountsOf(const GpuNode& node, const Counted& counted, uint64_t used_by_pods,
                const Offered& offered) {
  Counts counts;
  counts.total = std::max(counted.capacity, offered.total);
  const uint64_t healthy = std::max(counted.allocatable, offered.total - offered.tainted);
  counts.used = std::min(used_by_pods + offered.used, counts.total);
  const uint64_t unused = healthy - std::min(counts.used, healthy);
  if (node.is_available) {
    (node.is_cordoned ? counts.cordoned : counts.free) = unused;
  }
  counts.unhealthy = counts.total - counts.used - counts.free - counts.cordoned;
  return counts;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  total += other.total;
  used += other.used;
  free += other.free;
  unhealthy += other.unhealthy;
  cordoned += other.cordoned;
  return *this;
}

struct SummaryBuilder::Impl {
  std::map<std::string, GpuNode> nodes;
  std::vector<Holder> holders;
  std::vector<Holder> pending;
  std::vector<std::string> unreadable;
  ClaimedDevices claimed;
};

SummaryBuilder::SummaryBuilder() : impl_(std::make_unique<Impl>()) {
}
SummaryBuilder::~SummaryBuilder() = default;

void SummaryBuilder::AddNode(const json::value& node) {
  const std::string name(kube::NameOf(node));
  if (!name.empty() && IsGpuNode(node)) {
    impl_->nodes[name] = ReadGpuNode(node);
  }
}

void SummaryBuilder::AddPod(const json::value& pod) {
  std::vector<std::string> by_claim;
  for (const json::value& resource : kube::ArrayField(pod, {"byClaim"})) {
    if (const json::string* text = resource.if_string(); text != nullptr) {
      by_claim.emplace_back(ViewOf(*text));
    }
  }
  AddPod(fleet::ReadPod(pod), by_claim);
}

void SummaryBuilder::AddPod(const fleet::PodFacts& pod, const std::vector<std::string>& by_claim) {
  if (pod.HasEnded()) {
    return;
  }
  for (const auto& [resource, count] : pod.gpus) {
    if (std::ranges::find(by_claim, resource) == by_claim.end() && count > 0) {
      (pod.node.empty() ? impl_->pending : impl_->holders)
          .push_back({.space = pod.space,
                      .pod = pod.name,
                      .node = pod.node,
                      .resource = resource,
                      .count = count});
    }
  }
}

void SummaryBuilder::AddSlice(const json::value& slice) {
  impl_->claimed.AddSlice(slice);
}

void SummaryBuilder::AddClaim(const json::value& claim) {
  impl_->claimed.AddClaim(claim);
}

void SummaryBuilder::AddUnreadable(std::string what) {
  impl_->unreadable.push_back(std::move(what));
}

Summary SummaryBuilder::Build() {
  Summary summary{.pending = impl_->pending, .unreadable = impl_->unreadable};
  std::map<std::pair<std::string, std::string>, uint64_t> used;
  for (const Holder& holder : impl_->holders) {
    used[{holder.node, holder.resource}] += holder.count;
  }
  summary.holders = impl_->holders;
  const OfferedPools offered = impl_->claimed.Count(summary.holders);
  std::map<std::pair<std::string, std::string>, Counted> counted;
  for (const auto& [name, node] : impl_->nodes) {
    for (const auto& [resource, count] : node.resources) {
      counted[{name, resource}] = count;
    }
  }
  for (const auto& [place, pool] : offered) {
    counted.try_emplace(place);
  }
  // A node with GPUs that offers none is shown, too.
  for (const auto& [name, node] : impl_->nodes) {
    const auto first = counted.lower_bound({name, ""});
    if (first == counted.end() || first->first.first != name) {
      counted.try_emplace({name, ""});
    }
  }
  for (const auto& [place, count] : counted) {
    const auto node = impl_->nodes.find(place.first);
    const GpuNode facts = node == impl_->nodes.end() ? GpuNode() : node->second;
    const auto by_claim = offered.find(place);
    const Offered offer = by_claim == offered.end() ? Offered() : by_claim->second;
    const auto by_pods = used.find(place);
    summary.pools.push_back(
        {.node = place.first,
         .resource = place.second,
         .model = offer.model.empty() ? facts.model : offer.model,
         .counts = CountsOf(facts, count, by_pods == used.end() ? 0 : by_pods->second, offer),
         .problem = facts.problem});
  }
  const auto key = [](const Holder& holder) {
    return std::tie(holder.space, holder.pod, holder.claim, holder.node, holder.resource);
  };
  std::ranges::sort(summary.holders, {}, key);
  std::ranges::sort(summary.pending, {}, key);
  return summary;
}

}  // namespace kgpu::gpus

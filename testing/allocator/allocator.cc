#include "testing/allocator/allocator.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "src/diagnose/claim/allocate.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::allocator {
namespace {

namespace json = boost::json;

std::vector<const json::value*> PointersTo(const std::vector<json::value>& objects) {
  std::vector<const json::value*> pointers;
  pointers.reserve(objects.size());
  for (const json::value& object : objects) {
    pointers.push_back(&object);
  }
  return pointers;
}

json::array ListAt(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* list = kube::FindField(object, path);
  return list != nullptr && list->is_array() ? list->get_array() : json::array();
}

std::string ReasonsOf(const claim::Outcome& outcome) {
  std::vector<std::string> reasons = outcome.incomplete;
  if (!outcome.stop.empty()) {
    reasons.push_back(outcome.stop);
  }
  for (const claim::RequestOutcome& request : outcome.requests) {
    for (const claim::Refused& refused : request.refused) {
      reasons.push_back(fmt::format("{}: {}: {} ({})", request.request->name,
                                    Join(refused.devices, ", "), refused.text,
                                    Join(refused.notes, "; ")));
    }
    if (!request.conflict.empty()) {
      reasons.push_back(request.conflict);
    }
  }
  return Join(reasons, "\n");
}

// Shares have ids of their own, so the number of those that are there gives a new one.
size_t SharesIn(const Cluster& cluster) {
  size_t shares = 0;
  for (const json::value& claim : cluster.claims) {
    for (const json::value& result :
         ListAt(claim, {"status", "allocation", "devices", "results"})) {
      shares += kube::TextField(result, {"shareID"}).empty() ? 0 : 1;
    }
  }
  return shares;
}

json::array TolerationsOf(const json::array& requests, std::string_view name) {
  for (const json::value& request : requests) {
    const std::string_view base = kube::TextField(request, {"name"});
    if (base == name) {
      return ListAt(request, {"exactly", "tolerations"});
    }
    for (const json::value& alternative : ListAt(request, {"firstAvailable"})) {
      if (fmt::format("{}/{}", base, kube::TextField(alternative, {"name"})) == name) {
        return ListAt(alternative, {"tolerations"});
      }
    }
  }
  return {};
}

json::object ResultOf(const claim::Grant& grant, const json::array& requests, size_t share) {
  const auto& [driver, pool, device] = grant.device;
  json::object result = {
      {"request", grant.request->name}, {"driver", driver}, {"pool", pool}, {"device", device}};
  if (grant.request->is_admin) {
    result["adminAccess"] = true;
  }
  if (json::array tolerations = TolerationsOf(requests, grant.request->name);
      !tolerations.empty()) {
    result["tolerations"] = std::move(tolerations);
  }
  if (grant.is_share) {
    result["shareID"] = fmt::format("00000000-0000-4000-8000-{:012}", share);
    json::object consumed;
    for (const auto& [name, amount] : grant.consumed) {
      consumed[name] = AmountText("memory", amount);
    }
    result["consumedCapacity"] = std::move(consumed);
  }
  return result;
}

// As the scheduler writes it: entries of the classes, for all requests, first: later ones override
// earlier ones.
json::array ConfigOf(const json::value& claim, const std::vector<claim::Grant>& grants,
                     const claim::Classes& classes) {
  json::array config;
  std::vector<std::string> done;
  for (const claim::Grant& grant : grants) {
    if (std::ranges::find(done, grant.request->name) != done.end()) {
      continue;
    }
    done.push_back(grant.request->name);
    for (const json::value& entry :
         ListAt(*classes.find(grant.request->device_class)->second, {"spec", "config"})) {
      json::object made = entry.as_object();
      made["source"] = "FromClass";
      config.push_back(std::move(made));
    }
  }
  for (const json::value& entry : ListAt(claim, {"spec", "devices", "config"})) {
    json::object made = entry.as_object();
    made["source"] = "FromClaim";
    config.push_back(std::move(made));
  }
  return config;
}

}  // namespace

StatusOr<json::object> Allocate(const json::value& claim, const Cluster& cluster,
                                const std::string& node_name) {
  claim::Classes classes;
  for (const json::value& object : cluster.classes) {
    classes[std::string(kube::NameOf(object))] = &object;
  }
  ASSIGN_OR_RETURN(const claim::ClaimSpec spec, claim::ReadClaimSpec(claim, classes));
  const explain::Node node{.name = node_name};
  const std::vector<claim::Pool> pools =
      claim::PoolsFor(node, claim::GroupSlices(PointersTo(cluster.slices)));
  const claim::Outcome outcome =
      claim::Allocate(spec, pools, claim::HoldingsOf(PointersTo(cluster.claims)), node);
  if (!outcome.grants) {
    return FailedPrecondition("{}", ReasonsOf(outcome));
  }
  const json::array requests = ListAt(claim, {"spec", "devices", "requests"});
  size_t shares = SharesIn(cluster);
  json::array results;
  for (const claim::Grant& grant : *outcome.grants) {
    shares += grant.is_share ? 1 : 0;
    results.push_back(ResultOf(grant, requests, shares));
  }
  json::object devices = {{"results", std::move(results)}};
  if (json::array config = ConfigOf(claim, *outcome.grants, classes); !config.empty()) {
    devices["config"] = std::move(config);
  }
  const json::object is_node = {{"key", "metadata.name"},
                                {"operator", "In"},
                                {"values", json::array{json::value(node_name)}}};
  return json::object{
      {"devices", std::move(devices)},
      {"nodeSelector",
       {{"nodeSelectorTerms", json::array{json::object{{"matchFields", json::array{is_node}}}}}}}};
}

}  // namespace kgpu::allocator

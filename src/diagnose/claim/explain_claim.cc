#include "src/diagnose/claim/explain_claim.h"

#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/diagnose/claim/allocate.h"
#include "src/diagnose/claim/claim_spec.h"
#include "src/diagnose/claim/findings.h"
#include "src/diagnose/claim/pools.h"
#include "src/diagnose/explain/placing.h"
#include "src/diagnose/explain/readers.h"
#include "src/diagnose/explain/verdict.h"
#include "src/kube/api/json.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::claim {
namespace {

namespace json = boost::json;
using explain::Found;
using explain::Report;

// The objects of a dump that matter to claims.
struct Objects {
  const json::value* claim = nullptr;  // null: there is none
  std::vector<const json::value*> others{};
  std::vector<const json::value*> slices{};
  std::vector<const json::value*> taint_rules{};
  Classes classes{};
};

Objects ObjectsOf(const explain::Dump& dump, std::string_view space, std::string_view name) {
  Objects objects;
  for (const json::value& item : dump.items) {
    const std::string_view kind = kube::TextField(item, {"kind"});
    if (kind == "ResourceSlice") {
      objects.slices.push_back(&item);
    } else if (kind == "DeviceTaintRule") {
      objects.taint_rules.push_back(&item);
    } else if (kind == "DeviceClass") {
      objects.classes[std::string(kube::NameOf(item))] = &item;
    } else if (kind == "ResourceClaim") {
      const std::string_view in = kube::NamespaceOf(item);
      const bool is_it =
          kube::NameOf(item) == name && (in == space || (in.empty() && space == "default"));
      (is_it ? objects.claim : objects.others.emplace_back()) = &item;
    }
  }
  return objects;
}

void FillAllocation(const json::value& claim, Report& report) {
  std::vector<std::string> devices;
  explain::ForEach(
      claim, {"status", "allocation", "devices", "results"}, [&](const json::value& item) {
        devices.push_back(fmt::format(
            "{}: {}/{}/{}", explain::Text(item, {"request"}), explain::Text(item, {"driver"}),
            explain::Text(item, {"pool"}), explain::Text(item, {"device"})));
      });
  std::vector<std::string> users;
  explain::ForEach(claim, {"status", "reservedFor"}, [&](const json::value& item) {
    users.push_back(
        fmt::format("{} {}", explain::Text(item, {"resource"}), explain::Text(item, {"name"})));
  });
  report.has = std::move(devices);
  report.has.push_back(users.empty() ? "reserved for no pod"
                                     : fmt::format("reserved for {}", Join(users, ", ")));
}

std::string GetClaims(std::string_view space) {
  return fmt::format("kubectl get resourceclaims -n {}", ShellWord(space));
}

// The claim's own problems: without a spec there is nothing to look for.
explain::Reasons ProblemOf(const Status& status) {
  const std::string_view id = status.code() == StatusCode::kNotFound ? "claim-missing"
                              : status.code() == StatusCode::kInvalidArgument
                                  ? "device-selector-invalid"
                                  : "device-unknown";
  return {Found(id, std::string(Message(status)), {"kubectl get deviceclasses -o yaml"})};
}

// Of classes that no device is of: a driver of which there is no slice.
void FindDrivers(const explain::Facts& facts, const ClaimSpec& spec, const Objects& objects,
                 Report& report) {
  std::set<std::string> drivers;
  for (const json::value* slice : objects.slices) {
    drivers.insert(explain::Text(*slice, {"spec", "driver"}));
  }
  for (const std::vector<Request>& alternatives : spec.requests) {
    for (const Request& request : alternatives) {
      const auto found = std::ranges::find(facts.device_classes, request.device_class,
                                           &explain::DeviceClass::name);
      if (facts.Has("ResourceSlice") && found != facts.device_classes.end() &&
          !found->driver.empty() && !drivers.contains(found->driver)) {
        report.reasons.push_back(Found(
            "device-driver-absent",
            fmt::format("{}: class {} is for driver {}", request.name, found->name, found->driver),
            {"kubectl get resourceslices",
             "kgpu status   # on a node: why kgpu publishes no devices",
             "# set serve: {by: dra} in the nodes' configuration"}));
      }
    }
  }
}

// All nodes, or those that slices name if nodes could not be read.
std::vector<explain::Node> NodesOf(const explain::Facts& facts, const Objects& objects) {
  if (facts.Has("Node")) {
    return facts.nodes;
  }
  std::set<std::string> names;
  for (const json::value* slice : objects.slices) {
    names.insert(explain::Text(*slice, {"spec", "nodeName"}));
  }
  names.erase("");
  std::vector<explain::Node> nodes;
  nodes.reserve(names.size());
  for (const std::string& name : names) {
    nodes.push_back({.name = name});
  }
  return nodes;
}

// Returns whether some device is of a class that the claim names.
bool JudgeNodes(const explain::Facts& facts, const ClaimSpec& spec, const Objects& objects,
                Report& report) {
  const std::vector<PoolSlices> groups = GroupSlices(objects.slices);
  const Holdings holdings = HoldingsOf(objects.others);
  std::vector<explain::NodeVerdict> others;  // without a device of the classes
  for (const explain::Node& node : NodesOf(facts, objects)) {
    std::vector<Pool> pools = PoolsFor(node, groups);
    if (pools.empty()) {
      ++report.other_nodes;
      continue;
    }
    for (const json::value* rule : objects.taint_rules) {
      ApplyTaintRule(*rule, pools);
    }
    const Outcome outcome = Allocate(spec, pools, holdings, node);
    (HasDevicesOfClass(outcome) ? report.nodes : others).push_back(VerdictOn(node, outcome));
  }
  const bool has_devices = !report.nodes.empty();
  if (has_devices) {
    report.other_nodes += others.size();
  } else {
    report.nodes = std::move(others);
  }
  explain::SortBestFirst(report.nodes);
  return has_devices;
}

void FillNotJudged(const explain::Facts& facts, Report& report) {
  if (!facts.Has("ResourceSlice")) {
    report.not_judged.emplace_back("devices: no ResourceSlices were listed");
  }
  if (!facts.Has("ResourceClaim")) {
    report.not_judged.emplace_back("devices of other claims: none were listed");
  }
  report.not_judged.emplace_back(
      "whether the pod of the claim fits the nodes, with its other claims: kgpu explain pod");
}

}  // namespace

Report ExplainClaim(const explain::Dump& dump, std::string_view space, std::string_view name) {
  const explain::Facts facts = explain::FactsOf(dump, space, name);
  const Objects objects = ObjectsOf(dump, space, name);
  Report report{.kind = "claim", .name = fmt::format("{}/{}", space, name)};
  report.unreadable = facts.unreadable;
  if (objects.claim == nullptr) {
    report.reasons = {Found("claim-missing", fmt::format("ResourceClaim {} not found", report.name),
                            {GetClaims(space)})};
  } else if (kube::FindField(*objects.claim, {"status", "allocation"}) != nullptr) {
    report.state = explain::State::kAllocated;
    FillAllocation(*objects.claim, report);
  } else {
    report.state = explain::State::kPending;
    const StatusOr<ClaimSpec> spec = ReadClaimSpec(*objects.claim, objects.classes);
    if (spec.ok()) {
      for (const std::vector<Request>& alternatives : spec->requests) {
        for (const Request& request : alternatives) {
          report.wants[request.name] = request.Title();
        }
      }
      if (!JudgeNodes(facts, *spec, objects, report)) {
        FindDrivers(facts, *spec, objects, report);
      }
    } else {
      report.reasons = ProblemOf(spec.status());
    }
    FillNotJudged(facts, report);
  }
  explain::FinishReport(report);
  return report;
}

}  // namespace kgpu::claim

// Pods as values.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "src/diagnose/explain/dump.h"
#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

std::vector<std::string> ReadEnvironment(const json::value& container) {
  std::vector<std::string> environment;
  const auto take = [&](const json::value& item) {
    const std::string name = Text(item, {"name"});
    if (IsJudgedVariable(name)) {
      environment.push_back(fmt::format("{}={}", name, Text(item, {"value"})));
    }
  };
  ForEach(container, {"env"}, take);
  return environment;
}

ContainerSpec ReadContainer(const json::value& object, bool is_init) {
  ContainerSpec container{.name = Text(object, {"name"}), .image = Text(object, {"image"})};
  container.requests = ReadAmounts(object, {"resources", "requests"}, &container.wrong);
  container.limits = ReadAmounts(object, {"resources", "limits"}, &container.wrong);
  container.environment = ReadEnvironment(object);
  container.is_init = is_init;
  container.is_sidecar = is_init && Text(object, {"restartPolicy"}) == "Always";
  return container;
}

void ReadContainers(const json::value& object, std::vector<ContainerSpec>& containers) {
  const auto add_init = [&](const json::value& item) {
    containers.push_back(ReadContainer(item, true));
  };
  const auto add = [&](const json::value& item) {
    containers.push_back(ReadContainer(item, false));
  };
  ForEach(object, {"spec", "initContainers"}, add_init);
  ForEach(object, {"spec", "containers"}, add);
}

ContainerStatus ReadStatus(const json::value& object) {
  ContainerStatus status{.name = Text(object, {"name"})};
  status.is_running = kube::FindField(object, {"state", "running"}) != nullptr;
  const bool is_over = kube::FindField(object, {"state", "terminated"}) != nullptr;
  const std::string_view state = is_over ? "terminated" : "waiting";
  status.reason = Text(object, {"state", state, "reason"});
  status.message = Text(object, {"state", state, "message"});
  status.exit_code = kube::IntField(object, {"state", "terminated", "exitCode"});
  status.last_reason = Text(object, {"lastState", "terminated", "reason"});
  status.last_message = Text(object, {"lastState", "terminated", "message"});
  status.last_exit_code = kube::IntField(object, {"lastState", "terminated", "exitCode"});
  status.restarts = kube::IntField(object, {"restartCount"}).value_or(0);
  return status;
}

}  // namespace

std::vector<Toleration> ReadTolerations(const json::value& object, Path path) {
  std::vector<Toleration> tolerations;
  const auto take = [&](const json::value& item) {
    tolerations.push_back({.key = Text(item, {"key"}),
                           .op = Text(item, {"operator"}),
                           .value = Text(item, {"value"}),
                           .effect = Text(item, {"effect"})});
  };
  ForEach(object, path, take);
  return tolerations;
}

namespace {

std::vector<ClaimUse> ReadClaimUses(const json::value& object) {
  std::vector<ClaimUse> uses;
  const auto take = [&](const json::value& item) {
    uses.push_back({.name = Text(item, {"name"}),
                    .claim = Text(item, {"resourceClaimName"}),
                    .made_from = Text(item, {"resourceClaimTemplateName"})});
  };
  ForEach(object, {"spec", "resourceClaims"}, take);
  const auto name_claim = [&](const json::value& item) {
    const std::string name = Text(item, {"name"});
    for (ClaimUse& use : uses) {
      if (use.name == name && use.claim.empty()) {
        use.claim = Text(item, {"resourceClaimName"});
      }
    }
  };
  ForEach(object, {"status", "resourceClaimStatuses"}, name_claim);
  return uses;
}

bool HasItems(const json::value& object, Path path) {
  const json::value* list = kube::FindField(object, path);
  return list != nullptr && list->is_array() && !list->get_array().empty();
}

std::vector<std::string> RulesNotJudged(const json::value& object) {
  std::vector<std::string> rules;
  if (HasItems(object, {"spec", "topologySpreadConstraints"})) {
    rules.emplace_back("topology spread constraints");
  }
  if (kube::FindField(object, {"spec", "affinity", "podAffinity"}) != nullptr) {
    rules.emplace_back("pod affinity");
  }
  if (kube::FindField(object, {"spec", "affinity", "podAntiAffinity"}) != nullptr) {
    rules.emplace_back("pod anti-affinity");
  }
  bool has_volume_claims = false;
  bool has_host_ports = false;
  const auto look_volume = [&](const json::value& item) {
    has_volume_claims |= kube::FindField(item, {"persistentVolumeClaim"}) != nullptr ||
                         kube::FindField(item, {"ephemeral"}) != nullptr;
  };
  const auto look_port = [&](const json::value& item) {
    has_host_ports |= kube::IntField(item, {"hostPort"}).value_or(0) != 0;
  };
  const auto look_container = [&](const json::value& item) { ForEach(item, {"ports"}, look_port); };
  ForEach(object, {"spec", "volumes"}, look_volume);
  ForEach(object, {"spec", "containers"}, look_container);
  if (has_volume_claims) {
    rules.emplace_back("where its volumes can be attached");
  }
  if (has_host_ports) {
    rules.emplace_back("host ports");
  }
  return rules;
}

std::string OwnerOf(const json::value& object) {
  std::string owner;
  const auto take = [&](const json::value& item) {
    if (owner.empty() || Flag(item, {"controller"})) {
      owner = fmt::format("{}/{}", Text(item, {"kind"}), Text(item, {"name"}));
    }
  };
  ForEach(object, {"metadata", "ownerReferences"}, take);
  return owner;
}

std::string StartOf(const json::value& object) {
  std::string started = Text(object, {"status", "startTime"});
  return started.empty() ? Text(object, {"metadata", "creationTimestamp"}) : started;
}

Amounts ReadWhole(const json::value& object) {
  Amounts amounts = ReadAmounts(object, {"spec", "resources", "limits"});
  for (const auto& [resource, amount] : ReadAmounts(object, {"spec", "resources", "requests"})) {
    amounts[resource] = amount;
  }
  return amounts;
}

// Requests of what runs beside one another, or of the largest that runs alone before it.
Amounts Sum(const std::vector<ContainerSpec>& containers) {
  Amounts together;  // containers and sidecars
  Amounts sidecars;  // that run already when an init container starts
  Amounts alone;
  for (const ContainerSpec& container : containers) {
    // A resource with only a limit requests that amount.
    Amounts wants = container.limits;
    for (const auto& [resource, amount] : container.requests) {
      wants[resource] = amount;
    }
    if (!container.is_init || container.is_sidecar) {
      AddTo(together, wants);
    }
    if (container.is_sidecar) {
      AddTo(sidecars, wants);
    } else if (container.is_init) {
      AddTo(wants, sidecars);
      for (const auto& [resource, amount] : wants) {
        alone[resource] = std::max(alone[resource], amount);
      }
    }
  }
  for (const auto& [resource, amount] : alone) {
    together[resource] = std::max(together[resource], amount);
  }
  return together;
}

// Resources of the pod as a whole replace the sum of its containers.
Amounts RequestsOf(const std::vector<ContainerSpec>& containers, const Amounts& of_all,
                   const Amounts& overhead) {
  Amounts sum = Sum(containers);
  for (const auto& [resource, amount] : of_all) {
    sum[resource] = amount;
  }
  AddTo(sum, overhead);
  std::erase_if(sum, [](const auto& entry) { return entry.second.milli == 0; });
  return sum;
}

void ReadSpec(const json::value& object, Pod& pod) {
  pod.node = Text(object, {"spec", "nodeName"});
  pod.priority = kube::IntField(object, {"spec", "priority"}).value_or(0);
  pod.priority_class = Text(object, {"spec", "priorityClassName"});
  pod.preemption_policy = Text(object, {"spec", "preemptionPolicy"});
  pod.runtime_class = Text(object, {"spec", "runtimeClassName"});
  pod.scheduler = Text(object, {"spec", "schedulerName"});
  const auto add_gate = [&](const json::value& item) { pod.gates.push_back(Text(item, {"name"})); };
  ForEach(object, {"spec", "schedulingGates"}, add_gate);
  pod.selector = ReadTexts(object, {"spec", "nodeSelector"});
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  if (kube::FindField(object, {"spec", "affinity", "nodeAffinity", kRequired}) != nullptr) {
    pod.affinity =
        ReadTerms(object, {"spec", "affinity", "nodeAffinity", kRequired, "nodeSelectorTerms"});
  }
  pod.tolerations = ReadTolerations(object, {"spec", "tolerations"});
  ReadContainers(object, pod.containers);
  pod.claims = ReadClaimUses(object);
  pod.overhead = ReadAmounts(object, {"spec", "overhead"});
  pod.of_all = ReadWhole(object);
  pod.not_judged = RulesNotJudged(object);
}

}  // namespace

Pod ReadPod(const json::value& object) {
  Pod pod{.space = std::string(kube::NamespaceOf(object)),
          .name = std::string(kube::NameOf(object)),
          .uid = Text(object, {"metadata", "uid"}),
          .owner = OwnerOf(object)};
  pod.space = pod.space.empty() ? "default" : pod.space;
  pod.phase = Text(object, {"status", "phase"});
  pod.reason = Text(object, {"status", "reason"});
  pod.message = Text(object, {"status", "message"});
  pod.started = StartOf(object);
  pod.is_deleted = !Text(object, {"metadata", "deletionTimestamp"}).empty();
  pod.nominated_node = Text(object, {"status", "nominatedNodeName"});
  ReadSpec(object, pod);
  const auto add_status = [&](const json::value& item) {
    pod.statuses.push_back(ReadStatus(item));
  };
  ForEach(object, {"status", "initContainerStatuses"}, add_status);
  ForEach(object, {"status", "containerStatuses"}, add_status);
  pod.conditions = ReadConditions(object);
  return pod;
}

std::optional<Holder> ReadHolder(const json::value& object) {
  const std::string_view phase = kube::TextField(object, {"status", "phase"});
  const std::string_view bound = kube::TextField(object, {"spec", "nodeName"});
  const std::string_view node =
      bound.empty() ? kube::TextField(object, {"status", "nominatedNodeName"}) : bound;
  if (node.empty() || phase == "Succeeded" || phase == "Failed") {
    return std::nullopt;
  }
  std::vector<ContainerSpec> containers;
  ReadContainers(object, containers);
  Holder holder{.title = fmt::format("{}/{}", kube::NamespaceOf(object), kube::NameOf(object)),
                .node = std::string(node),
                .since = StartOf(object),
                .priority = kube::IntField(object, {"spec", "priority"}).value_or(0),
                .is_deleted = !Text(object, {"metadata", "deletionTimestamp"}).empty(),
                .is_nominated = bound.empty()};
  holder.requests =
      RequestsOf(containers, ReadWhole(object), ReadAmounts(object, {"spec", "overhead"}));
  return holder;
}

std::string Pod::Title() const {
  return fmt::format("{}/{}", space, name);
}

Amounts Pod::Requests() const {
  return RequestsOf(containers, of_all, overhead);
}

}  // namespace kgpu::explain

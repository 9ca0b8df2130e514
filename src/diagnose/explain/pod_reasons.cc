// Problems of the pod itself, independent of the nodes.
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/diagnose/explain/placing.h"
#include "src/gpu/device/mig.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

std::string OwnerHint(const Pod& pod) {
  return pod.owner.empty() ? "# change the pod's manifest and recreate the pod"
                           : fmt::format("# change the owner of the pod: {}", pod.owner);
}

void Gates(const Case& c, Reasons& out) {
  if (!c.pod.gates.empty()) {
    out.push_back(Found(
        "scheduling-gated", fmt::format("spec.schedulingGates: {}", Join(c.pod.gates, ", ")),
        {"# the controller that set a gate removes it; a queue does so when it is the pod's turn",
         fmt::format("kubectl get workloads -n {}   # if Kueue is used", ShellWord(c.pod.space))}));
  }
}

// The resource of GPUs before there were device plugins.
constexpr std::string_view kOldResource = "alpha.kubernetes.io/nvidia-gpu";

// False: no container asks for it.
bool AsksByOldResource(const Case& c, Reasons& out) {
  bool is_found = false;
  for (const ContainerSpec& container : c.pod.containers) {
    const auto limit = container.limits.find(kOldResource);
    const auto request = container.requests.find(kOldResource);
    if (limit == container.limits.end() && request == container.requests.end()) {
      continue;
    }
    is_found = true;
    const Amount amount = limit == container.limits.end() ? request->second : limit->second;
    out.push_back(Found(
        "resource-gone",
        fmt::format("container {} requests {} {}, which no node has since Kubernetes 1.11",
                    container.name, AmountText("", amount), kOldResource),
        {fmt::format("# write nvidia.com/gpu: {} to resources.limits instead",
                     AmountText("", amount)),
         "kgpu doctor manifest FILE --in-place   # changes it in the manifest", OwnerHint(c.pod)}));
  }
  return is_found;
}

void Asks(const Case& c, Reasons& out) {
  if (AsksByOldResource(c, out) || !c.devices.empty() || !c.pod.claims.empty()) {
    return;
  }
  std::string evidence = "no container has a GPU resource in its limits, or a resource claim";
  for (const ContainerSpec& container : c.pod.containers) {
    for (const std::string& variable : container.environment) {
      if (variable.starts_with("NVIDIA_VISIBLE_DEVICES=")) {
        evidence +=
            fmt::format("; {} of container {} does not request a GPU", variable, container.name);
      }
    }
  }
  out.push_back(
      Found("no-gpu-asked", evidence,
            {"# add to a container: resources: {limits: {nvidia.com/gpu: 1}}",
             "kubectl get nodes -o custom-columns=NODE:.metadata.name,OFFERS:.status.allocatable   "
             "# shows the available resources"}));
}

void Containers(const Case& c, Reasons& out) {
  for (const ContainerSpec& container : c.pod.containers) {
    for (const std::string& wrong : container.wrong) {
      out.push_back(Found("quantity-wrong", fmt::format("container {}: {}", container.name, wrong),
                          {"# use an integer: 1"}));
    }
    Amounts named = container.requests;
    named.insert(container.limits.begin(), container.limits.end());
    for (const auto& [resource, amount] : named) {
      if (!IsExtended(resource)) {
        continue;
      }
      const Amount limit = AmountOf(container.limits, resource);
      const auto request = container.requests.find(resource);
      if (request != container.requests.end() && request->second != limit) {
        out.push_back(
            Found("requests-limits-differ",
                  fmt::format("container {}: {}: request {}, limit {}", container.name, resource,
                              AmountText("", request->second), AmountText("", limit)),
                  {"# use the same number for both, or set only the limit", OwnerHint(c.pod)}));
      }
      if (!amount.IsWhole() || !limit.IsWhole()) {
        out.push_back(Found(
            "resource-fraction",
            fmt::format("container {}: {} {}", container.name, AmountText("", amount), resource),
            {"# request whole devices; for a part of a GPU use a shared resource or a MIG "
             "profile"}));
      }
    }
  }
}

// Resources of devices that there are, with the number of nodes that have some.
std::map<std::string, size_t> Offered(const Facts& facts) {
  std::map<std::string, size_t> offered;
  for (const Node& node : facts.nodes) {
    for (const auto& [resource, amount] : node.allocatable) {
      if (IsExtended(resource) && amount.milli > 0) {
        ++offered[resource];
      }
    }
  }
  return offered;
}

// "1g.10gb+me" of "nvidia.com/mig-1g.10gb.me"; empty: no resource of a MIG profile.
std::string MigProfileOf(const std::string& resource) {
  constexpr std::string_view kMig = "/mig-";
  const size_t at = resource.find(kMig);
  if (at == resource.npos) {
    return "";
  }
  std::string profile = resource.substr(at + kMig.size());
  if (const size_t end = profile.rfind("gb."); end != profile.npos) {
    profile[end + 2] = '+';
  }
  return profile;
}

// The MIG models of the cluster's GPUs, by the label with their product.
std::vector<device::MigModel> MigModelsOf(const Facts& facts) {
  std::vector<device::MigModel> models;
  for (const Node& node : facts.nodes) {
    const auto label = node.labels.find("nvidia.com/gpu.product");
    std::string product = label == node.labels.end() ? "" : label->second;
    for (const std::string_view end : {"-SHARED", "-MIG-"}) {
      product.resize(std::min(product.find(end), product.size()));
    }
    auto model = product.empty() ? StatusOr<device::MigModel>(NotFound("no label"))
                                 : device::FindMigModel(product);
    if (model.ok() &&
        std::ranges::find(models, model->name, &device::MigModel::name) == models.end()) {
      models.push_back(*std::move(model));
    }
  }
  return models;
}

// How a pool creates the profile, or which ones the known models of the cluster have instead.
std::string MigAdvice(const Facts& facts, const std::string& profile) {
  const std::vector<device::MigModel> models = MigModelsOf(facts);
  std::vector<std::string> others;
  for (const device::MigModel& model : models) {
    std::vector<std::string> names;
    for (const device::MigProfile& one : device::MigProfiles(model.pci_device_ids.front())) {
      names.push_back(one.name);
    }
    if (std::ranges::find(names, profile) != names.end()) {
      return fmt::format("# a pool creates it on {}: share: {{by: mig, layout: [{}, ...]}}",
                         model.name, profile);
    }
    others.push_back(
        fmt::format("{} has no profile {}: it has {}", model.name, profile, Join(names, ", ")));
  }
  return others.empty()
             ? "# a pool creates MIG profiles: share: {by: mig, layout: [1g.10gb, ...]}"
             : fmt::format("# {}; a pool creates them: share: {{by: mig, layout: [...]}}",
                           Join(others, "; "));
}

void Unknown(const Case& c, const std::string& resource,
             const std::map<std::string, size_t>& offered, Reasons& out) {
  std::vector<std::string_view> names;
  std::vector<std::string> there;
  for (const auto& [name, nodes] : offered) {
    names.push_back(name);
    there.push_back(fmt::format("{} ({} node{})", name, nodes, nodes == 1 ? "" : "s"));
  }
  const auto near = Nearest(resource, names);
  std::vector<std::string> fix;
  if (near) {
    fix.push_back(fmt::format("# request {} instead of {}", *near, resource));
    fix.push_back(OwnerHint(c.pod));
  } else if (!there.empty()) {
    fix.push_back("# request an available one, or add a pool of that name to a node");
  }
  if (const std::string profile = MigProfileOf(resource); !profile.empty()) {
    fix.push_back(MigAdvice(c.facts, profile));
  }
  if (there.empty()) {
    fix.emplace_back("kgpu doctor   # on a node with GPUs: shows why its kubelet reports none");
  }
  out.push_back(Found("resource-unknown",
                      fmt::format("{}; nodes offer {}", resource,
                                  there.empty() ? "no devices at all" : Join(there, ", ")),
                      std::move(fix)));
}

Amount MostOfOne(const Facts& facts, std::string_view resource) {
  Amount most;
  for (const Node& node : facts.nodes) {
    most =
        std::max({most, AmountOf(node.capacity, resource), AmountOf(node.allocatable, resource)});
  }
  return most;
}

void Devices(const Case& c, Reasons& out) {
  const std::map<std::string, size_t> offered = Offered(c.facts);
  for (const std::string& resource : c.devices) {
    const Amount want = AmountOf(c.wants, resource);
    const Amount most = MostOfOne(c.facts, resource);
    if (c.facts.nodes.empty() || (most.milli == 0 && c.ClassOf(resource) != nullptr)) {
      continue;
    }
    // If labels name GPUs but the kubelet reports none, the plugin is missing.
    constexpr std::string_view kDomain = "nvidia.com/";
    const bool lacks_plugin =
        resource.starts_with(kDomain) && std::ranges::any_of(c.facts.nodes, HasGpus) &&
        std::ranges::none_of(offered, [&](const auto& o) { return o.first.starts_with(kDomain); });
    if (most.milli == 0 && !lacks_plugin) {
      Unknown(c, resource, offered, out);
    } else if (most.milli > 0 && want > most) {
      out.push_back(
          Found("resource-too-many",
                fmt::format("requests {} {} on one node, but no node has more than {}",
                            AmountText("", want), resource, AmountText("", most)),
                {fmt::format("# request at most {}, in several pods if the workload allows it",
                             AmountText("", most)),
                 OwnerHint(c.pod)}));
    }
  }
}

// Like the names of objects: a plain word in YAML and in a shell.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 253 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == name.npos;
}

void RuntimeClass(const Case& c, Reasons& out) {
  const std::string& wanted = c.pod.runtime_class;
  if (wanted.empty() || !c.facts.Has("RuntimeClass") || c.facts.runtime_classes.contains(wanted)) {
    return;
  }
  const std::vector<std::string> there(c.facts.runtime_classes.begin(),
                                       c.facts.runtime_classes.end());
  out.push_back(
      Found("runtime-class-missing",
            fmt::format("spec.runtimeClassName is {}; available: {}", wanted,
                        there.empty() ? "none" : Join(there, ", ")),
            {IsPlainName(wanted)
                 ? fmt::format("printf 'apiVersion: node.k8s.io/v1\\nkind: RuntimeClass\\n"
                               "metadata: {{name: {0}}}\\nhandler: {0}\\n' | kubectl apply -f -",
                               wanted)
                 : "# no RuntimeClass can have that name: change spec.runtimeClassName"}));
}

// A line that no node of the cluster meets cannot be met by waiting.
void NoNodeHas(const Case& c, const Requirement& requirement, Reasons& out) {
  const bool is_met = std::ranges::any_of(
      c.facts.nodes, [&](const Node& node) { return Holds(requirement, node.labels); });
  if (is_met || c.facts.nodes.empty()) {
    return;
  }
  const std::vector<std::string> values =
      ValuesOf(c.facts.nodes, requirement.key, requirement.values);
  // As people write a selector of one value.
  const bool is_plain = requirement.op == "In" && requirement.values.size() == 1;
  std::string evidence = is_plain
                             ? fmt::format("{}={}", requirement.key, requirement.values.front())
                             : RequirementText(requirement);
  if (values.empty()) {
    const std::string like = KeyLike(c.facts.nodes, requirement.key);
    evidence += fmt::format("; no node has the label {}{}", requirement.key,
                            like.empty() ? "" : fmt::format(", some have {}", like));
  } else {
    const bool is_one = is_plain && values.size() == 1;
    const std::string start = is_one ? fmt::format("{}=", requirement.key) : "";
    evidence += fmt::format("; nodes have {}{}", start, Join(values, ", "));
  }
  out.push_back(
      Found("selector-matches-no-node", evidence,
            {values.empty() ? fmt::format("kubectl get nodes --show-labels")
                            : fmt::format("kubectl get nodes -L {}", ShellWord(requirement.key)),
             OwnerHint(c.pod)}));
}

void Selectors(const Case& c, Reasons& out) {
  for (const auto& [key, value] : c.pod.selector) {
    NoNodeHas(c, {key, "In", {value}}, out);
  }
  if (!c.pod.affinity) {
    return;
  }
  const bool is_met = std::ranges::any_of(
      c.facts.nodes, [&](const Node& n) { return MatchesAny(*c.pod.affinity, n); });
  for (const SelectorTerm& term : *c.pod.affinity) {
    for (const Requirement& requirement : term.labels) {
      if (!is_met) {
        NoNodeHas(c, requirement, out);
      }
    }
  }
}

}  // namespace

Reasons PodReasons(const Case& c) {
  Reasons out;
  if (c.pod.is_deleted) {
    out.push_back(Found("pod-ending", "metadata.deletionTimestamp is set", {}));
  }
  Asks(c, out);
  if (!c.pod.node.empty()) {
    return out;  // all else is about finding a node
  }
  Gates(c, out);
  Containers(c, out);
  Devices(c, out);
  RuntimeClass(c, out);
  Selectors(c, out);
  std::ranges::move(ClaimReasons(c), std::back_inserter(out));
  if (c.pod.uid.empty()) {
    std::ranges::move(RuleReasons(c), std::back_inserter(out));
  }
  std::ranges::move(SchedulerReasons(c), std::back_inserter(out));
  return out;
}

}  // namespace kgpu::explain

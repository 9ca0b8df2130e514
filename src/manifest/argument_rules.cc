// Feature gates and flags that components no longer know: with one of them they do not start.
// Source: Kubernetes' "Feature Gates (removed)".
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "src/base/strings.h"
#include "src/manifest/containers.h"
#include "src/manifest/rules.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

struct NameRow {
  std::string_view name;
  std::string_view gone_by;
};

constexpr std::array<NameRow, 10> kGates = {{
    {"Accelerators", "1.12"},
    {"DevicePlugins", "1.28"},
    {"DisableAcceleratorUsageMetrics", "1.28"},
    {"DynamicKubeletConfig", "1.26"},
    {"ExperimentalCriticalPodAnnotation", "1.16"},
    {"KubeletPluginsWatcher", "1.16"},
    {"KubeletPodResources", "1.30"},
    {"KubeletPodResourcesGetAllocatable", "1.30"},
    {"PodPriority", "1.19"},
    {"TaintBasedEvictions", "1.21"},
}};

constexpr std::array<NameRow, 6> kKubeletFlags = {{
    {"--experimental-nvidia-gpus", "1.11"},
    {"--allow-privileged", "1.15"},
    {"--network-plugin", "1.24"},
    {"--dynamic-config-dir", "1.26"},
    {"--container-runtime", "1.27"},
    {"--docker-endpoint", "1.24"},
}};

constexpr std::string_view kGatesFlag = "--feature-gates=";

template <size_t n>
const NameRow* FindRow(const std::array<NameRow, n>& rows, std::string_view name) {
  const auto* const row = std::ranges::find(rows, name, &NameRow::name);
  return row == rows.end() ? nullptr : row;
}

Finding GateFinding(const NameRow& gate, Path path, std::string_view value) {
  Finding finding;
  finding.id = "feature-gate-gone";
  finding.path = std::move(path);
  finding.value = Printable(value, 200);
  finding.gone_by = gate.gone_by;
  finding.message =
      fmt::format("a component that does not know the gate {} does not start", gate.name);
  finding.mend = fmt::format("leave out {}: what it switched on is always on, or gone", gate.name);
  return finding;
}

// "A=true,B=true" without A.
std::string Without(std::string_view gates, std::string_view gone) {
  std::vector<std::string> kept;
  for (const std::string_view gate : Split(gates, ',')) {
    if (gate.substr(0, gate.find('=')) != gone) {
      kept.emplace_back(gate);
    }
  }
  return Join(kept, ",");
}

// A list of gates within an argument: `head` stands before it.
void CheckGates(std::string_view gates, std::string_view head, const Path& path,
                Findings& findings) {
  for (const std::string_view gate : Split(gates, ',')) {
    const NameRow* row = FindRow(kGates, gate.substr(0, gate.find('=')));
    if (row == nullptr) {
      continue;
    }
    Finding finding = GateFinding(*row, path, gate);
    const std::string rest = Without(gates, row->name);
    if (!rest.empty()) {
      finding.fix.push_back(
          {Change::Kind::kSet, path, json::value(fmt::format("{}{}", head, rest)), ""});
    } else if (!head.empty()) {
      finding.fix.push_back({Change::Kind::kRemove, path, {}, ""});
    }
    findings.push_back(std::move(finding));
  }
}

void CheckFlag(std::string_view argument, const Path& path, Findings& findings) {
  const NameRow* row = FindRow(kKubeletFlags, argument.substr(0, argument.find('=')));
  if (row == nullptr) {
    return;
  }
  Finding finding;
  finding.id = "kubelet-flag-gone";
  finding.path = path;
  finding.value = Printable(argument, 200);
  finding.gone_by = row->gone_by;
  finding.message = "a kubelet that does not know the flag does not start";
  finding.mend = "leave it out";
  if (argument.find('=') != std::string_view::npos) {
    finding.fix.push_back({Change::Kind::kRemove, path, {}, ""});
  }
  findings.push_back(std::move(finding));
}

std::string_view TextOfItem(const Container& item) {
  const json::string* text = item.value->if_string();
  return text == nullptr ? std::string_view() : View(*text);
}

}  // namespace

void CheckArguments(const PodSpec& pod, Findings& findings) {
  for (const Container& container : ContainersOf(pod)) {
    bool is_kubelet = false;
    for (const std::string_view key : {"command", "args"}) {
      bool is_gates = false;
      for (const Container& argument : ItemsOf(container.value, container.path, key)) {
        const std::string_view text = TextOfItem(argument);
        is_kubelet = is_kubelet || text == "kubelet" || text.ends_with("/kubelet");
        if (is_gates) {
          CheckGates(text, "", argument.path, findings);
        } else if (text.starts_with(kGatesFlag)) {
          CheckGates(text.substr(kGatesFlag.size()), kGatesFlag, argument.path, findings);
        } else if (is_kubelet) {
          CheckFlag(text, argument.path, findings);
        }
        is_gates = text == kGatesFlag.substr(0, kGatesFlag.size() - 1);
      }
    }
  }
}

void CheckKubeletConfig(const json::value& object, const Path& at, Findings& findings) {
  if (TextOf(&object, "kind") != "KubeletConfiguration") {
    return;
  }
  const json::value* gates = FieldOf(&object, "featureGates");
  const json::object* fields = gates == nullptr ? nullptr : gates->if_object();
  for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    const auto& field = *(fields->begin() + i);
    const std::string_view key(field.key().data(), field.key().size());
    if (const NameRow* row = FindRow(kGates, key)) {
      Finding finding = GateFinding(*row, at.Key("featureGates").Key(key), Shown(field.value()));
      finding.fix.push_back({Change::Kind::kRemove, finding.path, {}, ""});
      findings.push_back(std::move(finding));
    }
  }
}

}  // namespace kgpu::manifest

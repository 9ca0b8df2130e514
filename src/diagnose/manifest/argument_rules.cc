// Feature gates and flags that components no longer know: with one of them they do not start.
#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "src/diagnose/manifest/containers.h"
#include "src/diagnose/manifest/rules.h"
#include "src/kube/gates/history.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

constexpr std::string_view kGatesFlag = "--feature-gates=";

// Nothing for a gate that every version so far knows.
std::optional<gates::GateHistory> GoneGate(std::string_view name) {
  const std::optional<gates::GateHistory> gate = gates::HistoryOf(name);
  return gate && gate->gone != 0 ? gate : std::nullopt;
}

Match GoneMatch(unsigned gone, const KubernetesVersion& target) {
  const KubernetesVersion version{1, gone};
  Match match;
  match.finding.severity = version <= target ? Severity::kError : Severity::kWarning;
  match.gone_by = version.str();
  return match;
}

Match GateMatch(const gates::GateHistory& gate, Path path, std::string_view value,
                const KubernetesVersion& target) {
  Match match = GoneMatch(gate.gone, target);
  match.finding.id = "feature-gate-gone";
  match.path = std::move(path);
  match.value = Printable(value, 200);
  match.finding.message =
      fmt::format("a component that does not know the gate {} does not start", gate.name);
  match.advice = fmt::format("remove {}: its feature is always on, or removed", gate.name);
  if (gate.on != 0 && value.ends_with("true")) {
    match.works_from = KubernetesVersion{1, gate.on};
  }
  return match;
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

// Checks a list of gates within an argument; `head` is the text before it.
void CheckGates(std::string_view gates, std::string_view head, const Path& path,
                const KubernetesVersion& target, Matches& matches) {
  for (const std::string_view gate : Split(gates, ',')) {
    const auto gone = GoneGate(gate.substr(0, gate.find('=')));
    if (!gone) {
      continue;
    }
    Match match = GateMatch(*gone, path, gate, target);
    const std::string rest = Without(gates, gone->name);
    if (!rest.empty()) {
      match.changes.push_back(
          {Change::Kind::kSet, path, json::value(fmt::format("{}{}", head, rest)), ""});
    } else if (!head.empty()) {
      match.changes.push_back({Change::Kind::kRemove, path, {}, ""});
    }
    matches.push_back(std::move(match));
  }
}

void CheckFlag(std::string_view argument, const Path& path, const KubernetesVersion& target,
               Matches& matches) {
  const std::span<const gates::FlagHistory> flags = gates::GoneFlags();
  const auto flag =
      std::ranges::find(flags, argument.substr(0, argument.find('=')), &gates::FlagHistory::flag);
  if (flag == flags.end()) {
    return;
  }
  Match match = GoneMatch(flag->gone, target);
  match.finding.id = "kubelet-flag-gone";
  match.path = path;
  match.value = Printable(argument, 200);
  match.finding.message = "a kubelet that does not know the flag does not start";
  match.advice = "remove it";
  if (argument.find('=') != std::string_view::npos) {
    match.changes.push_back({Change::Kind::kRemove, path, {}, ""});
  }
  matches.push_back(std::move(match));
}

std::string_view TextOfItem(const Container& item) {
  const json::string* text = item.value->if_string();
  return text == nullptr ? std::string_view() : View(*text);
}

// The name of the program: the first word of the command, or of the arguments if the command comes
// from the image.
std::string_view ProgramOf(const Container& container) {
  for (const std::string_view key : {"command", "args"}) {
    const std::vector<Container> words = ItemsOf(container.value, container.path, key);
    if (!words.empty()) {
      const std::string_view path = TextOfItem(words.front());
      return path.starts_with('-') ? std::string_view() : path.substr(path.rfind('/') + 1);
    }
  }
  return "";
}

}  // namespace

void CheckArguments(const PodSpec& pod, const KubernetesVersion& target, Matches& matches) {
  for (const Container& container : ContainersOf(pod)) {
    const bool is_kubelet = ProgramOf(container) == "kubelet";
    for (const std::string_view key : {"command", "args"}) {
      bool is_gates = false;
      for (const Container& argument : ItemsOf(container.value, container.path, key)) {
        const std::string_view text = TextOfItem(argument);
        if (is_gates) {
          CheckGates(text, "", argument.path, target, matches);
        } else if (text.starts_with(kGatesFlag)) {
          CheckGates(text.substr(kGatesFlag.size()), kGatesFlag, argument.path, target, matches);
        } else if (is_kubelet) {
          CheckFlag(text, argument.path, target, matches);
        }
        is_gates = text == kGatesFlag.substr(0, kGatesFlag.size() - 1);
      }
    }
  }
}

void CheckKubeletConfig(const json::value& object, const Path& at, const KubernetesVersion& target,
                        Matches& matches) {
  if (TextOf(&object, "kind") != "KubeletConfiguration") {
    return;
  }
  const json::value* gates = FieldOf(&object, "featureGates");
  const json::object* fields = gates == nullptr ? nullptr : gates->if_object();
  for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    const auto& field = *(fields->begin() + i);
    const std::string_view key(field.key().data(), field.key().size());
    if (const auto gone = GoneGate(key)) {
      Match match = GateMatch(*gone, at.Key("featureGates").Key(key), Shown(field.value()), target);
      match.changes.push_back({Change::Kind::kRemove, match.path, {}, ""});
      matches.push_back(std::move(match));
    }
  }
}

}  // namespace kgpu::manifest

#include "src/diagnose/doctor/kubelet_text.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::doctor {
namespace {

namespace json = boost::json;

constexpr std::string_view kGatesFlag = "--feature-gates";
constexpr std::string_view kGatesKey = "featureGates:";
constexpr std::string_view kEndsOfValue = " \t\n\r\"'\\";

bool IsComment(std::string_view line) {
  return Trim(line).starts_with('#');
}

struct FlagPlace {
  size_t start = 0;
  size_t value = 0;
  size_t end = 0;   // of the value
  size_t last = 0;  // behind its quote, where it has one of its own
};

// The place of the flag at `start` whose value begins at `value`, or after a quote there:
// --feature-gates="A=true".
FlagPlace PlaceOf(std::string_view line, size_t start, size_t value) {
  const char first = value < line.size() ? line[value] : ' ';
  if (first == '"' || first == '\'') {
    const size_t end = line.find_first_of(kEndsOfValue, value + 1);
    if (end != std::string_view::npos && end > value + 1 && line[end] == first) {
      return FlagPlace{.start = start, .value = value + 1, .end = end, .last = end + 1};
    }
  }
  const size_t end = std::min(line.find_first_of(kEndsOfValue, value), line.size());
  return FlagPlace{.start = start, .value = value, .end = end, .last = end};
}

// The place of `flag` in a line, at or after `from`; nothing: not found.
std::optional<FlagPlace> FindFlag(std::string_view line, std::string_view flag, size_t from) {
  for (size_t at = line.find(flag, from); at != std::string_view::npos;
       at = line.find(flag, at + 1)) {
    const size_t after = at + flag.size();
    const bool starts =
        at == 0 || kEndsOfValue.find(line[at - 1]) != std::string_view::npos || line[at - 1] == '=';
    const bool ends =
        after >= line.size() || kEndsOfValue.find(line[after]) != std::string_view::npos;
    if (!starts || (!ends && line[after] != '=')) {
      continue;
    }
    // "--switch", "--switch --next": the next word is not its value.
    const bool is_alone =
        ends && (line.substr(after, 1) != " " || line.substr(after + 1, 1) == "-");
    if (is_alone) {
      return FlagPlace{.start = at, .value = after, .end = after, .last = after};
    }
    return PlaceOf(line, at, after + 1);
  }
  return std::nullopt;
}

std::string GatesWithout(std::string_view value, const std::set<std::string>& gates) {
  std::vector<std::string> kept;
  for (const std::string_view item : Split(value, ',')) {
    if (!gates.contains(std::string(Trim(item.substr(0, item.find('=')))))) {
      kept.emplace_back(item);
    }
  }
  return Join(kept, ",");
}

// One blank less, too, where the flag stood between two.
void Cut(std::string& line, const FlagPlace& place) {
  size_t end = place.last;
  if (end < line.size() && line[end] == ' ') {
    ++end;
  }
  line.erase(place.start, end - place.start);
}

std::string LineWithout(std::string_view text, const std::set<std::string>& gates,
                        const std::set<std::string>& flags) {
  std::string line(text);
  for (const std::string& flag : flags) {
    while (const std::optional<FlagPlace> place = FindFlag(line, flag, 0)) {
      Cut(line, *place);
    }
  }
  size_t from = 0;
  while (const std::optional<FlagPlace> place = FindFlag(line, kGatesFlag, from)) {
    const std::string_view value =
        std::string_view(line).substr(place->value, place->end - place->value);
    const std::string kept = GatesWithout(value, gates);
    if (kept.empty() && !value.empty()) {
      Cut(line, *place);
      continue;
    }
    line.replace(place->value, place->end - place->value, kept);
    from = place->value + kept.size();
  }
  return line;
}

// "  DevicePlugins: true" → "DevicePlugins".
std::string_view KeyOf(std::string_view line) {
  std::string_view key = Trim(line.substr(0, line.find(':')));
  if (key.size() > 2 && (key.front() == '"' || key.front() == '\'') && key.back() == key.front()) {
    key = key.substr(1, key.size() - 2);
  }
  return key;
}

bool IsIndented(std::string_view line) {
  return line.starts_with(' ');
}

std::string JoinLines(const std::vector<std::string_view>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    text += lines[i];
    text += i + 1 < lines.size() ? "\n" : "";
  }
  return text;
}

}  // namespace

StatusOr<KubeletConfig> ParseKubeletConfig(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, doc::Parse(text, doc::Format::kYaml, file));
  if (!tree.is_object()) {
    return InvalidArgument("{}: must be a KubeletConfiguration", file);
  }
  KubeletConfig config;
  config.cgroup_driver = kube::TextField(tree, {"cgroupDriver"});
  const json::value* fails = kube::FindField(tree, {"failCgroupV1"});
  if (fails != nullptr && fails->is_bool()) {
    config.fails_on_cgroup_v1 = fails->get_bool();
  }
  config.engine_endpoint = kube::TextField(tree, {"containerRuntimeEndpoint"});
  const json::value* gates = kube::FindField(tree, {"featureGates"});
  if (gates == nullptr || gates->is_null()) {
    return config;
  }
  if (!gates->is_object()) {
    return InvalidArgument("{}: featureGates: must be a map of names to true or false", file);
  }
  for (const auto& [name, value] : gates->get_object()) {
    if (!value.is_bool()) {
      return InvalidArgument("{}: featureGates.{}: must be true or false", file,
                             Printable({name.data(), name.size()}, 80));
    }
    config.gates.emplace(std::string(name), value.get_bool());
  }
  return config;
}

Gates ParseGates(std::string_view text) {
  Gates gates;
  for (const std::string_view item : Split(text, ',')) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = Trim(item.substr(0, equals));
    const std::string_view value = Trim(item.substr(equals + 1));
    if (!name.empty() && (value == "true" || value == "false")) {
      gates[std::string(name)] = value == "true";
    }
  }
  return gates;
}

std::vector<std::string> FlagValues(std::string_view text, std::string_view flag) {
  std::vector<std::string> values;
  for (const std::string_view line : Split(text, '\n')) {
    if (IsComment(line)) {
      continue;
    }
    size_t from = 0;
    while (const std::optional<FlagPlace> place = FindFlag(line, flag, from)) {
      values.emplace_back(line.substr(place->value, place->end - place->value));
      from = place->end;
    }
  }
  return values;
}

std::optional<std::string> ConfigWithout(std::string_view text,
                                         const std::set<std::string>& gates) {
  std::vector<std::string_view> lines;
  bool is_inside = false;
  std::optional<size_t> header;
  bool has_gate = false;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(kGatesKey)) {
      is_inside = true;
      header = lines.size();
    } else if (is_inside && !Trim(line).empty() && !IsIndented(line) && !IsComment(line)) {
      is_inside = false;
    }
    if (is_inside && IsIndented(line) && gates.contains(std::string(KeyOf(line)))) {
      continue;
    }
    has_gate |= is_inside && IsIndented(line) && !IsComment(line) && !Trim(line).empty();
    lines.push_back(line);
  }
  if (header && !has_gate && Trim(lines[*header]) == kGatesKey) {
    lines.erase(lines.begin() + static_cast<ptrdiff_t>(*header));
  }
  std::string edited = JoinLines(lines);
  // A file on one line, such as one in braces, is left to the user.
  const auto before = ParseKubeletConfig(text, "");
  const auto after = ParseKubeletConfig(edited, "");
  if (!before.ok() || !after.ok()) {
    return std::nullopt;
  }
  KubeletConfig wanted = *before;
  std::erase_if(wanted.gates, [&](const auto& gate) { return gates.contains(gate.first); });
  if (wanted != *after) {
    return std::nullopt;
  }
  return edited;
}

std::string FlagsWithout(std::string_view text, const std::set<std::string>& gates,
                         const std::set<std::string>& flags) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) {
    lines.push_back(IsComment(line) ? std::string(line) : LineWithout(line, gates, flags));
  }
  return Join(lines, "\n");
}

StatusOr<DeviceCheckpoint> ParseDeviceCheckpoint(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, doc::Parse(text, doc::Format::kJson, file));
  const json::value* devices = kube::FindField(tree, {"Data", "RegisteredDevices"});
  DeviceCheckpoint checkpoint;
  if (devices == nullptr || devices->is_null()) {
    return checkpoint;
  }
  if (!devices->is_object()) {
    return InvalidArgument("{}: Data.RegisteredDevices: must be a map of resources to devices",
                           file);
  }
  for (const auto& [resource, ids] : devices->get_object()) {
    std::set<std::string>& known = checkpoint.registered[std::string(resource)];
    if (!ids.is_array()) {  // null: a resource without healthy devices
      continue;
    }
    for (const json::value& id : ids.get_array()) {
      if (id.is_string()) {
        known.emplace(id.get_string());
      }
    }
  }
  return checkpoint;
}

}  // namespace kgpu::doctor

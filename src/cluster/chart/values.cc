#include "src/cluster/chart/values.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/cluster/chart/chart_files.h"
#include "src/cluster/chart/values_schema.h"
#include "src/node/config/node_config.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/located.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;

constexpr std::string_view kPresetBegin = "values-";
constexpr std::string_view kPresetEnd = ".yaml";
constexpr size_t kMaxNames = 16;  // of a setting

// `schema` is that of `into`; null: it may be anything.
void Merge(const json::object& from, const json::object* schema, json::object& into) {
  for (const auto& [key, value] : from) {
    const std::vector<std::string> name = {std::string(key.data(), key.size())};
    const json::object* below = schema == nullptr ? nullptr : SchemaAt(*schema, name);
    json::value* old = into.if_contains(key);
    const bool takes_null = below != nullptr && AllowsType(*below, "null");
    if (value.is_null() && !takes_null) {
      into.erase(key);
    } else if (old != nullptr && old->is_object() && value.is_object()) {
      Merge(value.get_object(), below, old->get_object());
    } else {
      into[key] = value;
    }
  }
}

StatusOr<json::object> ReadValuesFile(std::string_view text, const std::string& name,
                                      const json::object& schema) {
  ASSIGN_OR_RETURN(const doc::Located located, doc::ParseLocated(text, doc::Format::kYaml, name));
  if (located.root.is_null()) {
    return json::object();  // only comments
  }
  RETURN_IF_ERROR(ValuesChecker(name, &located.place).Check(located.root, schema));
  return located.root.get_object();
}

// "a.b\.c" is a, b.c.
std::vector<std::string> NamesOf(std::string_view path) {
  std::vector<std::string> names(1);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size()) {
      names.back() += path[++i];
    } else if (path[i] == '.') {
      names.emplace_back();
    } else {
      names.back() += path[i];
    }
  }
  return names;
}

// What is to be text stays text: image.tag=1.36.
StatusOr<json::value> SettingValue(std::string_view text, const json::object* schema,
                                   const std::string& where) {
  const bool is_text = schema != nullptr && AllowsType(*schema, "string") &&
                       !AllowsType(*schema, "integer") && schema->contains("type");
  if (is_text) {
    return json::value(doc::View(text));
  }
  return doc::Parse(text, doc::Format::kYaml, where);
}

StatusOr<json::object> ReadSetting(const std::string& setting, const json::object& schema) {
  const size_t sign = setting.find('=');
  const std::vector<std::string> names = NamesOf(std::string_view(setting).substr(0, sign));
  if (sign == std::string::npos || names.size() > kMaxNames ||
      std::ranges::find(names, "") != names.end()) {
    return InvalidArgument(
        "--set {}: must be NAME.NAME=VALUE, such as agent.kubeletDir=/data/kubelet",
        Printable(setting, 60));
  }
  const std::string where = fmt::format("--set {}", Printable(setting.substr(0, sign), 60));
  ASSIGN_OR_RETURN(json::value value, SettingValue(std::string_view(setting).substr(sign + 1),
                                                   SchemaAt(schema, names), where));
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    json::object around;
    around[doc::View(*name)] = std::move(value);
    value = std::move(around);
  }
  RETURN_IF_ERROR(ValuesChecker("--set", nullptr).Check(value, schema));
  return std::move(value.get_object());
}

Status CheckNamespace(const std::string& name) {
  static constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (name.empty() || name.size() > 63 ||
      name.find_first_not_of(kNameLetters) != std::string::npos || name.front() == '-' ||
      name.back() == '-') {
    return InvalidArgument(
        "namespace \"{}\": must be up to 63 lower-case letters, digits and hyphens",
        Printable(name, 80));
  }
  return OkStatus();
}

// The agents would refuse a bad one much later.
Status CheckNodeConfig(const json::object& tree) {
  const std::string text = doc::Print(tree.at("config"), doc::Format::kYaml);
  return Annotate(config::ParseNodeConfig(text, "config").status(), "values");
}

// Classes of that prefix are the cluster's own.
Status CheckPriorityClass(const json::object& tree) {
  const json::object& priority = tree.at("priorityClass").as_object();
  const json::string& name = priority.at("name").as_string();
  if (priority.at("create").as_bool() && name.starts_with("system-")) {
    return InvalidArgument(
        "values: priorityClass.name: \"{}\" cannot be created: choose a name without system-",
        name.c_str());
  }
  return OkStatus();
}

StatusOr<std::string_view> PresetText(const std::string& distribution) {
  const EmbeddedFile* file =
      FindChartFile(fmt::format("{}{}{}", kPresetBegin, distribution, kPresetEnd));
  if (file == nullptr) {
    return InvalidArgument("--for: \"{}\" must be {}", Printable(distribution, 40),
                           Join(Distributions(), " or "));
  }
  return file->text;
}

}  // namespace

std::vector<std::string> Distributions() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : ChartFiles()) {
    std::string_view name = file.path;
    if (name.starts_with(kPresetBegin) && name.ends_with(kPresetEnd)) {
      name.remove_prefix(kPresetBegin.size());
      name.remove_suffix(kPresetEnd.size());
      names.emplace_back(name);
    }
  }
  return names;
}

StatusOr<Values> ReadValues(const ValuesRequest& request) {
  RETURN_IF_ERROR(CheckNamespace(request.name_space));
  ASSIGN_OR_RETURN(const json::object schema, ReadValuesSchema());
  const EmbeddedFile* defaults = FindChartFile("values.yaml");
  std::vector<ValuesFile> files = {
      {.name = "values.yaml", .text = std::string(defaults == nullptr ? "" : defaults->text)}};
  if (!request.distribution.empty()) {
    ASSIGN_OR_RETURN(const std::string_view preset, PresetText(request.distribution));
    files.push_back({.name = request.distribution, .text = std::string(preset)});
  }
  files.insert(files.end(), request.files.begin(), request.files.end());
  Values values{.name_space = request.name_space, .tree = {}};
  for (const ValuesFile& file : files) {
    ASSIGN_OR_RETURN(const json::object tree, ReadValuesFile(file.text, file.name, schema));
    Merge(tree, &schema, values.tree);
  }
  for (const std::string& setting : request.settings) {
    ASSIGN_OR_RETURN(const json::object tree, ReadSetting(setting, schema));
    Merge(tree, &schema, values.tree);
  }
  RETURN_IF_ERROR(CheckPriorityClass(values.tree));
  RETURN_IF_ERROR(CheckNodeConfig(values.tree));
  return values;
}

}  // namespace kgpu::chart

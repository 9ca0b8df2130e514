#include "src/cluster/chart/value_reference.h"

#include <boost/json.hpp>

#include "src/cluster/chart/values.h"
#include "src/cluster/chart/values_schema.h"
#include "src/node/report/table.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;

std::string TextOf(const json::object& schema, const char* key) {
  const json::value* value = schema.if_contains(key);
  return value == nullptr ? "" : std::string(value->as_string());
}

std::string AcceptedBy(const json::object& schema) {
  if (const json::value* words = schema.if_contains("enum")) {
    std::vector<std::string> names;
    for (const json::value& word : words->as_array()) {
      names.emplace_back(word.as_string());
    }
    return Join(names, ", ");
  }
  const json::value* least = schema.if_contains("minimum");
  const json::value* most = schema.if_contains("maximum");
  const std::string range =
      least == nullptr || most == nullptr
          ? ""
          : fmt::format(", {} to {}", json::serialize(*least), json::serialize(*most));
  const json::value& type = schema.at("type");
  if (type.is_string()) {
    return std::string(type.as_string()) + range;
  }
  std::vector<std::string> types;
  for (const json::value& one : type.as_array()) {
    types.emplace_back(one.as_string());
  }
  return Join(types, " or ") + range;
}

void AddEntries(const json::object& schema, const json::object& defaults, const std::string& above,
                std::vector<ValueEntry>& entries) {
  for (const auto& [key, property] : schema.at("properties").as_object()) {
    const std::string name = above + std::string(key);
    const json::object& below = property.as_object();
    const json::value& standard = defaults.at(key);
    if (below.contains("properties")) {
      AddEntries(below, standard.as_object(), name + ".", entries);
      continue;
    }
    entries.push_back({.name = name,
                       .accepts = AcceptedBy(below),
                       .standard = doc::PrintLine(standard),
                       .description = TextOf(below, "description")});
  }
}

}  // namespace

StatusOr<std::vector<ValueEntry>> ValueEntries() {
  ASSIGN_OR_RETURN(const json::object schema, ReadValuesSchema());
  ASSIGN_OR_RETURN(const Values defaults, ReadValues({}));
  std::vector<ValueEntry> entries;
  AddEntries(schema, defaults.tree, "", entries);
  return entries;
}

std::string ValuesTable(const std::vector<ValueEntry>& entries) {
  report::Table table({"VALUE", "ACCEPTS", "DEFAULT", "MEANING"});
  for (const ValueEntry& entry : entries) {
    table.AddRow({entry.name, entry.accepts, entry.standard, entry.description});
  }
  return table.Render();
}

std::string ValuesMarkdown(const std::vector<ValueEntry>& entries) {
  std::string text = "| Value | Accepts | Default | Meaning |\n|---|---|---|---|\n";
  for (const ValueEntry& entry : entries) {
    text += fmt::format("| `{}` | {} | `{}` | {} |\n", entry.name, entry.accepts, entry.standard,
                        entry.description);
  }
  return text;
}

json::value ValuesJson(const std::vector<ValueEntry>& entries) {
  json::array list;
  for (const ValueEntry& entry : entries) {
    list.push_back({{"name", doc::View(entry.name)},
                    {"accepts", doc::View(entry.accepts)},
                    {"default", doc::View(entry.standard)},
                    {"description", doc::View(entry.description)}});
  }
  return json::object{{"values", std::move(list)}};
}

}  // namespace kgpu::chart

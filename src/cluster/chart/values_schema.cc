#include "src/cluster/chart/values_schema.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>

#include "src/cluster/chart/chart_files.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/pattern/pattern.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;

// More would bury the first.
constexpr size_t kMostProblems = 20;

std::string_view Std(json::string_view text) {
  return {text.data(), text.size()};
}

std::string_view TypeOf(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "boolean";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
    case json::kind::double_:
      return "number";
    case json::kind::int64:
    case json::kind::uint64:
      return "integer";
  }
  return "null";
}

// The types that a schema names.
std::vector<std::string> TypesOf(const json::object& schema) {
  const json::value* type = schema.if_contains("type");
  if (type == nullptr) {
    return {};
  }
  if (const json::string* one = type->if_string()) {
    return {std::string(Std(*one))};
  }
  std::vector<std::string> types;
  for (const json::value& item : type->as_array()) {
    types.emplace_back(Std(item.as_string()));
  }
  return types;
}

// How people call a type.
std::string Spoken(const std::vector<std::string>& types) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {
      {{"string", "a string"},
       {"boolean", "true or false"},
       {"integer", "a whole number"},
       {"array", "a list"},
       {"object", "a map"},
       {"null", "null"}}};
  std::string text;
  for (const std::string& type : types) {
    const auto* const found =
        std::ranges::find(kNames, type, [](const auto& pair) { return pair.first; });
    text += text.empty() ? "" : " or ";
    text += found == kNames.end() ? std::string_view(type) : found->second;
  }
  return text;
}

std::string Shown(const json::value& value) {
  return Printable(json::serialize(value), 60);
}

int64_t NumberAt(const json::object& schema, const char* key, int64_t otherwise) {
  const json::value* number = schema.if_contains(key);
  return number == nullptr ? otherwise : number->to_number<int64_t>();
}

}  // namespace

StatusOr<json::object> ReadValuesSchema() {
  static constexpr const char* kFile = "values.schema.json";
  const EmbeddedFile* file = FindChartFile(kFile);
  if (file == nullptr) {
    return Internal("the program has no {}", kFile);
  }
  auto schema = doc::Parse(file->text, doc::Format::kJson, kFile);
  if (!schema.ok() || !schema->is_object()) {
    return Internal("{} is no JSON object", kFile);
  }
  return std::move(schema->get_object());
}

bool AllowsType(const json::object& schema, std::string_view type) {
  const std::vector<std::string> types = TypesOf(schema);
  return types.empty() || std::ranges::find(types, type) != types.end();
}

const json::object* SchemaAt(const json::object& schema, const std::vector<std::string>& path) {
  const json::object* at = &schema;
  for (const std::string& name : path) {
    const json::value* properties = at->if_contains("properties");
    const json::value* next =
        properties == nullptr ? nullptr : properties->as_object().if_contains(doc::View(name));
    if (next == nullptr) {
      next = at->if_contains("additionalProperties");
    }
    at = next == nullptr ? nullptr : next->if_object();
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

Status ValuesChecker::Check(const json::value& value, const json::object& schema) {
  problems_.clear();
  CheckValue(value, schema, {.path = "", .place = root_});
  return problems_.empty() ? OkStatus() : InvalidArgument("{}", Join(problems_, "\n"));
}

void ValuesChecker::Add(const At& at, std::string_view text) {
  if (problems_.size() >= kMostProblems) {
    return;
  }
  std::string where = file_;
  if (at.place != nullptr) {
    const doc::Position position = at.is_key ? at.place->key : at.place->value;
    where += fmt::format(":{}:{}", position.line, position.column);
  }
  problems_.push_back(at.path.empty() ? fmt::format("{}: {}", where, text)
                                      : fmt::format("{}: {}: {}", where, at.path, text));
}

void ValuesChecker::CheckValue(const json::value& value, const json::object& schema, const At& at) {
  const std::string_view type = TypeOf(value);
  if (!AllowsType(schema, type)) {
    const bool needs_quotes = AllowsType(schema, "string") && !value.is_structured();
    Add(at, fmt::format("{} must be {}{}", Shown(value), Spoken(TypesOf(schema)),
                        needs_quotes ? ": put it in quotes" : ""));
    return;
  }
  if (const json::value* words = schema.if_contains("enum");
      words != nullptr && std::ranges::find(words->as_array(), value) == words->as_array().end()) {
    std::vector<std::string> names;
    for (const json::value& word : words->as_array()) {
      names.emplace_back(Std(word.as_string()));
    }
    Add(at, fmt::format("{} must be {}", Shown(value), Join(names, " or ")));
  }
  if (const json::string* text = value.if_string()) {
    CheckText(Std(*text), schema, at);
  } else if (type == "integer") {
    CheckNumber(value, schema, at);
  } else if (const json::object* map = value.if_object()) {
    CheckMap(*map, schema, at);
  } else if (const json::array* items = value.if_array(); items != nullptr) {
    CheckItems(*items, schema, at);
  }
}

void ValuesChecker::CheckNumber(const json::value& value, const json::object& schema,
                                const At& at) {
  const int64_t least = NumberAt(schema, "minimum", INT64_MIN);
  const int64_t most = NumberAt(schema, "maximum", INT64_MAX);
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < least || *number > most) {
    Add(at, fmt::format("{} must be {}", Shown(value),
                        most == INT64_MAX ? fmt::format("{} or more", least)
                                          : fmt::format("from {} to {}", least, most)));
  }
}

void ValuesChecker::CheckItems(const json::array& items, const json::object& schema, const At& at) {
  const json::value* item_schema = schema.if_contains("items");
  for (size_t i = 0; item_schema != nullptr && i < items.size(); ++i) {
    CheckValue(items[i], item_schema->as_object(),
               {.path = fmt::format("{}[{}]", at.path, i),
                .place = at.place == nullptr ? nullptr : &at.place->children[i]});
  }
}

void ValuesChecker::CheckText(std::string_view text, const json::object& schema, const At& at) {
  const json::value* pattern = schema.if_contains("pattern");
  if (pattern == nullptr) {
    return;
  }
  const std::string_view expression = Std(pattern->as_string());
  const auto compiled = Pattern::Compile(expression);
  if (!compiled.ok() || !compiled->Matches(text)) {
    Add(at, fmt::format("\"{}\" must match {}", Printable(text, 60), expression));
  }
}

void ValuesChecker::CheckMap(const json::object& map, const json::object& schema, const At& at) {
  const json::value* declared = schema.if_contains("properties");
  const json::object none;
  const json::object& properties = declared == nullptr ? none : declared->as_object();
  const json::value* others = schema.if_contains("additionalProperties");
  const bool is_closed = others != nullptr && others->is_bool() && !others->get_bool();
  size_t index = 0;
  for (const auto& [key, value] : map) {
    At below{
        .path = at.path.empty() ? std::string(Std(key)) : fmt::format("{}.{}", at.path, Std(key)),
        .place = at.place == nullptr ? nullptr : &at.place->children[index]};
    ++index;
    if (const json::value* property = properties.if_contains(key); property != nullptr) {
      CheckValue(value, property->as_object(), below);
    } else if (is_closed) {
      below.is_key = true;
      below.path = at.path;
      AddUnknownKey(below, Std(key), properties);
    } else if (others != nullptr && others->is_object() && !value.is_null()) {
      // Null takes a default away.
      CheckValue(value, others->get_object(), below);
    }
  }
  CheckRequired(map, schema, at);
}

void ValuesChecker::CheckRequired(const json::object& map, const json::object& schema,
                                  const At& at) {
  const json::value* required = schema.if_contains("required");
  if (required == nullptr) {
    return;
  }
  for (const json::value& name : required->as_array()) {
    if (!map.contains(name.as_string())) {
      Add(at, fmt::format("{} must be set", Std(name.as_string())));
    }
  }
}

void ValuesChecker::AddUnknownKey(const At& at, std::string_view key,
                                  const json::object& properties) {
  std::vector<std::string_view> names;
  names.reserve(properties.size());
  for (const auto& known : properties) {
    names.push_back(Std(known.key()));
  }
  const auto nearest = Nearest(key, names);
  Add(at, fmt::format("unknown key \"{}\"{}", Printable(key, 60),
                      nearest ? fmt::format(": did you mean {}?", *nearest) : ""));
}

}  // namespace kgpu::chart

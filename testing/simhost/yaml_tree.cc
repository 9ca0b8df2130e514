#include "testing/simhost/yaml_tree.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::simhost {
namespace {

Status ErrorAt(std::string_view file, YamlPosition at, std::string_view problem) {
  return InvalidArgument("{}:{}:{}: {}", file, at.line, at.column, problem);
}

YamlPosition PositionOf(const doc::Position& position) {
  return {static_cast<int>(position.line), static_cast<int>(position.column)};
}

YamlValue TreeOf(const boost::json::value& value, const doc::Place& place) {
  YamlValue tree;
  tree.at = PositionOf(place.value);
  if (const boost::json::string* text = value.if_string()) {
    tree.kind = YamlValue::Kind::kScalar;
    tree.scalar.assign(text->data(), text->size());
  } else if (const boost::json::array* list = value.if_array()) {
    tree.kind = YamlValue::Kind::kList;
    for (size_t i = 0; i < list->size(); ++i) {
      tree.items.push_back(TreeOf((*list)[i], place.children[i]));
    }
  } else if (const boost::json::object* map = value.if_object()) {
    tree.kind = YamlValue::Kind::kMap;
    auto child = place.children.begin();
    for (const auto& [key, field] : *map) {
      YamlValue name;
      name.kind = YamlValue::Kind::kScalar;
      name.at = PositionOf(child->key);
      name.scalar.assign(key.data(), key.size());
      tree.fields.push_back({std::move(name), TreeOf(field, *child++)});
    }
  }
  return tree;
}

std::string_view KindName(YamlValue::Kind kind) {
  switch (kind) {
    case YamlValue::Kind::kNull:
      return "nothing";
    case YamlValue::Kind::kScalar:
      return "a single value";
    case YamlValue::Kind::kList:
      return "a list";
    case YamlValue::Kind::kMap:
      break;
  }
  return "a map";
}

std::string Quoted(std::string_view text) {
  return fmt::format("\"{}\"", Printable(text, 60));
}

}  // namespace

StatusOr<YamlValue> ParseYaml(std::string_view text, std::string_view file) {
  const doc::Limits limits{
      .bytes = size_t{64} << 10, .depth = 16, .values = 20'000, .keeps_scalars = true};
  ASSIGN_OR_RETURN(const doc::Located located,
                   doc::ParseLocated(text, doc::Format::kYaml, file, limits));
  return TreeOf(located.root, located.place);
}

YamlMapReader::YamlMapReader(const YamlValue& map, std::string_view file, std::string path)
    : map_(map), file_(file), path_(std::move(path)) {
  if (map.kind != YamlValue::Kind::kMap) {
    status_ = ErrorAt(file_, map.at,
                      fmt::format("{}: {} instead of a map (key: value)",
                                  path_.empty() ? "file" : path_, KindName(map.kind)));
  }
}

std::string YamlMapReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void YamlMapReader::Fail(const YamlValue& value, std::string_view name, std::string_view problem) {
  if (status_.ok()) {
    status_ = ErrorAt(file_, value.at, fmt::format("{}: {}", PathOf(name), problem));
  }
}

void YamlMapReader::Adopt(const Status& status) {
  if (status_.ok()) {
    status_ = status;
  }
}

const YamlValue* YamlMapReader::Find(std::string_view name, bool is_required) {
  known_.push_back(name);
  if (!status_.ok()) {
    return nullptr;
  }
  for (const auto& [key, value] : map_.fields) {
    if (key.scalar == name) {
      return &value;
    }
  }
  if (is_required && missing_.ok()) {
    missing_ = ErrorAt(file_, map_.at, fmt::format("{}: missing; add it", PathOf(name)));
  }
  return nullptr;
}

const YamlValue* YamlMapReader::Child(std::string_view name, YamlValue::Kind kind,
                                      bool is_required) {
  const YamlValue* value = Find(name, is_required);
  if (value != nullptr && value->kind != kind) {
    Fail(*value, name, fmt::format("{} instead of {}", KindName(value->kind), KindName(kind)));
    return nullptr;
  }
  return value;
}

const YamlValue* YamlMapReader::FindScalar(std::string_view name, bool is_required) {
  return Child(name, YamlValue::Kind::kScalar, is_required);
}

void YamlMapReader::Text(std::string_view name, std::string& out) {
  if (const YamlValue* value = FindScalar(name, true); value != nullptr) {
    out = value->scalar;
    if (out.empty() || out.size() > 200 || Printable(out) != out) {
      Fail(*value, name, fmt::format("{} must be 1 to 200 printable characters", Quoted(out)));
    }
  }
}

void YamlMapReader::OptionalText(std::string_view name, std::string& out) {
  const auto is_named = [name](const auto& field) { return field.key.scalar == name; };
  if (std::ranges::any_of(map_.fields, is_named)) {
    Text(name, out);
  } else {
    known_.push_back(name);
  }
}

void YamlMapReader::OptionalFlag(std::string_view name, bool& out) {
  if (const YamlValue* value = FindScalar(name, false); value != nullptr) {
    if (value->scalar != "true" && value->scalar != "false") {
      Fail(*value, name, fmt::format("{} must be true or false", Quoted(value->scalar)));
      return;
    }
    out = value->scalar == "true";
  }
}

void YamlMapReader::Choice(std::string_view name, const std::vector<std::string_view>& words,
                           size_t& out) {
  const YamlValue* value = FindScalar(name, true);
  if (value == nullptr) {
    return;
  }
  const auto found = std::ranges::find(words, value->scalar);
  if (found == words.end()) {
    Fail(*value, name,
         fmt::format("{} must be one of {}", Quoted(value->scalar), fmt::join(words, ", ")));
    return;
  }
  out = static_cast<size_t>(found - words.begin());
}

uint64_t YamlMapReader::ReadNumber(std::string_view name, uint64_t least, uint64_t most,
                                   bool is_required, uint64_t fallback) {
  const YamlValue* value = FindScalar(name, is_required);
  if (value == nullptr) {
    return fallback;
  }
  const bool is_hex = value->scalar.starts_with("0x");
  const std::optional<uint64_t> number = ParseUint(value->scalar, is_hex ? 16 : 10);
  if (!number || *number < least || *number > most) {
    Fail(*value, name,
         fmt::format("{} must be an integer from {} to {}", Quoted(value->scalar), least, most));
    return fallback;
  }
  return *number;
}

void YamlMapReader::OptionalTexts(std::string_view name, std::vector<std::string>& out) {
  const YamlValue* list = Child(name, YamlValue::Kind::kList, false);
  if (list == nullptr) {
    return;
  }
  for (const YamlValue& item : list->items) {
    if (item.kind != YamlValue::Kind::kScalar) {
      Fail(item, name, fmt::format("{} instead of a word", KindName(item.kind)));
      return;
    }
    out.push_back(item.scalar);
  }
}

Status YamlMapReader::Finish() {
  if (!status_.ok()) {
    return status_;
  }
  for (const auto& [key, value] : map_.fields) {
    if (std::ranges::find(known_, key.scalar) != known_.end()) {
      continue;
    }
    std::string problem = "is not a known key; remove it";
    if (const auto nearest = Nearest(key.scalar, known_); nearest) {
      problem = fmt::format("is not a known key; did you mean \"{}\"?", *nearest);
    }
    return ErrorAt(file_, key.at,
                   fmt::format("{}: {}", PathOf(Printable(key.scalar, 60)), problem));
  }
  return missing_;
}

}  // namespace kgpu::simhost

#include "src/platform/edit/change.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/edit/names.h"

namespace kgpu::edit {
namespace {

namespace json = boost::json;

using doc::View;

constexpr std::array<std::string_view, 4> kKindWords = {"value", "item", "table", "comment"};

json::value ToJson(const Change& change) {
  json::object object;
  object["kind"] = View(kKindWords.at(static_cast<size_t>(change.kind)));
  object["key"] = doc::Texts(change.key);
  if (change.before.has_value()) {
    object["before"] = View(*change.before);
  }
  object["after"] = View(change.after);
  object["removed"] = View(change.removed);
  object["inserted"] = View(change.inserted);
  object["offset"] = change.offset;
  return object;
}

StatusOr<std::string> Text(const json::object& object, std::string_view name,
                           std::string_view where) {
  const json::value* value = object.if_contains(View(name));
  if (value == nullptr || !value->is_string()) {
    return InvalidArgument("{}: {}: must be a string", where, name);
  }
  return std::string(value->get_string());
}

StatusOr<Key> ReadKey(const json::object& object, std::string_view where) {
  const json::value* value = object.if_contains("key");
  const json::array* names = value == nullptr ? nullptr : value->if_array();
  if (names == nullptr) {
    return InvalidArgument("{}: key: must be a list of names", where);
  }
  Key key;
  for (const json::value& name : *names) {
    if (!name.is_string()) {
      return InvalidArgument("{}: key: must be a list of names", where);
    }
    key.emplace_back(name.get_string());
  }
  return key;
}

StatusOr<Change> FromJson(const json::value& value, std::string_view where) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return InvalidArgument("{}: must be an object", where);
  }
  Change change;
  ASSIGN_OR_RETURN(const std::string kind, Text(*object, "kind", where));
  const auto* word = std::ranges::find(kKindWords, kind);
  if (word == kKindWords.end()) {
    return InvalidArgument("{}: kind: \"{}\" must be value, item, table or comment", where,
                           Printable(kind, 40));
  }
  change.kind = static_cast<ChangeKind>(word - kKindWords.begin());
  ASSIGN_OR_RETURN(change.key, ReadKey(*object, where));
  if (object->contains("before")) {
    ASSIGN_OR_RETURN(change.before, Text(*object, "before", where));
  }
  ASSIGN_OR_RETURN(change.after, Text(*object, "after", where));
  ASSIGN_OR_RETURN(change.removed, Text(*object, "removed", where));
  ASSIGN_OR_RETURN(change.inserted, Text(*object, "inserted", where));
  const json::value* offset = object->if_contains("offset");
  json::error_code error;
  change.offset = offset == nullptr ? SIZE_MAX : offset->to_number<size_t>(error);
  if (error || change.offset > change.inserted.size()) {
    return InvalidArgument("{}: offset: must be a position in `inserted`", where);
  }
  return change;
}

}  // namespace

std::string Dotted(const Key& key) {
  std::vector<std::string> names;
  names.reserve(key.size());
  for (const std::string& name : key) {
    names.push_back(IsBareName(name) ? name : fmt::format("\"{}\"", Printable(name)));
  }
  return Join(names, ".");
}

json::value ChangesToJson(const std::vector<Change>& changes) {
  json::array list;
  list.reserve(changes.size());
  for (const Change& change : changes) {
    list.push_back(ToJson(change));
  }
  return list;
}

StatusOr<std::vector<Change>> ChangesFromJson(const json::value& value, std::string_view where) {
  const json::array* list = value.if_array();
  if (list == nullptr) {
    return InvalidArgument("{}: must be a list", where);
  }
  std::vector<Change> changes;
  changes.reserve(list->size());
  for (const json::value& item : *list) {
    ASSIGN_OR_RETURN(Change change, FromJson(item, fmt::format("{}[{}]", where, changes.size())));
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace kgpu::edit

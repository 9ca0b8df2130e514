#include "src/container/engine/config_parts.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::engine {

namespace json = boost::json;

Status CheckWish(const Wish& wish) {
  if (!wish.runtime.has_value()) {
    return wish.set_default ? InvalidArgument("a default runtime needs a runtime") : OkStatus();
  }
  const auto& [name, path] = *wish.runtime;
  const bool is_plain = std::ranges::all_of(name, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (name.empty() || !is_plain) {
    return InvalidArgument("runtime name \"{}\": use letters, digits, - _ and . only",
                           Printable(name, 40));
  }
  if (!path.starts_with('/') || path.find_first_of("\n\r") != std::string::npos) {
    return InvalidArgument("runtime path \"{}\": must begin with /", Printable(path, 80));
  }
  return OkStatus();
}

TextEdit Finish(const edit::Document& document, std::vector<std::string> notes) {
  return {.text = document.text(), .changes = document.changes(), .notes = std::move(notes)};
}

edit::Key operator/(edit::Key key, std::string_view name) {
  key.emplace_back(name);
  return key;
}

json::value TextValue(std::string_view text) {
  return json::string(text.data(), text.size());
}

json::value TextList(const std::vector<std::string>& items) {
  json::array list;
  for (const std::string& item : items) {
    list.push_back(TextValue(item));
  }
  return list;
}

std::vector<std::string> Strings(const json::value* value) {
  std::vector<std::string> strings;
  const json::array* items = value == nullptr ? nullptr : value->if_array();
  if (items == nullptr) {
    return strings;
  }
  for (const json::value& item : *items) {
    if (item.is_string()) {
      strings.emplace_back(item.get_string());
    }
  }
  return strings;
}

std::vector<std::string> Union(std::vector<std::string> items,
                               const std::vector<std::string>& more) {
  for (const std::string& item : more) {
    if (std::ranges::find(items, item) == items.end()) {
      items.push_back(item);
    }
  }
  return items;
}

void NoteDefault(const json::value* before, std::string_view key, std::string_view ours,
                 std::vector<std::string>& notes) {
  const std::string name =
      before != nullptr && before->is_string()
          ? std::string(before->get_string().data(), before->get_string().size())
          : std::string();
  if (!name.empty() && name != ours && name != "runc" && name != "crun") {
    notes.push_back(
        fmt::format("{} was \"{}\": containers that name no runtime are no longer isolated by it",
                    key, Printable(name, 60)));
  }
}

bool IsZero(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return value.get_string().empty();
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty();
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::int64:
      return value.get_int64() == 0;
    default:
      return false;
  }
}

}  // namespace kgpu::engine

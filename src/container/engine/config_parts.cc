#include "src/container/engine/config_parts.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::engine {

namespace json = boost::json;

Status CheckSettings(const Settings& settings) {
  if (!settings.runtime.has_value()) {
    return settings.set_default ? InvalidArgument("a default runtime requires a runtime")
                                : OkStatus();
  }
  const auto& [name, path] = *settings.runtime;
  const bool is_plain = std::ranges::all_of(name, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (name.empty() || !is_plain) {
    return InvalidArgument("runtime name \"{}\": use only letters, digits, - _ and .",
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

bool IsLaterDropIn(std::string_view path, std::string_view drop_in) {
  const std::string_view folder = drop_in.substr(0, drop_in.rfind('/') + 1);
  return path.starts_with(folder) && path > drop_in;
}

bool IsCriPlugin(std::string_view plugin) {
  return plugin == "cri" || plugin.ends_with(".cri") || plugin == "io.containerd.cri.v1.runtime" ||
         plugin == "io.containerd.cri.v1.images";
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

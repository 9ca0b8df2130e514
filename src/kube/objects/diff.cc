#include "src/kube/objects/diff.h"

#include <boost/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

constexpr size_t kMaxValue = 80;

class Differ {
 public:
  explicit Differ(bool is_secret) : is_secret_(is_secret) {}

  void Compare(const std::string& path, const json::value* before, const json::value* after) {
    if (before != nullptr && after != nullptr && *before == *after) {
      return;
    }
    const json::value none;
    const json::value& first = before == nullptr ? none : *before;
    const json::value& second = after == nullptr ? none : *after;
    if (first.is_object() && second.is_object()) {
      return CompareMaps(path, first.get_object(), second.get_object());
    }
    if (HasNames(first) && HasNames(second)) {
      return CompareLists(path, first.get_array(), second.get_array());
    }
    changes_.push_back({.path = path, .before = Shown(path, before), .after = Shown(path, after)});
  }

  std::vector<FieldChange> Take() { return std::move(changes_); }

 private:
  static bool HasNames(const json::value& list) {
    return list.is_array() && std::ranges::all_of(list.get_array(), [](const json::value& item) {
             return !TextField(item, {"name"}).empty();
           });
  }
  static const json::value* FindNamed(const json::array& list, std::string_view name) {
    const auto* const found = std::ranges::find_if(
        list, [&](const json::value& item) { return TextField(item, {"name"}) == name; });
    return found == list.end() ? nullptr : found;
  }

  void CompareMaps(const std::string& path, const json::object& before, const json::object& after) {
    std::set<std::string> keys;
    for (const auto* map : {&before, &after}) {
      for (const auto& [key, value] : *map) {
        keys.emplace(key);
      }
    }
    for (const std::string& key : keys) {
      Compare(path.empty() ? key : fmt::format("{}.{}", path, key), before.if_contains(key),
              after.if_contains(key));
    }
  }

  void CompareLists(const std::string& path, const json::array& before, const json::array& after) {
    std::set<std::string> names;
    for (const auto* list : {&before, &after}) {
      for (const json::value& item : *list) {
        names.emplace(TextField(item, {"name"}));
      }
    }
    for (const std::string& name : names) {
      Compare(fmt::format("{}[{}]", path, name), FindNamed(before, name), FindNamed(after, name));
    }
  }

  std::string Shown(std::string_view path, const json::value* value) const {
    if (value == nullptr) {
      return "";
    }
    if (is_secret_ && (path.starts_with("data") || path.starts_with("stringData"))) {
      return "(hidden)";
    }
    const std::string text = json::serialize(*value);
    return text.size() <= kMaxValue ? text : Printable(text, kMaxValue);
  }

  bool is_secret_;
  std::vector<FieldChange> changes_;
};

// Without what the server keeps itself.
json::value Bare(const json::value& object) {
  json::value bare = object;
  if (json::object* fields = bare.if_object()) {
    fields->erase("status");
    if (json::value* metadata = fields->if_contains("metadata");
        metadata != nullptr && metadata->is_object()) {
      for (const char* key : {"managedFields", "resourceVersion", "uid", "generation",
                              "creationTimestamp", "selfLink"}) {
        metadata->get_object().erase(key);
      }
    }
  }
  return bare;
}

}  // namespace

std::vector<FieldChange> DiffObjects(const json::value& before, const json::value& after) {
  Differ differ(TextField(after, {"kind"}) == "Secret");
  const json::value first = Bare(before);
  const json::value second = Bare(after);
  differ.Compare("", &first, &second);
  return differ.Take();
}

std::string TextOf(const FieldChange& change) {
  if (change.before.empty()) {
    return fmt::format("{}: + {}", change.path, change.after);
  }
  if (change.after.empty()) {
    return fmt::format("{}: - {}", change.path, change.before);
  }
  return fmt::format("{}: {} -> {}", change.path, change.before, change.after);
}

}  // namespace kgpu::kube

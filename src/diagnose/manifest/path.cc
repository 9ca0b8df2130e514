#include "src/diagnose/manifest/path.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

bool IsPlain(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  });
}

struct Child {
  const json::value* value = nullptr;  // null: it has none
  size_t index = 0;                    // among its parent's
};

Child ChildOf(const json::value& parent, const Step& step) {
  if (step.is_index) {
    const json::array* list = parent.if_array();
    const bool is_there = list != nullptr && step.index < list->size();
    return is_there ? Child{&(*list)[step.index], step.index} : Child{};
  }
  const json::object* fields = parent.if_object();
  const auto* found = fields == nullptr ? nullptr : fields->find(step.key);
  if (found == nullptr || found == fields->end()) {
    return {};
  }
  return {&found->value(), static_cast<size_t>(found - fields->begin())};
}

}  // namespace

Path Path::Key(std::string_view key) const {
  Path path = *this;
  path.steps_.push_back({std::string(key), 0, false});
  return path;
}

Path Path::Index(size_t index) const {
  Path path = *this;
  path.steps_.push_back({"", index, true});
  return path;
}

Path Path::Parent() const {
  Path path = *this;
  path.steps_.pop_back();
  return path;
}

std::string Path::str() const {
  std::string text;
  const auto put = std::back_inserter(text);
  for (const Step& step : steps_) {
    if (step.is_index) {
      fmt::format_to(put, "[{}]", step.index);
    } else if (IsPlain(step.key)) {
      fmt::format_to(put, "{}{}", text.empty() ? "" : ".", step.key);
    } else {
      fmt::format_to(put, "[\"{}\"]", Printable(step.key, 200));
    }
  }
  return text;
}

const json::value* Find(const json::value& root, const Path& path) {
  const json::value* at = &root;
  for (const Step& step : path.steps()) {
    if (step.is_index) {
      const json::array* list = at->if_array();
      at = list != nullptr && step.index < list->size() ? &(*list)[step.index] : nullptr;
    } else {
      at = FieldOf(at, step.key);
    }
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

json::value* Find(json::value& root, const Path& path) {
  json::value* at = &root;
  for (const Step& step : path.steps()) {
    if (step.is_index) {
      json::array* list = at->if_array();
      at = list != nullptr && step.index < list->size() ? &(*list)[step.index] : nullptr;
    } else {
      json::object* fields = at->if_object();
      at = fields == nullptr ? nullptr : fields->if_contains(step.key);
    }
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

const doc::Place* FindPlace(const doc::Located& located, const Path& path) {
  Child at{.value = &located.root};
  const doc::Place* place = &located.place;
  for (const Step& step : path.steps()) {
    at = ChildOf(*at.value, step);
    if (at.value == nullptr || at.index >= place->children.size()) {
      return nullptr;
    }
    place = &place->children[at.index];
  }
  return place;
}

const json::value* FieldOf(const json::value* value, std::string_view key) {
  const json::object* fields = value == nullptr ? nullptr : value->if_object();
  return fields == nullptr ? nullptr : fields->if_contains({key.data(), key.size()});
}

std::string_view TextOf(const json::value* value, std::string_view key) {
  const json::value* field = FieldOf(value, key);
  const json::string* text = field == nullptr ? nullptr : field->if_string();
  return text == nullptr ? std::string_view() : View(*text);
}

std::string_view View(const json::string& text) {
  return {text.data(), text.size()};
}

}  // namespace kgpu::manifest

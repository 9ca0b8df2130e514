#include "testing/apiserver/field_set.h"

#include <fmt/format.h>

#include <algorithm>

#include <boost/json.hpp>

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

std::string ElementName(std::string_view element) {
  const std::string_view rest = element.substr(std::min<size_t>(2, element.size()));
  if (element.starts_with("f:")) {
    return fmt::format(".{}", rest);
  }
  if (!element.starts_with("k:")) {
    return fmt::format("[{}{}]", element.starts_with("v:") ? "=" : "", rest);
  }
  json::error_code error;
  const json::value key = json::parse(json::string_view(rest.data(), rest.size()), error);
  std::string text;
  if (const json::object* object = key.if_object(); object != nullptr) {
    for (const auto& [name, value] : *object) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",",
                          std::string_view(name.data(), name.size()), json::serialize(value));
    }
  }
  return fmt::format("[{}]", text);
}

}  // namespace

bool FieldSet::is_empty() const {
  return !is_member &&
         std::ranges::all_of(children, [](const auto& child) { return child.second.is_empty(); });
}

const FieldSet* FieldSet::Find(std::string_view element) const {
  const auto found = children.find(element);
  return found == children.end() ? nullptr : &found->second;
}

void FieldSet::Add(const FieldSet& other) {
  is_member = is_member || other.is_member;
  for (const auto& [element, child] : other.children) {
    children[element].Add(child);
  }
}

FieldSet FieldSet::And(const FieldSet& other) const {
  FieldSet result;
  result.is_member = is_member && other.is_member;
  for (const auto& [element, child] : children) {
    if (const FieldSet* its = other.Find(element); its != nullptr) {
      if (FieldSet both = child.And(*its); !both.is_empty()) {
        result.children.emplace(element, std::move(both));
      }
    }
  }
  return result;
}

FieldSet FieldSet::Without(const FieldSet& other) const {
  FieldSet result;
  result.is_member = is_member && !other.is_member;
  for (const auto& [element, child] : children) {
    const FieldSet* its = other.Find(element);
    FieldSet rest = its == nullptr ? child : child.Without(*its);
    if (!rest.is_empty()) {
      result.children.emplace(element, std::move(rest));
    }
  }
  return result;
}

FieldSet FieldSet::WithoutTrees(const FieldSet& other) const {
  FieldSet result;
  result.is_member = is_member && !other.is_member;
  for (const auto& [element, child] : children) {
    const FieldSet* its = other.Find(element);
    if (its != nullptr && its->is_member) {
      continue;
    }
    FieldSet rest = its == nullptr ? child : child.WithoutTrees(*its);
    if (!rest.is_empty()) {
      result.children.emplace(element, std::move(rest));
    }
  }
  return result;
}

json::object FieldSet::ToJson() const {
  json::object object;
  if (is_member && !children.empty()) {
    object["."] = json::object();
  }
  for (const auto& [element, child] : children) {
    object[element] = child.ToJson();
  }
  return object;
}

FieldSet FieldSet::FromJson(const json::object& object) {
  FieldSet set;
  for (const auto& [name, value] : object) {
    if (!value.is_object()) {
      continue;
    }
    if (name == ".") {
      set.is_member = true;
      continue;
    }
    FieldSet& child = set.children[std::string(name)];
    child = FromJson(value.get_object());
    child.is_member = child.is_member || child.children.empty();
  }
  return set;
}

std::vector<std::string> FieldSet::Names() const {
  std::vector<std::string> names;
  Collect("", names);
  return names;
}

void FieldSet::Collect(const std::string& prefix, std::vector<std::string>& names) const {
  if (is_member && !prefix.empty()) {
    names.push_back(prefix);
  }
  for (const auto& [element, child] : children) {
    child.Collect(fmt::format("{}{}", prefix, ElementName(element)), names);
  }
}

size_t FieldSet::size() const {
  size_t count = is_member ? 1 : 0;
  for (const auto& [element, child] : children) {
    count += child.size();
  }
  return count;
}

}  // namespace kgpu::apiserver

// A set of fields of an object, as in managedFields: a tree of path elements. An element is a field
// "f:name", or a list item by its key "k:{…}", by its value "v:…" or by index "i:0".
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::apiserver {

class FieldSet {
 public:
  bool is_member = false;  // this path itself is in the set
  std::map<std::string, FieldSet, std::less<>> children;

  // Whether it contains nothing, at any depth.
  bool is_empty() const;
  bool operator==(const FieldSet&) const = default;
  const FieldSet* Find(std::string_view element) const;

  void Add(const FieldSet& other);
  // The intersection.
  FieldSet And(const FieldSet& other) const;
  // Without the paths in `other`.
  FieldSet Without(const FieldSet& other) const;
  // Without the paths in `other` and everything below them.
  FieldSet WithoutTrees(const FieldSet& other) const;

  // "FieldsV1" and back; invalid parts are left out.
  boost::json::object ToJson() const;
  static FieldSet FromJson(const boost::json::object& object);
  // As in conflicts: ".spec.taints", `.status.conditions[type="Ready"].status`.
  std::vector<std::string> Names() const;
  size_t size() const;

 private:
  void Collect(const std::string& prefix, std::vector<std::string>& names) const;
};

}  // namespace kgpu::apiserver

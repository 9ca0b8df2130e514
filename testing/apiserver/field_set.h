// A set of fields of an object, as managedFields keeps it: a tree of path elements. An element is a
// field "f:name", an item of a list by its key "k:{…}", by its value "v:…" or by place "i:0".
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::apiserver {

class FieldSet {
 public:
  bool is_member = false;  // this very path is in the set
  std::map<std::string, FieldSet, std::less<>> children;

  // Nothing in it, at any depth.
  bool is_empty() const;
  bool operator==(const FieldSet&) const = default;
  const FieldSet* Find(std::string_view element) const;

  void Add(const FieldSet& other);
  // In both.
  FieldSet And(const FieldSet& other) const;
  // Without what is in `other`, path by path.
  FieldSet Without(const FieldSet& other) const;
  // Without what is in `other` and everything below it.
  FieldSet WithoutTrees(const FieldSet& other) const;

  // "FieldsV1" and back; what is not of that form is left out.
  boost::json::object ToJson() const;
  static FieldSet FromJson(const boost::json::object& object);
  // As conflicts name them: ".spec.taints", `.status.conditions[type="Ready"].status`.
  std::vector<std::string> Names() const;
  size_t size() const;

 private:
  void Collect(const std::string& prefix, std::vector<std::string>& names) const;
};

}  // namespace kgpu::apiserver

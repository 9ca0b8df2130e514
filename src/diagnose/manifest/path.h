// Where a value is in a document.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/doc/located.h"

namespace kgpu::manifest {

// One step from a value into it.
struct Step {
  std::string key{};  // in a map
  size_t index = 0;   // in a list
  bool is_index = false;
  bool operator==(const Step&) const = default;
};

class Path {
 public:
  Path() = default;

  Path Key(std::string_view key) const;
  Path Index(size_t index) const;
  const std::vector<Step>& steps() const { return steps_; }
  bool empty() const { return steps_.empty(); }
  // Without its last step. Requires one.
  Path Parent() const;
  const Step& last() const { return steps_.back(); }
  // "spec.containers[0].resources.limits[\"nvidia.com/gpu\"]".
  std::string str() const;
  bool operator==(const Path&) const = default;

 private:
  std::vector<Step> steps_;
};

// The value at `path`, or null.
const boost::json::value* Find(const boost::json::value& root, const Path& path);
boost::json::value* Find(boost::json::value& root, const Path& path);
// The position of the value at `path` in a tree of `located`, or null.
const doc::Place* FindPlace(const doc::Located& located, const Path& path);

// The field of a map; null if there is none or `value` is no map.
const boost::json::value* FieldOf(const boost::json::value* value, std::string_view key);
// The text of a field; empty if it is none.
std::string_view TextOf(const boost::json::value* value, std::string_view key);
std::string_view View(const boost::json::string& text);

}  // namespace kgpu::manifest

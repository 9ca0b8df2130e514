// Label and field selectors, as used in lists and watches.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::apiserver {

struct Resource;

// "a=b,c!=d,e in (x,y),f notin (z),g,!h"
class LabelSelector {
 public:
  // Errors: a Failure of code 400.
  static StatusOr<LabelSelector> Parse(std::string_view text);
  // From a LabelSelector object: matchLabels and matchExpressions. An empty one selects all.
  static StatusOr<LabelSelector> FromObject(const boost::json::object& object);

  // `labels` may be null: an object without any.
  bool Matches(const boost::json::object* labels) const;
  bool is_empty() const { return requirements_.empty(); }

 private:
  enum class Operator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator is;
    std::vector<std::string> values;
  };
  static StatusOr<Requirement> ParseRequirement(std::string_view text);
  static bool Holds(const Requirement& requirement, const boost::json::object* labels);

  std::vector<Requirement> requirements_;
};

// "metadata.name=a,spec.nodeName!=b"
class FieldSelector {
 public:
  // Errors: a Failure of code 400: invalid text, a field that does not support selection.
  static StatusOr<FieldSelector> Parse(std::string_view text, const Resource& resource);

  bool Matches(const boost::json::object& object) const;
  bool is_empty() const { return terms_.empty(); }
  // The only value that the field may have.
  std::optional<std::string> Exactly(std::string_view field) const;

 private:
  struct Term {
    std::string field;
    std::string value;
    bool is_equal;
  };
  std::vector<Term> terms_;
};

}  // namespace kgpu::apiserver

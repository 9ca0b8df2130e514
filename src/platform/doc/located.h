// A document whose values know their position in the text, for readers that report errors to
// people. All others use doc.h.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

#include "src/platform/doc/doc.h"

namespace kgpu::doc {

// Counted from 1, in bytes.
struct Position {
  size_t line = 1;
  size_t column = 1;
  bool operator==(const Position&) const = default;
};

// Where one value of a tree is. A YAML alias has the position of what it refers to; a value that is
// missing after its key ("a:") has the key's.
struct Place {
  Position value;
  Position key;                 // of the value of a map entry
  std::vector<Place> children;  // of list items or map entries, in the tree's order
};

struct Located {
  boost::json::value root;
  Place place;  // of root
};

// As Parse.
StatusOr<Located> ParseLocated(std::string_view text, Format format, std::string_view file,
                               const Limits& limits = {});

}  // namespace kgpu::doc

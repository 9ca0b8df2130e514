// A document whose values know where they stand in the text, for readers that tell people what is
// wrong with it. doc.h is enough for all others.
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

// Where one value of a tree stands. An alias in YAML has the place of what it stands for; a value
// left out behind its key ("a:") the place of the key.
struct Place {
  Position value;
  Position key;                 // of the value of a map's field
  std::vector<Place> children;  // of a list's items or a map's fields, in the tree's order
};

struct Located {
  boost::json::value root;
  Place place;  // of root
};

// As Parse.
StatusOr<Located> ParseLocated(std::string_view text, Format format, std::string_view file,
                               const Limits& limits = {});

}  // namespace kgpu::doc

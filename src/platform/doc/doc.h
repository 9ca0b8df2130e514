// JSON and YAML text as one tree (boost::json::value) and back. Strict: what an engine or a human
// could read differently than we do is refused, not guessed.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::doc {

enum class Format { kJson, kYaml };

struct Limits {
  size_t bytes = size_t{4} << 20;  // of text
  size_t depth = 64;               // of nested lists and maps
  size_t values = 500'000;         // after YAML aliases are expanded
  bool keeps_scalars = false;      // plain scalars of YAML are strings, but for null
};

// By the ending: .json, .yaml, .yml. Errors: InvalidArgument.
StatusOr<Format> FormatOfPath(std::string_view path);

// One document. `file` is only named in errors ("x.yaml:3:7: …", line and column from 1).
// Errors: InvalidArgument: not of the format, duplicate keys, keys that are no strings, past a
// limit, more than one document. Plain YAML scalars follow the core schema of YAML 1.2: only
// null, ~, true, false and numbers are not strings.
StatusOr<boost::json::value> Parse(std::string_view text, Format format, std::string_view file,
                                   const Limits& limits = {});

// Ends with a newline. JSON with two blanks of indentation, YAML in block style; keys in the order
// of the tree. Parse(Print(x)) is x.
std::string Print(const boost::json::value& value, Format format);
// JSON on one line, without a newline.
std::string PrintLine(const boost::json::value& value);
// As people write it, and read back as the same number that is not whole: "0.5", "8.0", "1e+20".
std::string NumberText(double number);

}  // namespace kgpu::doc

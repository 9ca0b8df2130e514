// JSON and YAML text as one tree (boost::json::value) and back. Strict: refuses whatever an engine
// or a person could read differently than we do.
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
  bool keeps_scalars = false;      // plain YAML scalars stay strings, except null
};

// Decides by the suffix: .json, .yaml, .yml. Errors: InvalidArgument.
StatusOr<Format> FormatOfPath(std::string_view path);

// Parses one document. `file` is only used in errors ("x.yaml:3:7: …", line and column from 1).
// Errors: InvalidArgument: syntax error, duplicate keys, keys that are no strings, over a limit,
// more than one document. Plain YAML scalars follow the core schema of YAML 1.2: only null, ~,
// true, false and numbers are not strings.
StatusOr<boost::json::value> Parse(std::string_view text, Format format, std::string_view file,
                                   const Limits& limits = {});

// Ends with a newline. JSON is indented by two blanks, YAML is in block style; keys keep the tree's
// order. Parse(Print(x)) equals x.
std::string Print(const boost::json::value& value, Format format);
// JSON on one line, without a newline.
std::string PrintLine(const boost::json::value& value);
// As people write it; reads back as the same non-integer number: "0.5", "8.0", "1e+20".
std::string NumberText(double number);

}  // namespace kgpu::doc

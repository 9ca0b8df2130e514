// Where everything stands in a TOML text. A parser tells what a text says; to change it without
// touching the rest one must know every bracket and comma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/edit/lines.h"

namespace kgpu::edit {

// One part of a key: `raw` as spelled, quotes included.
struct TomlName {
  Span raw;
  std::string name;
};

struct TomlEntry;

struct TomlValue {
  enum class Kind : uint8_t { kScalar, kList, kInlineTable };
  Kind kind = Kind::kScalar;
  Span raw;
  std::vector<TomlValue> items;    // of a list
  std::vector<TomlEntry> entries;  // of an inline table
};

// key = value; the key may be dotted.
struct TomlEntry {
  std::vector<TomlName> key;
  TomlValue value;
};

// A [header] or [[header]] and what follows it; the first section of a text has neither.
struct TomlSection {
  Span header;  // brackets included
  std::vector<TomlName> name;
  bool is_item = false;  // of a list of tables
  std::vector<TomlEntry> entries;
};

struct TomlLimits {
  size_t depth = 64;        // names of a key from the root, and lists around a value
  size_t values = 200'000;  // all values and names
};

// Knows where things stand, not whether they make sense: a text that it takes may still not be TOML
// (a key given twice, "1979-99-99"), one that it refuses is none. Linear in the text.
StatusOr<std::vector<TomlSection>> ScanToml(std::string_view text, std::string_view file,
                                            const TomlLimits& limits = {});

}  // namespace kgpu::edit

// Where everything in a TOML text is. A parser tells what a text means; changing it without
// touching the rest requires the position of every bracket and comma.
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

// A [header] or [[header]] and what follows it; the first section of a text has no header.
struct TomlSection {
  Span header;  // brackets included
  std::vector<TomlName> name;
  bool is_item = false;  // of an array of tables
  std::vector<TomlEntry> entries;
};

struct TomlLimits {
  size_t depth = 64;        // names of a key from the root, and nested lists around a value
  size_t values = 200'000;  // all values and names
};

// Finds positions but does not validate: a text that it accepts may still be invalid TOML (a
// duplicate key, "1979-99-99"); a text that it refuses is invalid. Linear in the text's size.
StatusOr<std::vector<TomlSection>> ScanToml(std::string_view text, std::string_view file,
                                            const TomlLimits& limits = {});

}  // namespace kgpu::edit

// Where the keys of a TOML text stand, and how the text around them looks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/edit/change.h"
#include "src/platform/edit/toml_scan.h"

namespace kgpu::edit {

// The first `count` names of a key.
Key First(const Key& key, size_t count);

// The names of `key` from `first` on, with dots, as TOML writes them.
std::string Spelled(const Key& key, size_t first);

// All that a text says of one key.
struct TomlSpot {
  const TomlSection* header = nullptr;  // [key]
  const TomlSection* below = nullptr;   // the first [key.…]
  const TomlEntry* entry = nullptr;     // key = value
  const TomlEntry* dotted = nullptr;  // the last key.… = value, whose first `names` names say `key`
  size_t names = 0;
  const TomlSection* section = nullptr;     // of `entry` or `dotted`
  const TomlValue* inline_table = nullptr;  // which holds `entry` or `dotted`; null: a line does
};

// `text` outlives it. Every look-up walks the whole text once.
class TomlPlaces {
 public:
  TomlPlaces(std::string_view text, std::vector<TomlSection> sections);

  std::string_view text() const { return text_; }
  const std::vector<TomlSection>& sections() const { return sections_; }

  TomlSpot Look(const Key& key) const;

  // The section, but the first, whose name begins with most of the names of `key`, one at least; of
  // several the last. Null when there is none.
  const TomlSection* LastOfKin(const Key& key) const;

  // "[a.'b.c'.d]", its names spelled as a header with the same first names has them.
  std::string SpelledHeader(const Key& key) const;

  std::string_view IndentOf(const TomlSection& section) const;
  std::string_view IndentOf(const TomlEntry& entry) const;
  // For the first key of a section: as in the section before it that has keys, or else the first.
  std::string KeyIndent(const TomlSection& section) const;
  // For a new header: as its siblings; else one step more than its parent where the text indents
  // so.
  std::string HeaderIndent(const Key& key) const;

 private:
  void MarkItems();

  std::string_view text_;
  std::vector<TomlSection> sections_;
  std::vector<bool> is_item_;  // sections that have no key of their own: what [[header]] begins
};

}  // namespace kgpu::edit

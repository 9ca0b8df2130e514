// Where the keys of a TOML text are, and how the text around them is formatted.
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

// The names of `key` from `first` on, joined by dots, as TOML writes them.
std::string Spelled(const Key& key, size_t first);

// Everything that a text says about one key.
struct TomlSpot {
  const TomlSection* header = nullptr;  // [key]
  const TomlSection* below = nullptr;   // the first [key.…]
  const TomlEntry* entry = nullptr;     // key = value
  const TomlEntry* dotted = nullptr;    // the last key.… = value; starts with `key`
  size_t names = 0;
  const TomlSection* section = nullptr;     // that contains `entry` or `dotted`
  const TomlValue* inline_table = nullptr;  // of `entry` or `dotted`; null: they have a line
};

// `text` must outlive it. Every look-up walks the whole text once.
class TomlPlaces {
 public:
  TomlPlaces(std::string_view text, std::vector<TomlSection> sections);

  std::string_view text() const { return text_; }
  const std::vector<TomlSection>& sections() const { return sections_; }

  TomlSpot Look(const Key& key) const;

  // The section, except the first, whose name shares the longest prefix (at least one name) with
  // `key`; the last one if there are several. Null if there is none.
  const TomlSection* LastOfKin(const Key& key) const;

  // "[a.'b.c'.d]", spelled like an existing header with the same first names.
  std::string SpelledHeader(const Key& key) const;

  std::string_view IndentOf(const TomlSection& section) const;
  std::string_view IndentOf(const TomlEntry& entry) const;
  // For the first key of a section: like the nearest earlier section with keys, else the first.
  std::string KeyIndent(const TomlSection& section) const;
  // For a new header: like its siblings; else one level deeper than its parent, if the text indents
  // that way.
  std::string HeaderIndent(const Key& key) const;

 private:
  void MarkItems();

  std::string_view text_;
  std::vector<TomlSection> sections_;
  std::vector<bool> is_item_;  // sections that have no key of their own: what [[header]] begins
};

}  // namespace kgpu::edit

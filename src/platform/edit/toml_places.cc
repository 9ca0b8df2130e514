#include "src/platform/edit/toml_places.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/edit/lines.h"
#include "src/platform/edit/toml_tree.h"

namespace kgpu::edit {
namespace {

using Names = std::vector<TomlName>;

bool IsPrefix(const Names& names, const Key& key) {
  return names.size() <= key.size() &&
         std::ranges::equal(names.begin(), names.end(), key.begin(),
                            key.begin() + static_cast<ptrdiff_t>(names.size()), {},
                            &TomlName::name);
}

// How many names both begin with.
size_t CommonNames(const Names& names, const Key& key) {
  const auto [name, part] = std::ranges::mismatch(names, key, {}, &TomlName::name);
  return static_cast<size_t>(name - names.begin());
}

// `depth` names of `key` are said by what the entries stand in. Inline tables nest no deeper than
// the scanner allows.
void LookIn(const std::vector<TomlEntry>& entries, size_t depth, const Key& key,
            const TomlValue* inline_table, const TomlSection& section, TomlSpot& spot) {
  const Key rest(key.begin() + static_cast<ptrdiff_t>(depth), key.end());
  for (const TomlEntry& entry : entries) {
    const size_t common = CommonNames(entry.key, rest);
    if (common == 0 || (common < entry.key.size() && common < rest.size())) {
      continue;
    }
    if (common == entry.key.size() && common < rest.size()) {
      LookIn(entry.value.entries, depth + common, key, &entry.value, section, spot);
      continue;
    }
    (common == entry.key.size() ? spot.entry : spot.dotted) = &entry;
    spot.names = common;
    spot.section = &section;
    spot.inline_table = inline_table;
  }
}

// The indentation of `inner` beyond that of `outer`.
std::string_view Step(std::string_view outer, std::string_view inner) {
  return inner.starts_with(outer) ? inner.substr(outer.size()) : std::string_view();
}

}  // namespace

Key First(const Key& key, size_t count) {
  return {key.begin(), key.begin() + static_cast<ptrdiff_t>(count)};
}

std::string Spelled(const Key& key, size_t first) {
  std::vector<std::string> names;
  for (size_t i = first; i < key.size(); ++i) {
    names.push_back(PrintTomlName(key[i]));
  }
  return Join(names, ".");
}

TomlPlaces::TomlPlaces(std::string_view text, std::vector<TomlSection> sections)
    : text_(text), sections_(std::move(sections)) {
  MarkItems();
}

const TomlSection* TomlPlaces::LastOfKin(const Key& key) const {
  const TomlSection* kin = nullptr;
  size_t common = 1;
  for (size_t i = 1; i < sections_.size(); ++i) {
    if (const size_t count = CommonNames(sections_[i].name, key); count >= common) {
      kin = &sections_[i];
      common = count;
    }
  }
  return kin;
}

// Entries below a [[header]] have no key of their own: they are skipped.
void TomlPlaces::MarkItems() {
  std::set<Key> items;
  is_item_.resize(sections_.size());
  for (size_t i = 0; i < sections_.size(); ++i) {
    Key key;
    for (const TomlName& part : sections_[i].name) {
      key.push_back(part.name);
      is_item_[i] = is_item_[i] || items.contains(key);
    }
    if (sections_[i].is_item) {
      items.insert(key);
      is_item_[i] = true;
    }
  }
}

TomlSpot TomlPlaces::Look(const Key& key) const {
  TomlSpot spot;
  for (size_t i = 0; i < sections_.size(); ++i) {
    const TomlSection& section = sections_[i];
    if (is_item_[i]) {
      continue;
    }
    if (i > 0 && section.name.size() == key.size() && IsPrefix(section.name, key)) {
      spot.header = &section;
    } else if (section.name.size() > key.size() && CommonNames(section.name, key) == key.size()) {
      spot.below = spot.below == nullptr ? &section : spot.below;
    } else if (IsPrefix(section.name, key)) {
      LookIn(section.entries, section.name.size(), key, nullptr, section, spot);
    }
  }
  return spot;
}

// "[a.'b.c'.d]", its names spelled as a header with the same first names has them.
std::string TomlPlaces::SpelledHeader(const Key& key) const {
  const TomlSection* like = nullptr;
  size_t common = 0;
  for (const TomlSection& section : sections_) {
    if (const size_t count = CommonNames(section.name, key); count > common) {
      like = &section;
      common = count;
    }
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < key.size(); ++i) {
    names.push_back(i < common ? std::string(Slice(text_, like->name[i].raw))
                               : PrintTomlName(key[i]));
  }
  return fmt::format("[{}]", Join(names, "."));
}

std::string_view TomlPlaces::IndentOf(const TomlSection& section) const {
  return section.header.end == 0 ? std::string_view() : Indent(text_, section.header.begin);
}

std::string_view TomlPlaces::IndentOf(const TomlEntry& entry) const {
  const size_t at = entry.key.front().raw.begin;
  return IsFirstInLine(text_, at) ? Indent(text_, at) : std::string_view();
}

// The indentation of keys in a section that has none yet: as in the section before it that has
// some, or else the first.
std::string TomlPlaces::KeyIndent(const TomlSection& section) const {
  const auto at = static_cast<size_t>(&section - sections_.data());
  const auto step = [this](const TomlSection& like) {
    return Step(IndentOf(like), IndentOf(like.entries.front()));
  };
  std::string_view found;
  for (size_t i = sections_.size(); i-- > 1;) {
    if (!sections_[i].entries.empty()) {
      found = step(sections_[i]);
      if (i < at) {
        break;
      }
    }
  }
  return fmt::format("{}{}", IndentOf(section), found);
}

// As its siblings; else one step more than its parent where this text indents so; else as what is
// nearest to it.
std::string TomlPlaces::HeaderIndent(const Key& key) const {
  const TomlSection* near = nullptr;
  size_t common = 0;
  std::string_view step;
  for (size_t i = 1; i < sections_.size(); ++i) {
    const TomlSection& section = sections_[i];
    const size_t count = CommonNames(section.name, key);
    if (count + 1 == key.size() && section.name.size() == key.size()) {
      return std::string(IndentOf(section));
    }
    if (count > common) {
      near = &section;
      common = count;
    }
    const TomlSection& before = sections_[i - 1];
    if (step.empty() && section.name.size() == before.name.size() + 1 && i > 1) {
      step = Step(IndentOf(before), IndentOf(section));
    }
  }
  if (near == nullptr) {
    return {};
  }
  const bool is_below = near->name.size() == common && common < key.size();
  return fmt::format("{}{}", IndentOf(*near), is_below ? step : std::string_view());
}

}  // namespace kgpu::edit

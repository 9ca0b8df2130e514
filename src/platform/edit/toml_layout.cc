#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/edit/layout.h"
#include "src/platform/edit/toml_brackets.h"
#include "src/platform/edit/toml_places.h"
#include "src/platform/edit/toml_scan.h"

namespace kgpu::edit {
namespace {

class TomlTextLayout : public Layout {
 public:
  TomlTextLayout(std::string_view text, std::vector<TomlSection> sections)
      : text_(text), line_end_(LineEndOf(text)), places_(text, std::move(sections)) {}

  std::optional<Span> ValueAt(const Key& key) const override {
    const TomlSpot spot = places_.Look(key);
    return spot.entry == nullptr ? std::nullopt : std::optional(spot.entry->value.raw);
  }

  std::optional<Span> ItemAt(const Key& list, size_t index) const override {
    const TomlSpot spot = places_.Look(list);
    if (spot.entry == nullptr || index >= spot.entry->value.items.size()) {
      return std::nullopt;
    }
    return spot.entry->value.items[index].raw;
  }

  std::optional<Span> TableAt(const Key& key) const override {
    const TomlSpot spot = places_.Look(key);
    if (spot.header != nullptr) {
      return spot.header->header;
    }
    return spot.entry == nullptr ? std::nullopt : std::optional(spot.entry->value.raw);
  }

  bool IsEmptyTable(const Key& key) const override {
    const TomlSpot spot = places_.Look(key);
    if (spot.header != nullptr) {
      return spot.header->entries.empty();
    }
    return spot.entry != nullptr && spot.entry->value.kind != TomlValue::Kind::kScalar &&
           spot.entry->value.items.empty() && spot.entry->value.entries.empty();
  }

  size_t Nearest(const Key& key) const override {
    for (size_t count = key.size(); count > 0; --count) {
      const TomlSpot spot = places_.Look(First(key, count));
      if (const TomlEntry* entry = spot.entry != nullptr ? spot.entry : spot.dotted) {
        return entry->key.front().raw.begin;
      }
      if (const TomlSection* section = spot.header != nullptr ? spot.header : spot.below) {
        return section->header.begin;
      }
      // Keys below a [[header]] have no place that Look could return.
      for (const TomlSection& section : places_.sections()) {
        if (std::ranges::equal(section.name, First(key, count), {}, &TomlName::name)) {
          return section.header.begin;
        }
      }
    }
    return TextStart(text_);
  }

  std::optional<Key> MissingTable(const Key& key) const override {
    const Key parent = First(key, key.size() - 1);
    for (size_t count = parent.size(); count > 0; --count) {
      const TomlSpot spot = places_.Look(First(parent, count));
      const bool is_parent = count == parent.size();
      if (spot.entry != nullptr) {
        return is_parent ? std::nullopt : std::optional(First(parent, count + 1));
      }
      if (spot.header != nullptr) {
        return is_parent ? std::nullopt : std::optional(parent);
      }
      if (spot.dotted != nullptr) {
        return std::nullopt;  // a longer dotted key makes it
      }
      if (spot.below != nullptr) {
        return parent;
      }
    }
    return parent.empty() ? std::nullopt : std::optional(parent);
  }

  StatusOr<Splice> InsertTable(const Key& key) const override {
    for (size_t count = key.size() - 1; count > 0; --count) {
      if (places_.Look(First(key, count)).entry != nullptr) {
        return InsertValue(key, "{}");
      }
    }
    const TomlSpot spot = places_.Look(key);
    return spot.below != nullptr ? HeaderAbove(*spot.below, key) : HeaderBehindKin(key);
  }

  StatusOr<Splice> InsertValue(const Key& key, const std::string& raw) const override {
    for (size_t count = key.size() - 1; count > 0; --count) {
      const TomlSpot spot = places_.Look(First(key, count));
      const std::string rest = Spelled(key, count);
      if (spot.entry != nullptr) {
        return IntoInlineTable(spot.entry->value, rest, raw);
      }
      if (spot.header != nullptr && count + 1 == key.size()) {
        return InsertLine(*spot.header, nullptr, rest, raw);
      }
      if (spot.dotted != nullptr) {
        const std::vector<TomlName>& names = spot.dotted->key;
        const Span start = {.begin = names.front().raw.begin, .end = names[spot.names - 1].raw.end};
        const std::string whole = fmt::format("{}.{}", Slice(text_, start), rest);
        return spot.inline_table != nullptr ? IntoInlineTable(*spot.inline_table, whole, raw)
                                            : InsertLine(*spot.section, spot.dotted, whole, raw);
      }
    }
    return InsertLine(places_.sections().front(), nullptr, Spelled(key, 0), raw);
  }

  StatusOr<Splice> InsertItem(const Key& list, const std::string& raw) const override {
    const TomlSpot spot = places_.Look(list);
    if (spot.entry == nullptr || spot.entry->value.kind != TomlValue::Kind::kList) {
      return FailedPrecondition("{} is not a list in brackets", Dotted(list));
    }
    return InsertIntoList(text_, spot.entry->value, raw);
  }

  Splice RemoveValue(const Key& key) const override {
    const TomlSpot spot = places_.Look(key);
    return spot.inline_table != nullptr
               ? RemoveInline(*spot.inline_table, *spot.entry)
               : RemoveLines(text_, {.begin = spot.entry->key.front().raw.begin,
                                     .end = spot.entry->value.raw.end});
  }

  Splice RemoveItem(const Key& list, size_t index) const override {
    return RemoveFromList(text_, places_.Look(list).entry->value, index);
  }

  // With the blank line above a header.
  Splice RemoveTable(const Key& key) const override {
    const TomlSpot spot = places_.Look(key);
    if (spot.header == nullptr) {
      return RemoveValue(key);
    }
    Splice splice = RemoveLines(text_, spot.header->header);
    if (HasBlankLineAbove(splice.at)) {
      const size_t start = LineStart(text_, splice.at - 1);
      splice.length += splice.at - start;
      splice.at = start;
    }
    return splice;
  }

 private:
  std::string_view LineOf(size_t at) const {
    const size_t start = LineStart(text_, at);
    return text_.substr(start, NextLine(text_, start) - start);
  }

  // `at` is the first byte of a line.
  bool HasBlankLineAbove(size_t at) const {
    return at > TextStart(text_) && text_[at - 1] == '\n' && IsBlank(LineOf(at - 1));
  }

  static size_t EndOf(const TomlSection& section) {
    return section.entries.empty() ? section.header.end : section.entries.back().value.raw.end;
  }

  static StatusOr<Splice> NoTable(const TomlValue& value, std::string_view text) {
    return FailedPrecondition("no table: {}", Printable(Slice(text, value.raw), 40));
  }

  StatusOr<Splice> IntoInlineTable(const TomlValue& table, const std::string& name,
                                   const std::string& raw) const {
    return table.kind == TomlValue::Kind::kInlineTable ? InsertInline(table, name, raw)
                                                       : NoTable(table, text_);
  }

  // A new line at `at`, which is the start of a line or the end of the text.
  Splice NewLine(size_t at, std::string_view indent, std::string_view lead,
                 const std::string& raw) const {
    Splice splice{.at = at, .length = 0, .inserted = {}, .after = raw};
    const bool ends_in_line = EndsInLine(text_, at);
    splice.inserted = fmt::format("{}{}{}", ends_in_line ? line_end_ : "", indent, lead);
    splice.offset = splice.inserted.size();
    splice.inserted += raw;
    splice.inserted += ends_in_line ? "" : line_end_;
    return splice;
  }

  // Behind `neighbour`, or as the last of the section.
  Splice InsertLine(const TomlSection& section, const TomlEntry* neighbour, const std::string& name,
                    const std::string& raw) const {
    if (neighbour == nullptr && !section.entries.empty()) {
      neighbour = &section.entries.back();
    }
    const std::string lead = fmt::format("{}{}", name, EqualsLike(neighbour));
    if (neighbour != nullptr) {
      return NewLine(NextLine(text_, neighbour->value.raw.end), places_.IndentOf(*neighbour), lead,
                     raw);
    }
    if (section.header.end > 0) {
      return NewLine(NextLine(text_, section.header.end), places_.KeyIndent(section), lead, raw);
    }
    // The first key of a text that begins with comments, and then perhaps a header.
    if (places_.sections().size() == 1) {
      return NewLine(text_.size(), "", lead, raw);
    }
    return WithBlankLine(NewLine(AboveComments(places_.sections()[1].header.begin), "", lead, raw));
  }

  Splice WithBlankLine(Splice splice) const {
    splice.inserted += line_end_;
    return splice;
  }

  // The line that byte `at` is in, or the first of the comment lines right above it.
  size_t AboveComments(size_t at) const {
    size_t start = LineStart(text_, at);
    while (start > TextStart(text_) && Trim(LineOf(start - 1)).starts_with('#')) {
      start = LineStart(text_, start - 1);
    }
    return start;
  }

  // Behind the line of byte `at` and the comment lines right below it, when no header follows them.
  size_t BelowComments(size_t at) const {
    const size_t start = NextLine(text_, at);
    size_t end = start;
    while (end < text_.size() && Trim(LineOf(end)).starts_with('#')) {
      end = NextLine(text_, end);
    }
    return end == text_.size() || IsBlank(LineOf(end)) ? end : start;
  }

  Splice HeaderAbove(const TomlSection& section, const Key& key) const {
    return WithBlankLine(NewLine(AboveComments(section.header.begin), places_.IndentOf(section), "",
                                 places_.SpelledHeader(key)));
  }

  // After the last section that shares most of its names; at the end if there is none.
  Splice HeaderBehindKin(const Key& key) const {
    const TomlSection* kin = places_.LastOfKin(key);
    const TomlSection& last = places_.sections().back();
    const size_t at = kin == nullptr || kin == &last ? text_.size() : BelowComments(EndOf(*kin));
    Splice splice = NewLine(at, places_.HeaderIndent(key), "", places_.SpelledHeader(key));
    if (NeedsBlankLine(kin == nullptr ? last : *kin, at)) {
      splice.inserted.insert(EndsInLine(text_, at) ? line_end_.size() : 0, line_end_);
      splice.offset += line_end_.size();
    }
    return splice;
  }

  // Whether a header at `at`, behind `section`, looks like the others of this text with a blank
  // line above it.
  bool NeedsBlankLine(const TomlSection& section, size_t at) const {
    if (IsBlank(text_.substr(0, at).substr(std::min(at, TextStart(text_)))) ||
        HasBlankLineAbove(at)) {
      return false;
    }
    if (at < text_.size()) {
      return IsBlank(LineOf(at));
    }
    const size_t start = section.header.end == 0 ? 0 : AboveComments(section.header.begin);
    return start <= TextStart(text_) || HasBlankLineAbove(start);
  }

  std::string_view text_;
  std::string_view line_end_;
  TomlPlaces places_;
};

}  // namespace

StatusOr<std::unique_ptr<Layout>> TomlLayout(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(std::vector<TomlSection> sections, ScanToml(text, file));
  std::unique_ptr<Layout> layout = std::make_unique<TomlTextLayout>(text, std::move(sections));
  return layout;
}

}  // namespace kgpu::edit

#include "src/platform/edit/toml_brackets.h"

#include <fmt/format.h>

#include <optional>

#include "src/platform/base/strings.h"

namespace kgpu::edit {
namespace {

Splice Removal(Span gone) {
  return {.at = gone.begin, .length = gone.end - gone.begin, .inserted = {}, .after = {}};
}

// The first comma in [at, end), past line ends and comments.
std::optional<size_t> CommaBehind(std::string_view text, size_t at, size_t end) {
  while (at < end && text[at] != ',') {
    if (text[at] == '#') {
      at = NextLine(text, at);
    } else if (IsBlank(text.substr(at, 1))) {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return at < end ? std::optional(at) : std::nullopt;
}

std::optional<size_t> LastComma(std::string_view text, const TomlValue& list) {
  return CommaBehind(text, list.items.back().raw.end, list.raw.end - 1);
}

// Whether an item shares its line with a comma and a comment at most.
bool HasOwnLine(std::string_view text, const TomlValue& list, Span item) {
  if (!IsFirstInLine(text, item.begin) || LineStart(text, item.begin) < list.raw.begin) {
    return false;
  }
  const size_t end = NextLine(text, item.end);
  std::string_view rest = Trim(text.substr(item.end, end - item.end));
  rest = rest.starts_with(',') ? Trim(rest.substr(1)) : rest;
  return end < list.raw.end && (rest.empty() || rest.starts_with('#'));
}

// Behind the last item, in the same line.
Splice InsertItemInLine(std::string_view text, const TomlValue& list, const std::string& raw) {
  const std::optional<size_t> comma = LastComma(text, list);
  const std::string lead = comma.has_value() ? " " : ", ";
  return {.at = comma.has_value() ? *comma + 1 : list.items.back().raw.end,
          .length = 0,
          .inserted = lead + raw,
          .after = raw,
          .offset = lead.size()};
}

// On a line of its own after the last item's, whose comment stays in its place.
Splice InsertItemLine(std::string_view text, const TomlValue& list, const std::string& raw) {
  const Span last = list.items.back().raw;
  const std::optional<size_t> comma = LastComma(text, list);
  const size_t next = NextLine(text, last.end);
  if (next >= list.raw.end || (comma.has_value() && *comma >= next)) {
    return InsertItemInLine(text, list, raw);
  }
  const std::string_view line_end = LineEndOf(text);
  const size_t end = next - (text[next - 2] == '\r' ? 2 : 1);
  const size_t start = comma.has_value() ? end : last.end;
  const std::string lead =
      fmt::format("{}{}{}{}", comma.has_value() ? "" : ",", text.substr(start, end - start),
                  line_end, Indent(text, last.begin));
  return {.at = start,
          .length = end - start,
          .inserted = fmt::format("{}{}{}", lead, raw, comma.has_value() ? "," : ""),
          .after = raw,
          .offset = lead.size()};
}

}  // namespace

std::string_view EqualsLike(const TomlEntry* neighbour) {
  const bool is_tight =
      neighbour != nullptr && neighbour->value.raw.begin == neighbour->key.back().raw.end + 1;
  return is_tight ? "=" : " = ";
}

Splice InsertInline(const TomlValue& table, const std::string& name, const std::string& raw) {
  Splice splice{.at = 0, .length = 0, .inserted = {}, .after = raw};
  if (!table.entries.empty()) {
    splice.at = table.entries.back().value.raw.end;
    splice.inserted = fmt::format(", {}{}", name, EqualsLike(&table.entries.back()));
  } else {
    splice.at = table.raw.begin + 1;
    splice.length = table.raw.end - 1 - splice.at;
    splice.inserted = fmt::format(" {} = ", name);
  }
  splice.offset = splice.inserted.size();
  splice.inserted += raw;
  splice.inserted += table.entries.empty() ? " " : "";
  return splice;
}

Splice RemoveInline(const TomlValue& table, const TomlEntry& entry) {
  const auto index = static_cast<size_t>(&entry - table.entries.data());
  Span gone = {.begin = entry.key.front().raw.begin, .end = entry.value.raw.end};
  if (table.entries.size() == 1) {
    gone = {.begin = table.raw.begin + 1, .end = table.raw.end - 1};
  } else if (index + 1 < table.entries.size()) {
    gone.end = table.entries[index + 1].key.front().raw.begin;
  } else {
    gone.begin = table.entries[index - 1].value.raw.end;
  }
  return Removal(gone);
}

Splice InsertIntoList(std::string_view text, const TomlValue& list, const std::string& raw) {
  if (list.items.empty()) {
    const Span inner = {.begin = list.raw.begin + 1, .end = list.raw.end - 1};
    const size_t length = IsBlank(Slice(text, inner)) ? inner.end - inner.begin : 0;
    return {.at = inner.begin, .length = length, .inserted = raw, .after = raw};
  }
  return IsFirstInLine(text, list.items.back().raw.begin) ? InsertItemLine(text, list, raw)
                                                          : InsertItemInLine(text, list, raw);
}

Splice RemoveFromList(std::string_view text, const TomlValue& list, size_t index) {
  const Span item = list.items[index].raw;
  if (HasOwnLine(text, list, item)) {
    return RemoveLines(text, item);
  }
  const std::optional<size_t> comma = LastComma(text, list);
  Span gone = item;
  if (index + 1 < list.items.size()) {
    gone.end = list.items[index + 1].raw.begin;
  } else if (index > 0) {
    gone.begin = list.items[index - 1].raw.end;
    gone.end = comma.has_value() ? *comma : item.end;  // the last comma stays the last
  } else if (comma.has_value()) {
    gone.end = *comma + 1;
  }
  return Removal(gone);
}

Splice RemoveLines(std::string_view text, Span span) {
  Span gone = {.begin = LineStart(text, span.begin), .end = NextLine(text, span.end)};
  if (EndsInLine(text, gone.end) && gone.begin > TextStart(text)) {
    gone.begin -= gone.begin > 1 && text[gone.begin - 2] == '\r' ? 2 : 1;
  }
  return Removal(gone);
}

bool EndsInLine(std::string_view text, size_t at) {
  return at == text.size() && at > TextStart(text) && text.back() != '\n';
}

}  // namespace kgpu::edit

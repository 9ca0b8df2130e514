// Splices inside the brackets of a TOML value: lists and inline tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/platform/edit/layout.h"
#include "src/platform/edit/toml_scan.h"

namespace kgpu::edit {

// "=" if the neighbour is written that way, else " = ".
std::string_view EqualsLike(const TomlEntry* neighbour);

// `name` may be dotted. `table` is an inline table.
Splice InsertInline(const TomlValue& table, const std::string& name, const std::string& raw);
Splice RemoveInline(const TomlValue& table, const TomlEntry& entry);

// Appends to `list`, on a line of its own if the other items are.
Splice InsertIntoList(std::string_view text, const TomlValue& list, const std::string& raw);
Splice RemoveFromList(std::string_view text, const TomlValue& list, size_t index);

// Removes whole lines; at the end of a text without a final line end, also the one before them.
Splice RemoveLines(std::string_view text, Span span);

// Whether `at` is after a last line that has no line end.
bool EndsInLine(std::string_view text, size_t at);

}  // namespace kgpu::edit

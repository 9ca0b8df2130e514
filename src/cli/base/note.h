// Remarks for people on standard error: never part of a command's result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::cli {

void PrintNote(std::string_view text);
// Several remarks, each with the same prefix.
void PrintNotes(const std::vector<std::string>& notes, std::string_view before = "");

}  // namespace kgpu::cli

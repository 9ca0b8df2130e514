// Remarks for people on standard error: never part of a command's result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::cli {

// Remarks quote what others wrote, as the error of a function: control characters but line ends and
// tabs are escaped.
std::string ForTerminal(std::string_view text);

void PrintNote(std::string_view text);
// Several remarks, each with the same prefix.
void PrintNotes(const std::vector<std::string>& notes, std::string_view before = "");

}  // namespace kgpu::cli

// Text in columns for people.
#pragma once

#include <string>
#include <vector>

namespace kgpu::simhost {

// Rows as columns two blanks apart; the last column is not padded.
std::string Columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace kgpu::simhost

// The examples of a command, from the footer of its --help. An example is a line that begins with
// two blanks; after two more blanks follows its explanation:
//
//   Exits 0 when every GPU is healthy.
//
//     kgpu devices
//     kgpu devices --watch          print every change
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::commands {

struct Example {
  std::string line;  // "kgpu devices --watch"
  std::string explanation;
};

std::vector<Example> ExamplesOf(std::string_view footer);

// The footer without its examples.
std::string ProseOf(std::string_view footer);

// The calls of `program` in a shell line, as words without the program's name: there are two in
// "kgpu devices | kgpu config check -".
std::vector<std::vector<std::string>> CallsIn(std::string_view line, std::string_view program);

}  // namespace kgpu::commands

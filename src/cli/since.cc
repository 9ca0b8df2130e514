#include "src/cli/since.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace kgpu::cli {

void AddSinceOption(CLI::App& verb, std::string& since, std::string_view note) {
  verb.add_option("--since", since, fmt::format("How far back to look: 90m, 24h, 7d{}", note))
      ->type_name("DURATION")
      ->capture_default_str();
}

}  // namespace kgpu::cli

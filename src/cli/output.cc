#include "src/cli/output.h"

#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {

void AddOutputOption(CLI::App& verb, std::string& output) {
  verb.add_option("-o,--output", output, "table, json or yaml")
      ->envname("KGPU_OUTPUT")
      ->type_name("FORMAT")
      ->capture_default_str();
}

Status PrintOut(std::string_view text) {
  return Annotate(sys::WriteAll(STDOUT_FILENO, text), "standard output");
}

void PrintNote(std::string_view text) {
  // Nobody is left to tell when standard error is closed.
  (void)sys::WriteAll(STDERR_FILENO, fmt::format("{}\n", text));
}

}  // namespace kgpu::cli

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/version.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/commands/command_tree.h"
#include "src/platform/commands/man_page.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cli {
namespace {

using commands::ManPage;

struct ManOptions {
  std::vector<std::string> words;
  std::string folder;
};

StatusOr<ExitCode> PrintPage(const std::vector<ManPage>& pages,
                             const std::vector<std::string>& words) {
  std::string name = "kgpu";
  for (const std::string& word : words) {
    name += "-" + word;
  }
  const auto found =
      std::ranges::find_if(pages, [&name](const ManPage& page) { return page.name == name; });
  if (found == pages.end()) {
    return InvalidArgument("man: \"{}\" is not a command: see kgpu --help",
                           Printable(Join(words, " "), 80));
  }
  return OkOr(PrintOut(found->text));
}

StatusOr<ExitCode> WritePages(const std::vector<ManPage>& pages, const std::string& folder) {
  const std::string section = folder + "/man1";
  std::error_code error;
  std::filesystem::create_directories(section, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create {}", section));
  }
  for (const ManPage& page : pages) {
    RETURN_IF_ERROR(sys::WriteFileAtomically(fmt::format("{}/{}.1", section, page.name), page.text,
                                             0644, sys::Durability::kMemory));
  }
  return OkOr(PrintOut(fmt::format("wrote {} pages to {}\n", pages.size(), section)));
}

}  // namespace

void AddManCommand(CommandRegistrar& registrar) {
  auto options = std::make_shared<ManOptions>();
  CLI::App& command = *registrar.app().add_subcommand(
      "man", "Print the manual page of a command, or write all pages");
  registrar.OnRun(command, [&registrar, options]() -> StatusOr<ExitCode> {
    const std::vector<ManPage> pages =
        commands::ManPagesOf(commands::TreeOf(registrar.app(), registrar.offers()), VersionText());
    return options->folder.empty() ? PrintPage(pages, options->words)
                                   : WritePages(pages, options->folder);
  });
  command.footer(
      "  kgpu man driver install | man -l -\n"
      "  kgpu man --dir /usr/local/share/man     then: man kgpu-driver-install");
  CLI::Option* words =
      command.add_option("COMMAND", options->words, "The words of the command (default: kgpu)");
  AddValue(command, "--dir", options->folder, "DIR", "Write all pages to DIR/man1")
      ->excludes(words);
}

}  // namespace kgpu::cli

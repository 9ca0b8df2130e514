#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <system_error>

#include "src/cli/base/commands.h"
#include "src/cli/base/environment.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/program/completion.h"
#include "src/cli/program/completion_install.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cli {
namespace {

struct ScriptOptions {
  std::string shell;
};

struct ScriptInstallOptions {
  std::string shell;
  std::string folder;
  bool is_dry_run = false;
};

StatusOr<ExitCode> PrintScript(const ScriptOptions& options) {
  if (options.shell.empty()) {
    return InvalidArgument("completion: SHELL is missing: name bash, zsh or fish");
  }
  ASSIGN_OR_RETURN(const std::string script, CompletionScript(options.shell));
  return OkOr(PrintOut(script));
}

StatusOr<CompletionFile> FileFor(const ScriptInstallOptions& options, const std::string& shell) {
  if (options.folder.empty()) {
    return CompletionFileOf(shell, Environment(), geteuid() == 0);
  }
  RETURN_IF_ERROR(CompletionScript(shell).status());
  return CompletionFile{.path = fmt::format("{}/{}", options.folder, CompletionFileName(shell)),
                        .next = "let your shell read it"};
}

Status WriteScript(const std::string& path, const std::string& script) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create {}", folder.string()));
  }
  return sys::WriteFileAtomically(path, script);
}

StatusOr<ExitCode> InstallScript(const ScriptInstallOptions& options) {
  std::string shell = options.shell;
  if (shell.empty()) {
    ASSIGN_OR_RETURN(shell, ShellOf(Environment()));
  }
  ASSIGN_OR_RETURN(const CompletionFile file, FileFor(options, shell));
  if (options.is_dry_run) {
    return OkOr(PrintOut(fmt::format("would write {}\n", file.path)));
  }
  ASSIGN_OR_RETURN(const std::string script, CompletionScript(shell));
  RETURN_IF_ERROR(WriteScript(file.path, script));
  RETURN_IF_ERROR(PrintOut(fmt::format("wrote {}\n", file.path)));
  PrintNote(file.next);
  return ExitCode::kOk;
}

void AddScriptInstall(CommandRegistrar& registrar, CLI::App& parent) {
  auto [command, options] = registrar.Add<ScriptInstallOptions>(
      parent, "install", "Write the script where the shell looks for it", &InstallScript);
  command.footer(
      "For root it is installed for all users, else for you alone.\n\n"
      "  kgpu completion install\n"
      "  kgpu completion install zsh --dry-run");
  command.add_option("SHELL", options.shell, "The shell (default: that of $SHELL)")
      ->type_name("bash|zsh|fish");
  AddValue(command, "--dir", options.folder, "DIR",
           "Folder for the script (default: the shell's own)");
  command.add_flag("--dry-run", options.is_dry_run, "Print the path, write nothing");
}

}  // namespace

void AddCompletionCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<ScriptOptions>(
      registrar.app(), "completion", "Print or install a completion script", &PrintScript);
  command.footer(
      "  kgpu completion install\n"
      "  source <(kgpu completion bash)\n"
      "  kgpu completion fish | source");
  command.add_option("SHELL", options.shell, "The shell")->type_name("bash|zsh|fish");
  AddScriptInstall(registrar, command);
}

}  // namespace kgpu::cli

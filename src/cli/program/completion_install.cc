#include "src/cli/program/completion_install.h"

#include <fmt/format.h>

#include <filesystem>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

// The absolute path that a variable holds; empty where it holds none.
std::string FolderIn(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with("=/")) {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

bool IsShell(std::string_view name) {
  return name == "bash" || name == "zsh" || name == "fish";
}

// Below the folders of all users.
std::string_view SystemFolder(std::string_view shell) {
  if (shell == "bash") {
    return "/usr/local/share/bash-completion/completions";
  }
  return shell == "zsh" ? "/usr/local/share/zsh/site-functions"
                        : "/usr/local/share/fish/vendor_completions.d";
}

StatusOr<std::string> UserFolder(std::string_view shell,
                                 const std::vector<std::string>& environment) {
  const bool is_fish = shell == "fish";
  std::string base = FolderIn(environment, is_fish ? "XDG_CONFIG_HOME" : "XDG_DATA_HOME");
  if (base.empty()) {
    const std::string home = FolderIn(environment, "HOME");
    if (home.empty()) {
      return InvalidArgument("$HOME is not set: name the folder with --dir");
    }
    base = home + (is_fish ? "/.config" : "/.local/share");
  }
  if (shell == "bash") {
    return base + "/bash-completion/completions";
  }
  return base + (is_fish ? "/fish/completions" : "/zsh/site-functions");
}

}  // namespace

StatusOr<std::string> ShellOf(const std::vector<std::string>& environment) {
  const std::string path = FolderIn(environment, "SHELL");
  std::string name = std::filesystem::path(path).filename().string();
  if (!IsShell(name)) {
    return InvalidArgument("completion install: $SHELL is \"{}\": name bash, zsh or fish",
                           Printable(path, 80));
  }
  return name;
}

std::string_view CompletionFileName(std::string_view shell) {
  if (shell == "bash") {
    return "kgpu";
  }
  return shell == "zsh" ? "_kgpu" : "kgpu.fish";
}

StatusOr<CompletionFile> CompletionFileOf(std::string_view shell,
                                          const std::vector<std::string>& environment,
                                          bool is_root) {
  if (!IsShell(shell)) {
    return InvalidArgument("completion install: \"{}\" must be bash, zsh or fish",
                           Printable(shell, 40));
  }
  std::string folder(SystemFolder(shell));
  if (!is_root) {
    ASSIGN_OR_RETURN(folder, UserFolder(shell, environment));
  }
  CompletionFile file{.path = fmt::format("{}/{}", folder, CompletionFileName(shell)),
                      .next = fmt::format("start a new {}", shell)};
  if (shell == "bash") {
    file.next += "; it needs the package bash-completion";
  } else if (shell == "zsh" && !is_root) {
    file.next = fmt::format("add this to ~/.zshrc before compinit: fpath=({} $fpath)", folder);
  }
  return file;
}

}  // namespace kgpu::cli

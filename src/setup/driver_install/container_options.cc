#include "src/setup/driver_install/container_options.h"

#include <array>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/driver_install/container_modules.h"

namespace kgpu::driver_install {
namespace {

// A file hides those of its name in folders after its own.
constexpr std::array<std::string_view, 5> kFolders = {"/etc/modprobe.d", "/run/modprobe.d",
                                                      "/usr/local/lib/modprobe.d",
                                                      "/usr/lib/modprobe.d", "/lib/modprobe.d"};

// Lines, those that end in a backslash joined with the next one.
std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines = {""};
  for (const std::string_view line : Split(text, '\n')) {
    const bool goes_on = line.ends_with('\\');
    lines.back() += goes_on ? line.substr(0, line.size() - 1) : line;
    if (!goes_on) {
      lines.emplace_back();
    }
  }
  return lines;
}

void Add(const std::string& module, std::string_view text,
         std::map<std::string, std::string>& options) {
  std::string& known = options[module];
  // The same file in two roots says it once.
  if (known.ends_with(text)) {
    return;
  }
  known += known.empty() ? text : fmt::format(" {}", text);
}

// Path by file name, in whose order modprobe reads.
std::map<std::string, std::string> Files(const sys::Root& root) {
  std::map<std::string, std::string> files;
  for (const std::string_view folder : kFolders) {
    for (const std::string& name : root.ListDir(folder).value_or(std::vector<std::string>())) {
      if (name.ends_with(".conf")) {
        files.try_emplace(name, fmt::format("{}/{}", folder, name));
      }
    }
  }
  return files;
}

}  // namespace

std::map<std::string, std::string> ParseModuleOptions(std::string_view text) {
  std::map<std::string, std::string> options;
  for (const std::string& line : Lines(text)) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 3 || words[0] != "options") {
      continue;
    }
    const std::string module = ModuleOf(fmt::format("{}.ko", words[1]));
    if (!module.empty()) {
      // In its original form: quoted values contain blanks.
      const auto start = static_cast<size_t>(words[2].data() - line.data());
      Add(module, Trim(std::string_view(line).substr(start)), options);
    }
  }
  return options;
}

std::map<std::string, std::string> ReadModuleOptions(const std::vector<const sys::Root*>& roots) {
  std::map<std::string, std::string> options;
  for (const sys::Root* root : roots) {
    for (const auto& [name, path] : Files(*root)) {
      for (const auto& [module, text] : ParseModuleOptions(root->ReadFile(path).value_or(""))) {
        Add(module, text, options);
      }
    }
  }
  return options;
}

}  // namespace kgpu::driver_install

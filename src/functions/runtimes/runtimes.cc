#include "src/functions/runtimes/runtimes.h"

#include <algorithm>
#include <array>
#include <string>

#include "src/functions/runtimes/embedded_files.h"

namespace kgpu::functions {
namespace {

constexpr std::array<Runtime, 6> kRuntimes = {{
    {.name = "cpp",
     .alias = "c++",
     .title = "C++ 20",
     .handler_file = "handler.cc",
     .handler_name = "Handler",
     .signature = "std::string Handler(const std::string req)",
     .streams = true},
    {.name = "python3",
     .alias = "python",
     .title = "Python 3",
     .handler_file = "handler.py",
     .handler_name = "Handler",
     .signature = "def Handler(req)",
     .streams = true},
    {.name = "go",
     .alias = "golang",
     .title = "Go",
     .handler_file = "handler.go",
     .handler_name = "Handler",
     .signature = "func Handler(req sdk.Request) string",
     .streams = true},
    {.name = "nodejs",
     .alias = "node",
     .title = "Node.js",
     .handler_file = "handler.js",
     .handler_name = "Handler",
     .signature = "function Handler(buf)",
     .streams = true},
    {.name = "ruby",
     .alias = "",
     .title = "Ruby",
     .handler_file = "handler.rb",
     .handler_name = "Handler",
     .signature = "def FxWatcher.Handler(argStr)"},
    {.name = "java",
     .alias = "",
     .title = "Java",
     .handler_file = "Handler.java",
     .handler_name = "Handler",
     .signature = "public static byte[] reply(byte[] input)"},
}};

// Those below a folder, with paths relative to it.
std::vector<EmbeddedFile> FilesBelow(const Runtime& runtime, std::string_view folder) {
  const std::string prefix = std::string(runtime.name) + "/" + std::string(folder) + "/";
  std::vector<EmbeddedFile> files;
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (file.path.starts_with(prefix)) {
      files.push_back({.path = file.path.substr(prefix.size()), .text = file.text});
    }
  }
  return files;
}

}  // namespace

std::span<const Runtime> Runtimes() {
  return kRuntimes;
}

const Runtime* FindRuntime(std::string_view name) {
  const auto* const found = std::ranges::find_if(kRuntimes, [name](const Runtime& runtime) {
    return !name.empty() && (runtime.name == name || runtime.alias == name);
  });
  return found == kRuntimes.end() ? nullptr : found;
}

std::vector<EmbeddedFile> TemplateFiles(const Runtime& runtime) {
  return FilesBelow(runtime, "template");
}

std::vector<EmbeddedFile> WorkerFiles(const Runtime& runtime) {
  return FilesBelow(runtime, "worker");
}

}  // namespace kgpu::functions

// The languages that functions are written in, and the files that kgpu brings for each:
// deploy/functions, embedded.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/platform/base/embedded_file.h"

namespace kgpu::functions {

struct Runtime {
  std::string_view name;          // "python3"
  std::string_view alias;         // another name that is accepted; may be empty
  std::string_view title;         // "Python 3"
  std::string_view handler_file;  // "handler.py"
  std::string_view handler_name;  // "Handler"
  std::string_view signature;     // of the handler, for people
  bool streams = false;           // a handler can send its output piece by piece
};

// In the order of `kgpu fn runtime list`.
std::span<const Runtime> Runtimes();

// By name or alias; null if there is none.
const Runtime* FindRuntime(std::string_view name);

// Paths below are relative: "src/handler.py".
// What `kgpu fn init` puts into a new folder. Sorted by path.
std::vector<EmbeddedFile> TemplateFiles(const Runtime& runtime);
// The worker library, which images get in /opt/kgpu-fn. Sorted by path.
std::vector<EmbeddedFile> WorkerFiles(const Runtime& runtime);

}  // namespace kgpu::functions

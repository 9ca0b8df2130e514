#include "src/container/engine/k3s_runtimes.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

using edit::Key;

struct Detected {
  std::string_view name;
  std::string_view program;
};

// Source: k3s, pkg/agent/containerd/runtimes.go.
constexpr std::array<Detected, 11> kDetected = {{
    {"crun", "crun"},
    {"nvidia", "nvidia-container-runtime"},
    {"nvidia-experimental", "nvidia-container-runtime-experimental"},
    {"nvidia-cdi", "nvidia-container-runtime.cdi"},
    {"lunatic", "containerd-shim-lunatic-v1"},
    {"slight", "containerd-shim-slight-v1"},
    {"spin", "containerd-shim-spin-v2"},
    {"wws", "containerd-shim-wws-v1"},
    {"wasmedge", "containerd-shim-wasmedge-v1"},
    {"wasmer", "containerd-shim-wasmer-v1"},
    {"wasmtime", "containerd-shim-wasmtime-v1"},
}};

// Searched beside the PATH of the service; older ones search only fixed folders.
constexpr std::array<std::string_view, 2> kMoreFolders = {"/usr/local/nvidia/toolkit",
                                                          "/opt/kwasm/bin"};

std::string FindDetected(const sys::Root& host, const Engine& engine, std::string_view program) {
  for (const std::string_view folder : kMoreFolders) {
    if (const std::string path = FindForEngine(host, engine, fmt::format("{}/{}", folder, program));
        !path.empty()) {
      return path;
    }
  }
  return FindForEngine(host, engine, program);
}

// The table of a runtime in a text of either version; null if it has none.
const boost::json::value* TableOf(const edit::Document& document, const std::string& name,
                                  Key& key) {
  for (const char* plugin : {"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"}) {
    key = {"plugins", plugin, "containerd", "runtimes", name};
    if (const boost::json::value* table = document.Find(key)) {
      return table;
    }
  }
  return nullptr;
}

}  // namespace

StatusOr<std::optional<ConfiguredRuntime>> FindK3sRuntime(const sys::Root& host,
                                                          const Engine& engine,
                                                          const EngineFiles& files,
                                                          const std::string& name) {
  std::optional<ConfiguredRuntime> found;
  const std::string text = files.main.value_or("");
  if (!engine.is_template || !HasK3sBase(text)) {
    return found;
  }
  const auto* const detected = std::ranges::find(kDetected, name, &Detected::name);
  if (detected != kDetected.end()) {
    if (std::string path = FindDetected(host, engine, detected->program); !path.empty()) {
      found = ConfiguredRuntime{.name = name, .program = path, .file = path, .where = path};
      return found;
    }
  }
  ASSIGN_OR_RETURN(const edit::Document ours,
                   edit::Document::Open(text, engine.config_file, edit::Syntax::kTomlTemplate));
  const auto generated = edit::Document::Open(files.generated.value_or(""), engine.generated_file,
                                              edit::Syntax::kToml);
  Key key;
  if (TableOf(ours, name, key) != nullptr || !generated.ok() ||
      TableOf(*generated, name, key) == nullptr) {
    return found;
  }
  const std::string where = generated->Where(key);
  const boost::json::value* program = generated->Find(key / "options" / "BinaryName");
  if (program == nullptr || !program->is_string()) {
    program = generated->Find(key / "runtime_type");
  }
  found = ConfiguredRuntime{.name = name,
                            .program = program != nullptr && program->is_string()
                                           ? std::string(program->get_string())
                                           : std::string(),
                            .file = engine.generated_file,
                            .where = where};
  if (found->IsOurs()) {
    found.reset();  // of a template of ours that is gone
  }
  return found;
}

Status TwiceError(const Engine& engine, const ConfiguredRuntime& own) {
  return FailedPrecondition(
      "{}: {} adds a runtime {} of its own to containerd's configuration, and containerd does not "
      "start if {} has a table of that name, too: use another name, as with --runtime-name kgpu, "
      "or uninstall {} and restart {}",
      own.where, engine.distribution, own.name, engine.config_file,
      own.IsOfNvidia() ? "NVIDIA's container toolkit" : Printable(own.program),
      engine.distribution);
}

}  // namespace kgpu::engine

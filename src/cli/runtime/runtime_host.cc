#include "src/cli/runtime/runtime_host.h"

#include <utility>

#include "src/container/engine/find.h"
#include "src/container/engine/packages.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

std::vector<std::string> WordsOf(const std::string& command) {
  std::vector<std::string> words;
  for (const std::string_view word : kgpu::Words(command)) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace

RuntimeHost::RuntimeHost(sys::Root root, const RuntimeOptions& options,
                         std::optional<engine::Kind> kind)
    : root_(std::move(root)),
      options_(options),
      kind_(kind),
      disk_(root_),
      control_(root_, runner_, WordsOf(options.restart_with)),
      api_(root_) {
}

StatusOr<std::unique_ptr<RuntimeHost>> RuntimeHost::Open(const RuntimeOptions& options) {
  std::optional<engine::Kind> kind;
  if (options.engine != "auto") {
    ASSIGN_OR_RETURN(kind, engine::ParseKind(options.engine));
  }
  if (!options.config.empty() && !kind) {
    return InvalidArgument("--config: set --engine to say which engine's file it is");
  }
  if (!options.config.empty() && !options.config.starts_with('/')) {
    return InvalidArgument("--config: \"{}\" must be an absolute path on the host",
                           Printable(options.config, 80));
  }
  ASSIGN_OR_RETURN(sys::Root root,
                   sys::Root::Open(options.host_root.empty() ? "/" : options.host_root));
  return std::unique_ptr<RuntimeHost>(new RuntimeHost(std::move(root), options, kind));
}

StatusOr<std::vector<engine::Engine>> RuntimeHost::FindEngines() {
  engine::FindOptions find;
  find.only = kind_;
  find.distribution = engine::DistributionOf(options_.engine);
  find.config_file = options_.config;
  std::vector<engine::Engine> engines = engine::FindEngines(root_, runner_, find);
  if (engines.empty() && !find.distribution.empty()) {
    return NotFound("{}: {} is not installed: install it first", root_.path(), find.distribution);
  }
  if (engines.empty() && is_auto()) {
    const StatusOr<engine::Kind> kind = engine::EngineToInstall(root_);
    return kind.ok() ? NotFound(
                           "{}: no container engine is installed: run kgpu runtime install, which "
                           "installs {} from the distribution",
                           root_.path(), engine::ToString(*kind))
                     : NotFound("{}: no container engine is installed: {}", root_.path(),
                                Message(kind.status()));
  }
  if (engines.empty()) {
    return NotFound(
        "{}: {} is not installed: run kgpu runtime install --engine {} to install it from the "
        "distribution",
        root_.path(), options_.engine, options_.engine);
  }
  return engines;
}

bool RuntimeHost::IsAskedFor(const std::string& id) const {
  const std::string_view kind = std::string_view(id).substr(0, id.find('-'));
  const std::string_view distribution = engine::DistributionOf(options_.engine);
  return id != engine::kShimId && (!kind_ || kind == engine::ToString(*kind_)) &&
         (distribution.empty() || id.ends_with(fmt::format("-{}", distribution)));
}

std::optional<StatusOr<engine::LiveFacts>> AskEngine(RuntimeHost& host,
                                                     const engine::Engine& engine) {
  if (!engine.daemon || engine.socket.empty()) {
    return std::nullopt;
  }
  return host.api().Ask(engine, kOneQuestion, "an answer",
                        [](const engine::LiveFacts&) { return true; });
}

}  // namespace kgpu::cli

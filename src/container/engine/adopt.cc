#include "src/container/engine/adopt.h"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

#include "src/container/engine/engine_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

constexpr std::string_view kNvidiaConfig = "/etc/nvidia-container-runtime/config.toml";

}  // namespace

std::optional<ConfiguredRuntime> FindForeignRuntime(const RuntimeTables& tables,
                                                    const Request& request) {
  const ConfiguredRuntime named = tables.Find(request.named.name);
  if (!named.program.empty() && named.program != request.named.path && !named.IsOurs()) {
    return named;
  }
  if (request.set_default) {
    const ConfiguredRuntime usual = tables.FindDefault();
    if (usual.IsOfNvidia()) {
      return usual;
    }
  }
  return std::nullopt;
}

StatusOr<bool> NvidiaAcceptsEnv(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadIfThere(host, std::string(kNvidiaConfig)));
  ASSIGN_OR_RETURN(const edit::Document document,
                   edit::Document::Open(text.value_or(""), kNvidiaConfig, edit::Syntax::kToml));
  const boost::json::value* accepts =
      document.Find({"accept-nvidia-visible-devices-envvar-when-unprivileged"});
  return accepts == nullptr || !accepts->is_bool() || accepts->get_bool();
}

}  // namespace kgpu::engine

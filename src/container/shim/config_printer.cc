// PrintConfig of config.h: apart from the reader, which kgpu-runtime links without it.
#include <boost/json.hpp>

#include "src/container/shim/config.h"
#include "src/platform/doc/doc.h"

namespace kgpu::shim {

std::string PrintConfig(const Config& config) {
  boost::json::object tree;
  tree["runtimes"] = boost::json::array(config.runtimes.begin(), config.runtimes.end());
  tree["acceptEnv"] = config.accept_env;
  tree["acceptAnnotations"] = config.accept_annotations;
  tree["acceptMounts"] = config.accept_mounts;
  tree["defaultCapabilities"] = inject::ToString(config.default_capabilities);
  tree["cudaCompat"] = config.cuda_compat;
  tree["auditLog"] = config.audit_log;
  return doc::Print(tree, doc::Format::kJson);
}

}  // namespace kgpu::shim

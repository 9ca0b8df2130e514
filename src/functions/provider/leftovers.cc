#include "src/functions/provider/leftovers.h"

#include <boost/json/value.hpp>

#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::functions {
namespace {

// Beside the folders of the replicas, and gone with them at the next boot.
sys::StateFile EngineFile(const std::string& run_dir) {
  return {run_dir + "/functions-engine.json", {.durability = sys::Durability::kMemory}};
}

StatusOr<EngineSettings> ParseEngine(std::string_view text, const std::string& where) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(text, where, {}));
  doc::Fields fields(root, where);
  EngineSettings engine{.podman = fields.Text("podman"), .flags = fields.Texts("flags")};
  RETURN_IF_ERROR(fields.status());
  return engine;
}

}  // namespace

Status WriteEngineRecord(const std::string& run_dir, const EngineSettings& engine) {
  return EngineFile(run_dir).Write(doc::PrintLine(
      boost::json::object{{"podman", engine.podman}, {"flags", doc::Texts(engine.flags)}}));
}

StatusOr<std::optional<EngineSettings>> ReadEngineRecord(const std::string& run_dir) {
  const sys::StateFile file = EngineFile(run_dir);
  return file.Read([&](std::string_view text) { return ParseEngine(text, file.path()); });
}

Status RemoveEngineRecord(const std::string& run_dir) {
  return EngineFile(run_dir).Remove();
}

Leftovers::Leftovers(EventLoop& loop, Programs& programs, const ProviderOptions& options)
    : podman_(programs, options.engine),
      loans_(loop, AgentSocket(options)),
      reconciler_(loop, podman_, loans_, FoldersOf(options), *this) {
}

}  // namespace kgpu::functions

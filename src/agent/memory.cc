#include "src/agent/memory.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "src/node/pools/saved_slots.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {
namespace {

constexpr unsigned kVersion = 2;
constexpr char kName[] = "the agent's saved state";

}  // namespace

std::string ReadBootId(const std::string& path) {
  const size_t slash = path.rfind('/');
  const auto folder = sys::Root::Open(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  if (!folder.ok()) {
    return {};
  }
  const auto text = folder->ReadFile(path.substr(slash + 1), 256);
  return text.ok() ? std::string(Trim(*text)) : std::string();
}

std::string PrintMemory(const MemoryKey& key, const pools::Assignment& assignment,
                        boost::json::object parts) {
  boost::json::object document = std::move(parts);
  document["version"] = kVersion;
  document["bootId"] = key.boot_id;
  document["config"] = key.config;
  document["resources"] = pools::ResourcesJson(assignment.resources);
  document["local"] = pools::ResourcesJson(assignment.local);
  return doc::PrintLine(document) + "\n";
}

StatusOr<node::SavedState> ParseMemory(std::string_view text, const MemoryKey& key) {
  constexpr doc::Limits kLimits{.bytes = kMaxMemoryBytes, .values = 4'000'000};
  ASSIGN_OR_RETURN(boost::json::value document,
                   doc::Parse(text, doc::Format::kJson, kName, kLimits));
  boost::json::object* object = document.if_object();
  if (object == nullptr || doc::SavedFields(*object).Small("version") != kVersion) {
    return InvalidArgument("{}: written by another version", kName);
  }
  const doc::SavedFields fields(*object);
  if (key.boot_id.empty() || fields.Text("bootId") != key.boot_id) {
    return FailedPrecondition("{}: written before the last reboot", kName);
  }
  node::SavedState state;
  std::vector<pools::Resource> resources = pools::ReadResources(fields, "resources");
  if (fields.Text("config") == key.config) {
    state.assignment.resources = std::move(resources);
    state.assignment.local = pools::ReadResources(fields, "local");
  } else {
    state.outdated = std::move(resources);
  }
  state.fields = std::move(*object);
  return state;
}

}  // namespace kgpu::agent

#include "src/container/shim/config.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::shim {
namespace {

namespace json = boost::json;
using doc::ReadFlag;
using doc::ReadText;

constexpr std::array<std::string_view, 7> kFields = {
    "runtimes",   "acceptEnv", "acceptAnnotations", "acceptMounts", "defaultCapabilities",
    "cudaCompat", "auditLog"};

Status ReadPath(const json::value& value, std::string& out) {
  RETURN_IF_ERROR(ReadText(value, out));
  if (!out.empty() && !out.starts_with('/')) {
    return InvalidArgument("\"{}\" must be an absolute path, or \"\" for none", Printable(out, 80));
  }
  return OkStatus();
}

Status ReadRuntimes(const json::value& value, std::vector<std::string>& out) {
  const json::array* list = value.if_array();
  if (list == nullptr || list->empty()) {
    return InvalidArgument("must be a list with a runtime, such as [\"runc\", \"crun\"]");
  }
  out.clear();
  for (const json::value& item : *list) {
    std::string& runtime = out.emplace_back();
    RETURN_IF_ERROR(ReadText(item, runtime));
    if (runtime.empty() || (runtime.find('/') != std::string::npos && !runtime.starts_with('/'))) {
      return InvalidArgument("\"{}\" must be a name or an absolute path", Printable(runtime, 80));
    }
    // Copies of another name are found when they start each other: MarkedEnvironment.
    if (runtime.substr(runtime.rfind('/') + 1) == "kgpu-runtime") {
      return InvalidArgument("\"{}\" is kgpu-runtime itself: use runc, crun or another OCI runtime",
                             Printable(runtime, 80));
    }
  }
  return OkStatus();
}

Status ReadCapabilities(const json::value& value, inject::CapabilitySet& out) {
  std::string text;
  RETURN_IF_ERROR(ReadText(value, text));
  ASSIGN_OR_RETURN(out, inject::ParseCapabilities(text));
  return OkStatus();
}

Status ReadField(std::string_view name, const json::value& value, Config& config) {
  if (name == "runtimes") {
    return ReadRuntimes(value, config.runtimes);
  }
  if (name == "acceptEnv") {
    return ReadFlag(value, config.accept_env);
  }
  if (name == "acceptAnnotations") {
    return ReadFlag(value, config.accept_annotations);
  }
  if (name == "acceptMounts") {
    return ReadFlag(value, config.accept_mounts);
  }
  if (name == "defaultCapabilities") {
    return ReadCapabilities(value, config.default_capabilities);
  }
  if (name == "cudaCompat" || name == "auditLog") {
    return ReadPath(value, name == "auditLog" ? config.audit_log : config.cuda_compat);
  }
  const std::optional<std::string_view> nearest = Nearest(name, {kFields.begin(), kFields.end()});
  return nearest ? InvalidArgument("unknown field, did you mean \"{}\"?", *nearest)
                 : InvalidArgument("unknown field, known fields are {}", fmt::join(kFields, ", "));
}

}  // namespace

StatusOr<Config> ParseConfig(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, doc::ParseJson(text, file, doc::Limits{.depth = 8}));
  const json::object* object = tree.if_object();
  if (object == nullptr) {
    return InvalidArgument("{}: must be a map", file);
  }
  Config config;
  for (const auto& [key, value] : *object) {
    const std::string_view name(key.data(), key.size());
    if (Status status = ReadField(name, value, config); !status.ok()) {
      return Annotate(status, "{}: {}", file, Printable(name, 60));
    }
  }
  return config;
}

StatusOr<Config> ReadConfig(const sys::Root& root) {
  const StatusOr<std::string> text = root.ReadFile(kConfigPath, kConfigLimit);
  if (text.status().code() == StatusCode::kNotFound) {
    return Config();
  }
  if (!text.ok()) {
    return text.status();
  }
  return ParseConfig(*text, root.At(kConfigPath));
}

}  // namespace kgpu::shim

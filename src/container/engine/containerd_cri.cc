#include "src/container/engine/containerd_cri.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;
using edit::Key;

std::string TextAt(const Layers& layers, const Key& key) {
  const json::value* value = layers.Find(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool IsTable(const Layers& layers, const Key& key) {
  const json::value* value = layers.Find(key);
  return value != nullptr && value->is_object();
}

// Copies what `from` sets and `to` does not. Values that Go would take for "not set" are left out.
Status CopyMissing(Layers& layers, const Key& from, const Key& to,
                   const std::vector<std::string>& without, std::vector<std::string>& notes) {
  for (const std::string& name : layers.NamesIn(from)) {
    const json::value* value = layers.Find(from / name);
    const bool is_out = std::ranges::find(without, name) != without.end();
    if (is_out || IsZero(*value) || layers.FindLasting(to / name) != nullptr) {
      continue;
    }
    if (value->is_object()) {
      notes.push_back(fmt::format("{} is not copied to {}", edit::Dotted(from / name), to.back()));
      continue;
    }
    const json::value copy = *value;
    RETURN_IF_ERROR(layers.Set(to / name, copy));
  }
  return OkStatus();
}

// The runtime that ours shall be like: the default one, when it takes runc's options. MicroK8s's
// template names a variable there, which no table has.
std::string LikeWhich(const Layers& layers, const Key& containerd, const std::string& ours) {
  std::string name = TextAt(layers, containerd / "default_runtime_name");
  name = name.empty() || name == ours || name.find('$') != std::string::npos ? "runc" : name;
  const std::string type = TextAt(layers, containerd / "runtimes" / name / "runtime_type");
  const bool is_runc = type.empty() || type.starts_with("io.containerd.runc.");
  return is_runc ? name : "runc";
}

// Once there is a table of runtimes, containerd 1.x no longer adds its own runc to it, and then the
// CRI plugin does not load for want of its default runtime.
Status KeepRunc(Layers& layers, const Key& runtimes, const std::string& ours) {
  const bool is_written = IsTable(layers, runtimes / "runc");
  const bool is_default = ours == "runc";
  return is_written || is_default
             ? OkStatus()
             : layers.Set(runtimes / "runc" / "runtime_type", TextValue(kRuncShim));
}

Status SetRuntime(Layers& layers, const CriContext& context, const NamedRuntime& wanted) {
  const Key containerd = context.table / "containerd";
  const Key runtimes = containerd / "runtimes";
  const Key ours = runtimes / wanted.name;
  const Key binary = ours / "options" / "BinaryName";
  if (IsTable(layers, containerd / "default_runtime")) {
    return FailedPrecondition(
        "{}: default_runtime (containerd 1.2) overrides default_runtime_name: rename it to "
        "runtimes.runc and try again",
        layers.Where(containerd / "default_runtime"));
  }
  const Key like = runtimes / LikeWhich(layers, containerd, wanted.name);
  const std::string type = TextAt(layers, ours / "runtime_type");
  if (!type.empty() && type != kRuncShim) {
    context.notes->push_back(
        fmt::format("runtime {} was of type \"{}\"", wanted.name, Printable(type, 60)));
  }
  const std::string old = TextAt(layers, binary);
  if (!old.empty() && old != wanted.path) {
    context.notes->push_back(fmt::format("runtime {} was \"{}\"", wanted.name, Printable(old)));
  }
  RETURN_IF_ERROR(KeepRunc(layers, runtimes, wanted.name));
  RETURN_IF_ERROR(layers.Set(ours / "runtime_type", TextValue(kRuncShim)));
  if (old == wanted.path) {
    return OkStatus();  // configured before: what it was like then counts
  }
  // runtime_path would name another shim, runtime_engine and runtime_root are of containerd 1.2.
  RETURN_IF_ERROR(
      CopyMissing(layers, like, ours,
                  {"runtime_type", "runtime_path", "runtime_engine", "runtime_root", "options"},
                  *context.notes));
  RETURN_IF_ERROR(layers.Set(binary, TextValue(wanted.path)));
  return CopyMissing(layers, like / "options", ours / "options",
                     {"BinaryName", "Runtime", "TypeUrl", "ConfigPath"}, *context.notes);
}

Status SetCdi(Layers& layers, const CriContext& context, bool cdi) {
  const ContainerdVersion& version = context.version;
  const Key key = context.table / "enable_cdi";
  if (version.major == 1 && version.minor < 7) {
    context.notes->push_back(
        fmt::format("containerd {}.{} does not support CDI: version 1.7 is required", version.major,
                    version.minor));
    return OkStatus();
  }
  if (cdi && version.major >= 2 && layers.Find(key) == nullptr) {
    return OkStatus();  // on by default
  }
  return layers.Set(key, cdi);
}

// The list at `key`, or else `usual`, and `more`.
Status AddAll(Layers& layers, const Key& key, const std::vector<std::string>& usual,
              const std::vector<std::string>& more) {
  const json::value* list = layers.Find(key);
  const std::vector<std::string> known = list == nullptr ? usual : doc::TextsOf(list);
  const std::vector<std::string> wanted = Union(known, more);
  return wanted == known ? OkStatus() : layers.Set(key, doc::Texts(wanted));
}

}  // namespace

StatusOr<Key> CriTable(int64_t config_version) {
  switch (config_version) {
    case 1:
      return Key{"plugins", "cri"};
    case 2:
      return Key{"plugins", "io.containerd.grpc.v1.cri"};
    case 3:
    case 4:
      return Key{"plugins", "io.containerd.cri.v1.runtime"};
    default:
      return InvalidArgument("config version {} is not supported: 1 to 4 are", config_version);
  }
}

Status SetCri(Layers& layers, const CriContext& context, const Settings& settings) {
  if (settings.cdi.has_value()) {
    RETURN_IF_ERROR(SetCdi(layers, context, *settings.cdi));
  }
  RETURN_IF_ERROR(AddAll(layers, context.table / "cdi_spec_dirs", {"/etc/cdi", "/var/run/cdi"},
                         settings.cdi_spec_dirs));
  if (!settings.runtime.has_value()) {
    return OkStatus();
  }
  const Key containerd = context.table / "containerd";
  RETURN_IF_ERROR(SetRuntime(layers, context, *settings.runtime));
  if (settings.set_default) {
    NoteDefault(layers.Find(containerd / "default_runtime_name"), "default_runtime_name",
                settings.runtime->name, *context.notes);
    RETURN_IF_ERROR(
        layers.Set(containerd / "default_runtime_name", TextValue(settings.runtime->name)));
  }
  return AddAll(layers, containerd / "runtimes" / settings.runtime->name / "container_annotations",
                {}, settings.container_annotations);
}

}  // namespace kgpu::engine

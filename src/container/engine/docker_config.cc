// Docker's daemon.json. Keys and what dockerd makes of them: moby, daemon/config and
// daemon/runtime_unix.go.
#include <boost/json.hpp>

#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::engine {
namespace {

using edit::Document;
using edit::Key;

std::string TextAt(const Document& document, const Key& key) {
  const boost::json::value* value = document.Find(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// dockerd refuses a runtime that has both a path and a runtimeType.
StatusOr<Key> KeyOfPath(const Document& document, const Key& runtime) {
  const std::string type = TextAt(document, runtime / "runtimeType");
  if (type.empty()) {
    return runtime / "path";
  }
  if (type == kRuncShim) {
    return runtime / "options" / "BinaryName";
  }
  return InvalidArgument(
      "{}: {} has runtimeType \"{}\", which allows no path: remove it, or use another name for "
      "kgpu's",
      document.Where(runtime / "runtimeType"), edit::Dotted(runtime), Printable(type, 60));
}

Status SetRuntime(Document& document, const NamedRuntime& wanted, std::vector<std::string>& notes) {
  if (wanted.name == "runc") {
    return InvalidArgument("docker reserves the runtime name runc: use another one");
  }
  const Key runtime = {"runtimes", wanted.name};
  ASSIGN_OR_RETURN(const Key key, KeyOfPath(document, runtime));
  const std::string old = TextAt(document, key);
  if (!old.empty() && old != wanted.path) {
    notes.push_back(fmt::format("{} was \"{}\"", edit::Dotted(key), Printable(old)));
  }
  RETURN_IF_ERROR(document.Set(key, TextValue(wanted.path)));
  if (const auto args = doc::TextsOf(document.Find(runtime / "runtimeArgs")); !args.empty()) {
    notes.push_back(fmt::format("{} keeps its runtimeArgs: {}", edit::Dotted(runtime),
                                Printable(Join(args, " "))));
  }
  return OkStatus();
}

}  // namespace

StatusOr<TextEdit> EditDocker(const NamedText& file, const Settings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(Document document, Document::Open(file.text, file.path, TextKind::kJson));
  std::vector<std::string> notes;
  if (settings.runtime.has_value()) {
    RETURN_IF_ERROR(SetRuntime(document, *settings.runtime, notes));
  }
  if (settings.set_default && settings.runtime.has_value()) {
    NoteDefault(document.Find({"default-runtime"}), "default-runtime", settings.runtime->name,
                notes);
    RETURN_IF_ERROR(document.Set({"default-runtime"}, TextValue(settings.runtime->name)));
  }
  if (settings.cdi.has_value()) {
    RETURN_IF_ERROR(document.Set({"features", "cdi"}, *settings.cdi));
  }
  for (const std::string& registry : settings.insecure_registries) {
    RETURN_IF_ERROR(document.AddItem({"insecure-registries"}, registry));
  }
  for (const std::string& mirror : settings.registry_mirrors) {
    RETURN_IF_ERROR(document.AddItem({"registry-mirrors"}, mirror));
  }
  if (!settings.cdi_spec_dirs.empty()) {
    notes.emplace_back("docker: the CDI spec folders stay unchanged");
  }
  if (!settings.container_annotations.empty()) {
    notes.emplace_back("docker passes on all annotations: nothing to write");
  }
  return Finish(document, std::move(notes));
}

}  // namespace kgpu::engine

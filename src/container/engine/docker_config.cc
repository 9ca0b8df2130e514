// Docker's daemon.json. Keys and what dockerd makes of them: moby, daemon/config and
// daemon/runtime_unix.go.
#include <boost/json.hpp>

#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

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
      "{}: {} has runtimeType \"{}\", which takes no path: remove it, or give "
      "ours another name",
      document.Where(runtime / "runtimeType"), edit::Dotted(runtime), Printable(type, 60));
}

Status SetRuntime(Document& document, const NamedRuntime& wanted, std::vector<std::string>& notes) {
  if (wanted.name == "runc") {
    return InvalidArgument("docker keeps the runtime name runc for its own: choose another");
  }
  const Key runtime = {"runtimes", wanted.name};
  ASSIGN_OR_RETURN(const Key key, KeyOfPath(document, runtime));
  const std::string old = TextAt(document, key);
  if (!old.empty() && old != wanted.path) {
    notes.push_back(fmt::format("{} was \"{}\"", edit::Dotted(key), Printable(old)));
  }
  RETURN_IF_ERROR(document.Set(key, TextValue(wanted.path)));
  if (const auto args = Strings(document.Find(runtime / "runtimeArgs")); !args.empty()) {
    notes.push_back(fmt::format("{} keeps its runtimeArgs: {}", edit::Dotted(runtime),
                                Printable(Join(args, " "))));
  }
  return OkStatus();
}

}  // namespace

StatusOr<TextEdit> EditDocker(const NamedText& file, const Wish& wish) {
  RETURN_IF_ERROR(CheckWish(wish));
  ASSIGN_OR_RETURN(Document document, Document::Open(file.text, file.path, TextKind::kJson));
  std::vector<std::string> notes;
  if (wish.runtime.has_value()) {
    RETURN_IF_ERROR(SetRuntime(document, *wish.runtime, notes));
  }
  if (wish.set_default && wish.runtime.has_value()) {
    NoteDefault(document.Find({"default-runtime"}), "default-runtime", wish.runtime->name, notes);
    RETURN_IF_ERROR(document.Set({"default-runtime"}, TextValue(wish.runtime->name)));
  }
  if (wish.cdi.has_value()) {
    RETURN_IF_ERROR(document.Set({"features", "cdi"}, *wish.cdi));
  }
  for (const std::string& registry : wish.insecure_registries) {
    RETURN_IF_ERROR(document.AddItem({"insecure-registries"}, registry));
  }
  for (const std::string& mirror : wish.registry_mirrors) {
    RETURN_IF_ERROR(document.AddItem({"registry-mirrors"}, mirror));
  }
  if (!wish.cdi_spec_dirs.empty()) {
    notes.emplace_back("docker: the folders of CDI specs are left as they are");
  }
  if (!wish.container_annotations.empty()) {
    notes.emplace_back("docker hands on all annotations: nothing to write");
  }
  return Finish(document, std::move(notes));
}

}  // namespace kgpu::engine

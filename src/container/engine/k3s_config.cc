// The template from which k3s and RKE2 make containerd's configuration at every start. Its "base"
// is theirs and has all tables but ours. Source: k3s, pkg/agent/templates.
#include <boost/json.hpp>

#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/container/engine/containerd_cri.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

using edit::Document;
using edit::Key;

constexpr std::string_view kBase = "{{ template \"base\" . }}\n";

Status SetRuntime(Document& document, const Key& containerd, const NamedRuntime& wanted) {
  const Key ours = containerd / "runtimes" / wanted.name;
  RETURN_IF_ERROR(document.Set(ours / "runtime_type", TextValue(kRuncShim)));
  RETURN_IF_ERROR(document.Set(ours / "options" / "BinaryName", TextValue(wanted.path)));
  // k3s finds out at each start which cgroup driver it must use; its own runtimes get the same.
  const Key cgroup = ours / "options" / "SystemdCgroup";
  return document.Find(cgroup) != nullptr ? OkStatus()
                                          : document.SetRaw(cgroup, "{{ .SystemdCgroup }}");
}

}  // namespace

bool HasK3sBase(std::string_view text) {
  const size_t at = text.find("template \"base\"");
  return Trim(text).empty() ||
         (at != std::string_view::npos && text.rfind("{{", at) != std::string_view::npos);
}

StatusOr<TextEdit> EditK3sTemplate(const NamedText& file, int config_version,
                                   const Settings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(const Key table, CriTable(config_version));
  ASSIGN_OR_RETURN(Document document,
                   Document::Open(file.text, file.path, TextKind::kTomlTemplate));
  std::vector<std::string> notes;
  if (settings.cdi.has_value()) {
    notes.emplace_back("k3s and RKE2 configure CDI themselves: nothing to write");
  }
  if (!settings.runtime.has_value()) {
    return Finish(document, std::move(notes));
  }
  if (file.text.empty()) {
    RETURN_IF_ERROR(document.SetComment(fmt::format("{}{}", kOurComment, kBase)));
  }
  const Key containerd = table / "containerd";
  if (settings.set_default && HasK3sBase(document.text())) {
    return FailedPrecondition(
        "{}: k3s and RKE2 configure the default runtime themselves: set `default-runtime: {}` in "
        "/etc/rancher/k3s/config.yaml (or rke2) instead",
        file.path, settings.runtime->name);
  }
  if (settings.set_default) {
    RETURN_IF_ERROR(
        document.Set(containerd / "default_runtime_name", TextValue(settings.runtime->name)));
  }
  RETURN_IF_ERROR(SetRuntime(document, containerd, *settings.runtime));
  if (HasK3sBase(document.text())) {
    notes.push_back(fmt::format(
        "if nvidia-container-runtime is installed, k3s adds its own runtime nvidia, and a second "
        "table of that name prevents containerd from starting{}",
        settings.runtime->name == "nvidia" ? ": uninstall it, or use another name" : ""));
  }
  return Finish(document, std::move(notes));
}

}  // namespace kgpu::engine

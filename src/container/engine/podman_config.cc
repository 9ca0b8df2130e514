// A drop-in of containers.conf(5), which podman, buildah and CRI-O's tools read.
#include <boost/json.hpp>

#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::engine {

StatusOr<TextEdit> EditPodman(const NamedText& drop_in, const Settings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(edit::Document document,
                   edit::Document::Open(drop_in.text, drop_in.path, TextKind::kToml));
  std::vector<std::string> notes;
  if (!settings.runtime.has_value()) {
    notes.emplace_back("podman always supports CDI: nothing to write");
    return Finish(document, std::move(notes));
  }
  if (drop_in.text.empty()) {
    RETURN_IF_ERROR(document.SetComment(kOurComment));
  }
  const auto& [name, path] = *settings.runtime;
  if (settings.set_default) {
    RETURN_IF_ERROR(document.Set({"engine", "runtime"}, TextValue(name)));
  }
  RETURN_IF_ERROR(document.Set({"engine", "runtimes", name}, doc::Texts({path})));
  return Finish(document, std::move(notes));
}

}  // namespace kgpu::engine

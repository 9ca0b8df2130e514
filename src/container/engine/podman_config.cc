// A drop-in of containers.conf(5), which podman, buildah and CRI-O's tools read.
#include <boost/json.hpp>

#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::engine {

StatusOr<TextEdit> EditPodman(const NamedText& drop_in, const Wish& wish) {
  RETURN_IF_ERROR(CheckWish(wish));
  ASSIGN_OR_RETURN(edit::Document document,
                   edit::Document::Open(drop_in.text, drop_in.path, TextKind::kToml));
  std::vector<std::string> notes;
  if (!wish.runtime.has_value()) {
    notes.emplace_back("podman reads CDI by itself: nothing to write");
    return Finish(document, std::move(notes));
  }
  if (drop_in.text.empty()) {
    RETURN_IF_ERROR(document.SetComment(kOurComment));
  }
  const auto& [name, path] = *wish.runtime;
  if (wish.set_default) {
    RETURN_IF_ERROR(document.Set({"engine", "runtime"}, TextValue(name)));
  }
  RETURN_IF_ERROR(document.Set({"engine", "runtimes", name}, TextList({path})));
  return Finish(document, std::move(notes));
}

}  // namespace kgpu::engine

#include <algorithm>
#include <ranges>
#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::engine {

StatusOr<TextEdit> Revert(TextKind kind, const NamedText& file,
                          const std::vector<KeyChange>& changes) {
  ASSIGN_OR_RETURN(edit::Document document, edit::Document::Open(file.text, file.path, kind));
  TextEdit reverted;
  for (const KeyChange& change : std::views::reverse(changes)) {
    const StatusOr<bool> is_undone = document.TakeBack(change, reverted.notes);
    if (!is_undone.ok()) {
      // This key cannot be removed from what others wrote around it; the other keys still can be.
      reverted.notes.emplace_back(Message(is_undone.status()));
    } else if (*is_undone) {
      reverted.changes.push_back(change);
    }
  }
  reverted.text = document.text();
  return reverted;
}

}  // namespace kgpu::engine

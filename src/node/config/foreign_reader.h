// Shared by the converters of foreign configurations: a document, its errors, its notes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/foreign.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

class ForeignNotes {
 public:
  // Where a key belongs that people also write elsewhere: {"replicas", "sharing.timeSlicing"}.
  using Homes = std::span<const std::pair<std::string_view, std::string_view>>;

  explicit ForeignNotes(std::string_view file) : file_(file) {}

  // Of unknown keys; `homes` must outlive this.
  void SetHomes(Homes homes) { homes_ = homes; }

  // Reports at the key of `node`.
  template <typename... Args>
  void Add(Fate fate, const Node& node, fmt::format_string<Args...> format, Args&&... args) {
    AddText(fate, node, fmt::format(format, std::forward<Args>(args)...));
  }
  // Reports an unknown key, for Node::ForEachFieldLoosely.
  Node::Unknown ForUnknown();
  // Beside the errors of a file that cannot be converted: an unknown key may be why.
  void AddUnknownTo(Problems& problems) const;
  std::vector<Note> Take();

 private:
  struct Placed {
    doc::Position position;
    Note note;
    std::string text;  // of the note, without the position
  };
  void AddText(Fate fate, const Node& node, std::string_view text);

  std::string file_;
  Homes homes_;
  std::vector<Placed> notes_;
};

// Parses the text and calls `convert` with its root; returns the result with notes, or all errors.
StatusOr<Converted> ConvertForeign(
    std::string_view text, std::string_view file,
    const std::function<NodeConfig(const Node& root, ForeignNotes& notes)>& convert);

}  // namespace kgpu::config

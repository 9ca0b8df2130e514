// Shared by the converters of foreign configurations: a document, its errors, its notes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/foreign.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

class ForeignNotes {
 public:
  explicit ForeignNotes(std::string_view file) : file_(file) {}

  // Reports at the key of `node`.
  template <typename... Args>
  void Add(Fate fate, const Node& node, fmt::format_string<Args...> format, Args&&... args) {
    AddText(fate, node, fmt::format(format, std::forward<Args>(args)...));
  }
  // Reports an unknown key, for Node::ForEachFieldLoosely.
  Node::Unknown ForUnknown();
  std::vector<Note> Take();

 private:
  struct Placed {
    doc::Position position;
    Note note;
  };
  void AddText(Fate fate, const Node& node, std::string_view text);

  std::string file_;
  std::vector<Placed> notes_;
};

// Parses the text and calls `convert` with its root; returns the result with notes, or all errors.
StatusOr<Converted> ConvertForeign(
    std::string_view text, std::string_view file,
    const std::function<NodeConfig(const Node& root, ForeignNotes& notes)>& convert);

}  // namespace kgpu::config

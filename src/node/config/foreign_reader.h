// What the converters of foreign configurations share: a document, its errors, its notes.
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

  // At the key of `node`.
  template <typename... Args>
  void Add(Fate fate, const Node& node, fmt::format_string<Args...> format, Args&&... args) {
    AddText(fate, node, fmt::format(format, std::forward<Args>(args)...));
  }
  // An unknown key, for Node::ForEachFieldLoosely.
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

// Reads the text and calls `convert` with its root; the result with notes, or every error.
StatusOr<Converted> ConvertForeign(
    std::string_view text, std::string_view file,
    const std::function<NodeConfig(const Node& root, ForeignNotes& notes)>& convert);

}  // namespace kgpu::config

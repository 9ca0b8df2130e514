#include "src/container/oci/outline.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "src/platform/doc/json_cursor.h"

namespace kgpu::oci {
namespace {

struct Path {
  size_t length = 0;
  std::array<std::string_view, 3> names;
};

constexpr std::array<Path, 9> kKept = {{
    {2, {"process", "env"}},
    {2, {"process", "user"}},
    {1, {"mounts"}},
    {1, {"hooks"}},
    {1, {"annotations"}},
    {2, {"linux", "namespaces"}},
    {2, {"linux", "devices"}},
    {2, {"linux", "netDevices"}},
    {3, {"linux", "resources", "devices"}},
}};

using Paths = std::vector<const Path*>;

Paths Below(const Paths& paths, size_t depth, std::string_view key) {
  Paths found;
  std::ranges::copy_if(paths, std::back_inserter(found),
                       [&](const Path* path) { return path->names.at(depth) == key; });
  return found;
}

class Outliner {
 public:
  explicit Outliner(std::string_view text) : text_(text), cursor_(text) {}

  std::optional<std::string> Run() {
    Paths all;
    for (const Path& path : kKept) {
      all.push_back(&path);
    }
    cursor_.SkipBlanks();
    if (!Object(all, 0)) {
      return std::nullopt;
    }
    cursor_.SkipBlanks();
    return cursor_.AtEnd() ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  // False when something other than an object is here.
  bool Object(const Paths& paths, size_t depth) {
    if (!cursor_.Take('{')) {
      return false;
    }
    out_ += '{';
    bool is_first = true;
    if (cursor_.Here() != '}') {
      do {
        if (!Member(paths, depth, is_first)) {
          return false;
        }
      } while (cursor_.Take(','));
    }
    out_ += '}';
    if (cursor_.Here() != '}') {
      return false;
    }
    cursor_.Step();
    return true;
  }

  bool Member(const Paths& paths, size_t depth, bool& is_first) {
    if (cursor_.Here() != '"') {
      return false;
    }
    const std::string_view key = cursor_.SkipString();
    if (key.find('\\') != std::string_view::npos || !cursor_.Take(':')) {
      return false;
    }
    const Paths inside = Below(paths, depth, key);
    const size_t begin = cursor_.at();
    if (inside.empty()) {
      cursor_.SkipValue();
      return cursor_.at() > begin;
    }
    out_ += is_first ? "\"" : ",\"";
    is_first = false;
    out_ += key;
    out_ += "\":";
    if (cursor_.Here() == '{' && inside.front()->length > depth + 1) {
      return Object(inside, depth + 1);
    }
    cursor_.SkipValue();
    out_ += text_.substr(begin, cursor_.at() - begin);
    return cursor_.at() > begin;
  }

  std::string_view text_;
  doc::JsonCursor cursor_;
  std::string out_;
};

}  // namespace

std::optional<std::string> Outline(std::string_view text) {
  return Outliner(text).Run();
}

}  // namespace kgpu::oci

#include "src/diagnose/manifest/splice.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

size_t IndentOf(std::string_view line) {
  const size_t at = line.find_first_not_of(' ');
  return at == std::string_view::npos ? line.size() : at;
}

// Blank, or nothing but a comment.
bool IsEmptyLine(std::string_view line) {
  const std::string_view text = Trim(line);
  return text.empty() || text.starts_with('#');
}

bool IsItemAt(std::string_view line, size_t column) {
  return IndentOf(line) == column && line.substr(column).starts_with('-') &&
         (line.size() == column + 1 || line[column + 1] == ' ');
}

// Lines of a text, and the block that a field or an item takes in them.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    const std::vector<std::string_view> lines = Split(text, '\n');
    lines_.assign(lines.begin(), lines.end());
    ends_with_newline_ = !lines_.empty() && lines_.back().empty();
    if (ends_with_newline_) {
      lines_.pop_back();
    }
  }

  struct Block {
    size_t first = 0;
    size_t end = 0;     // the line after its last
    size_t column = 0;  // of its first byte, after the dash of an item
    std::string head;   // the text before it: blanks, or blanks and a dash
  };

  // The block of a field in a block map; nothing for one within braces.
  std::optional<Block> BlockOfField(const doc::Place& place, const json::value& value) const {
    auto block = Begin(place.key);
    if (!block) {
      return std::nullopt;
    }
    // The items of a list may stand below its key, at the same column.
    const bool has_items_below = value.is_array() && place.value.column == place.key.column &&
                                 place.value.line > place.key.line;
    block->end = EndOf(block->first, block->column, has_items_below);
    return block;
  }

  // The block of an item in a block list: its column is that of the dash.
  std::optional<Block> BlockOfItem(const doc::Place& place) const {
    auto block = Begin(place.value);
    if (!block || block->head.find('-') == std::string::npos) {
      return std::nullopt;
    }
    block->column = block->head.rfind('-');
    block->head.resize(block->column);
    block->end = EndOf(block->first, block->column, false);
    return block;
  }

  std::string& at(size_t line) { return lines_.at(line); }
  size_t size() const { return lines_.size(); }
  void Erase(size_t first, size_t end) {
    lines_.erase(lines_.begin() + static_cast<ptrdiff_t>(first),
                 lines_.begin() + static_cast<ptrdiff_t>(end));
  }
  void Insert(size_t at, const std::vector<std::string>& more) {
    lines_.insert(lines_.begin() + static_cast<ptrdiff_t>(at), more.begin(), more.end());
  }
  std::string Joined() const { return Join(lines_, "\n") + (ends_with_newline_ ? "\n" : ""); }

 private:
  std::optional<Block> Begin(const doc::Position& position) const {
    if (position.line == 0 || position.line > lines_.size() || position.column == 0) {
      return std::nullopt;
    }
    const std::string& line = lines_[position.line - 1];
    Block block{position.line - 1, position.line, position.column - 1, ""};
    if (block.column > line.size()) {
      return std::nullopt;
    }
    block.head = line.substr(0, block.column);
    const bool is_block = block.head.find_first_not_of(" -") == std::string::npos;
    return is_block ? std::optional(block) : std::nullopt;
  }

  // Where the block that begins in `first` at `column` ends: comments that stand no deeper than the
  // next thing belong to that.
  size_t EndOf(size_t first, size_t column, bool has_items) const {
    size_t end = first + 1;
    for (size_t i = first + 1; i < lines_.size(); ++i) {
      if (IsEmptyLine(lines_[i])) {
        continue;
      }
      const bool is_within =
          IndentOf(lines_[i]) > column || (has_items && IsItemAt(lines_[i], column));
      if (!is_within) {
        break;
      }
      end = i + 1;
    }
    return end;
  }

  std::vector<std::string> lines_;
  bool ends_with_newline_ = false;
};

using Block = Lines::Block;

// Where a scalar or a key that begins at `at` ends.
size_t TokenEnd(std::string_view line, size_t at, bool is_within_brackets) {
  if (at >= line.size()) {
    return at;
  }
  if (line[at] == '"' || line[at] == '\'') {
    const char quote = line[at];
    for (size_t i = at + 1; i < line.size(); ++i) {
      if (line[i] == '\\' && quote == '"') {
        ++i;
      } else if (line[i] == quote) {
        return i + 1;
      }
    }
    return line.size();
  }
  size_t end = at;
  while (end < line.size()) {
    const std::string_view rest = line.substr(end);
    const bool is_bracket = rest.starts_with(',') || rest.starts_with('}') || rest.starts_with(']');
    if (rest.starts_with(": ") || rest == ":" || rest.starts_with(" #") || rest.starts_with("\r") ||
        (is_bracket && is_within_brackets)) {
      break;
    }
    ++end;
  }
  while (end > at && line[end - 1] == ' ') {
    --end;
  }
  return end;
}

std::string_view WithoutNewline(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// "nvidia.com/gpu", "\"1\"": a scalar or a key as YAML.
std::string ScalarText(const json::value& value) {
  const std::string text = doc::Print(value, doc::Format::kYaml);
  return std::string(WithoutNewline(text));
}

// "key: …", each line indented but the first.
std::vector<std::string> FieldText(std::string_view key, const json::value& value, size_t column,
                                   std::string_view head) {
  json::object field;
  field.emplace(json::string_view(key.data(), key.size()), value);
  const std::string text = doc::Print(field, doc::Format::kYaml);
  std::vector<std::string> lines;
  for (const std::string_view line : Split(WithoutNewline(text), '\n')) {
    lines.push_back(lines.empty() ? fmt::format("{}{}", head, line)
                                  : fmt::format("{}{}", std::string(column, ' '), line));
  }
  return lines;
}

class Splicer {
 public:
  Splicer(std::string_view text, const doc::Located& located, bool is_within_brackets)
      : lines_(text), located_(located), is_within_brackets_(is_within_brackets) {}

  std::optional<std::string> Make(std::span<const Change> changes) {
    for (const Change& change : changes) {
      if (change.path.empty() || !Do(change)) {
        return std::nullopt;
      }
    }
    return lines_.Joined();
  }

 private:
  bool Do(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kSet:
        return Set(change);
      case Change::Kind::kRename:
        return Rename(change);
      case Change::Kind::kRemove:
        break;
    }
    return Remove(change.path);
  }

  bool Set(const Change& change) {
    const json::value* old = Find(located_.root, change.path);
    if (old == nullptr) {
      return Add(change);
    }
    const bool is_scalar =
        !old->is_structured() && !old->is_null() && !change.value.is_structured();
    const doc::Place* place = FindPlace(located_, change.path);
    if (place == nullptr) {
      return false;
    }
    return is_scalar ? SetToken(place->value, ScalarText(change.value)) : Replace(change, *place);
  }

  bool SetToken(const doc::Position& position, const std::string& token) {
    if (position.line == 0 || position.line > lines_.size()) {
      return false;
    }
    std::string& line = lines_.at(position.line - 1);
    const size_t at = position.column - 1;
    if (at >= line.size()) {
      return false;
    }
    line.replace(at, TokenEnd(line, at, is_within_brackets_) - at, token);
    return true;
  }

  bool Replace(const Change& change, const doc::Place& place) {
    if (change.path.last().is_index) {
      return false;
    }
    const json::value* old = Find(located_.root, change.path);
    const auto block = lines_.BlockOfField(place, *old);
    if (!block) {
      return false;
    }
    lines_.Erase(block->first, block->end);
    lines_.Insert(block->first,
                  FieldText(change.path.last().key, change.value, block->column, block->head));
    return true;
  }

  // Behind the last field of its map.
  bool Add(const Change& change) {
    const Path parent = change.path.Parent();
    const json::value* map = Find(located_.root, parent);
    const json::object* fields = map == nullptr ? nullptr : map->if_object();
    if (change.path.last().is_index || fields == nullptr || fields->empty()) {
      return false;
    }
    const auto& last = *std::prev(fields->end());
    const std::string_view key(last.key().data(), last.key().size());
    const doc::Place* place = FindPlace(located_, parent.Key(key));
    const auto block = place == nullptr ? std::nullopt : lines_.BlockOfField(*place, last.value());
    if (!block) {
      return false;
    }
    const std::string head(block->column, ' ');
    lines_.Insert(block->end, FieldText(change.path.last().key, change.value, block->column, head));
    return true;
  }

  bool Rename(const Change& change) {
    const doc::Place* place = FindPlace(located_, change.path);
    return place != nullptr && !change.path.last().is_index &&
           SetToken(place->key, ScalarText(json::value(change.key)));
  }

  bool Remove(const Path& path) {
    const doc::Place* place = FindPlace(located_, path);
    const json::value* value = Find(located_.root, path);
    if (place == nullptr || value == nullptr) {
      return false;
    }
    const auto block =
        path.last().is_index ? lines_.BlockOfItem(*place) : lines_.BlockOfField(*place, *value);
    if (!block) {
      return false;
    }
    lines_.Erase(block->first, block->end);
    // The dash before the first field of an item goes before the next field.
    if (block->head.find('-') != std::string::npos) {
      size_t next = block->first;
      while (next < lines_.size() && IsEmptyLine(lines_.at(next))) {
        ++next;
      }
      if (next == lines_.size() || IndentOf(lines_.at(next)) != block->column) {
        return false;
      }
      lines_.at(next).replace(0, block->column, block->head);
    }
    return true;
  }

  Lines lines_;
  const doc::Located& located_;
  bool is_within_brackets_;
};

}  // namespace

std::optional<std::string> Splice(std::string_view text, const doc::Located& located,
                                  std::span<const Change> changes, bool is_within_brackets) {
  return Splicer(text, located, is_within_brackets).Make(changes);
}

}  // namespace kgpu::manifest

#include <boost/json.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_cursor.h"
#include "src/platform/edit/layout.h"

namespace kgpu::edit {
namespace {

struct Node {
  enum class Kind : uint8_t { kScalar, kObject, kList };
  Kind kind = Kind::kScalar;
  Span raw;
  Span key;  // of an object's member, quotes included; else empty
  std::string name;
  std::vector<Node> children;

  size_t Begin() const { return key.end > 0 ? key.begin : raw.begin; }
};

std::string NameOf(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) {
    return std::string(raw.size() < 2 ? raw : raw.substr(1, raw.size() - 2));
  }
  boost::json::error_code error;
  const boost::json::value name = boost::json::parse({raw.data(), raw.size()}, error);
  return !error && name.is_string() ? std::string(name.get_string()) : std::string();
}

// For a text that is valid JSON. doc::Place knows where values begin, not where they end.
Node ReadNode(std::string_view text, doc::JsonCursor& cursor) {
  cursor.SkipBlanks();
  Node node;
  node.raw.begin = cursor.at();
  if (cursor.Here() == '{' || cursor.Here() == '[') {
    node.kind = cursor.Here() == '{' ? Node::Kind::kObject : Node::Kind::kList;
  }
  cursor.Walk([&](std::string_view key) {
    Node child = ReadNode(text, cursor);
    if (node.kind == Node::Kind::kObject) {
      child.key.begin = static_cast<size_t>(key.data() - text.data());
      child.key.end = child.key.begin + key.size();
      child.name = NameOf(key);
    }
    node.children.push_back(std::move(child));
  });
  node.raw.end = cursor.at();
  return node;
}

std::string Quoted(const std::string& name) {
  return boost::json::serialize(boost::json::string(name));
}

class JsonTextLayout : public Layout {
 public:
  explicit JsonTextLayout(std::string_view text) : text_(text), line_end_(LineEndOf(text)) {
    if (!IsBlank(text_.substr(TextStart(text_)))) {
      doc::JsonCursor cursor(text_, TextStart(text_));
      root_ = ReadNode(text_, cursor);
    }
  }

  std::optional<Span> ValueAt(const Key& key) const override {
    const Node* node = Find(key);
    return node == nullptr ? std::nullopt : std::optional(node->raw);
  }

  std::optional<Span> ItemAt(const Key& list, size_t index) const override {
    const Node* node = Find(list);
    if (node == nullptr || index >= node->children.size()) {
      return std::nullopt;
    }
    return node->children[index].raw;
  }

  std::optional<Span> TableAt(const Key& key) const override { return ValueAt(key); }

  bool IsEmptyTable(const Key& key) const override {
    const Node* node = Find(key);
    return node != nullptr && node->kind != Node::Kind::kScalar && node->children.empty();
  }

  size_t Nearest(const Key& key) const override {
    Key known = key;
    const Node* node = Find(known);
    while (node == nullptr && !known.empty()) {
      known.pop_back();
      node = Find(known);
    }
    return node == nullptr ? TextStart(text_) : node->Begin();
  }

  std::optional<Key> MissingTable(const Key& key) const override {
    for (size_t count = 0; count < key.size(); ++count) {
      Key table(key.begin(), key.begin() + static_cast<ptrdiff_t>(count));
      if (Find(table) == nullptr) {
        return table;
      }
    }
    return std::nullopt;
  }

  StatusOr<Splice> InsertTable(const Key& key) const override {
    if (!key.empty()) {
      return InsertValue(key, "{}");
    }
    const size_t start = TextStart(text_);
    return Splice{.at = start,
                  .length = text_.size() - start,
                  .inserted = fmt::format("{{}}{}", line_end_),
                  .after = "{}",
                  .offset = 0};
  }

  StatusOr<Splice> InsertValue(const Key& key, const std::string& raw) const override {
    const Key parent(key.begin(), key.end() - 1);
    const Node* object = Find(parent);
    if (object == nullptr || object->kind != Node::Kind::kObject) {
      return FailedPrecondition("{} is not an object", Dotted(parent));
    }
    const std::string lead = Quoted(key.back()) + Colon(*object);
    return Insert(*object, IsInline(parent), lead, raw);
  }

  StatusOr<Splice> InsertItem(const Key& list, const std::string& raw) const override {
    const Node* node = Find(list);
    if (node == nullptr || node->kind != Node::Kind::kList) {
      return FailedPrecondition("{} is not a list", Dotted(list));
    }
    return Insert(*node, true, "", raw);
  }

  Splice RemoveValue(const Key& key) const override {
    const Node& parent = *Find(Key(key.begin(), key.end() - 1));
    const auto child = std::ranges::find(parent.children, key.back(), &Node::name);
    return RemoveChild(parent, static_cast<size_t>(child - parent.children.begin()));
  }

  Splice RemoveItem(const Key& list, size_t index) const override {
    return RemoveChild(*Find(list), index);
  }

  Splice RemoveTable(const Key& key) const override {
    if (!key.empty()) {
      return RemoveValue(key);
    }
    const size_t start = TextStart(text_);
    return {.at = start, .length = text_.size() - start, .inserted = {}, .after = {}};
  }

 private:
  const Node* Find(const Key& key) const {
    const Node* node = root_.has_value() ? &*root_ : nullptr;
    for (const std::string& name : key) {
      if (node == nullptr || node->kind != Node::Kind::kObject) {
        return nullptr;
      }
      const auto child = std::ranges::find(node->children, name, &Node::name);
      node = child == node->children.end() ? nullptr : &*child;
    }
    return node;
  }

  std::string_view Between(size_t begin, size_t end) const {
    return text_.substr(begin, end - begin);
  }

  static bool HasLineEnd(std::string_view text) { return text.find('\n') != std::string::npos; }

  bool StartsOnLineOfFirstChild(const Node& node) const {
    return !node.children.empty() &&
           !HasLineEnd(Between(node.raw.begin, node.children.front().Begin()));
  }

  // Whether an empty object at `key` shall get its members on its own line: when its parent has.
  bool IsInline(const Key& key) const {
    return !key.empty() && StartsOnLineOfFirstChild(*Find(Key(key.begin(), key.end() - 1)));
  }

  // The text between a key and its value in this object, or else in this file.
  std::string Colon(const Node& object) const {
    for (const Node* node : {&object, Find({})}) {
      if (node == nullptr || node->children.empty() || node->kind != Node::Kind::kObject) {
        continue;
      }
      const Node& child = node->children.front();
      const std::string_view colon = Between(child.key.end, child.raw.begin);
      if (!HasLineEnd(colon)) {
        return std::string(colon);
      }
    }
    return ": ";
  }

  // The text between two children of `parent`, which has at least one.
  std::string Separator(const Node& parent) const {
    const std::vector<Node>& children = parent.children;
    const Node& last = children.back();
    const std::string own_line = fmt::format(",{}{}", line_end_, Indent(text_, last.Begin()));
    if (children.size() > 1) {
      const std::string_view usual = Between(children[children.size() - 2].raw.end, last.Begin());
      return std::ranges::count(usual, '\n') > 1 ? own_line : std::string(usual);
    }
    if (!StartsOnLineOfFirstChild(parent)) {
      return own_line;
    }
    const bool is_compact = last.key.end > 0 && last.raw.begin == last.key.end + 1;
    return is_compact ? "," : ", ";
  }

  // One step of indentation.
  std::string Unit() const {
    const Node* root = Find({});
    if (root == nullptr || root->children.empty() || StartsOnLineOfFirstChild(*root)) {
      return "    ";
    }
    return std::string(Indent(text_, root->children.front().Begin()));
  }

  Splice Insert(const Node& parent, bool is_inline, const std::string& lead,
                const std::string& raw) const {
    Splice splice;
    splice.after = raw;
    if (!parent.children.empty()) {
      splice.at = parent.children.back().raw.end;
      splice.inserted = Separator(parent) + lead;
      splice.offset = splice.inserted.size();
      splice.inserted += raw;
      return splice;
    }
    splice.at = parent.raw.begin + 1;
    splice.length = parent.raw.end - 1 - splice.at;
    const std::string_view indent = Indent(text_, parent.raw.begin);
    if (!is_inline) {
      splice.inserted = fmt::format("{}{}{}", line_end_, indent, Unit());
    }
    splice.inserted += lead;
    splice.offset = splice.inserted.size();
    splice.inserted += raw;
    if (!is_inline) {
      splice.inserted += fmt::format("{}{}", line_end_, indent);
    }
    return splice;
  }

  Splice RemoveChild(const Node& parent, size_t index) const {
    const std::vector<Node>& children = parent.children;
    Span gone = {.begin = children[index].Begin(), .end = children[index].raw.end};
    if (children.size() == 1) {
      gone = {.begin = parent.raw.begin + 1, .end = parent.raw.end - 1};
    } else if (index + 1 < children.size()) {
      gone.end = children[index + 1].Begin();
    } else {
      gone.begin = children[index - 1].raw.end;
    }
    return {.at = gone.begin, .length = gone.end - gone.begin, .inserted = {}, .after = {}};
  }

  std::string_view text_;
  std::string_view line_end_;
  std::optional<Node> root_;
};

}  // namespace

std::unique_ptr<Layout> JsonLayout(std::string_view text) {
  return std::make_unique<JsonTextLayout>(text);
}

}  // namespace kgpu::edit

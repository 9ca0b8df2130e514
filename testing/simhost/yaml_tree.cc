#include "testing/simhost/yaml_tree.h"

#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "src/platform/base/strings.h"

namespace kgpu::simhost {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 10;
constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxValues = 20'000;

Status ErrorAt(std::string_view file, YamlPosition at, std::string_view problem) {
  return InvalidArgument("{}:{}:{}: {}", file, at.line, at.column, problem);
}

YamlPosition PositionOf(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

// Builds our tree from the parser's events. After the first error it ignores what follows.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Fail(mark, "a second document begins here; keep one per file");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, YamlValue::Kind::kNull, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "aliases (*name) are not allowed; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    Add(mark, anchor, YamlValue::Kind::kScalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, YamlValue::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, YamlValue::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  bool has_failed() const { return !status_.ok(); }
  StatusOr<YamlValue> Take() {
    if (!status_.ok()) {
      return status_;
    }
    return std::move(root_);
  }

 private:
  // A collection that is still being filled, and the key that awaits its value.
  struct Frame {
    YamlValue value;
    std::optional<YamlValue> key;
  };

  void Fail(const YAML::Mark& mark, std::string_view problem) {
    if (status_.ok()) {
      status_ = ErrorAt(file_, PositionOf(mark), problem);
    }
  }

  bool Accepts(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
      Fail(mark, "anchors (&name) are not allowed; write the value out");
    }
    if (++values_ > kMaxValues) {
      Fail(mark, fmt::format("more than {} values", kMaxValues));
    }
    if (stack_.size() > kMaxDepth) {
      Fail(mark, fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    return status_.ok();
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlValue::Kind kind,
           const std::string& scalar) {
    if (Accepts(mark, anchor)) {
      Store({kind, PositionOf(mark), scalar, {}, {}});
    }
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlValue::Kind kind) {
    if (Accepts(mark, anchor)) {
      stack_.push_back({{kind, PositionOf(mark), {}, {}, {}}, std::nullopt});
    }
  }

  void Close() {
    if (!status_.ok() || stack_.empty()) {
      return;
    }
    YamlValue done = std::move(stack_.back().value);
    stack_.pop_back();
    Store(std::move(done));
  }

  void Store(YamlValue value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& parent = stack_.back();
    if (parent.value.kind == YamlValue::Kind::kList) {
      parent.value.items.push_back(std::move(value));
    } else if (parent.key) {
      parent.value.fields.push_back({*std::move(parent.key), std::move(value)});
      parent.key.reset();
    } else {
      StoreKey(parent, std::move(value));
    }
  }

  void StoreKey(Frame& map, YamlValue key) {
    if (key.kind != YamlValue::Kind::kScalar) {
      status_ = ErrorAt(file_, key.at, "a key must be a plain word");
      return;
    }
    for (const auto& [earlier, unused] : map.value.fields) {
      if (earlier.scalar == key.scalar) {
        status_ = ErrorAt(file_, key.at,
                          fmt::format("{}: stands here twice (first in line {}); "
                                      "remove one",
                                      Printable(key.scalar), earlier.at.line));
        return;
      }
    }
    map.key = std::move(key);
  }

  std::string_view file_;
  std::vector<Frame> stack_;
  YamlValue root_;
  Status status_;
  size_t values_ = 0;
  int documents_ = 0;
};

// yaml-cpp throws; nothing leaves this function but a status.
StatusOr<YamlValue> ParseGuarded(std::string_view text, std::string_view file) {
  TreeBuilder builder(file);
  try {
    std::istringstream input{std::string(text)};
    YAML::Parser parser(input);
    while (!builder.has_failed() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    if (builder.has_failed()) {
      return builder.Take();  // the parser only stumbled later
    }
    return ErrorAt(file, PositionOf(exception.mark), exception.msg);
  }
  return builder.Take();
}

std::string_view KindName(YamlValue::Kind kind) {
  switch (kind) {
    case YamlValue::Kind::kNull:
      return "nothing";
    case YamlValue::Kind::kScalar:
      return "a single value";
    case YamlValue::Kind::kList:
      return "a list";
    case YamlValue::Kind::kMap:
      break;
  }
  return "a map";
}

std::string Quoted(std::string_view text) {
  return fmt::format("\"{}\"", Printable(text, 60));
}

}  // namespace

StatusOr<YamlValue> ParseYaml(std::string_view text, std::string_view file) {
  if (text.size() > kMaxBytes) {
    return InvalidArgument("{}: {} bytes are more than the {} allowed", file, text.size(),
                           kMaxBytes);
  }
  return ParseGuarded(text, file);
}

YamlMapReader::YamlMapReader(const YamlValue& map, std::string_view file, std::string path)
    : map_(map), file_(file), path_(std::move(path)) {
  if (map.kind != YamlValue::Kind::kMap) {
    status_ = ErrorAt(file_, map.at,
                      fmt::format("{}: {} where a map (key: value) must stand",
                                  path_.empty() ? "file" : path_, KindName(map.kind)));
  }
}

std::string YamlMapReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void YamlMapReader::Fail(const YamlValue& value, std::string_view name, std::string_view problem) {
  if (status_.ok()) {
    status_ = ErrorAt(file_, value.at, fmt::format("{}: {}", PathOf(name), problem));
  }
}

void YamlMapReader::Adopt(const Status& status) {
  if (status_.ok()) {
    status_ = status;
  }
}

const YamlValue* YamlMapReader::Find(std::string_view name, bool is_required) {
  known_.push_back(name);
  if (!status_.ok()) {
    return nullptr;
  }
  for (const auto& [key, value] : map_.fields) {
    if (key.scalar == name) {
      return &value;
    }
  }
  if (is_required && missing_.ok()) {
    missing_ = ErrorAt(file_, map_.at, fmt::format("{}: is missing; add it", PathOf(name)));
  }
  return nullptr;
}

const YamlValue* YamlMapReader::Child(std::string_view name, YamlValue::Kind kind,
                                      bool is_required) {
  const YamlValue* value = Find(name, is_required);
  if (value != nullptr && value->kind != kind) {
    Fail(*value, name,
         fmt::format("{} where {} must stand", KindName(value->kind), KindName(kind)));
    return nullptr;
  }
  return value;
}

const YamlValue* YamlMapReader::FindScalar(std::string_view name, bool is_required) {
  return Child(name, YamlValue::Kind::kScalar, is_required);
}

void YamlMapReader::Text(std::string_view name, std::string& out) {
  if (const YamlValue* value = FindScalar(name, true); value != nullptr) {
    out = value->scalar;
    if (out.empty() || out.size() > 200 || Printable(out) != out) {
      Fail(*value, name, fmt::format("{} must be 1 to 200 printable characters", Quoted(out)));
    }
  }
}

void YamlMapReader::OptionalText(std::string_view name, std::string& out) {
  const auto is_named = [name](const auto& field) { return field.key.scalar == name; };
  if (std::ranges::any_of(map_.fields, is_named)) {
    Text(name, out);
  } else {
    known_.push_back(name);
  }
}

void YamlMapReader::OptionalFlag(std::string_view name, bool& out) {
  if (const YamlValue* value = FindScalar(name, false); value != nullptr) {
    if (value->scalar != "true" && value->scalar != "false") {
      Fail(*value, name, fmt::format("{} must be true or false", Quoted(value->scalar)));
      return;
    }
    out = value->scalar == "true";
  }
}

void YamlMapReader::Choice(std::string_view name, const std::vector<std::string_view>& words,
                           size_t& out) {
  const YamlValue* value = FindScalar(name, true);
  if (value == nullptr) {
    return;
  }
  const auto found = std::ranges::find(words, value->scalar);
  if (found == words.end()) {
    Fail(*value, name,
         fmt::format("{} must be one of {}", Quoted(value->scalar), fmt::join(words, ", ")));
    return;
  }
  out = static_cast<size_t>(found - words.begin());
}

uint64_t YamlMapReader::ReadNumber(std::string_view name, uint64_t least, uint64_t most,
                                   bool is_required, uint64_t fallback) {
  const YamlValue* value = FindScalar(name, is_required);
  if (value == nullptr) {
    return fallback;
  }
  const bool is_hex = value->scalar.starts_with("0x");
  const std::optional<uint64_t> number = ParseUint(value->scalar, is_hex ? 16 : 10);
  if (!number || *number < least || *number > most) {
    Fail(
        *value, name,
        fmt::format("{} must be a whole number from {} to {}", Quoted(value->scalar), least, most));
    return fallback;
  }
  return *number;
}

void YamlMapReader::OptionalTexts(std::string_view name, std::vector<std::string>& out) {
  const YamlValue* list = Child(name, YamlValue::Kind::kList, false);
  if (list == nullptr) {
    return;
  }
  for (const YamlValue& item : list->items) {
    if (item.kind != YamlValue::Kind::kScalar) {
      Fail(item, name, fmt::format("{} where a word must stand", KindName(item.kind)));
      return;
    }
    out.push_back(item.scalar);
  }
}

Status YamlMapReader::Finish() {
  if (!status_.ok()) {
    return status_;
  }
  for (const auto& [key, value] : map_.fields) {
    if (std::ranges::find(known_, key.scalar) != known_.end()) {
      continue;
    }
    std::string problem = "is not a known key; remove it";
    if (const auto nearest = Nearest(key.scalar, known_); nearest) {
      problem = fmt::format("is not a known key; did you mean \"{}\"?", *nearest);
    }
    return ErrorAt(file_, key.at,
                   fmt::format("{}: {}", PathOf(Printable(key.scalar, 60)), problem));
  }
  return missing_;
}

}  // namespace kgpu::simhost

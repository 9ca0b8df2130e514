// Reads the notation of schema_text.h.
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/apiserver/schema.h"

namespace kgpu::apiserver {

class SchemaTextReader {
 public:
  explicit SchemaTextReader(SchemaSet& set) : set_(set) {}

  Status Read(std::string_view text) {
    // Structs first: a field may name one that comes later.
    RETURN_IF_ERROR(ForEachLine(text, [&](std::string_view line) { return Declare(line); }));
    RETURN_IF_ERROR(ForEachLine(text, [&](std::string_view line) { return Define(line); }));
    for (const auto& [copy, original] : copies_) {
      copy->fields = original->fields;
    }
    return OkStatus();
  }

 private:
  struct Line {
    std::string_view code;
    std::string_view description;
  };

  static Line Parse(std::string_view line) {
    const size_t dashes = line.find(" -- ");
    return dashes == std::string_view::npos ? Line{.code = Trim(line), .description = ""}
                                            : Line{.code = Trim(line.substr(0, dashes)),
                                                   .description = Trim(line.substr(dashes + 4))};
  }

  template <typename Use>
  Status ForEachLine(std::string_view text, Use use) {
    package_.clear();
    for (const std::string_view line : Split(text, '\n')) {
      if (Trim(line).empty()) {
        continue;
      }
      if (line.starts_with('@')) {
        package_ = Trim(line.substr(1));
        continue;
      }
      if (const Status status = use(line); !status.ok()) {
        return Annotate(status, "schema \"{}\"", line);
      }
    }
    return OkStatus();
  }

  static bool IsStruct(std::string_view line) { return !line.starts_with(' '); }
  static std::string_view NameOf(std::string_view word) { return word.substr(0, word.find('!')); }
  // A text, or JSON where the type is another one.
  static std::string DefaultOf(std::string_view text, const Schema& schema) {
    const bool is_text = schema.kind == SchemaKind::kString ||
                         (schema.kind == SchemaKind::kIntOrString && !ParseUint(text));
    return is_text ? fmt::format("\"{}\"", text) : std::string(text);
  }

  Status Declare(std::string_view line) {
    if (!IsStruct(line)) {
      return OkStatus();
    }
    const Line parts = Parse(line);
    const std::vector<std::string_view> words = Words(parts.code);
    Schema& schema = set_.Make();
    schema.kind = SchemaKind::kStruct;
    schema.is_open = words[0].ends_with('!');
    schema.name = fmt::format("{}.{}", package_, NameOf(words[0]));
    schema.description = parts.description;
    for (size_t i = 1; i < words.size(); ++i) {
      RETURN_IF_ERROR(ReadFlag(words[i], schema));
    }
    if (!set_.structs_.emplace(schema.name, &schema).second) {
      return Internal("a second struct of that name");
    }
    return OkStatus();
  }

  Status Define(std::string_view line) {
    const Line parts = Parse(line);
    if (IsStruct(line)) {
      const std::string_view name = NameOf(Words(parts.code)[0]);
      current_ = set_.structs_.find(fmt::format("{}.{}", package_, name))->second;
      return OkStatus();
    }
    const std::vector<std::string_view> words = Words(parts.code);
    if (words.size() < 2 || current_ == nullptr) {
      return Internal("must be: field type flags");
    }
    ASSIGN_OR_RETURN(const Schema* type, Type(words[1]));
    if (words.size() > 2 || !parts.description.empty()) {
      Schema& own = set_.Make();
      own = *type;
      copies_.emplace_back(&own, type);
      if (!parts.description.empty()) {
        own.description = parts.description;
      }
      for (size_t i = 2; i < words.size(); ++i) {
        RETURN_IF_ERROR(ReadFlag(words[i], own));
      }
      type = &own;
    }
    current_->fields.emplace_back(words[0], type);
    return OkStatus();
  }

  static Status ReadFlag(std::string_view flag, Schema& schema) {
    if (flag == "atomic") {
      schema.is_atomic = true;
      schema.list_type = ListType::kAtomic;
    } else if (flag == "set") {
      schema.list_type = ListType::kSet;
    } else if (flag == "merge") {
      schema.merges = true;
    } else if (flag.starts_with("merge=")) {
      schema.merges = true;
      schema.merge_key = flag.substr(6);
    } else if (flag.starts_with("default=")) {
      schema.default_json = DefaultOf(flag.substr(8), schema);
    } else if (flag.starts_with("map=")) {
      schema.list_type = ListType::kMap;
      for (const std::string_view key : Split(flag.substr(4), ',')) {
        const size_t colon = key.find(':');
        schema.keys.emplace_back(key.substr(0, colon), std::nullopt);
        if (colon != std::string_view::npos) {
          schema.keys.back().second = key.substr(colon + 1);
        }
      }
    } else {
      return Internal("unknown flag {}", flag);
    }
    return OkStatus();
  }

  StatusOr<const Schema*> Type(std::string_view type) {
    const bool is_list = type.starts_with("[]");
    if (is_list || type.starts_with("map[")) {
      const std::string_view inner = is_list ? type.substr(2) : type.substr(4, type.size() - 5);
      ASSIGN_OR_RETURN(const Schema* element, Type(inner));
      Schema& schema = set_.Make();
      schema.kind = is_list ? SchemaKind::kList : SchemaKind::kMap;
      schema.element = element;
      return &schema;
    }
    if (const auto plain = Plain(type); plain) {
      Schema& schema = set_.Make();
      schema.kind = plain->first;
      schema.format = plain->second;
      return &schema;
    }
    return Struct(type);
  }

  static std::optional<std::pair<SchemaKind, std::string>> Plain(std::string_view type) {
    static const std::map<std::string_view, std::pair<SchemaKind, std::string>> kPlain = {
        {"any", {SchemaKind::kAny, ""}},
        {"string", {SchemaKind::kString, ""}},
        {"quantity", {SchemaKind::kString, "quantity"}},
        {"time", {SchemaKind::kString, "date-time"}},
        {"microtime", {SchemaKind::kString, "micro-time"}},
        {"byte", {SchemaKind::kString, "byte"}},
        {"int", {SchemaKind::kInteger, ""}},
        {"number", {SchemaKind::kNumber, ""}},
        {"bool", {SchemaKind::kBoolean, ""}},
        {"intstr", {SchemaKind::kIntOrString, ""}}};
    const auto found = kPlain.find(type);
    return found == kPlain.end() ? std::nullopt : std::optional(found->second);
  }

  StatusOr<const Schema*> Struct(std::string_view type) {
    if (const Schema* own = set_.Find(fmt::format("{}.{}", package_, type)); own != nullptr) {
      return own;
    }
    for (const auto& [name, schema] : set_.structs_) {
      if (name.ends_with(fmt::format(".{}", type))) {
        return schema;
      }
    }
    return Internal("unknown type {}", type);
  }

  SchemaSet& set_;
  std::string package_;
  Schema* current_ = nullptr;
  // A copy may be made before the fields of a struct are known.
  std::vector<std::pair<Schema*, const Schema*>> copies_;
};

Status SchemaSet::AddText(std::string_view text) {
  return SchemaTextReader(*this).Read(text);
}

}  // namespace kgpu::apiserver

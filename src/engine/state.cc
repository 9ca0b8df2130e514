#include "src/engine/state.h"

#include <boost/json/value.hpp>

#include <array>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/doc/doc.h"
#include "src/edit/change.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;

constexpr int kFormat = 1;
constexpr size_t kMostBytes = size_t{16} << 20;

constexpr std::array<std::string_view, 3> kPhases = {"applying", "applied", "reverting"};
constexpr std::array<std::string_view, 3> kReaches = {"nothing", "reload", "restart"};
constexpr std::array<std::string_view, 4> kKinds = {"json", "toml", "toml-template", "whole"};

json::string Json(std::string_view text) {
  return json::string(text.data(), text.size());
}

json::array Json(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) {
    list.push_back(Json(text));
  }
  return list;
}

json::value FileJson(const FileRecord& file) {
  return json::object{{"path", Json(file.path)},
                      {"backup", Json(file.backup)},
                      {"kind", Json(kKinds[file.kind ? static_cast<size_t>(*file.kind) : 3])},
                      {"changes", edit::ChangesToJson(file.changes)},
                      {"ours", Json(file.ours)}};
}

json::value RecordJson(const Record& record) {
  json::array files;
  for (const FileRecord& file : record.files) {
    files.push_back(FileJson(file));
  }
  json::object links;
  for (const auto& [path, target] : record.links) {
    links[Json(path)] = Json(target);
  }
  return json::object{
      {"phase", Json(kPhases[static_cast<size_t>(record.phase)])},
      {"files", std::move(files)},
      {"links", std::move(links)},
      {"madeFolders", Json(record.made_folders)},
      {"usesRuntime", record.uses_runtime},
      {"unitChange", record.has_unit_change},
      {"reach", Json(kReaches[static_cast<size_t>(record.reach)])},
      {"reachReason", Json(record.reach_reason)},
      {"pending", Json(kReaches[static_cast<size_t>(record.pending)])},
      {"changedAt", record.changed_at},
      {"runtime", Json(record.expected.runtime)},
      {"default", record.expected.is_default},
      {"cdi", record.expected.cdi ? json::value(*record.expected.cdi) : json::value()}};
}

// Reads the fields of one object; the first error is kept, and what follows it has defaults.
class Fields {
 public:
  Fields(const json::value& value, std::string where) : where_(std::move(where)) {
    object_ = value.if_object();
    if (object_ == nullptr) {
      Fail("", "must be an object");
    }
  }

  const Status& status() const { return status_; }
  const std::string& where() const { return where_; }

  const json::value& Get(std::string_view key) {
    static const json::value null;
    const json::value* value =
        object_ == nullptr ? nullptr : object_->if_contains({key.data(), key.size()});
    if (value == nullptr) {
      Fail(key, "is missing");
      return null;
    }
    return *value;
  }
  std::string Text(std::string_view key) {
    const json::value& value = Get(key);
    if (!value.is_string()) {
      Fail(key, "must be a text");
      return "";
    }
    return {value.get_string().data(), value.get_string().size()};
  }
  bool Bool(std::string_view key) {
    const json::value& value = Get(key);
    if (!value.is_bool()) {
      Fail(key, "must be true or false");
    }
    return value.is_bool() && value.get_bool();
  }
  int64_t Number(std::string_view key) {
    const json::value& value = Get(key);
    if (!value.is_int64()) {
      Fail(key, "must be a number");
    }
    return value.is_int64() ? value.get_int64() : 0;
  }
  std::vector<std::string> Texts(std::string_view key) {
    const json::value& value = Get(key);
    std::vector<std::string> texts;
    if (!value.is_array()) {
      Fail(key, "must be a list");
      return texts;
    }
    for (const json::value& item : value.get_array()) {
      if (!item.is_string()) {
        Fail(key, "must be a list of texts");
        return texts;
      }
      texts.emplace_back(item.get_string().data(), item.get_string().size());
    }
    return texts;
  }
  std::map<std::string, std::string> TextMap(std::string_view key) {
    const json::value& value = Get(key);
    std::map<std::string, std::string> texts;
    if (!value.is_object()) {
      Fail(key, "must be an object");
      return texts;
    }
    for (const auto& item : value.get_object()) {
      if (!item.value().is_string()) {
        Fail(key, "must hold texts");
        return texts;
      }
      const json::string& text = item.value().get_string();
      texts.emplace(std::string(item.key().data(), item.key().size()),
                    std::string(text.data(), text.size()));
    }
    return texts;
  }
  // The index of the word that stands there.
  template <size_t kSize>
  size_t Word(std::string_view key, const std::array<std::string_view, kSize>& words) {
    const std::string word = Text(key);
    for (size_t i = 0; i < kSize; ++i) {
      if (word == words[i]) {
        return i;
      }
    }
    Fail(key, fmt::format("\"{}\" is none of its words", Printable(word, 40)));
    return 0;
  }

 private:
  void Fail(std::string_view key, std::string_view what) {
    if (status_.ok()) {
      status_ = InvalidArgument("{}{}{}: {}", where_, key.empty() ? "" : ".", key, what);
    }
  }

  const json::object* object_ = nullptr;
  std::string where_;
  Status status_;
};

StatusOr<FileRecord> ReadFileRecord(const json::value& value, std::string where) {
  Fields fields(value, std::move(where));
  FileRecord file;
  file.path = fields.Text("path");
  file.backup = fields.Text("backup");
  const size_t kind = fields.Word("kind", kKinds);
  file.kind = kind < 3 ? std::optional(static_cast<TextKind>(kind)) : std::nullopt;
  file.ours = fields.Texts("ours");
  const json::value& changes = fields.Get("changes");
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(file.changes, edit::ChangesFromJson(changes, fields.where() + ".changes"));
  return file;
}

StatusOr<Record> ReadRecord(const json::value& value, const std::string& where) {
  Fields fields(value, where);
  Record record;
  record.phase = static_cast<Phase>(fields.Word("phase", kPhases));
  record.links = fields.TextMap("links");
  record.made_folders = fields.Texts("madeFolders");
  record.uses_runtime = fields.Bool("usesRuntime");
  record.has_unit_change = fields.Bool("unitChange");
  record.reach = static_cast<Reach>(fields.Word("reach", kReaches));
  record.reach_reason = fields.Text("reachReason");
  record.pending = static_cast<Reach>(fields.Word("pending", kReaches));
  record.changed_at = fields.Number("changedAt");
  record.expected.runtime = fields.Text("runtime");
  record.expected.is_default = fields.Bool("default");
  if (const json::value& cdi = fields.Get("cdi"); cdi.is_bool()) {
    record.expected.cdi = cdi.get_bool();
  }
  const json::value& files = fields.Get("files");
  RETURN_IF_ERROR(fields.status());
  if (!files.is_array()) {
    return InvalidArgument("{}.files: must be a list", where);
  }
  for (size_t i = 0; i < files.get_array().size(); ++i) {
    ASSIGN_OR_RETURN(FileRecord file,
                     ReadFileRecord(files.get_array()[i], fmt::format("{}.files[{}]", where, i)));
    record.files.push_back(std::move(file));
  }
  return record;
}

}  // namespace

std::string Fingerprint(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return fmt::format("{:016x}-{}", hash, text.size());
}

std::string PrintState(const State& state) {
  json::object engines;
  for (const auto& [id, record] : state) {
    engines[Json(id)] = RecordJson(record);
  }
  return doc::Print(json::object{{"format", kFormat}, {"engines", std::move(engines)}},
                    doc::Format::kJson);
}

StatusOr<State> ParseState(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = kMostBytes}));
  Fields fields(tree, std::string(file));
  const int64_t format = fields.Number("format");
  const json::value& engines = fields.Get("engines");
  RETURN_IF_ERROR(fields.status());
  if (format != kFormat || !engines.is_object()) {
    return InvalidArgument("{}: written by another version of kgpu (format {}): use that one", file,
                           format);
  }
  State state;
  for (const auto& engine : engines.get_object()) {
    const std::string id(engine.key().data(), engine.key().size());
    ASSIGN_OR_RETURN(state[id],
                     ReadRecord(engine.value(), fmt::format("{}: {}", file, Printable(id, 60))));
  }
  return state;
}

StatusOr<State> ReadState(const sys::Root& host) {
  const auto text = host.ReadFile(kStateFile, kMostBytes);
  if (text.status().code() == StatusCode::kNotFound) {
    return State{};
  }
  RETURN_IF_ERROR(text.status());
  auto state = ParseState(*text, host.At(kStateFile));
  if (!state.ok()) {
    return MakeStatus(
        state.status().code(),
        fmt::format("{}; put a copy of it back, or remove it: what it tells of can then not be "
                    "reverted, the first texts of files are in {}",
                    Message(state.status()), host.At(kBackupFolder)));
  }
  return state;
}

}  // namespace kgpu::engine

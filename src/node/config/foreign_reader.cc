#include "src/node/config/foreign_reader.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <tuple>

#include "src/node/config/node_config.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

constexpr doc::Limits kLimits{.bytes = kMaxConfigBytes};

doc::Format FormatOf(std::string_view file) {
  return file.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
}

bool HasOneOf(const boost::json::value& root, std::initializer_list<std::string_view> keys) {
  const boost::json::object* fields = root.if_object();
  return fields != nullptr && std::ranges::any_of(*fields, [&](const auto& field) {
           const std::string name = ToLower({field.key().data(), field.key().size()});
           return std::ranges::any_of(keys,
                                      [&](std::string_view key) { return ToLower(key) == name; });
         });
}

}  // namespace

void ForeignNotes::AddText(Fate fate, const Node& node, std::string_view text) {
  // An item of a list has no key of its own.
  const bool has_key = node.path().empty() || node.path().back() != ']';
  const doc::Position position = has_key ? node.key_position() : node.position();
  std::string placeless = fmt::format("{}: {}: {}", node.path(), ToString(fate), text);
  notes_.push_back(
      {position,
       {fate, fmt::format("{}:{}:{}: {}", file_, position.line, position.column, placeless)},
       std::move(placeless)});
}

Node::Unknown ForeignNotes::ForUnknown() {
  return [this](std::string_view nearest, const Node& field) {
    const std::string key = field.path().substr(field.path().rfind('.') + 1);
    const auto home = std::ranges::find(homes_, key, [](const auto& pair) { return pair.first; });
    if (home != homes_.end()) {
      Add(Fate::kUnknown, field, "also ignored by its owner; it belongs to {}", home->second);
    } else if (nearest.empty()) {
      Add(Fate::kUnknown, field, "also ignored by its owner");
    } else {
      Add(Fate::kUnknown, field, "also ignored by its owner; did you mean \"{}\"?", nearest);
    }
  };
}

void ForeignNotes::AddUnknownTo(Problems& problems) const {
  for (const Placed& placed : notes_) {
    if (placed.note.fate == Fate::kUnknown) {
      problems.Add(placed.position, placed.text);
    }
  }
}

std::vector<Note> ForeignNotes::Take() {
  std::ranges::stable_sort(notes_, {}, [](const Placed& placed) {
    return std::tuple(placed.position.line, placed.position.column);
  });
  std::vector<Note> notes;
  notes.reserve(notes_.size());
  for (Placed& placed : notes_) {
    notes.push_back(std::move(placed.note));
  }
  return notes;
}

StatusOr<Converted> ConvertForeign(
    std::string_view text, std::string_view file,
    const std::function<NodeConfig(const Node& root, ForeignNotes& notes)>& convert) {
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, FormatOf(file), file, kLimits));
  Problems problems(file);
  ForeignNotes notes(file);
  Converted converted;
  converted.config = convert(Node(document, problems), notes);
  if (!problems.empty()) {
    notes.AddUnknownTo(problems);
    return problems.ToStatus();
  }
  // Two renames to one name, for example, are legal there but not here.
  const auto check = ParseNodeConfig(PrintNodeConfig(converted.config), "NodeConfig");
  if (!check.ok()) {
    return Annotate(check.status(), "{}: the result is not a valid NodeConfig", file);
  }
  converted.notes = notes.Take();
  return converted;
}

std::string_view ToString(Fate fate) {
  constexpr std::array<std::string_view, 4> kNames = {"converted", "not needed", "not converted",
                                                      "unknown key"};
  return kNames.at(static_cast<size_t>(fate));
}

StatusOr<Dialect> DetectDialect(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::Parse(text, FormatOf(file), file, kLimits));
  if (HasOneOf(root, {"apiVersion", "kind"})) {
    return Dialect::kNodeConfig;
  }
  if (HasOneOf(root, {"GPUPartitionSize", "GPUSharingConfig", "MaxTimeSharedClientsPerGPU",
                      "HealthCriticalXid"})) {
    return Dialect::kGke;
  }
  if (HasOneOf(root, {"version", "flags", "resources", "sharing", "imex"})) {
    return Dialect::kNvidia;
  }
  return InvalidArgument(
      "{}: neither a NodeConfig (apiVersion, kind), nor NVIDIA's (version: v1, flags, sharing), "
      "nor GKE's (GPUPartitionSize, GPUSharingConfig): set --from",
      file);
}

}  // namespace kgpu::config

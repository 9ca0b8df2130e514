#include "src/node/choice/saved_choice.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/saved_fields.h"

namespace kgpu::choice {
namespace {

namespace json = boost::json;

constexpr int kSavedChoiceVersion = 1;
constexpr char kSavedChoiceName[] = "the saved configuration";

std::optional<choice::Labels> SavedLabels(const json::object& object) {
  const json::value* value = object.if_contains("labels");
  const json::object* fields = value == nullptr ? nullptr : value->if_object();
  if (fields == nullptr) {
    return std::nullopt;
  }
  choice::Labels labels;
  for (const auto& field : *fields) {
    labels.emplace(field.key(), doc::SavedFields(*fields).Text(field.key()));
  }
  return labels;
}

}  // namespace

std::string PrintSavedChoice(const SavedChoice& saved) {
  json::object object{
      {"version", kSavedChoiceVersion}, {"name", saved.running.name},
      {"from", saved.running.from},     {"file", saved.running.file},
      {"why", saved.running.why},       {"config", config::PrintNodeConfig(saved.config)}};
  if (saved.labels) {
    object["labels"] = doc::TextMap(*saved.labels);
  }
  return doc::PrintLine(object) + "\n";
}

StatusOr<SavedChoice> ParseSavedChoice(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value document,
                   doc::Parse(text, doc::Format::kJson, kSavedChoiceName));
  const json::object* object = document.if_object();
  const json::value* version = object == nullptr ? nullptr : object->if_contains("version");
  if (version == nullptr || *version != json::value(kSavedChoiceVersion)) {
    return InvalidArgument("{}: written by another version", kSavedChoiceName);
  }
  const doc::SavedFields fields(*object);
  SavedChoice saved;
  ASSIGN_OR_RETURN(saved.config, config::ParseNodeConfig(fields.Text("config"), kSavedChoiceName));
  saved.labels = SavedLabels(*object);
  saved.running = {.is_running = true,
                   .name = std::string(fields.Text("name")),
                   .from = std::string(fields.Text("from")),
                   .file = std::string(fields.Text("file")),
                   .why = std::string(fields.Text("why"))};
  return saved;
}

}  // namespace kgpu::choice

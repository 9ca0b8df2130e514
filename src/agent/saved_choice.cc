#include "src/agent/saved_choice.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

constexpr int kSavedChoiceVersion = 1;
constexpr char kSavedChoiceName[] = "the saved configuration";

std::string SavedText(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(doc::View(key));
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

std::optional<choice::Labels> SavedLabels(const json::object& object) {
  const json::value* value = object.if_contains("labels");
  const json::object* fields = value == nullptr ? nullptr : value->if_object();
  if (fields == nullptr) {
    return std::nullopt;
  }
  choice::Labels labels;
  for (const auto& field : *fields) {
    labels.emplace(field.key(), SavedText(*fields, field.key()));
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
  SavedChoice saved;
  ASSIGN_OR_RETURN(saved.config,
                   config::ParseNodeConfig(SavedText(*object, "config"), kSavedChoiceName));
  saved.labels = SavedLabels(*object);
  saved.running = {.is_running = true,
                   .name = SavedText(*object, "name"),
                   .from = SavedText(*object, "from"),
                   .file = SavedText(*object, "file"),
                   .why = SavedText(*object, "why")};
  return saved;
}

}  // namespace kgpu::agent

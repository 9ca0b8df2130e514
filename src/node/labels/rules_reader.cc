#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "src/node/config/tree_reader.h"
#include "src/node/labels/rule_reader.h"
#include "src/node/labels/rules.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::labels {
namespace {

namespace json = boost::json;
using config::Node;
using config::Problems;

constexpr std::string_view kGroup = "nfd.k8s-sigs.io/v1alpha1";
constexpr std::string_view kKind = "NodeFeatureRule";
constexpr std::array<std::string_view, 5> kObjectKeys = {"apiVersion", "kind", "metadata", "spec",
                                                         "status"};
constexpr std::array<std::string_view, 1> kSpecKeys = {"rules"};
constexpr std::array<std::string_view, 4> kListKeys = {"apiVersion", "kind", "metadata", "items"};
constexpr std::array<std::string_view, 2> kListKinds = {"List", "NodeFeatureRuleList"};

void ReadRules(const Node& list, RuleReader& reader, std::vector<Rule>& rules) {
  list.ForEachItem([&](const Node& item) {
    if (rules.size() == kMaxRules) {
      item.Error("more than {} rules: split the file", kMaxRules);
    } else {
      rules.push_back(reader.Read(item));
    }
  });
}

void ExpectText(const Node& field, std::string_view wanted) {
  const auto text = field.String();
  if (text && *text != wanted) {
    field.Error("{} must be {}", field.Shown(), wanted);
  }
}

void ReadObject(const Node& root, RuleReader& reader, RuleSet& set) {
  bool has_rules = false;
  root.ForEachField(kObjectKeys, [&](std::string_view name, const Node& field) {
    if (name == "apiVersion") {
      ExpectText(field, kGroup);
    } else if (name == "kind") {
      ExpectText(field, kKind);
    } else if (name == "metadata") {
      field.ForAnyField([&](std::string_view key, const Node& item) {
        if (key == "name") {
          set.name = item.String().value_or("");
        }
      });
    } else if (name == "spec") {
      field.ForEachField(kSpecKeys, [&](std::string_view, const Node& list) {
        has_rules = true;
        ReadRules(list, reader, set.rules);
      });
    }
  });
  if (!has_rules) {
    root.Error("spec.rules is missing: a {} needs it", kKind);
  }
}

// Places for a tree that was never a text.
doc::Place NoPlaces(const json::value& value) {
  doc::Place place;
  if (const json::array* items = value.if_array()) {
    std::ranges::transform(*items, std::back_inserter(place.children), NoPlaces);
  } else if (const json::object* fields = value.if_object()) {
    for (const auto& field : *fields) {
      place.children.push_back(NoPlaces(field.value()));
    }
  }
  return place;
}

const json::value* FieldOf(const json::value& value, std::string_view name) {
  const json::object* fields = value.if_object();
  return fields == nullptr ? nullptr : fields->if_contains(name);
}

std::string TextField(const json::value* value, std::string_view name) {
  const json::value* field = value == nullptr ? nullptr : FieldOf(*value, name);
  const json::string* text = field == nullptr ? nullptr : field->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

doc::Format FormatOf(std::string_view file) {
  return file.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
}

bool IsListOfObjects(const json::value& root) {
  return std::ranges::find(kListKinds, TextField(&root, "kind")) != kListKinds.end();
}

// One document: a list of rules, an object, or a List of objects.
StatusOr<std::vector<RuleSet>> ParseDocument(std::string_view text, std::string_view file,
                                             RuleReader& reader) {
  std::vector<RuleSet> sets;
  if (Trim(text).empty()) {
    return sets;
  }
  ASSIGN_OR_RETURN(
      const doc::Located document,
      doc::ParseLocated(text, FormatOf(file), file, doc::Limits{.bytes = kMaxRuleBytes}));
  if (document.root.is_null()) {
    return sets;
  }
  Problems problems(file);
  const Node root(document, problems);
  const auto add = [&] { return &sets.emplace_back(RuleSet{std::string(file), {}}); };
  if (root.is_list()) {
    ReadRules(root, reader, add()->rules);
  } else if (IsListOfObjects(document.root)) {
    root.ForEachField(kListKeys, [&](std::string_view name, const Node& field) {
      if (name == "items") {
        field.ForEachItem([&](const Node& item) { ReadObject(item, reader, *add()); });
      }
    });
  } else {
    ReadObject(root, reader, *add());
  }
  RETURN_IF_ERROR(problems.ToStatus());
  return sets;
}

// The documents of a YAML text, each on the lines it has there, so that places stay true.
StatusOr<std::vector<std::string>> SplitDocuments(std::string_view text, std::string_view file) {
  std::vector<std::string> documents(1);
  size_t lines = 0;
  for (const std::string_view line : Split(text, '\n')) {
    const bool begins = line.starts_with("---") &&
                        (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
    if (begins && documents.size() == kMaxRuleDocuments) {
      return InvalidArgument("{}:{}: more than {} documents: split the file", file, lines + 1,
                             kMaxRuleDocuments);
    }
    if (begins) {
      documents.emplace_back(lines, '\n');
    }
    documents.back() += begins ? fmt::format("   {}\n", line.substr(3)) : fmt::format("{}\n", line);
    ++lines;
  }
  return documents;
}

}  // namespace

StatusOr<RuleSet> ParseRules(std::string_view text, std::string_view file) {
  RuleReader reader;
  ASSIGN_OR_RETURN(std::vector<RuleSet> sets, ParseDocument(text, file, reader));
  if (sets.size() > 1) {
    return InvalidArgument("{}: {} objects: must be one", file, sets.size());
  }
  return sets.empty() ? RuleSet{.name = std::string(file), .rules = {}} : std::move(sets.front());
}

StatusOr<std::vector<RuleSet>> ParseRuleFile(std::string_view text, std::string_view file) {
  RuleReader reader;
  if (FormatOf(file) == doc::Format::kJson) {
    return ParseDocument(text, file, reader);
  }
  std::vector<RuleSet> all;
  ASSIGN_OR_RETURN(const std::vector<std::string> documents, SplitDocuments(text, file));
  for (const std::string& document : documents) {
    ASSIGN_OR_RETURN(std::vector<RuleSet> sets, ParseDocument(document, file, reader));
    std::ranges::move(sets, std::back_inserter(all));
  }
  return all;
}

StatusOr<RuleObject> ReadRuleObject(const json::value& object) {
  const std::string name = TextField(FieldOf(object, "metadata"), "name");
  const json::value* spec = FieldOf(object, "spec");
  const json::value* rules = spec == nullptr ? nullptr : FieldOf(*spec, "rules");
  const json::array* items = rules == nullptr ? nullptr : rules->if_array();
  if (items == nullptr) {
    return InvalidArgument("{} \"{}\": spec.rules must be a list", kKind, Printable(name, 80));
  }
  if (items->size() > kMaxRules) {
    return InvalidArgument("{} \"{}\" has {} rules, limit {}", kKind, Printable(name, 80),
                           items->size(), kMaxRules);
  }
  RuleObject result;
  result.rules.name = name;
  RuleReader reader;
  for (const json::value& item : *items) {
    const doc::Located document{.root = item, .place = NoPlaces(item)};
    Problems problems(name);
    Rule rule = reader.Read(Node(document, problems));
    if (problems.empty()) {
      result.rules.rules.push_back(std::move(rule));
      continue;
    }
    for (const std::string& text : problems.Texts()) {
      result.problems.push_back(fmt::format("{} \"{}\": rule \"{}\": {}", kKind,
                                            Printable(name, 80),
                                            Printable(TextField(&item, "name"), 60), text));
    }
  }
  return result;
}

}  // namespace kgpu::labels

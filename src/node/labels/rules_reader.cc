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

// Reads the rules of one document.
struct RuleListReader {
  RuleReader& reader;
  const Problems& problems;  // of the document's nodes

  // Leaves out those with a mistake.
  void Read(const Node& list, std::vector<Rule>& rules) const {
    list.ForEachItem([&](const Node& item) {
      if (rules.size() == kMaxRules) {
        item.Error("more than {} rules: split the file", kMaxRules);
        return;
      }
      const size_t before = problems.count();
      Rule rule = reader.Read(item);
      if (problems.count() == before) {
        rules.push_back(std::move(rule));
      }
    });
  }
};

void ExpectText(const Node& field, std::string_view wanted) {
  const auto text = field.String();
  if (text && *text != wanted) {
    field.Error("{} must be {}", field.Shown(), wanted);
  }
}

void ReadObject(const Node& root, const RuleListReader& lists, RuleSet& set) {
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
        lists.Read(list, set.rules);
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

void AddLines(const Status& status, std::vector<std::string>& lines) {
  for (const std::string_view line : Split(Message(status), '\n')) {
    if (!line.empty()) {
      lines.emplace_back(line);
    }
  }
}

// One document: a list of rules, an object, or a List of objects. `hints` are the reader's.
void ReadDocument(std::string_view text, RuleReader& reader, std::string_view file, RuleFile& out) {
  if (Trim(text).empty()) {
    return;
  }
  const auto document =
      doc::ParseLocated(text, FormatOf(file), file, doc::Limits{.bytes = kMaxRuleBytes});
  if (!document.ok()) {
    out.has_unreadable = true;
    return AddLines(document.status(), out.problems);
  }
  if (document->root.is_null()) {
    return;
  }
  Problems problems(file);
  const RuleListReader lists{.reader = reader, .problems = problems};
  const Node root(*document, problems);
  const auto add = [&]() -> RuleSet& {
    return out.sets.emplace_back(RuleSet{std::string(file), {}});
  };
  if (root.is_list()) {
    lists.Read(root, add().rules);
  } else if (IsListOfObjects(document->root)) {
    root.ForEachField(kListKeys, [&](std::string_view name, const Node& field) {
      if (name == "items") {
        field.ForEachItem([&](const Node& item) { ReadObject(item, lists, add()); });
      }
    });
  } else {
    ReadObject(root, lists, add());
  }
  AddLines(problems.ToStatus(), out.problems);
}

Status ProblemsIn(const RuleFile& read) {
  return read.problems.empty() ? OkStatus() : InvalidArgument("{}", Join(read.problems, "\n"));
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
  RuleFile read;
  ReadDocument(text, reader, file, read);
  RETURN_IF_ERROR(ProblemsIn(read));
  if (read.sets.size() > 1) {
    return InvalidArgument("{}: {} objects: must be one", file, read.sets.size());
  }
  return read.sets.empty() ? RuleSet{.name = std::string(file), .rules = {}}
                           : std::move(read.sets.front());
}

RuleFile ReadRuleFile(std::string_view text, std::string_view file) {
  Problems hints(file);
  RuleReader reader(&hints);
  RuleFile read;
  if (FormatOf(file) == doc::Format::kJson) {
    ReadDocument(text, reader, file, read);
  } else if (const auto documents = SplitDocuments(text, file); documents.ok()) {
    for (const std::string& document : *documents) {
      ReadDocument(document, reader, file, read);
    }
  } else {
    read.has_unreadable = true;
    AddLines(documents.status(), read.problems);
  }
  AddLines(hints.ToStatus(), read.hints);
  return read;
}

StatusOr<std::vector<RuleSet>> ParseRuleFile(std::string_view text, std::string_view file) {
  RuleFile read = ReadRuleFile(text, file);
  RETURN_IF_ERROR(ProblemsIn(read));
  return std::move(read.sets);
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

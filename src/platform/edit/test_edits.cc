#include "src/platform/edit/test_edits.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

#include "src/platform/edit/tree.h"

namespace kgpu::edit {
namespace {

namespace json = boost::json;

struct Step {
  Key key;
  json::value value;
  bool is_item = false;
};

// Short names, so that a fuzzer soon finds texts that have them, too.
Step StepOf(unsigned char byte) {
  static const std::array<Key, 8> kKeys = {{{"a"},
                                            {"b"},
                                            {"a", "b"},
                                            {"a", "c", "b"},
                                            {"a", "b.c", "d"},
                                            {"a", "c", "b", "d"},
                                            {"runtimes", "nvidia", "path"},
                                            {"plugins", "cri", "containerd", "x", "y"}}};
  static const std::array<json::value, 4> kValues = {json::value("x\"\\\n"), json::value(true),
                                                     json::value(-7),
                                                     json::value(json::array{"p", "q"})};
  Step step;
  step.key = kKeys.at(byte & 7U);
  step.is_item = (byte & 8U) != 0;
  step.value =
      step.is_item ? json::value((byte & 16U) != 0 ? "v" : "w") : kValues.at(byte >> 4U & 3U);
  return step;
}

Status Run(Document& document, const Step& step) {
  return step.is_item ? document.AddItem(step.key, step.value.get_string().c_str())
                      : document.Set(step.key, step.value);
}

// What the tree must say after a step that was not refused.
json::value Wanted(const json::value& tree, const Step& step) {
  json::value wanted = tree;
  if (!step.is_item) {
    SetIn(wanted, step.key, step.value);
    return wanted;
  }
  if (FindIn(wanted, step.key) == nullptr) {
    SetIn(wanted, step.key, json::array());
  }
  json::array& items = FindIn(wanted, step.key)->get_array();
  if (std::ranges::find(items, step.value) == items.end()) {
    items.push_back(step.value);
  }
  return wanted;
}

}  // namespace

std::string CheckEdits(std::string_view text, Syntax syntax, std::string_view script) {
  StatusOr<Document> document = Document::Open(text, "f", syntax);
  if (!document.ok()) {
    return "";
  }
  for (const char byte : script) {
    const Step step = StepOf(static_cast<unsigned char>(byte));
    const json::value before = document->tree();
    if (!Run(*document, step).ok()) {
      continue;  // tables that were made on the way may stay: they are among the changes
    }
    const json::value wanted = Wanted(before, step);
    const StatusOr<Document> again = Document::Open(document->text(), "f", syntax);
    if (!again.ok() || again->tree() != wanted) {
      return fmt::format("{} is not what was wanted:\n{}", Dotted(step.key), document->text());
    }
    const std::string once = document->text();
    if (!Run(*document, step).ok() || document->text() != once) {
      return fmt::format("{} is not idempotent:\n{}", Dotted(step.key), document->text());
    }
  }
  const std::string edited = document->text();
  const std::vector<Change> changes = document->changes();
  std::vector<std::string> notes;
  for (const Change& change : std::views::reverse(changes)) {
    const StatusOr<bool> is_back = document->TakeBack(change, notes);
    if (!is_back.ok() || !*is_back) {
      return fmt::format("{} is not taken back ({}) of\n{}", Dotted(change.key),
                         is_back.ok() ? "left" : Message(is_back.status()), edited);
    }
  }
  return document->text() == text ? ""
                                  : fmt::format("the first text is not restored of\n{}", edited);
}

}  // namespace kgpu::edit

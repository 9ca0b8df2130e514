#include "src/diagnose/explain/placing.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

bool Compares(const Requirement& requirement, std::string_view value) {
  const auto have = WholeNumber(value);
  const auto bound =
      requirement.values.size() == 1 ? WholeNumber(requirement.values.front()) : std::nullopt;
  return have && bound && (requirement.op == "Gt" ? *have > *bound : *have < *bound);
}

bool HoldsFor(const Requirement& requirement, const std::string* value) {
  const bool is_listed =
      value != nullptr && std::ranges::find(requirement.values, *value) != requirement.values.end();
  if (requirement.op == "In") {
    return is_listed;
  }
  if (requirement.op == "NotIn") {
    return !is_listed;
  }
  if (requirement.op == "Exists") {
    return value != nullptr;
  }
  if (requirement.op == "DoesNotExist") {
    return value == nullptr;
  }
  return value != nullptr && (requirement.op == "Gt" || requirement.op == "Lt") &&
         Compares(requirement, *value);
}

bool HoldsForField(const Requirement& requirement, const Node& node) {
  return requirement.key == "metadata.name" && HoldsFor(requirement, &node.name);
}

// How many of the words between "-", "_" and "." of one text the other has, too.
size_t CommonWords(std::string_view a, std::string_view b) {
  const auto words = [](std::string_view text) {
    std::set<std::string> found;
    std::string word;
    for (const char c : ToLower(text)) {
      if (c == '-' || c == '_' || c == '.') {
        found.insert(std::exchange(word, ""));
      } else {
        word += c;
      }
    }
    found.insert(word);
    found.erase("");
    return found;
  };
  const std::set<std::string> of_a = words(a);
  const std::set<std::string> of_b = words(b);
  return static_cast<size_t>(
      std::ranges::count_if(of_a, [&](const std::string& word) { return of_b.contains(word); }));
}

size_t Likeness(const std::string& value, const std::vector<std::string>& wanted) {
  size_t best = 0;
  for (const std::string& one : wanted) {
    best = std::max(best, CommonWords(value, one));
  }
  return best;
}

}  // namespace

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const Toleration& toleration) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) {
      return false;
    }
    if (toleration.op == "Exists") {
      return toleration.key.empty() || toleration.key == taint.key;
    }
    if (toleration.op == "Gt" || toleration.op == "Lt") {
      return toleration.key == taint.key &&
             Compares({toleration.key, toleration.op, {toleration.value}}, taint.value);
    }
    return toleration.key == taint.key && toleration.value == taint.value;
  });
}

std::string TaintText(const Taint& taint) {
  return taint.value.empty() ? fmt::format("{}:{}", taint.key, taint.effect)
                             : fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
}

bool Holds(const Requirement& requirement, const Texts& labels) {
  const auto found = labels.find(requirement.key);
  return HoldsFor(requirement, found == labels.end() ? nullptr : &found->second);
}

bool Matches(const SelectorTerm& term, const Node& node) {
  return (!term.labels.empty() || !term.fields.empty()) && Unmet(term, node).empty();
}

bool MatchesAny(const std::vector<SelectorTerm>& terms, const Node& node) {
  return std::ranges::any_of(terms, [&](const SelectorTerm& term) { return Matches(term, node); });
}

std::string RequirementText(const Requirement& requirement) {
  return requirement.values.empty() ? fmt::format("{} {}", requirement.key, requirement.op)
                                    : fmt::format("{} {} [{}]", requirement.key, requirement.op,
                                                  Join(requirement.values, ", "));
}

std::vector<Requirement> Unmet(const SelectorTerm& term, const Node& node) {
  std::vector<Requirement> unmet;
  for (const Requirement& requirement : term.labels) {
    if (!Holds(requirement, node.labels)) {
      unmet.push_back(requirement);
    }
  }
  for (const Requirement& requirement : term.fields) {
    if (!HoldsForField(requirement, node)) {
      unmet.push_back(requirement);
    }
  }
  return unmet;
}

std::vector<std::string> ValuesOf(const std::vector<Node>& nodes, std::string_view key,
                                  const std::vector<std::string>& wanted) {
  constexpr size_t kMostValues = 5;
  std::set<std::string> all;
  for (const Node& node : nodes) {
    if (const auto found = node.labels.find(key); found != node.labels.end()) {
      all.insert(found->second);
    }
  }
  std::vector<std::string> values(all.begin(), all.end());
  const auto is_nearer = [&](const std::string& a, const std::string& b) {
    return Likeness(a, wanted) > Likeness(b, wanted);
  };
  std::ranges::stable_sort(values, is_nearer);
  values.resize(std::min(values.size(), kMostValues));
  return values;
}

std::string KeyLike(const std::vector<Node>& nodes, std::string_view key) {
  std::set<std::string_view> all;
  for (const Node& node : nodes) {
    for (const auto& [name, value] : node.labels) {
      all.insert(name);
    }
  }
  const auto near = Nearest(key, std::vector<std::string_view>(all.begin(), all.end()));
  return near ? std::string(*near) : "";
}

}  // namespace kgpu::explain

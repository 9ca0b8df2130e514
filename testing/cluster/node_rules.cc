#include "testing/cluster/node_rules.h"

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "testing/apiserver/json_fields.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::ItemsAt;
using apiserver::NumberAt;
using apiserver::ObjectAt;
using apiserver::PlainText;
using apiserver::TextAt;

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

bool Compares(std::string_view op, const std::string& value, const json::array& values) {
  const auto left = ParseInt(value);
  const auto right = values.size() == 1 ? ParseInt(PlainText(&values[0])) : std::nullopt;
  return left && right && (op == "Gt" ? *left > *right : *left < *right);
}

// `value`: null if the node does not have the key.
bool Holds(const json::object& requirement, const json::value* value) {
  const std::string_view op = TextAt(requirement, {"operator"});
  const json::array& values = ItemsAt(requirement, {"values"});
  const std::string text = PlainText(value);
  const bool is_listed = value != nullptr && std::ranges::any_of(values, [&](const auto& listed) {
                           return PlainText(&listed) == text;
                         });
  if (op == "In" || op == "NotIn") {
    return is_listed == (op == "In");
  }
  if (op == "Exists" || op == "DoesNotExist") {
    return (value != nullptr) == (op == "Exists");
  }
  return (op == "Gt" || op == "Lt") && value != nullptr && Compares(op, text, values);
}

// A term without requirements matches nothing.
bool MatchesTerm(const json::object& term, const json::object& node) {
  const json::array& labels = ItemsAt(term, {"matchExpressions"});
  const json::array& fields = ItemsAt(term, {"matchFields"});
  const auto holds = [](const json::value& item, const json::value* value) {
    return item.is_object() && Holds(item.get_object(), value);
  };
  return !(labels.empty() && fields.empty()) &&
         std::ranges::all_of(labels,
                             [&](const json::value& item) {
                               const std::string key =
                                   item.is_object()
                                       ? std::string(TextAt(item.get_object(), {"key"}))
                                       : std::string();
                               return holds(item, FieldAt(node, {"metadata", "labels", key}));
                             }) &&
         std::ranges::all_of(fields, [&](const json::value& item) {
           return holds(item, FieldAt(node, {"metadata", "name"}));
         });
}

}  // namespace

bool MatchesNode(const json::object& pod, const json::object& node) {
  if (const json::object* selector = ObjectAt(pod, {"spec", "nodeSelector"}); selector != nullptr) {
    for (const auto& [key, wanted] : *selector) {
      const std::string_view name(key.data(), key.size());
      const json::value* value = FieldAt(node, {"metadata", "labels", name});
      if (value == nullptr || PlainText(value) != PlainText(&wanted)) {
        return false;
      }
    }
  }
  const json::object* required = ObjectAt(
      pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  return required == nullptr ||
         std::ranges::any_of(ItemsAt(*required, {"nodeSelectorTerms"}), [&](const auto& term) {
           return term.is_object() && MatchesTerm(term.get_object(), node);
         });
}

int64_t PreferenceOf(const json::object& pod, const json::object& node) {
  int64_t sum = 0;
  for (const json::value& item :
       ItemsAt(pod, {"spec", "affinity", "nodeAffinity",
                     "preferredDuringSchedulingIgnoredDuringExecution"})) {
    const json::object* term = item.if_object();
    const json::object* preference = term == nullptr ? nullptr : ObjectAt(*term, {"preference"});
    if (preference != nullptr && MatchesTerm(*preference, node)) {
      sum += NumberAt(*term, {"weight"}, 0);
    }
  }
  return sum;
}

bool Tolerates(const json::object& pod, const json::object& taint) {
  return std::ranges::any_of(ItemsAt(pod, {"spec", "tolerations"}), [&](const auto& item) {
    const json::object* toleration = item.if_object();
    if (toleration == nullptr) {
      return false;
    }
    const std::string_view effect = TextAt(*toleration, {"effect"});
    const std::string_view key = TextAt(*toleration, {"key"});
    const bool is_exists = TextAt(*toleration, {"operator"}) == "Exists";
    return (effect.empty() || effect == TextAt(taint, {"effect"})) &&
           (key.empty() ? is_exists : key == TextAt(taint, {"key"})) &&
           (is_exists || TextAt(*toleration, {"value"}) == TextAt(taint, {"value"}));
  });
}

const json::object* UntoleratedTaint(const json::object& pod, const json::object& node,
                                     bool with_no_schedule) {
  for (const json::value& item : ItemsAt(node, {"spec", "taints"})) {
    const json::object* taint = item.if_object();
    if (taint == nullptr) {
      continue;
    }
    const std::string_view effect = TextAt(*taint, {"effect"});
    const bool matters = effect == "NoExecute" || (with_no_schedule && effect == "NoSchedule");
    if (matters && !Tolerates(pod, *taint)) {
      return taint;
    }
  }
  return nullptr;
}

}  // namespace kgpu::simcluster

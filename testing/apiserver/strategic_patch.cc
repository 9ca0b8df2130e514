#include "testing/apiserver/strategic_patch.h"

#include <algorithm>

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";
constexpr std::string_view kSetOrder = "$setElementOrder/";

std::string_view ToStd(json::string_view text) {
  return {text.data(), text.size()};
}

const Schema* ChildSchema(const Schema* schema, std::string_view name) {
  if (schema == nullptr) {
    return nullptr;
  }
  return schema->kind == SchemaKind::kMap ? schema->element : schema->Field(name);
}

bool HasValue(const json::array& list, const json::value& value) {
  return std::ranges::find(list, value) != list.end();
}

// The position of the item with that key; the list's size if there is none.
size_t FindItem(const json::array& list, std::string_view key, const json::value& value) {
  for (size_t i = 0; i < list.size(); ++i) {
    const json::value* its = list[i].is_object() ? FieldAt(list[i].get_object(), {key}) : nullptr;
    if (its != nullptr && *its == value) {
      return i;
    }
  }
  return list.size();
}

void MergePlainList(json::array& target, const json::array& patch) {
  for (const json::value& value : patch) {
    if (!HasValue(target, value)) {
      target.push_back(value);
    }
  }
}

// A value that is new to the object: directives that say "delete" mean nothing in it.
void StripDirectives(json::value& value) {
  if (json::array* list = value.if_array(); list != nullptr) {
    for (json::value& item : *list) {
      StripDirectives(item);
    }
    return;
  }
  json::object* object = value.if_object();
  if (object == nullptr) {
    return;
  }
  for (auto field = object->begin(); field != object->end();) {
    const bool goes = ToStd(field->key()).starts_with('$') || field->value().is_null();
    if (goes) {
      field = object->erase(field);
    } else {
      StripDirectives(field->value());
      ++field;
    }
  }
}

Status MergeItem(json::array& target, const json::object& item, const Schema& list) {
  const json::value* key = FieldAt(item, {list.merge_key});
  const std::string_view directive = TextAt(item, {"$patch"});
  if (key == nullptr) {
    return BadRequest(fmt::format("map: {} does not contain declared merge key: {}",
                                  json::serialize(item), list.merge_key));
  }
  const size_t at = FindItem(target, list.merge_key, *key);
  if (directive == "delete") {
    if (at < target.size()) {
      target.erase(target.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return OkStatus();
  }
  if (at < target.size() && directive != "replace") {
    return StrategicPatch(target[at].get_object(), item, list.element);
  }
  json::value fresh = item;
  StripDirectives(fresh);
  if (at < target.size()) {
    target[at] = std::move(fresh);
  } else {
    target.push_back(std::move(fresh));
  }
  return OkStatus();
}

Status MergeKeyedList(json::array& target, const json::array& patch, const Schema& list) {
  for (const json::value& item : patch) {
    const json::object* object = item.if_object();
    if (object == nullptr) {
      return BadRequest("an item of a list that is merged by a key must be an object");
    }
    // {"$patch": "replace"} as an item of its own: the whole list is replaced by the others.
    if (TextAt(*object, {"$patch"}) == "replace" && object->size() == 1) {
      json::array rest;
      std::ranges::copy_if(patch, std::back_inserter(rest), [](const json::value& other) {
        return !other.is_object() || !other.get_object().contains("$patch");
      });
      target = std::move(rest);
      return OkStatus();
    }
    RETURN_IF_ERROR(MergeItem(target, *object, list));
  }
  return OkStatus();
}

// Items named in `order` come in that order; others keep their places behind them.
void Reorder(json::array& target, const json::array& order, const Schema& list) {
  const auto rank = [&](const json::value& item) {
    for (size_t i = 0; i < order.size(); ++i) {
      const bool is_it = list.merge_key.empty()
                             ? order[i] == item
                             : order[i].is_object() && item.is_object() &&
                                   PlainText(FieldAt(order[i].get_object(), {list.merge_key})) ==
                                       PlainText(FieldAt(item.get_object(), {list.merge_key}));
      if (is_it) {
        return i;
      }
    }
    return order.size();
  };
  std::vector<json::value> sorted(target.begin(), target.end());
  std::ranges::stable_sort(sorted, {}, rank);
  target = json::array(sorted.begin(), sorted.end());
}

Status MergeField(json::object& target, std::string_view name, const json::value& patch,
                  const Schema* schema) {
  if (patch.is_null()) {
    target.erase(doc::View(name));
    return OkStatus();
  }
  json::value* current = target.if_contains(doc::View(name));
  if (patch.is_object()) {
    if (current != nullptr && current->is_object()) {
      return StrategicPatch(current->get_object(), patch.get_object(), schema);
    }
  } else if (patch.is_array() && schema != nullptr && schema->merges) {
    json::value& value = target[doc::View(name)];
    json::array& list = value.is_array() ? value.get_array() : value.emplace_array();
    if (schema->merge_key.empty()) {
      MergePlainList(list, patch.get_array());
      return OkStatus();
    }
    return MergeKeyedList(list, patch.get_array(), *schema);
  }
  json::value fresh = patch;
  StripDirectives(fresh);
  target[doc::View(name)] = std::move(fresh);
  return OkStatus();
}

Status ApplyDirective(json::object& target, std::string_view name, const json::value& value,
                      const Schema* schema) {
  const json::array* list = value.if_array();
  if (name == "$patch") {
    return OkStatus();
  }
  if (list == nullptr) {
    return BadRequest(fmt::format("{} must be a list", name));
  }
  if (name == "$retainKeys") {
    for (auto field = target.begin(); field != target.end();) {
      field = HasValue(*list, json::value(field->key())) ? std::next(field) : target.erase(field);
    }
    return OkStatus();
  }
  const bool deletes = name.starts_with(kDeleteFromList);
  if (!deletes && !name.starts_with(kSetOrder)) {
    return BadRequest(fmt::format("unknown directive {}", name));
  }
  const std::string_view field = name.substr(deletes ? kDeleteFromList.size() : kSetOrder.size());
  json::value* current = target.if_contains(doc::View(field));
  json::array* items = current == nullptr ? nullptr : current->if_array();
  const Schema* its = ChildSchema(schema, field);
  if (items == nullptr) {
    return OkStatus();
  }
  if (deletes) {
    json::array kept;
    std::ranges::copy_if(*items, std::back_inserter(kept),
                         [&](const json::value& item) { return !HasValue(*list, item); });
    *items = std::move(kept);
  } else if (its != nullptr) {
    Reorder(*items, *list, *its);
  }
  return OkStatus();
}

}  // namespace

Status StrategicPatch(json::object& target, const json::object& patch, const Schema* schema) {
  const std::string_view directive = TextAt(patch, {"$patch"});
  if (directive == "delete") {
    target.clear();
    return OkStatus();
  }
  if (directive == "replace") {
    json::value fresh = patch;
    fresh.get_object().erase("$patch");
    target = fresh.get_object();
    return OkStatus();
  }
  if (!directive.empty() && directive != "merge") {
    return BadRequest(fmt::format("unknown $patch \"{}\"", directive));
  }
  // $retainKeys and deletions come before the values, the order after them.
  for (const auto& [name, value] : patch) {
    if (ToStd(name).starts_with('$') && !ToStd(name).starts_with(kSetOrder)) {
      RETURN_IF_ERROR(ApplyDirective(target, ToStd(name), value, schema));
    }
  }
  for (const auto& [name, value] : patch) {
    if (!ToStd(name).starts_with('$')) {
      RETURN_IF_ERROR(MergeField(target, ToStd(name), value, ChildSchema(schema, ToStd(name))));
    }
  }
  for (const auto& [name, value] : patch) {
    if (ToStd(name).starts_with(kSetOrder)) {
      RETURN_IF_ERROR(ApplyDirective(target, ToStd(name), value, schema));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::apiserver

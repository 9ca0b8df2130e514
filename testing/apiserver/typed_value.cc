#include "testing/apiserver/typed_value.h"

#include <algorithm>
#include <set>

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

std::string FieldElement(json::string_view name) {
  return fmt::format("f:{}", std::string_view(name.data(), name.size()));
}

const Schema* ChildOf(const Schema* schema, json::string_view name) {
  if (schema == nullptr) {
    return nullptr;
  }
  return schema->kind == SchemaKind::kMap ? schema->element
                                          : schema->Field({name.data(), name.size()});
}

bool IsGranularMap(const json::value& value, const Schema* schema) {
  return value.is_object() && (schema == nullptr || !schema->is_atomic);
}

bool IsGranularList(const json::value& value, const Schema* schema) {
  return value.is_array() && schema != nullptr && schema->kind == SchemaKind::kList &&
         schema->list_type != ListType::kAtomic;
}

const Schema* ElementOf(const Schema* list) {
  return list == nullptr ? nullptr : list->element;
}

// Items of a list by their path elements.
std::map<std::string, const json::value*> ItemsOf(const json::value& list, const Schema& schema) {
  std::map<std::string, const json::value*> items;
  for (size_t i = 0; i < list.get_array().size(); ++i) {
    const json::value& item = list.get_array()[i];
    items.emplace(ItemElement(item, i, schema), &item);
  }
  return items;
}

// A value that is new or gone as a whole: its fields, and the map or list itself.
FieldSet WholeOf(const json::value& value, const Schema* schema) {
  FieldSet set = FieldsOf(value, schema);
  const bool is_struct = schema != nullptr && schema->kind == SchemaKind::kStruct;
  if (!is_struct || set.children.empty()) {
    set.is_member = true;
  }
  return set;
}

void Note(FieldSet& into, const std::string& element, const FieldSet& child) {
  if (!child.is_empty()) {
    into.children[element].Add(child);
  }
}

void NoteAll(Differences& into, const std::string& element, const Differences& child) {
  Note(into.added, element, child.added);
  Note(into.modified, element, child.modified);
  Note(into.removed, element, child.removed);
}

void CompareMaps(const json::object& before, const json::object& after, const Schema* schema,
                 Differences& found) {
  for (const auto& [name, value] : after) {
    const json::value* old = before.if_contains(name);
    const Schema* child = ChildOf(schema, name);
    if (old == nullptr) {
      Note(found.added, FieldElement(name), WholeOf(value, child));
    } else {
      NoteAll(found, FieldElement(name), Compare(*old, value, child));
    }
  }
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) {
      FieldSet gone = FieldsOf(value, ChildOf(schema, name));
      gone.is_member = true;
      Note(found.removed, FieldElement(name), gone);
    }
  }
}

void CompareLists(const json::value& before, const json::value& after, const Schema& schema,
                  Differences& found) {
  const auto old_items = ItemsOf(before, schema);
  const auto new_items = ItemsOf(after, schema);
  for (const auto& [element, item] : new_items) {
    const auto old = old_items.find(element);
    if (old == old_items.end()) {
      FieldSet whole = FieldsOf(*item, schema.element);
      whole.is_member = true;
      Note(found.added, element, whole);
    } else {
      NoteAll(found, element, Compare(*old->second, *item, schema.element));
    }
  }
  for (const auto& [element, item] : old_items) {
    if (!new_items.contains(element)) {
      FieldSet gone = FieldsOf(*item, schema.element);
      gone.is_member = true;
      Note(found.removed, element, gone);
    }
  }
}

void MergeLists(json::array& live, const json::array& applied, const Schema& schema) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < live.size(); ++i) {
    places.emplace(ItemElement(live[i], i, schema), i);
  }
  for (size_t i = 0; i < applied.size(); ++i) {
    const std::string element = ItemElement(applied[i], i, schema);
    if (const auto found = places.find(element); found != places.end()) {
      MergeTyped(live[found->second], applied[i], schema.element);
    } else {
      live.push_back(applied[i]);
    }
  }
}

bool IsEmptied(const json::value& value) {
  return (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

// Decides about one child that `last` has. True: it is removed.
bool PruneChild(json::value& child, const FieldSet& last, const FieldSet* owned,
                const Schema* schema) {
  const bool is_owned = owned != nullptr && !owned->is_empty();
  if (!is_owned && last.is_member) {
    return true;
  }
  const bool was_empty = IsEmptied(child);
  Prune(child, last, is_owned ? *owned : FieldSet(), schema);
  return !is_owned && !was_empty && IsEmptied(child);
}

}  // namespace

std::string ItemElement(const json::value& item, size_t place, const Schema& list) {
  if (list.list_type == ListType::kSet) {
    return fmt::format("v:{}", json::serialize(item));
  }
  const json::object* object = item.if_object();
  std::map<std::string, json::value> key;
  for (const auto& [name, otherwise] : list.keys) {
    const json::value* value = object == nullptr ? nullptr : FieldAt(*object, {name});
    if (value != nullptr) {
      key[name] = *value;
    } else if (otherwise) {
      key[name] = json::string(*otherwise);
    }
  }
  if (key.empty()) {  // from 1.34 on, one of several keys is enough
    return fmt::format("i:{}", place);
  }
  return fmt::format("k:{}", json::serialize(json::object(key.begin(), key.end())));
}

FieldSet FieldsOf(const json::value& value, const Schema* schema) {
  FieldSet set;
  if (IsGranularMap(value, schema)) {
    const bool is_struct = schema != nullptr && schema->kind == SchemaKind::kStruct;
    for (const auto& [name, child] : value.get_object()) {
      FieldSet its = FieldsOf(child, ChildOf(schema, name));
      const bool is_declared = is_struct && schema->Field({name.data(), name.size()}) != nullptr;
      its.is_member = its.is_member || !is_declared || its.children.empty();
      set.children.emplace(FieldElement(name), std::move(its));
    }
    return set;
  }
  if (IsGranularList(value, schema)) {
    for (const auto& [element, item] : ItemsOf(value, *schema)) {
      FieldSet its = FieldsOf(*item, schema->element);
      its.is_member = true;
      set.children.emplace(element, std::move(its));
    }
    return set;
  }
  set.is_member = true;
  return set;
}

Status CheckItems(const json::value& value, const Schema* schema) {
  if (IsGranularMap(value, schema)) {
    for (const auto& [name, child] : value.get_object()) {
      RETURN_IF_ERROR(CheckItems(child, ChildOf(schema, name)));
    }
  }
  if (!IsGranularList(value, schema)) {
    return OkStatus();
  }
  std::set<std::string> seen;
  for (const json::value& item : value.get_array()) {
    const std::string element = ItemElement(item, 0, *schema);
    if (element.starts_with("i:")) {
      return BadRequest(
          fmt::format("an item lacks all keys of its list: {}", json::serialize(item)));
    }
    if (!seen.insert(element).second) {
      return BadRequest(fmt::format("two items of a list have the key {}", element.substr(2)));
    }
    RETURN_IF_ERROR(CheckItems(item, schema->element));
  }
  return OkStatus();
}

void MergeTyped(json::value& live, const json::value& applied, const Schema* schema) {
  if (IsGranularMap(applied, schema) && live.is_object()) {
    for (const auto& [name, value] : applied.get_object()) {
      json::value* current = live.get_object().if_contains(name);
      if (current == nullptr) {
        live.get_object()[name] = value;
      } else {
        MergeTyped(*current, value, ChildOf(schema, name));
      }
    }
    return;
  }
  if (IsGranularList(applied, schema) && live.is_array()) {
    MergeLists(live.get_array(), applied.get_array(), *schema);
    return;
  }
  live = applied;
}

Differences Compare(const json::value& before, const json::value& after, const Schema* schema) {
  Differences found;
  if (IsGranularMap(before, schema) && IsGranularMap(after, schema)) {
    CompareMaps(before.get_object(), after.get_object(), schema, found);
  } else if (IsGranularList(before, schema) && IsGranularList(after, schema)) {
    CompareLists(before, after, *schema, found);
  } else if (before != after) {
    found.modified = WholeOf(after, schema);
  }
  return found;
}

void Prune(json::value& value, const FieldSet& last, const FieldSet& owned, const Schema* schema) {
  if (json::object* object = value.if_object(); object != nullptr) {
    for (auto field = object->begin(); field != object->end();) {
      const std::string element = FieldElement(field->key());
      const FieldSet* its = last.Find(element);
      const bool goes = its != nullptr && PruneChild(field->value(), *its, owned.Find(element),
                                                     ChildOf(schema, field->key()));
      // stable_erase keeps the order of the others.
      field = goes ? object->stable_erase(field) : std::next(field);
    }
    return;
  }
  if (!IsGranularList(value, schema)) {
    return;
  }
  json::array& list = value.get_array();
  json::array kept;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string element = ItemElement(list[i], i, *schema);
    const FieldSet* its = last.Find(element);
    if (its == nullptr || !PruneChild(list[i], *its, owned.Find(element), ElementOf(schema))) {
      kept.push_back(std::move(list[i]));
    }
  }
  list = std::move(kept);
}

}  // namespace kgpu::apiserver

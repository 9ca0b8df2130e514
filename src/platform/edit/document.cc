#include "src/platform/edit/document.h"

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/edit/layout.h"
#include "src/platform/edit/lines.h"
#include "src/platform/edit/template_text.h"
#include "src/platform/edit/toml_tree.h"
#include "src/platform/edit/tree.h"

namespace kgpu::edit {
namespace {

namespace json = boost::json;

constexpr std::string_view kByHand = "edit it by hand";

StatusOr<json::value> ParseJsonTree(std::string_view text, std::string_view file) {
  const std::string_view proper = text.substr(TextStart(text));
  if (IsBlank(proper)) {
    return json::object();
  }
  ASSIGN_OR_RETURN(json::value tree, doc::Parse(proper, doc::Format::kJson, file));
  if (!tree.is_object()) {
    return InvalidArgument("{}: must be an object in braces", PlaceText(file, text, 0));
  }
  return tree;
}

json::value Text(std::string_view text) {
  return json::string(text.data(), text.size());
}

std::string Shown(const json::value& value) {
  return Printable(doc::PrintLine(value), 80);
}

}  // namespace

struct Document::Reading {
  std::string text;
  std::string view;  // what was read: `text`, or a template with its actions covered
  json::value tree;
  std::unique_ptr<Layout> layout;  // of `view`
};

Document::Document(std::string_view file, Syntax syntax) : file_(file), syntax_(syntax) {
}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

StatusOr<Document> Document::Open(std::string_view text, std::string_view file, Syntax syntax) {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument("{}: {} bytes exceed the limit of {}", file, text.size(), kMaxTextBytes);
  }
  Document document(file, syntax);
  ASSIGN_OR_RETURN(document.now_, document.Read(std::string(text)));
  return document;
}

StatusOr<std::unique_ptr<Document::Reading>> Document::Read(std::string text) const {
  auto reading = std::make_unique<Reading>();
  reading->text = std::move(text);
  reading->view = syntax_ == Syntax::kTomlTemplate ? CoverActions(reading->text) : reading->text;
  if (syntax_ == Syntax::kJson) {
    ASSIGN_OR_RETURN(reading->tree, ParseJsonTree(reading->view, file_));
    reading->layout = JsonLayout(reading->view);
  } else {
    // First the scanner: its limits protect the parser.
    ASSIGN_OR_RETURN(reading->layout, TomlLayout(reading->view, file_));
    ASSIGN_OR_RETURN(reading->tree, ParseTomlTree(reading->view, file_));
  }
  return reading;
}

const std::string& Document::text() const {
  return now_->text;
}

const json::value& Document::tree() const {
  return now_->tree;
}

const json::value* Document::Find(const Key& key) const {
  return FindIn(now_->tree, key);
}

std::string Document::Where(const Key& key) const {
  return PlaceText(file_, now_->text, now_->layout->Nearest(key));
}

StatusOr<std::string> Document::Print(const json::value& value) const {
  return syntax_ == Syntax::kJson ? doc::PrintLine(value) : PrintTomlValue(value);
}

StatusOr<json::value> Document::ParseRaw(const std::string& raw) const {
  if (syntax_ == Syntax::kJson) {
    return doc::Parse(raw, doc::Format::kJson, file_);
  }
  std::string text = fmt::format("x = {}\n", raw);
  text = syntax_ == Syntax::kTomlTemplate ? CoverActions(text) : text;
  RETURN_IF_ERROR(TomlLayout(text, file_).status());
  ASSIGN_OR_RETURN(const json::value tree, ParseTomlTree(text, file_));
  return tree.get_object().begin()->value();
}

Status Document::Apply(const Splice& splice, const json::value& wanted, const Key& key) {
  std::string text = now_->text;
  text.replace(splice.at, splice.length, splice.inserted);
  StatusOr<std::unique_ptr<Reading>> next = Read(std::move(text));
  if (!next.ok() || !SaySame((*next)->tree, wanted, key)) {
    return FailedPrecondition("{}: cannot change {} safely: {}", Where(key), Dotted(key), kByHand);
  }
  now_ = *std::move(next);
  return OkStatus();
}

Status Document::Record(ChangeKind kind, const Key& key, const StatusOr<Splice>& splice,
                        const json::value& wanted) {
  if (!splice.ok()) {
    return Annotate(splice.status(), "{}", Where(key));
  }
  Change change;
  change.kind = kind;
  change.key = key;
  change.after = splice->after;
  change.removed = now_->text.substr(splice->at, splice->length);
  change.inserted = splice->inserted;
  change.offset = splice->offset;
  const std::optional<Span> old =
      kind == ChangeKind::kValue ? now_->layout->ValueAt(key) : std::nullopt;
  if (old.has_value()) {
    change.before = Slice(now_->text, *old);
  }
  RETURN_IF_ERROR(Apply(*splice, wanted, key));
  changes_.push_back(std::move(change));
  return OkStatus();
}

// All parents of `key` must be tables.
Status Document::CheckWay(const Key& key) const {
  for (size_t count = 1; count < key.size(); ++count) {
    const Key way(key.begin(), key.begin() + static_cast<ptrdiff_t>(count));
    const json::value* value = Find(way);
    if (value != nullptr && !value->is_object()) {
      return InvalidArgument("{}: {} is {}, not a table: fix or remove it", Where(way), Dotted(way),
                             Shown(*value));
    }
  }
  return OkStatus();
}

Status Document::MakeTablesFor(const Key& key) {
  for (size_t made = 0; made <= key.size(); ++made) {
    const std::optional<Key> missing = now_->layout->MissingTable(key);
    if (!missing.has_value()) {
      return OkStatus();
    }
    json::value wanted = now_->tree;
    if (FindIn(wanted, *missing) == nullptr) {
      SetIn(wanted, *missing, json::object());
    }
    RETURN_IF_ERROR(
        Record(ChangeKind::kTable, *missing, now_->layout->InsertTable(*missing), wanted));
  }
  return Internal("{}: no end of tables for {}", file_, Dotted(key));
}

Status Document::Set(const Key& key, const json::value& value) {
  ASSIGN_OR_RETURN(const std::string raw, Print(value));
  return Put(key, value, raw);
}

Status Document::SetRaw(const Key& key, const std::string& raw) {
  ASSIGN_OR_RETURN(const json::value value, ParseRaw(raw));
  return Put(key, value, raw);
}

Status Document::Put(const Key& key, const json::value& value, const std::string& raw) {
  RETURN_IF_ERROR(CheckWay(key));
  const json::value* old = Find(key);
  if (old != nullptr && *old == value) {
    return OkStatus();
  }
  if (old == nullptr) {
    RETURN_IF_ERROR(MakeTablesFor(key));
    json::value wanted = now_->tree;
    SetIn(wanted, key, value);
    return Record(ChangeKind::kValue, key, now_->layout->InsertValue(key, raw), wanted);
  }
  const std::optional<Span> place = now_->layout->ValueAt(key);
  if (old->is_object() || !place.has_value()) {
    return InvalidArgument("{}: {} is a table, not a single value: fix or remove it", Where(key),
                           Dotted(key));
  }
  json::value wanted = now_->tree;
  SetIn(wanted, key, value);
  const Splice splice{
      .at = place->begin, .length = place->end - place->begin, .inserted = raw, .after = raw};
  return Record(ChangeKind::kValue, key, splice, wanted);
}

Status Document::AddItem(const Key& list, std::string_view item) {
  RETURN_IF_ERROR(CheckWay(list));
  const json::value* old = Find(list);
  if (old != nullptr && !old->is_array()) {
    return InvalidArgument("{}: {} is {}, not a list: fix or remove it", Where(list), Dotted(list),
                           Shown(*old));
  }
  const json::value value = Text(item);
  if (old != nullptr && std::ranges::find(old->get_array(), value) != old->get_array().end()) {
    return OkStatus();
  }
  if (old == nullptr) {
    RETURN_IF_ERROR(MakeTablesFor(list));
    json::value wanted = now_->tree;
    SetIn(wanted, list, json::array());
    RETURN_IF_ERROR(
        Record(ChangeKind::kTable, list, now_->layout->InsertValue(list, "[]"), wanted));
  }
  ASSIGN_OR_RETURN(const std::string raw, Print(value));
  json::value wanted = now_->tree;
  FindIn(wanted, list)->get_array().push_back(value);
  return Record(ChangeKind::kItem, list, now_->layout->InsertItem(list, raw), wanted);
}

Status Document::SetComment(std::string_view text) {
  const std::string comment(text);
  return Record(ChangeKind::kComment, {},
                Splice{.at = 0, .length = 0, .inserted = comment, .after = comment}, now_->tree);
}

// ---- taking back ------------------------------------------------------------------------------

// While the bytes of the splice stand around `now` as they were written, they are taken out
// exactly; else by `plain`, which leaves good style, not the old bytes.
Status Document::TakeBackEither(const Change& change, Span now, const Splice& plain,
                                const json::value& wanted) {
  const size_t start = now.begin - std::min(now.begin, change.offset);
  if (now.begin >= change.offset &&
      now_->text.compare(start, change.inserted.size(), change.inserted) == 0) {
    const Splice exact{
        .at = start, .length = change.inserted.size(), .inserted = change.removed, .after = {}};
    if (Apply(exact, wanted, change.key).ok()) {
      return OkStatus();
    }
  }
  return Apply(plain, wanted, change.key);
}

StatusOr<bool> Document::TakeBack(const Change& change, std::vector<std::string>& notes) {
  switch (change.kind) {
    case ChangeKind::kValue:
      return TakeBackValue(change, notes);
    case ChangeKind::kItem:
      return TakeBackItem(change, notes);
    case ChangeKind::kTable:
      return TakeBackTable(change, notes);
    case ChangeKind::kComment:
      return TakeBackComment(change);
  }
  return Internal("{}: unknown kind of change", file_);
}

StatusOr<bool> Document::TakeBackComment(const Change& change) {
  const size_t at = now_->text.find(change.inserted);
  if (change.inserted.empty() || at == std::string::npos) {
    return false;
  }
  const Splice splice{.at = at, .length = change.inserted.size(), .inserted = {}, .after = {}};
  return Apply(splice, now_->tree, {}).ok();
}

StatusOr<bool> Document::TakeBackValue(const Change& change, std::vector<std::string>& notes) {
  const json::value* value = Find(change.key);
  const std::optional<Span> place = now_->layout->ValueAt(change.key);
  if (value == nullptr || !place.has_value()) {
    notes.push_back(fmt::format("{} is already removed", Dotted(change.key)));
    return false;
  }
  ASSIGN_OR_RETURN(const json::value ours, ParseRaw(change.after));
  if (*value != ours) {
    notes.push_back(fmt::format("{}: {} has since been changed to {}: left unchanged",
                                Where(change.key), Dotted(change.key), Shown(*value)));
    return false;
  }
  json::value wanted = now_->tree;
  Splice plain;
  if (change.before.has_value()) {
    ASSIGN_OR_RETURN(const json::value before, ParseRaw(*change.before));
    SetIn(wanted, change.key, before);
    plain = {.at = place->begin,
             .length = place->end - place->begin,
             .inserted = *change.before,
             .after = {}};
  } else {
    EraseIn(wanted, change.key);
    plain = now_->layout->RemoveValue(change.key);
  }
  RETURN_IF_ERROR(TakeBackEither(change, *place, plain, wanted));
  return true;
}

StatusOr<bool> Document::TakeBackItem(const Change& change, std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(const json::value ours, ParseRaw(change.after));
  const json::value* list = Find(change.key);
  const json::array* items = list == nullptr ? nullptr : list->if_array();
  const json::value* item = items == nullptr ? nullptr : std::ranges::find(*items, ours);
  if (item == nullptr || item == items->end()) {
    notes.push_back(fmt::format("{} is already removed from {}", Shown(ours), Dotted(change.key)));
    return false;
  }
  const auto index = static_cast<size_t>(item - items->begin());
  const std::optional<Span> place = now_->layout->ItemAt(change.key, index);
  if (!place.has_value()) {
    return FailedPrecondition("{}: {} is not a plain list: {}", Where(change.key),
                              Dotted(change.key), kByHand);
  }
  json::value wanted = now_->tree;
  json::array& rest = FindIn(wanted, change.key)->get_array();
  rest.erase(rest.begin() + static_cast<ptrdiff_t>(index));
  RETURN_IF_ERROR(
      TakeBackEither(change, *place, now_->layout->RemoveItem(change.key, index), wanted));
  return true;
}

StatusOr<bool> Document::TakeBackTable(const Change& change, std::vector<std::string>& notes) {
  const std::optional<Span> place = now_->layout->TableAt(change.key);
  if (!place.has_value()) {
    return false;
  }
  if (!now_->layout->IsEmptyTable(change.key)) {
    notes.push_back(fmt::format("{}: {} is not empty: left unchanged", Where(change.key),
                                change.key.empty() ? "the file" : Dotted(change.key)));
    return false;
  }
  json::value wanted = now_->tree;
  const json::value* value = FindIn(wanted, change.key);
  const bool is_implied = value != nullptr && value->is_object() && !value->get_object().empty();
  if (!is_implied) {
    EraseIn(wanted, change.key);
  }
  RETURN_IF_ERROR(TakeBackEither(change, *place, now_->layout->RemoveTable(change.key), wanted));
  return true;
}

}  // namespace kgpu::edit
